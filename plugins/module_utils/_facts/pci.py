# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. PCI functions and the drivers that hold them."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import number, text

# Base class and subclass of the PCI Code and ID Assignment Specification. A GPU is a VGA or a 3D controller; an NVSwitch is a bridge.
_KINDS = {"0300": "gpu", "0302": "gpu", "0680": "nvswitch", "0403": "audio"}
# Names that the kernel gives a driver on the bus where they differ from its module's.
_MODULES = {"NovaCore": "nova_core"}
_PASSTHROUGH = frozenset(("vfio-pci", "pci-stub", "xen-pciback", "nvgrace-gpu-vfio-pci", "nvidia-vgpu-vfio"))
_SPEED = re.compile(r"^(\d+(?:\.\d+)?) GT/s")
_WHOLE = re.compile(r"^-?\d{1,9}$")
_ADDRESS = re.compile(r"^(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?$", re.IGNORECASE)


def address(value: str) -> str | None:
    """A PCI address in the form of sysfs: ``00000000:3B:00.0`` and ``3b:00`` both give ``0000:3b:00.0``; ``None`` where it isn't one."""
    match = _ADDRESS.match(value.strip())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus.lower()}:{device.lower()}.{function or '0'}"


def functions(found: t.Sequence[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """NVIDIA's functions on the bus.

    Speeds are in GT/s, the memory windows (BARs) that have an address in MiB.

    :param found: the evidence's ``pci``: ids, classes and link values as sysfs writes them (``0x10de``, ``0x030200``, ``32.0 GT/s PCIe``).
    """
    return [_function(item) for item in found]


def _function(item: dict[str, t.Any]) -> dict[str, t.Any]:
    pci_class = _hexadecimal(item.get("class"))[:4]
    driver = text(item.get("driver")) or None
    subsystem = [_hexadecimal(item.get(f"subsystem_{name}")) for name in ("vendor", "device")]
    bars = item.get("bars")
    return {
        "address": address(text(item.get("address"))) or text(item.get("address")),
        "vendor_id": _hexadecimal(item.get("vendor")),
        "device_id": _hexadecimal(item.get("device")),
        "class": pci_class,
        "kind": _KINDS.get(pci_class, "other"),
        "driver": module_name(driver) if driver else None,
        "subsystem_id": ":".join(subsystem) if all(subsystem) else None,
        "link_speed_gts": _speed(item.get("current_link_speed")),
        "max_link_speed_gts": _speed(item.get("max_link_speed")),
        "link_width": _positive(item.get("current_link_width")),
        "max_link_width": _positive(item.get("max_link_width")),
        "numa_node": _not_negative(item.get("numa_node")),
        "iommu_group": _not_negative(item.get("iommu_group")),
        "is_virtual_function": item["is_virtual_function"] if isinstance(item.get("is_virtual_function"), bool) else None,
        "bars_mib": [size // 2**20 for size in bars if number(size) is not None] if isinstance(bars, list) else None,
    }


def module_name(driver: str) -> str:
    """The kernel module of a driver that the bus or the log names: ``NovaCore`` gives ``nova_core``."""
    return _MODULES.get(driver, driver)


def _speed(value: t.Any) -> float | None:
    """Gigatransfers per second from ``8.0 GT/s PCIe``; ``None`` for ``Unknown``."""
    match = _SPEED.match(text(value).strip())
    return float(match.group(1)) if match else None


def _whole(value: t.Any) -> int | None:
    """A number that sysfs wrote as text, or that is one."""
    digits = text(value).strip()
    return int(digits) if _WHOLE.match(digits) else number(value)


def _not_negative(value: t.Any) -> int | None:
    """A number, for which sysfs writes -1 where there is none."""
    found = _whole(value)
    return found if found is not None and found >= 0 else None


def _positive(value: t.Any) -> int | None:
    """A number, for which sysfs writes 0 where it isn't known."""
    return _not_negative(value) or None


def _hexadecimal(value: t.Any) -> str:
    digits = text(value).lower()
    return digits[2:] if digits.startswith("0x") else digits


def gpus(facts: t.Sequence[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """The GPUs among the functions."""
    return [item for item in facts if item["kind"] == "gpu"]


def is_passthrough(driver: str | None) -> bool:
    """Whether a driver only reserves the device for virtual machines."""
    return driver in _PASSTHROUGH


def is_foreign(driver: str | None) -> bool:
    """Whether a driver keeps NVIDIA's from binding."""
    return driver is not None and driver != "nvidia" and not is_passthrough(driver)
