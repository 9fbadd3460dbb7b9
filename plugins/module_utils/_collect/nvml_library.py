# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. NVML by way of ctypes: loading it, calling it, its structures and codes (nvml.h, 340 to 620)."""

from __future__ import annotations

import ctypes
import typing as t

SUCCESS = 0
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NOT_FOUND = 6
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
NO_DATA = 21
ARGUMENT_VERSION_MISMATCH = 25
DEPRECATED = 26
UNKNOWN = 999

# What says no more than that this GPU, or this driver, doesn't have the value.
ABSENT = frozenset((INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, NO_DATA, ARGUMENT_VERSION_MISMATCH, DEPRECATED))


class NvmlError(Exception):
    """A call that failed.

    :ivar function: whose call.
    :ivar code: nvmlReturn_t.
    """

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function}: {code}")
        self.function = function
        self.code = code


class Versioned(ctypes.Structure):
    """A structure whose first field says its size and, in the highest byte, its version."""

    VERSION = 1

    def __init__(self) -> None:
        super().__init__()
        self.version = ctypes.sizeof(type(self)) | self.VERSION << 24


class Pci(ctypes.Structure):
    """nvmlPciInfo_t; the fields that are read are at the same place in all its versions."""

    _fields_ = [
        ("busIdLegacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pciDeviceId", ctypes.c_uint),
        ("pciSubSystemId", ctypes.c_uint),
        ("busId", ctypes.c_char * 32),
    ]


class Memory(ctypes.Structure):
    """nvmlMemory_t, in bytes; ``used`` includes what the driver reserves."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class MemoryV2(Versioned):
    """nvmlMemory_v2_t, in bytes."""

    VERSION = 2
    _fields_ = [
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class Bar1(ctypes.Structure):
    """nvmlBAR1Memory_t, in bytes."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Temperature(Versioned):
    """nvmlTemperature_v1_t, in degrees Celsius; the sensor 0 is the GPU."""

    _fields_ = [("version", ctypes.c_uint), ("sensor", ctypes.c_int), ("temperature", ctypes.c_int)]


class Margin(Versioned):
    """nvmlMarginTemperature_v1_t, in degrees Celsius."""

    _fields_ = [("version", ctypes.c_uint), ("margin", ctypes.c_int)]


class Fabric(ctypes.Structure):
    """nvmlGpuFabricInfo_t."""

    _fields_ = [("cluster", ctypes.c_ubyte * 16), ("status", ctypes.c_int), ("clique", ctypes.c_uint), ("state", ctypes.c_ubyte)]


class FabricV2(Versioned):
    """nvmlGpuFabricInfo_v2_t."""

    VERSION = 2
    _fields_ = [("version", ctypes.c_uint), *Fabric._fields_, ("health", ctypes.c_uint)]


class Process(ctypes.Structure):
    """nvmlProcessInfo_v2_t, in bytes."""

    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Value(ctypes.Union):
    """nvmlValue_t."""

    _fields_ = [
        ("double", ctypes.c_double),
        ("int", ctypes.c_int),
        ("uint", ctypes.c_uint),
        ("ulong", ctypes.c_ulong),
        ("ulonglong", ctypes.c_ulonglong),
        ("longlong", ctypes.c_longlong),
        ("ushort", ctypes.c_ushort),
    ]


# nvmlValueType_t to the member of the union.
VALUE_TYPES = ("double", "uint", "ulong", "ulonglong", "longlong", "int", "ushort")


class Field(ctypes.Structure):
    """nvmlFieldValue_t."""

    _fields_ = [
        ("id", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("type", ctypes.c_uint),
        ("code", ctypes.c_int),
        ("value", Value),
    ]


class Expiry(ctypes.Structure):
    """nvmlGridLicenseExpiry_t."""

    _fields_ = [("year", ctypes.c_uint), *((name, ctypes.c_ushort) for name in ("month", "day", "hour", "minute", "second")), ("status", ctypes.c_ubyte)]


class Feature(ctypes.Structure):
    """nvmlGridLicensableFeature_t."""

    _fields_ = [
        ("code", ctypes.c_int),
        ("state", ctypes.c_uint),
        ("license", ctypes.c_char * 128),
        ("product", ctypes.c_char * 128),
        ("enabled", ctypes.c_uint),
        ("expiry", Expiry),
    ]


class Features(ctypes.Structure):
    """nvmlGridLicensableFeatures_t of the function's version 4."""

    _fields_ = [("supported", ctypes.c_int), ("count", ctypes.c_uint), ("features", Feature * 3)]


class Nvml:
    """A loaded library.

    :raises OSError: it can't be loaded.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def text(self, code: int) -> str:
        """NVML's own words for a code."""
        function = getattr(self._library, "nvmlErrorString", None)
        if function is None:
            return f"NVML error {code}"
        function.restype = ctypes.c_char_p
        return decoded(function(code) or b"")

    def call(self, names: t.Sequence[str], *arguments: t.Any) -> bool:
        """Call the first of these functions that the library has; true.

        :raises NvmlError: it has none, or the call failed.
        """
        name = next((name for name in names if hasattr(self._library, name)), None)
        if name is None:
            raise NvmlError(names[0], FUNCTION_NOT_FOUND)
        code = getattr(self._library, name)(*arguments)
        if code != SUCCESS:
            raise NvmlError(name, code)
        return True

    def read(self, names: t.Sequence[str], device: t.Any, signature: t.Sequence[t.Any]) -> list[t.Any]:
        """Call a function that fills what it is given.

        :param device: its first argument; left out where it is ``None``.
        :param signature: the other arguments: a number is given as it is, a ctypes type stands for a value to be filled.
        :return: the filled values.
        :raises NvmlError: as ``call``.
        """
        arguments = [ctypes.c_uint(item) if isinstance(item, int) else item() for item in signature]
        filled = [argument for item, argument in zip(signature, arguments) if not isinstance(item, int)]
        passed = [argument if isinstance(item, int) else ctypes.byref(argument) for item, argument in zip(signature, arguments)]
        self.call(names, *(passed if device is None else (device, *passed)))
        return filled


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
