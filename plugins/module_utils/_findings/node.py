# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a node's hardware and driver."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import driver as driver_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci, platform
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, INFO, WARNING, finding, seen

Facts = t.Dict[str, t.Any]
Findings = t.List[t.Dict[str, t.Any]]

_SMI = "nvidia-smi -q -x"
_EVIDENCE_LIMIT = 8

# Exit codes of nvidia-smi that name a cause by themselves (nvidia-smi(1), RETURN VALUE).
_EXIT_CODES = {6: "NoGpuBoundToDriver", 14: "InfoRomCorrupted", 15: "GpuFallenOffBus"}
# What the field gpu_recovery_action asks for; "None" asks for nothing.
_RECOVERY = {
    "Reset": "GpuResetRequired",
    "GPU Reset Required": "GpuResetRequired",
    "Drain and Reset": "GpuResetRequired",
    "Reboot": "NodeRebootRequired",
    "Node Reboot Required": "NodeRebootRequired",
}


def no_gpu(facts: Facts, node: str) -> Findings:
    """The bus is readable and has no GPU, on a platform where it should."""
    if facts["pci"] is None or pci.gpus(facts["pci"]) or _works(facts) or _platform(facts) in platform.WITHOUT_PCI_GPU:
        return []
    others = len(facts["pci"])
    summary = f"No NVIDIA GPU on the PCI bus; other NVIDIA devices: {others}." if others else "No NVIDIA device on the PCI bus."
    shown = seen("/sys/bus/pci/devices", f"{others} functions of vendor 10de, none of class 0300 or 0302")
    return [finding("NoGpu", kind="node", name=node, summary=summary, evidence=[shown])]


def bound_to_vfio(facts: Facts, node: str) -> Findings:
    """GPUs are reserved for virtual machines; where only some are, that is somebody's plan."""
    gpus = pci.gpus(facts["pci"] or [])
    reserved = [gpu for gpu in gpus if pci.is_passthrough(gpu["driver"])]
    if not reserved:
        return []
    return [
        finding(
            "BoundToVfio",
            kind="node",
            name=node,
            summary=f"{len(reserved)} of {len(gpus)} GPUs are bound to {reserved[0]['driver']}.",
            evidence=_bound(reserved),
            severity=WARNING if len(reserved) == len(gpus) else INFO,
        )
    ]


def driver_conflict(facts: Facts, node: str) -> Findings:
    """Another driver than NVIDIA's holds a GPU."""
    held = [gpu for gpu in pci.gpus(facts["pci"] or []) if pci.is_foreign(gpu["driver"])]
    if not held:
        return []
    name = held[0]["driver"]
    return [
        finding(
            "DriverConflict",
            kind="node",
            name=node,
            summary=f"The kernel driver {name} holds {len(held)} of the GPUs; nvidia was expected.",
            evidence=_bound(held),
            next_step=f"Put `blacklist {name}` into a file of /etc/modprobe.d, rebuild the initramfs (`update-initramfs -u` or `dracut -f`) and reboot.",
        )
    ]


def driver_not_installed(facts: Facts, node: str) -> Findings:
    """GPUs wait for a driver and none is there; on a node where nothing of NVIDIA's is, that is its state and not a fault."""
    driver = facts["driver"]
    if driver is None or not _waits_for_driver(facts) or _is_installed(driver):
        return []
    bare = not driver["packages"]
    return [
        finding(
            "DriverNotInstalled",
            kind="node",
            name=node,
            summary=f"GPUs on the PCI bus: {len(pci.gpus(facts['pci']))}, but no driver: no package is installed and the running kernel has no module.",
            evidence=[seen("/lib/modules", "no nvidia.ko for the running kernel"), *_packages(driver["packages"])],
            severity=WARNING if bare else ERROR,
        )
    ]


def driver_not_loaded(facts: Facts, node: str) -> Findings:
    """The driver is on the disk and not in the kernel."""
    driver = facts["driver"]
    if driver is None or not _waits_for_driver(facts) or not _is_installed(driver):
        return []
    version = driver["installed_version"] or "of an unknown version"
    return [
        finding(
            "DriverNotLoaded",
            kind="node",
            name=node,
            summary=f"The driver {version} is installed, but its kernel module is not loaded.",
            evidence=[
                seen(driver_facts.SYS_VERSION, "not there"),
                *_packages(driver["packages"]),
                *(seen("modules.dep", path) for path in driver["module_files"][:1]),
            ],
        )
    ]


def library_mismatch(facts: Facts, node: str) -> Findings:
    """Kernel module and libraries are of two versions, by their files or by what NVML says."""
    driver = facts["driver"]
    if driver is None or driver["loaded_version"] is None:
        return []
    smi = driver["nvidia_smi"]
    said = smi is not None and smi["exit_code"] == driver_facts.EXIT_MISMATCH
    if not said and driver_facts.same_version(driver["loaded_version"], driver["userspace_version"]):
        return []
    return [
        finding(
            "DriverLibraryMismatch",
            kind="node",
            name=node,
            summary=f"The loaded kernel module is {driver['loaded_version']}, the libraries are {driver['userspace_version'] or 'of an unknown version'}.",
            evidence=[seen(driver_facts.PROC_VERSION, driver["loaded_version"]), *_smi(driver)],
        )
    ]


def smi_timeout(facts: Facts, node: str) -> Findings:
    """nvidia-smi hangs."""
    driver = facts["driver"]
    if driver is None or driver["nvidia_smi"] is None or not driver["nvidia_smi"]["timed_out"]:
        return []
    shown = seen(_SMI, "stopped after the option timeout")
    return [finding("NvidiaSmiTimeout", kind="node", name=node, summary="nvidia-smi did not answer in time.", evidence=[shown])]


def smi_exit_code(facts: Facts, node: str) -> Findings:
    """nvidia-smi's exit code names the cause."""
    smi = (facts["driver"] or {}).get("nvidia_smi") or {"exit_code": None}
    code = _EXIT_CODES.get(smi["exit_code"])
    if code is None:
        return []
    return [finding(code, kind="node", name=node, summary=f"nvidia-smi ends with exit code {smi['exit_code']}.", evidence=_smi(facts["driver"]))]


def gpu_count_mismatch(facts: Facts, node: str) -> Findings:
    """The driver has fewer GPUs than the bus shows as its own."""
    driver = facts["driver"] or {}
    attached = driver.get("attached_gpus")
    expected = [gpu["address"] for gpu in pci.gpus(facts["pci"] or []) if gpu["driver"] in ("nvidia", None)]
    if attached is None or attached >= len(expected):
        return []
    listed = {gpu["pci_address"] for gpu in facts["gpus"] or []}
    missing = [address for address in expected if address not in listed]
    return [
        finding(
            "GpuCountMismatch",
            kind="node",
            name=node,
            summary=f"GPUs on the PCI bus: {len(expected)}, in the driver: {attached}; missing: {', '.join(missing) or 'unknown'}.",
            evidence=[seen(f"/sys/bus/pci/devices/{address}", "not listed by nvidia-smi") for address in missing[:_EVIDENCE_LIMIT]],
        )
    ]


def recovery_action(facts: Facts, node: str) -> Findings:
    """A GPU asks to be reset, or for a reboot."""
    asking = [(gpu, _RECOVERY[gpu["recovery_action"]]) for gpu in facts["gpus"] or [] if gpu["recovery_action"] in _RECOVERY]
    return [
        finding(
            code,
            kind="gpu",
            name=gpu["uuid"] or gpu["pci_address"] or str(gpu["index"]),
            summary=f"GPU {gpu['index']} at {gpu['pci_address']} on {node} asks for: {gpu['recovery_action']}.",
            evidence=[seen(f"{_SMI}: gpu_recovery_action", gpu["recovery_action"])],
        )
        for gpu, code in asking
    ]


def packages_interrupted(facts: Facts, node: str) -> Findings:
    """dpkg was stopped half-way."""
    half = [(package["name"], package["status"]) for subset in ("driver", "toolkit") for package in _half_states(facts[subset])]
    if not half:
        return []
    return [
        finding(
            "PackagesInterrupted",
            kind="node",
            name=node,
            summary=f"Packages between installed and removed: {', '.join(name for name, _status in half[:_EVIDENCE_LIMIT])}.",
            evidence=[seen("dpkg-query", f"{status} {name}") for name, status in half[:_EVIDENCE_LIMIT]],
        )
    ]


# In the order of causes: what stands first explains what follows.
RULES = (
    no_gpu,
    bound_to_vfio,
    driver_conflict,
    packages_interrupted,
    driver_not_installed,
    driver_not_loaded,
    library_mismatch,
    smi_timeout,
    smi_exit_code,
    gpu_count_mismatch,
    recovery_action,
)


def _platform(facts: Facts) -> str | None:
    return (facts["platform"] or {}).get("kind")


def _works(facts: Facts) -> bool:
    return bool((facts["driver"] or {}).get("attached_gpus"))


def _waits_for_driver(facts: Facts) -> bool:
    """Whether a GPU is free for NVIDIA's driver and that isn't loaded."""
    free = [gpu for gpu in pci.gpus(facts["pci"] or []) if gpu["driver"] is None]
    return bool(free) and facts["driver"]["loaded_version"] is None


def _is_installed(driver: Facts) -> bool:
    return driver["installed_version"] is not None or bool(driver["module_files"])


def _half_states(subset: Facts | None) -> list[Facts]:
    names = (subset or {}).get("interrupted_packages", [])
    return [package for package in (subset or {}).get("packages", []) if package["name"] in names]


def _bound(gpus: t.Sequence[Facts]) -> list[dict[str, str]]:
    return [seen(f"/sys/bus/pci/devices/{gpu['address']}/driver", gpu["driver"]) for gpu in gpus[:_EVIDENCE_LIMIT]]


def _packages(found: t.Sequence[Facts]) -> list[dict[str, str]]:
    return [seen("dpkg-query", f"{package['status']} {package['name']} {package['version']}") for package in found[:3]]


def _smi(driver: Facts) -> list[dict[str, str]]:
    smi = driver["nvidia_smi"]
    return [] if smi is None else [seen(_SMI, f"exit code {smi['exit_code']}: {smi['message'] or 'no message'}")]
