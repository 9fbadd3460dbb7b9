# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The PCI bus and the kernel modules, from sysfs and procfs."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

Function = t.Dict[str, t.Any]

PCI = "/sys/bus/pci/devices"
_NVIDIA = "0x10de"
# Attributes that are kept as sysfs writes them (Documentation/ABI/testing/sysfs-bus-pci).
_ATTRIBUTES = (
    "device", "class", "subsystem_vendor", "subsystem_device", "current_link_speed", "max_link_speed", "current_link_width", "max_link_width", "numa_node",
    "enable",
)
# The first lines of `resource` are the six base address registers; IORESOURCE_UNSET marks one that got no address.
_BARS = 6
_UNSET = 0x20000000

_MODULES = re.compile(r"^((?:nvidia|vfio)\w*|nouveau|nova_\w+) \d+ (\d{1,9}|-) (\S+)", re.MULTILINE)


def pci_functions(host: Host, reader: Reader) -> list[Function] | None:
    """NVIDIA's functions on the PCI bus; ``None`` where there is no bus to look at."""
    if not host.exists(PCI):
        reader.error(PCI, "not there: this kernel or container shows no PCI bus")
        return None
    return [_function(host, address) for address in host.listdir(PCI) if host.read_line(f"{PCI}/{address}/vendor") == _NVIDIA]


def _function(host: Host, address: str) -> Function:
    folder = f"{PCI}/{address}"
    return {
        "address": address,
        "vendor": _NVIDIA,
        **{name: host.read_line(f"{folder}/{name}") for name in _ATTRIBUTES},
        "driver": host.readlink(f"{folder}/driver"),
        "iommu_group": host.readlink(f"{folder}/iommu_group"),
        "is_virtual_function": host.exists(f"{folder}/physfn"),
        "bars": _bars(host.read_line(f"{folder}/resource")),
    }


def _bars(resource: str | None) -> list[int] | None:
    """Sizes in bytes of the base address registers that have an address."""
    if resource is None:
        return None
    lines = [re.findall(r"0x([0-9a-f]+)", line) for line in resource.splitlines()[:_BARS]]
    regions = [tuple(int(number, 16) for number in numbers) for numbers in lines if len(numbers) == 3]
    return [end - start + 1 for start, end, flags in regions if 0 < start < end and not flags & _UNSET]


def loaded_modules(host: Host) -> list[dict[str, t.Any]]:
    """Kernel modules that may hold a GPU; ``refcount`` is ``None`` where the kernel can't unload any and so doesn't count."""
    try:
        text = host.read_bytes("/proc/modules").decode("utf-8", "replace")
    except OSError:
        return []
    return [
        {"name": name, "refcount": int(count) if count.isdecimal() else None, "used_by": [user for user in users.split(",") if user not in ("", "-")]}
        for name, count, users in _MODULES.findall(text)
    ]
