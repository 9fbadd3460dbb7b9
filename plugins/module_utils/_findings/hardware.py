# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on the PCI bus: which GPUs are there, and what keeps NVIDIA's driver from them."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci, platform
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import INFO, WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings

# The smallest window onto a GPU's memory (BAR 1) is 256 MiB; the other windows have at most 32 MiB.
_SMALLEST_MEMORY_WINDOW_MIB = 64


def no_gpu(facts: Facts, node: str) -> Findings:
    """The bus is readable and has no GPU, on a platform where it should."""
    without = node_parts.part(facts, "platform").get("kind") in platform.WITHOUT_PCI_GPU
    if facts["pci"] is None or pci.gpus(facts["pci"]) or node_parts.part(facts, "driver").get("attached_gpus") or without:
        return []
    others = len(facts["pci"])
    summary = f"No NVIDIA GPU on the PCI bus; other NVIDIA devices: {others}." if others else "No NVIDIA device on the PCI bus."
    shown = seen("/sys/bus/pci/devices", f"{others} functions of vendor 10de, none of class 0300 or 0302")
    return [finding("NoGpu", kind="node", name=node, summary=summary, evidence=[shown])]


def bound_to_vfio(facts: Facts, node: str) -> Findings:
    """GPUs are reserved for virtual machines; where only some are, that is somebody's plan."""
    gpus = node_parts.pci_gpus(facts)
    reserved = [gpu for gpu in gpus if pci.is_passthrough(gpu["driver"])]
    if not reserved:
        return []
    return [
        finding(
            "BoundToVfio",
            kind="node",
            name=node,
            summary=f"{len(reserved)} of {len(gpus)} GPUs are bound to {reserved[0]['driver']}.",
            evidence=node_parts.bound(reserved),
            severity=WARNING if len(reserved) == len(gpus) else INFO,
        )
    ]


def driver_conflict(facts: Facts, node: str) -> Findings:
    """Another driver than NVIDIA's holds a GPU, as the bus shows it or, where nobody looked there, as NVIDIA's module found it."""
    held = [gpu for gpu in pci.gpus(facts["pci"] or []) if pci.is_foreign(gpu["driver"])]
    told = _told_of_conflict(facts)
    if not held and not told:
        return []
    name = held[0]["driver"] if held else node_parts.part(facts, "driver").get("conflicting_driver")
    count = len(held) or sum(event["details"].get("devices", 1) for event in told)
    blacklist = name or "nouveau"
    return [
        finding(
            "DriverConflict",
            kind="node",
            name=node,
            summary=f"{'The kernel driver ' + name if name else 'Another kernel driver, most likely nouveau,'} holds {count} of the GPUs; nvidia was expected.",
            evidence=node_parts.bound(held) or node_parts.logged(told),
            next_step=f"Put `blacklist {blacklist}` into a file of /etc/modprobe.d, rebuild the initramfs (`update-initramfs -u` or `dracut -f`) and reboot.",
        )
    ]


def _told_of_conflict(facts: Facts) -> Findings:
    """Events by which NVIDIA's module found its GPUs taken, where nothing shows that it got them since."""
    driver = node_parts.part(facts, "driver")
    modules = driver.get("loaded_modules")
    if driver.get("loaded_version") or driver.get("attached_gpus") or any(gpu["driver"] for gpu in pci.gpus(facts["pci"] or [])):
        return []
    if modules is not None and driver.get("conflicting_driver") is None:
        return []
    return node_parts.events(facts, "already_bound", "not_probed")


def bar_not_assigned(facts: Facts, node: str) -> Findings:
    """A GPU that the driver doesn't list has no address for its memory: by its windows on the bus, or by what the log says."""
    known = node_parts.listed(facts)
    small = [
        gpu
        for gpu in node_parts.pci_gpus(facts)
        if gpu["address"] not in known and gpu["bars_mib"] is not None and max(gpu["bars_mib"], default=0) < _SMALLEST_MEMORY_WINDOW_MIB
    ]
    on_bus = {gpu["address"] for gpu in node_parts.pci_gpus(facts)}
    told = [
        event
        for event in node_parts.events(facts, "bar_not_assigned", "bar_unassigned")
        if event["pci_address"] not in known and (event["kind"] == "bar_not_assigned" or event["pci_address"] in on_bus)
    ]
    if node_parts.answers(facts) and len(known) >= len(on_bus) > 0:
        return []
    return [
        finding(
            "PciBarNotAssigned",
            kind="gpu",
            name=address,
            summary=f"The GPU at {address} on {node} has no address for its memory window (BAR); windows with an address: {windows}.",
            evidence=shown,
        )
        for address, (windows, shown) in _by_address(small, told).items()
    ]


def _by_address(small: list[Facts], told: list[Facts]) -> dict[str, tuple[str, list[dict[str, str]]]]:
    found: dict[str, tuple[str, list[dict[str, str]]]] = {}
    for gpu in small:
        windows = ", ".join(f"{size} MiB" for size in gpu["bars_mib"]) or "none"
        found[gpu["address"]] = (windows, [seen(f"/sys/bus/pci/devices/{gpu['address']}/resource", windows)])
    for event in told:
        windows, shown = found.get(event["pci_address"], ("unknown", []))
        found[event["pci_address"]] = (windows, (shown + node_parts.logged([event]))[: node_parts.EVIDENCE_LIMIT])
    return found


# In the order of causes: what stands first explains what follows.
RULES = (no_gpu, bound_to_vfio, driver_conflict, bar_not_assigned)
