# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The driver: what is loaded, what is installed, and whether they are of one version."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpus, pci, services, smi_error
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import packages as pkg
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mappings, number, text, texts

PROC_VERSION = "/proc/driver/nvidia/version"
SYS_VERSION = "/sys/module/nvidia/version"
DKMS = "dkms_status"

# "... Kernel Module  520.56.06  <date>" and "... Open Kernel Module for x86_64  580.159.04  <text>": the date may be in any language, so nothing
# behind the version is looked at.
_NVRM = re.compile(r"^NVRM version:.*?\b(Open )?Kernel Module\b(?: for \S+)?\s+(\d+(?:\.\d+)+)", re.MULTILINE)
_VERSION = re.compile(r"^\d+(?:\.\d+)+$")
_LIBRARY = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")
_NVML_VERSION = re.compile(r"NVML library version:\s*(\d+(?:\.\d+)+)")
# Modules of the kernel that drive an NVIDIA GPU in place of NVIDIA's.
_FOREIGN = ("nouveau", "nova_core")
_WORKING = (0, smi_error.INFOROM)

Functions = t.Sequence[t.Dict[str, t.Any]]
Log = t.Optional[t.Dict[str, t.Any]]


def facts(evidence: Evidence, packages: t.Sequence[pkg.Package], functions: Functions, reading: gpus.Reading, log: Log) -> dict[str, t.Any]:
    """The driver's facts.

    :param functions: the facts of the PCI functions.
    :param reading: what the driver's user space said.
    :param log: the kernel log's facts; ``None`` where it wasn't looked at.
    """
    loaded, flavour = loaded_module(evidence)
    mine = pkg.driver(packages)
    userspace = userspace_version(evidence, packages, reading)
    installed = pkg.module_version(packages) or pkg.library_version(packages)
    return {
        "source": reading.source,
        "loaded_version": loaded,
        "kernel_module": flavour,
        "userspace_version": userspace,
        "installed_version": installed,
        "pending_version": None if loaded is None or same_version(loaded, installed) else installed,
        "attached_gpus": reading.attached_gpus,
        "cuda_version": reading.cuda_version,
        "packages": [package.as_fact() for package in mine],
        "held": any(package.held for package in mine),
        "interrupted_packages": [package.name for package in mine if package.interrupted],
        "module_files": evidence.modules,
        "other_kernels": _other_kernels(evidence),
        "dkms": services.dkms(evidence.stdout(DKMS)),
        "loaded_modules": _loaded_modules(evidence),
        "services": services.facts(evidence, packages),
        "conflicting_driver": conflicting_driver(evidence, functions, log),
        "nvidia_smi": reading.command,
        "failure": reading.failure,
        "healthy": _healthy(loaded, userspace, reading),
    }


def loaded_module(evidence: Evidence) -> tuple[str | None, str | None]:
    """Version and flavour (``open``, ``proprietary``) of the loaded kernel module."""
    match = _NVRM.search(evidence.files.get(PROC_VERSION, ""))
    if match:
        return match.group(2), "open" if match.group(1) else "proprietary"
    version = evidence.files.get(SYS_VERSION, "").strip()
    return (version if _VERSION.match(version) else None), None


def userspace_version(evidence: Evidence, packages: t.Sequence[pkg.Package], reading: gpus.Reading) -> str | None:
    """The version of the libraries: as they answered, else as they lie on the disk, else as they say why they can't answer, else of their package."""
    if reading.driver_version:
        return reading.driver_version
    said = _NVML_VERSION.search((reading.command or {}).get("message") or "")
    on_disk = [match.group(1) for match in (_LIBRARY.search(text(item.get("target"))) for item in evidence.libraries) if match]
    return next(iter(on_disk), None) or (said.group(1) if said else None) or pkg.library_version(packages)


def same_version(left: str | None, right: str | None) -> bool:
    """Whether two versions agree as far as both go: NVML abbreviates its own (``580.159`` for ``580.159.04``). An unknown one agrees with any."""
    if left is None or right is None:
        return True
    pairs = zip(left.split("."), right.split("."))
    return all(one == other for one, other in pairs)


def conflicting_driver(evidence: Evidence, functions: Functions, log: Log) -> str | None:
    """Another driver that holds a GPU: as the bus shows it now, else as NVIDIA's module found it and nothing shows that it is gone."""
    bound = next((item["driver"] for item in pci.gpus(functions) if pci.is_foreign(item["driver"])), None)
    loaded = None if evidence.loaded_modules is None else [text(module.get("name")) for module in evidence.loaded_modules]
    if bound is not None or any(item["driver"] for item in pci.gpus(functions)):
        return bound
    events = (log or {}).get("events", [])
    told = next((event["details"]["driver"] for event in events if event["kind"] == "already_bound" and "driver" in event["details"]), None)
    if loaded is None:
        return told
    refused = any(event["kind"] in ("already_bound", "not_probed") for event in events)
    return next((name for name in _FOREIGN if refused and name in loaded), None)


def _other_kernels(evidence: Evidence) -> list[dict[str, t.Any]]:
    """Installed kernels besides the running one, and whether they have NVIDIA's module."""
    return [{"kernel": text(kernel.get("release")), "has_module": bool(texts(kernel.get("module_files")))} for kernel in mappings(evidence.host.get("kernels"))]


def _loaded_modules(evidence: Evidence) -> list[dict[str, t.Any]] | None:
    if evidence.loaded_modules is None:
        return None
    return [
        {"name": text(module.get("name")), "refcount": number(module.get("refcount")), "used_by": texts(module.get("used_by"))}
        for module in evidence.loaded_modules
    ]


def _healthy(loaded: str | None, userspace: str | None, reading: gpus.Reading) -> bool:
    failure = reading.failure
    hangs = reading.command is not None and reading.command["timed_out"]
    failed = hangs or (failure is not None and failure["code"] not in _WORKING)
    return (loaded is not None or reading.source is not None) and not failed and same_version(loaded, userspace)
