# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One GPU's facts from NVML, in the units and the words of ``nvidia-smi -q -x``."""

from __future__ import annotations

import ctypes
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import nvml_library as lib

Facts = t.Dict[str, t.Any]
# What the structures and values that a call filled come to: a value for each of the row's facts.
Convert = t.Callable[..., t.Tuple[t.Any, ...]]

_UINT = ctypes.c_uint
_TEXT = ctypes.c_char * 96
_MIB = 1 << 20
_NO_MEMORY_VALUE = 0xFFFFFFFFFFFFFFFF

# nvidia-smi's words for NVML's numbers.
_SWITCH = {0: "Disabled", 1: "Enabled"}
_BRANDS = {
    1: "Quadro", 2: "Tesla", 3: "NVS", 4: "GRID", 5: "GeForce", 6: "Titan", 7: "NVIDIA Virtual Applications", 8: "NVIDIA Virtual PC",
    9: "NVIDIA Virtual Compute Server", 10: "NVIDIA RTX Virtual Workstation", 11: "NVIDIA Cloud Gaming", 12: "Quadro RTX", 13: "NVIDIA RTX", 14: "NVIDIA",
    15: "GeForce RTX", 16: "Titan RTX",
}
_ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper", 10: "Blackwell", 13: "Rubin",
}
_COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
_VIRTUALIZATION_MODES = {0: "None", 1: "Pass-Through", 2: "VGPU", 3: "Host VGPU", 4: "Host VSGA"}
_RECOVERY_ACTIONS = {
    0: "None", 1: "Reset", 2: "Reboot", 3: "Drain P2P", 4: "Drain and Reset", 5: "Recover IMEX Domain", 6: "Bus Reset", 7: "System Reboot",
}
# The state 0, "not supported", is that of a GPU without a fabric: nvidia-smi then writes N/A.
_FABRIC_STATES = {1: "Not Started", 2: "In Progress", 3: "Completed"}
_FABRIC_COMPLETED = 3
# Bits of nvmlClocksEventReasons, in the order of the XML.
_THROTTLE_REASONS = (
    (0x001, "gpu_idle"),
    (0x002, "applications_clocks_setting"),
    (0x004, "sw_power_cap"),
    (0x008, "hw_slowdown"),
    (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "sw_thermal_slowdown"),
    (0x100, "display_clocks_setting"),
)
FAULTS = {lib.GPU_IS_LOST: "GPU is lost", lib.RESET_REQUIRED: "GPU requires reset", lib.UNKNOWN: "Unknown Error"}

# NVML_FI_DEV_*
_FIELD_MEMORY_TEMPERATURE, _FIELD_NVLINKS, _FIELD_POWER_AVERAGE, _FIELD_RECOVERY_ACTION, _FIELD_NVLINK_MBPS = 82, 91, 185, 230, 90


def _as_it_is(filled: t.Any) -> tuple[t.Any, ...]:
    return (filled.value,)


def _text(filled: t.Any) -> tuple[t.Any, ...]:
    return (lib.decoded(filled.value),)


def _words(table: dict[int, str]) -> Convert:
    """A converter of numbers to words; a number that isn't in the table gives ``None``."""
    return lambda *filled: tuple(table.get(item.value) for item in filled)


def _watts(filled: t.Any) -> tuple[t.Any, ...]:
    return (watts(filled.value),)


def watts(milliwatts: float) -> float:
    """Watts with two decimals, as nvidia-smi writes them."""
    return float(f"{milliwatts / 1000:.2f}")


def _memory(filled: t.Any) -> tuple[t.Any, ...]:
    return (filled.total // _MIB, _started_mib(filled.used))


def _started_mib(size: int) -> int:
    """MiB rounded up, as nvidia-smi does with memory in use (580; a driver from before 2024 rounds down)."""
    return -(-size // _MIB)


def _pci_address(filled: t.Any) -> tuple[t.Any, ...]:
    return (f"{filled.domain:04x}:{filled.bus:02x}:{filled.device:02x}.0",)


def _row_remapping(correctable: t.Any, uncorrectable: t.Any, pending: t.Any, failed: t.Any) -> tuple[t.Any, ...]:
    return ({"correctable": correctable.value, "uncorrectable": uncorrectable.value, "pending": bool(pending.value), "failed": bool(failed.value)},)


def _throttle_reasons(filled: t.Any) -> tuple[t.Any, ...]:
    return ([name for bit, name in _THROTTLE_REASONS if filled.value & bit],)


def _performance_state(filled: t.Any) -> tuple[t.Any, ...]:
    return (f"P{filled.value}" if filled.value < 16 else None,)


class Row(t.NamedTuple):
    """A call and the facts that it gives.

    :param facts: their names.
    :param functions: the call's names, the newest first.
    :param signature: as in ``Nvml.read``.
    :param convert: of what was filled.
    """

    facts: t.Tuple[str, ...]
    functions: t.Tuple[str, ...]
    signature: t.Tuple[t.Any, ...]
    convert: Convert = _as_it_is


# Of several rows for a fact, the first one that is answered counts.
_ROWS = (
    Row(("uuid",), ("nvmlDeviceGetUUID",), (_TEXT, 96), _text),
    Row(("serial",), ("nvmlDeviceGetSerial",), (_TEXT, 96), _text),
    Row(("pci_address",), ("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"), (lib.Pci,), _pci_address),
    Row(("minor_number",), ("nvmlDeviceGetMinorNumber",), (_UINT,)),
    Row(("product",), ("nvmlDeviceGetName",), (_TEXT, 96), _text),
    Row(("brand",), ("nvmlDeviceGetBrand",), (_UINT,), _words(_BRANDS)),
    Row(("architecture",), ("nvmlDeviceGetArchitecture",), (_UINT,), _words(_ARCHITECTURES)),
    Row(("compute_capability",), ("nvmlDeviceGetCudaComputeCapability",), (_UINT, _UINT), lambda major, minor: (f"{major.value}.{minor.value}",)),
    Row(("vbios_version",), ("nvmlDeviceGetVbiosVersion",), (_TEXT, 96), _text),
    Row(("memory_total_mib", "memory_used_mib"), ("nvmlDeviceGetMemoryInfo_v2",), (lib.MemoryV2,), _memory),
    Row(("memory_total_mib", "memory_used_mib"), ("nvmlDeviceGetMemoryInfo",), (lib.Memory,), _memory),
    Row(("bar1_total_mib",), ("nvmlDeviceGetBAR1MemoryInfo",), (lib.Bar1,), lambda filled: (filled.total // _MIB,)),
    Row(("mig_mode", "mig_mode_pending"), ("nvmlDeviceGetMigMode",), (_UINT, _UINT), _words(_SWITCH)),
    Row(("ecc_mode", "ecc_mode_pending"), ("nvmlDeviceGetEccMode",), (_UINT, _UINT), _words(_SWITCH)),
    Row(("ecc_uncorrected_volatile",), ("nvmlDeviceGetTotalEccErrors",), (1, 0, ctypes.c_ulonglong)),
    Row(("ecc_uncorrected_aggregate",), ("nvmlDeviceGetTotalEccErrors",), (1, 1, ctypes.c_ulonglong)),
    Row(("row_remapping",), ("nvmlDeviceGetRemappedRows",), (_UINT, _UINT, _UINT, _UINT), _row_remapping),
    Row(("temperature_c",), ("nvmlDeviceGetTemperatureV",), (lib.Temperature,), lambda filled: (filled.temperature,)),
    Row(("temperature_c",), ("nvmlDeviceGetTemperature",), (0, _UINT)),
    Row(("tlimit_c",), ("nvmlDeviceGetMarginTemperature",), (lib.Margin,), lambda filled: (filled.margin,)),
    Row(("power_draw_w",), ("nvmlDeviceGetPowerUsage",), (_UINT,), _watts),
    Row(("power_limit_w",), ("nvmlDeviceGetEnforcedPowerLimit",), (_UINT,), _watts),
    Row(("power_limit_default_w",), ("nvmlDeviceGetPowerManagementDefaultLimit",), (_UINT,), _watts),
    Row(("power_limit_max_w",), ("nvmlDeviceGetPowerManagementLimitConstraints",), (_UINT, _UINT), lambda _least, most: (watts(most.value),)),
    Row(("clock_sm_mhz",), ("nvmlDeviceGetClockInfo",), (1, _UINT)),
    Row(("clock_memory_mhz",), ("nvmlDeviceGetClockInfo",), (2, _UINT)),
    Row(("clock_sm_max_mhz",), ("nvmlDeviceGetMaxClockInfo",), (1, _UINT)),
    Row(("clock_memory_max_mhz",), ("nvmlDeviceGetMaxClockInfo",), (2, _UINT)),
    Row(
        ("throttle_reasons",),
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        (ctypes.c_ulonglong,),
        _throttle_reasons,
    ),
    Row(("performance_state",), ("nvmlDeviceGetPerformanceState",), (_UINT,), _performance_state),
    Row(("persistence_mode",), ("nvmlDeviceGetPersistenceMode",), (_UINT,), _words(_SWITCH)),
    Row(("compute_mode",), ("nvmlDeviceGetComputeMode",), (_UINT,), _words(_COMPUTE_MODES)),
    Row(("virtualization_mode",), ("nvmlDeviceGetVirtualizationMode",), (_UINT,), _words(_VIRTUALIZATION_MODES)),
)
# Asked of a GPU that has no margin to its limit (``tlimit_c``): where there is one, nvidia-smi doesn't give these.
_THRESHOLD_ROWS = (
    Row(("temperature_shutdown_c",), ("nvmlDeviceGetTemperatureThreshold",), (0, _UINT)),
    Row(("temperature_slowdown_c",), ("nvmlDeviceGetTemperatureThreshold",), (1, _UINT)),
)
_MIG_ROWS = (
    Row(("gpu_instance_id",), ("nvmlDeviceGetGpuInstanceId",), (_UINT,)),
    Row(("compute_instance_id",), ("nvmlDeviceGetComputeInstanceId",), (_UINT,)),
    Row(("profile",), ("nvmlDeviceGetName",), (_TEXT, 96), lambda filled: (_profile(lib.decoded(filled.value)),)),
    Row(("uuid",), ("nvmlDeviceGetUUID",), (_TEXT, 96), _text),
    Row(("memory_total_mib",), ("nvmlDeviceGetMemoryInfo_v2",), (lib.MemoryV2,), lambda filled: (filled.total // _MIB,)),
    Row(("memory_total_mib",), ("nvmlDeviceGetMemoryInfo",), (lib.Memory,), lambda filled: (filled.total // _MIB,)),
)
_FIELDS: tuple[tuple[int, str, t.Callable[[t.Any], t.Any]], ...] = (
    (_FIELD_MEMORY_TEMPERATURE, "temperature_memory_c", int),
    (_FIELD_POWER_AVERAGE, "power_draw_w", watts),
    (_FIELD_RECOVERY_ACTION, "recovery_action", _RECOVERY_ACTIONS.get),
)
_UNKNOWN = dict.fromkeys([name for _number, name, _convert in _FIELDS] + [row.facts[0] for row in _THRESHOLD_ROWS])


def _profile(name: str) -> str | None:
    """``1g.10gb`` of ``NVIDIA H100 80GB HBM3 MIG 1g.10gb``."""
    return name.rpartition(" MIG ")[2] if " MIG " in name else None


class Gpu:
    """Reads one GPU.

    :ivar failures: ``(function, code)`` of the calls that failed for another reason than that there is no such value.
    """

    def __init__(self, nvml: lib.Nvml, device: t.Any) -> None:
        self._nvml = nvml
        self._device = device
        self.failures: list[tuple[str, int]] = []

    def facts(self) -> Facts:
        """The facts of ``gpu_node.gpus[]`` but those that follow from others; ``None`` where there is none."""
        fields = self._fields((_FIELD_NVLINKS, _FIELD_NVLINK_MBPS, *(number for number, _name, _convert in _FIELDS)))
        found: Facts = {name: convert(fields[number]) for number, name, convert in _FIELDS if number in fields}
        found = self._rows(self._device, _ROWS, found)
        if found["tlimit_c"] is None:
            found = self._rows(self._device, _THRESHOLD_ROWS, found)
        return {
            **_UNKNOWN,
            **found,
            "throttle_reasons": found["throttle_reasons"] or [],
            "mig_devices": self._mig_devices() if found["mig_mode"] == _SWITCH[1] else [],
            "vgpu": self._vgpu() if found["virtualization_mode"] == _VIRTUALIZATION_MODES[2] else None,
            "nvlink": self._nvlink(fields),
            "fabric": self._fabric(),
            "processes": self._processes(),
            "fault": next((text for code, text in FAULTS.items() if code in {code for _function, code in self.failures}), None),
        }

    def _read(self, functions: t.Sequence[str], device: t.Any, signature: t.Sequence[t.Any]) -> list[t.Any] | None:
        """What the call filled; ``None`` where it failed."""
        return self._attempt(self._nvml.read, functions, device, signature)

    def _attempt(self, function: t.Callable[..., t.Any], *arguments: t.Any) -> t.Any:
        try:
            return function(*arguments)
        except lib.NvmlError as error:
            if error.code not in lib.ABSENT:
                self.failures.append((error.function, error.code))
            return None

    def _rows(self, device: t.Any, rows: t.Iterable[Row], found: Facts) -> Facts:
        for row in rows:
            if found.get(row.facts[0]) is None:
                filled = self._read(row.functions, device, row.signature)
                values = (None,) * len(row.facts) if filled is None else row.convert(*filled)
                found.update(zip(row.facts, values))
        return found

    def _fields(self, numbers: t.Sequence[int]) -> dict[int, t.Any]:
        """Values by the number of their field, of those that the driver knows; all in one call."""
        array = (lib.Field * len(numbers))()
        for field, number in zip(array, numbers):
            field.id = number
        answered = self._attempt(self._nvml.call, ("nvmlDeviceGetFieldValues",), self._device, ctypes.c_int(len(numbers)), array)
        known = [field for field in array if answered and field.code == lib.SUCCESS and field.type < len(lib.VALUE_TYPES)]
        return {field.id: getattr(field.value, lib.VALUE_TYPES[field.type]) for field in known}

    def _mig_devices(self) -> list[Facts]:
        count = self._read(("nvmlDeviceGetMaxMigDeviceCount",), self._device, (_UINT,))
        found = []
        for index in range(count[0].value if count else 0):
            handle = self._read(("nvmlDeviceGetMigDeviceHandleByIndex",), self._device, (index, ctypes.c_void_p))
            if handle:
                found.append({"index": index, **self._rows(handle[0], _MIG_ROWS, {})})
        return found

    def _vgpu(self) -> Facts | None:
        filled = self._read(("nvmlDeviceGetGridLicensableFeatures_v4",), self._device, (lib.Features,))
        if not filled or not filled[0].supported:
            return None
        features = [feature for feature in filled[0].features[: filled[0].count] if feature.enabled or feature.state]
        licensed = any(feature.state for feature in features)
        return {"profile": None, "license_status": "Licensed" if licensed else "Unlicensed", "licensed": licensed}

    def _nvlink(self, fields: dict[int, t.Any]) -> Facts | None:
        """NVLinks that the GPU has and that are up, and the speed of each in GB/s."""
        links = fields.get(_FIELD_NVLINKS) or 0
        states = [self._read(("nvmlDeviceGetNvLinkState",), self._device, (link, _UINT)) for link in range(links)]
        known = [state[0].value for state in states if state]
        if not known:
            return None
        speed = fields.get(_FIELD_NVLINK_MBPS) or 0
        return {"links": len(known), "active": sum(known), "speed_gbs": speed / 1000 if sum(known) and speed else None}

    def _fabric(self) -> Facts | None:
        filled = self._read(("nvmlDeviceGetGpuFabricInfoV",), self._device, (lib.FabricV2,))
        filled = filled or self._read(("nvmlDeviceGetGpuFabricInfo",), self._device, (lib.Fabric,))
        if not filled or filled[0].state not in _FABRIC_STATES:
            return None
        info = filled[0]
        digits = bytes(info.cluster).hex()
        completed = info.state == _FABRIC_COMPLETED
        return {
            "state": _FABRIC_STATES[info.state],
            "status": self._nvml.text(info.status) if completed else None,
            "clique_id": info.clique if completed else None,
            "cluster_uuid": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])) if completed else None,
        }

    def _processes(self) -> list[Facts]:
        """Processes that compute, as nvidia-smi's types C, C+G and M+C (a client of MPS)."""
        drawing = {process.pid for process in self._running("Graphics")}
        found = [(process, "C+G" if process.pid in drawing else "C") for process in self._running("Compute")]
        found += [(process, "M+C") for process in self._running("MPSCompute")]
        return [{
            "pid": process.pid,
            "type": kind,
            "name": self._process_name(process.pid),
            "memory_mib": None if process.memory == _NO_MEMORY_VALUE else _started_mib(process.memory),
        } for process, kind in sorted(found, key=lambda item: item[0].pid)]

    def _running(self, kind: str) -> list[t.Any]:
        """Processes of a kind; at most 256."""
        count, array = ctypes.c_uint(256), (lib.Process * 256)()
        functions = (f"nvmlDeviceGet{kind}RunningProcesses_v3", f"nvmlDeviceGet{kind}RunningProcesses_v2")
        answered = self._attempt(self._nvml.call, functions, self._device, ctypes.byref(count), array)
        return list(array[: count.value]) if answered else []

    def _process_name(self, pid: int) -> str | None:
        name = ctypes.create_string_buffer(256)
        try:
            self._nvml.call(("nvmlSystemGetProcessName",), ctypes.c_uint(pid), name, ctypes.c_uint(256))
        except lib.NvmlError:
            return None
        return lib.decoded(name.value)
