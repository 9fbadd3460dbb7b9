# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The driver: what is loaded, what is installed, and whether they are of one version."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import packages as pkg
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Command, Evidence, text

PROC_VERSION = "/proc/driver/nvidia/version"
SYS_VERSION = "/sys/module/nvidia/version"
SMI = "nvidia_smi_xml"

# "... Kernel Module  520.56.06  <date>" and "... Open Kernel Module for x86_64  580.159.04  <text>": the date may be in any language, so nothing
# behind the version is looked at.
_NVRM = re.compile(r"^NVRM version:.*?\b(Open )?Kernel Module\b(?: for \S+)?\s+(\d+(?:\.\d+)+)", re.MULTILINE)
_VERSION = re.compile(r"^\d+(?:\.\d+)+$")
_LIBRARY = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")
_NVML_VERSION = re.compile(r"NVML library version:\s*(\d+(?:\.\d+)+)")

# nvidia-smi(1), RETURN VALUE; 18 is what NVML_ERROR_LIB_RM_VERSION_MISMATCH comes to.
EXIT_MISMATCH = 18
EXIT_INFOROM = 14
_WORKING = (0, EXIT_INFOROM)


def facts(evidence: Evidence, packages: t.Sequence[pkg.Package], functions: t.Sequence[dict[str, t.Any]], smi: dict[str, t.Any] | None) -> dict[str, t.Any]:
    """The driver's facts.

    :param functions: the facts of the PCI functions.
    :param smi: what ``smi_xml.parse`` gave; ``None`` where nvidia-smi wasn't run.
    """
    loaded, flavour = loaded_module(evidence)
    mine = pkg.driver(packages)
    command = evidence.commands.get(SMI)
    userspace = userspace_version(evidence, packages, smi)
    return {
        "loaded_version": loaded,
        "kernel_module": flavour,
        "userspace_version": userspace,
        "installed_version": pkg.module_version(packages) or pkg.library_version(packages),
        "attached_gpus": _attached(smi),
        "cuda_version": smi["cuda_version"] if smi else None,
        "packages": [package.as_fact() for package in mine],
        "interrupted_packages": [package.name for package in mine if package.interrupted],
        "module_files": evidence.modules,
        "conflicting_driver": next((item["driver"] for item in pci.gpus(functions) if pci.is_foreign(item["driver"])), None),
        "nvidia_smi": _smi_fact(command, smi),
        "healthy": _healthy(loaded, userspace, command),
    }


def loaded_module(evidence: Evidence) -> tuple[str | None, str | None]:
    """Version and flavour (``open``, ``proprietary``) of the loaded kernel module."""
    match = _NVRM.search(evidence.files.get(PROC_VERSION, ""))
    if match:
        return match.group(2), "open" if match.group(1) else "proprietary"
    version = evidence.files.get(SYS_VERSION, "").strip()
    return (version if _VERSION.match(version) else None), None


def userspace_version(evidence: Evidence, packages: t.Sequence[pkg.Package], smi: dict[str, t.Any] | None) -> str | None:
    """The version of the libraries: as they answered, else as they lie on the disk, else as they say why they can't answer, else of their package."""
    if smi and smi["driver_version"]:
        return smi["driver_version"]
    command = evidence.commands.get(SMI)
    said = _NVML_VERSION.search(command.stdout + command.stderr) if command else None
    on_disk = [match.group(1) for match in (_LIBRARY.search(text(item.get("target"))) for item in evidence.libraries) if match]
    return next(iter(on_disk), None) or (said.group(1) if said else None) or pkg.library_version(packages)


def same_version(left: str | None, right: str | None) -> bool:
    """Whether two versions agree as far as both go: NVML abbreviates its own (``580.159`` for ``580.159.04``). An unknown one agrees with any."""
    if left is None or right is None:
        return True
    pairs = zip(left.split("."), right.split("."))
    return all(one == other for one, other in pairs)


def _attached(smi: dict[str, t.Any] | None) -> int | None:
    """How many GPUs the driver has: nvidia-smi's own count, which may be above the number that it lists."""
    if smi is None or (not smi["gpus"] and smi["error"]):
        return None
    return len(smi["gpus"]) if smi["attached_gpus"] is None else smi["attached_gpus"]


def _smi_fact(command: Command | None, smi: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    if command is None:
        return None
    said = "" if smi and smi["gpus"] else (command.stdout or command.stderr).strip()
    return {"exit_code": command.rc, "timed_out": command.timed_out, "message": said[:500] or None}


def _healthy(loaded: str | None, userspace: str | None, command: Command | None) -> bool:
    answered = command is not None and command.rc in _WORKING
    failed = command is not None and not answered
    return (loaded is not None or answered) and not failed and same_version(loaded, userspace)
