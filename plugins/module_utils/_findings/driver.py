# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a node's driver: installed, loaded, of one version, and right for its GPUs."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import architecture, smi_error
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import driver as driver_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings


def packages_interrupted(facts: Facts, node: str) -> Findings:
    """dpkg was stopped half-way."""
    half = [(package["name"], package["status"]) for subset in ("driver", "toolkit") for package in _half_states(facts[subset])]
    if not half:
        return []
    shown = half[: node_parts.EVIDENCE_LIMIT]
    return [
        finding(
            "PackagesInterrupted",
            kind="node",
            name=node,
            summary=f"Packages between installed and removed: {', '.join(name for name, _status in shown)}.",
            evidence=[seen("dpkg-query", f"{status} {name}") for name, status in shown],
        )
    ]


def signature_rejected(facts: Facts, node: str) -> Findings:
    """The kernel refused the module for its signature, and it isn't loaded now. Where it doesn't name the module, ours has to be there to be the one."""
    driver = node_parts.part(facts, "driver")
    installed = driver.get("installed_version") or driver.get("module_files")
    refused = [event for event in node_parts.events(facts, "signature_rejected") if installed or "nvidia" in event["text"]]
    if not refused or driver.get("loaded_version") or driver.get("attached_gpus"):
        return []
    secure_boot = {True: "on", False: "off", None: "unknown"}[node_parts.part(facts, "platform").get("secure_boot")]
    return [
        finding(
            "ModuleSignatureRejected",
            kind="node",
            name=node,
            summary=f"The kernel refused NVIDIA's module for its signature {sum(event['count'] for event in refused)} times; Secure Boot: {secure_boot}.",
            evidence=node_parts.logged(refused),
        )
    ]


def driver_unsupported(facts: Facts, node: str) -> Findings:
    """A GPU that the driver leaves out is of a generation that this branch or module flavour doesn't drive."""
    driver = node_parts.part(facts, "driver")
    log = node_parts.part(facts, "kernel_log")
    version = driver.get("loaded_version") or log.get("driver_version")
    flavour = driver.get("kernel_module") or log.get("kernel_module")
    known = node_parts.listed(facts)
    told = {event["pci_address"]: event for event in node_parts.events(facts, "unsupported") if event["pci_address"] not in known}
    found = []
    for gpu in node_parts.pci_gpus(facts):
        reason = None if gpu["address"] in known or gpu["driver"] not in ("nvidia", None) else _why_unsupported(gpu["device_id"], version, flavour)
        if reason is not None:
            event = told.pop(gpu["address"], None)
            shown = [seen(f"/sys/bus/pci/devices/{gpu['address']}/device", gpu["device_id"]), *node_parts.logged([event] if event else [])]
            found.append(_unsupported(gpu["address"], node, reason, shown))
    return found + [_unsupported(address, node, "the driver refuses the GPU", node_parts.logged([event])) for address, event in told.items()]


def _unsupported(address: str, node: str, reason: str, shown: list[dict[str, str]]) -> Facts:
    return finding("DriverUnsupported", kind="gpu", name=address, summary=f"The GPU at {address} on {node} is not driven: {reason}.", evidence=shown)


def _why_unsupported(device_id: str, version: str | None, flavour: str | None) -> str | None:
    support = architecture.support(device_id)
    if support is None or version is None:
        return None
    generation = architecture.of_device(device_id)
    branch = int(version.partition(".")[0])
    if support.last_branch is not None and branch > support.last_branch:
        return f"{generation} needs a driver up to branch {support.last_branch}, loaded is {version}"
    if flavour is not None and flavour not in support.flavours:
        return f"{generation} needs the {support.flavours[0]} kernel modules, loaded are the {flavour} ones of {version}"
    return None


def driver_not_installed(facts: Facts, node: str) -> Findings:
    """GPUs wait for a driver and none is there, where somebody looked; on a node where nothing of NVIDIA's is, that is its state and not a fault."""
    driver = facts["driver"]
    if driver is None or not _waits_for_driver(facts) or _is_installed(driver):
        return []
    bare = not driver["packages"]
    if bare and driver["module_files"] is None:
        return []
    elsewhere = [other["kernel"] for other in driver["other_kernels"] if other["has_module"]]
    return [
        finding(
            "DriverNotInstalled",
            kind="node",
            name=node,
            summary=f"GPUs on the PCI bus: {len(node_parts.pci_gpus(facts))}, but no driver: no package is installed and the running kernel has no module.",
            evidence=[
                seen("/lib/modules", "no nvidia.ko for the running kernel" + (f"; there is one for {', '.join(elsewhere[:3])}" if elsewhere else "")),
                *node_parts.packages(driver["packages"]),
            ],
            severity=WARNING if bare else ERROR,
        )
    ]


def driver_not_loaded(facts: Facts, node: str) -> Findings:
    """The driver is on the disk and not in the kernel, or nobody looked at the bus and nvidia-smi finds no driver."""
    driver = facts["driver"]
    if driver is None:
        return []
    only_said = facts["pci"] is None and driver["loaded_version"] is None and _failure_code(driver) == smi_error.NOT_LOADED
    if not only_said and (not _waits_for_driver(facts) or not _is_installed(driver)):
        return []
    version = driver["installed_version"]
    unbuilt = [build for build in driver["dkms"] if not build["state"].startswith("installed")]
    return [
        finding(
            "DriverNotLoaded",
            kind="node",
            name=node,
            summary=f"The driver {version} is installed, but its kernel module is not loaded." if version else "The driver's kernel module is not loaded.",
            evidence=[
                *([] if only_said else [seen(driver_facts.SYS_VERSION, "not there")]),
                *node_parts.packages(driver["packages"]),
                *(seen("modules.dep", path) for path in (driver["module_files"] or [])[:1]),
                *(seen("dkms status", f"{build['module']} {build['version']}, {build['kernel']}: {build['state']}") for build in unbuilt[:3]),
                *node_parts.failed(driver),
            ],
        )
    ]


def library_mismatch(facts: Facts, node: str) -> Findings:
    """Kernel module and libraries are of two versions, by their files or by what NVML says."""
    driver = facts["driver"]
    if driver is None or not _mismatch(driver):
        return []
    shown = [seen(driver_facts.PROC_VERSION, driver["loaded_version"])] if driver["loaded_version"] else []
    loaded, libraries = (driver[name] or "of an unknown version" for name in ("loaded_version", "userspace_version"))
    return [
        finding(
            "DriverLibraryMismatch",
            kind="node",
            name=node,
            summary=f"The loaded kernel module is {loaded}, the libraries are {libraries}.",
            evidence=shown + node_parts.failed(driver),
        )
    ]


def driver_pending(facts: Facts, node: str) -> Findings:
    """Another driver is installed than the one that is loaded, which still works with its libraries."""
    driver = facts["driver"]
    if driver is None or driver["pending_version"] is None or _mismatch(driver):
        return []
    return [
        finding(
            "NodeRebootRequired",
            kind="node",
            name=node,
            summary=f"The driver {driver['pending_version']} is installed and takes effect with a reboot; loaded is {driver['loaded_version']}.",
            evidence=[seen(driver_facts.PROC_VERSION, driver["loaded_version"]), *node_parts.packages(driver["packages"])],
        )
    ]


def driver_in_use(facts: Facts, node: str) -> Findings:
    """A driver that has to be replaced can't be, since something holds it."""
    driver = facts["driver"]
    if driver is None or not (_mismatch(driver) or driver["pending_version"]):
        return []
    holders = [
        seen("/proc/modules", f"{module['name']}: {module['refcount']} users, of which modules: {', '.join(module['used_by']) or 'none'}")
        for module in driver["loaded_modules"] or []
        if module["name"].startswith("nvidia") and (module["refcount"] or 0) > len(module["used_by"])
    ]
    holders += [seen(f"{node_parts.source(facts)}: processes", f"{item['pid']} {item['name']}") for gpu in node_parts.gpus(facts) for item in gpu["processes"]]
    holders += node_parts.logged(node_parts.events(facts, "module_in_use"))
    if not holders:
        return []
    summary = f"Clients hold the loaded driver {driver['loaded_version'] or ''}".rstrip() + ", so it can't be replaced without stopping them or a reboot."
    return [finding("DriverInUse", kind="node", name=node, summary=summary, evidence=holders[: node_parts.EVIDENCE_LIMIT])]


def smi_timeout(facts: Facts, node: str) -> Findings:
    """nvidia-smi hangs."""
    said = node_parts.part(facts, "driver").get("nvidia_smi")
    if said is None or not said["timed_out"]:
        return []
    shown = seen("nvidia-smi", "stopped after the option timeout")
    return [finding("NvidiaSmiTimeout", kind="node", name=node, summary="nvidia-smi did not answer in time.", evidence=[shown])]


def failure_code(facts: Facts, node: str) -> Findings:
    """The driver's user space gives no answer, and the code or the text says why."""
    driver = node_parts.part(facts, "driver")
    failure = driver.get("failure")
    if failure is None:
        return []
    code = _code(failure)
    if code is None:
        return []
    bus_id = smi_error.handle(failure["text"])
    summary = f"{failure['where']} ends with code {failure['code']}" + (f" for the GPU {bus_id}." if bus_id else ".")
    return [finding(code, kind="node", name=node, summary=summary, evidence=node_parts.failed(driver))]


# Codes of nvidia-smi and NVML that name a cause by themselves (nvidia-smi(1), RETURN VALUE).
_CODES = {
    smi_error.NO_DEVICE: "NoGpuBoundToDriver",
    smi_error.LOST: "GpuFallenOffBus",
    smi_error.RESET_REQUIRED: "GpuResetRequired",
}


def _code(failure: Facts) -> str | None:
    """What a text says more precisely than its code comes first."""
    if "gpu is lost" in failure["text"].lower():
        return "GpuLost"
    if failure["code"] not in _CODES and smi_error.handle(failure["text"]) is not None:
        return "GpuHandleError"
    return _CODES.get(failure["code"])


# In the order of causes: what stands first explains what follows.
RULES = (
    packages_interrupted,
    signature_rejected,
    driver_unsupported,
    driver_not_installed,
    driver_not_loaded,
    library_mismatch,
    smi_timeout,
    failure_code,
    driver_pending,
    driver_in_use,
)


def _failure_code(driver: Facts) -> int | None:
    failure: t.Optional[Facts] = driver.get("failure")
    return failure["code"] if failure else None


def _mismatch(driver: Facts) -> bool:
    if _failure_code(driver) == smi_error.MISMATCH:
        return True
    return driver["loaded_version"] is not None and not driver_facts.same_version(driver["loaded_version"], driver["userspace_version"])


def _waits_for_driver(facts: Facts) -> bool:
    """Whether a GPU is free for NVIDIA's driver and that isn't loaded."""
    free = [gpu for gpu in node_parts.pci_gpus(facts) if gpu["driver"] is None]
    return bool(free) and facts["driver"]["loaded_version"] is None


def _is_installed(driver: Facts) -> bool:
    return driver["installed_version"] is not None or bool(driver["module_files"])


def _half_states(subset: Facts | None) -> list[Facts]:
    names = (subset or {}).get("interrupted_packages", [])
    return [package for package in (subset or {}).get("packages", []) if package["name"] in names]
