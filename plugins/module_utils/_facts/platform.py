# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What kind of machine this is, and which operating system runs on it."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, number, text

BARE_METAL, VIRTUAL_MACHINE, VGPU_GUEST, WSL2, TEGRA = "bare_metal", "virtual_machine", "vgpu_guest", "wsl2", "tegra"
# Platforms whose GPU isn't on the PCI bus, or whose driver isn't the data-centre one.
WITHOUT_PCI_GPU = frozenset((WSL2, TEGRA))

_OS_RELEASE = "/etc/os-release"
_ASSIGNMENT = re.compile(r"""^\s*([A-Z_]+)=(?:"([^"\n]*)"|'([^'\n]*)'|(\S*))\s*$""", re.MULTILINE)
# Words of a virtual machine's DMI vendor or product. Amazon's bare machines have its vendor, too, and ".metal" in the product's name.
_VIRTUAL = re.compile(
    r"\b(?:QEMU|KVM|VMware|Virtual|VirtualBox|Xen|Parallels|OpenStack|Google Compute Engine|Amazon EC2|Nutanix|Firecracker|HVM)\b", re.IGNORECASE
)
_HYPERVISOR = re.compile(r"^flags\s*:.*\bhypervisor\b", re.MULTILINE)


def facts(evidence: Evidence, gpus: t.Sequence[dict[str, t.Any]]) -> dict[str, t.Any]:
    """The platform's facts; ``uptime_s`` in seconds.

    :param gpus: the GPUs' facts, whose virtualisation mode tells a vGPU guest.
    """
    host = evidence.host
    return {
        "kind": _kind(evidence, gpus),
        "virtualization": _virtualization(evidence),
        "os": os_release(evidence.files.get(_OS_RELEASE, "")),
        "unprivileged": (number(host.get("euid")) or 0) != 0,
        **{name: host.get(name) for name in ("kernel", "machine", "boot_id", "uptime_s", "secure_boot", "reboot_required", "kernel_command_line")},
    }


def os_release(content: str) -> dict[str, t.Any]:
    """The fields of os-release(5) that decide about packages; ``None`` where one isn't set, ``like`` a list."""
    values = {name: double or single or plain for name, double, single, plain in _ASSIGNMENT.findall(content)}
    return {
        "id": values.get("ID"),
        "version_id": values.get("VERSION_ID"),
        "codename": values.get("VERSION_CODENAME"),
        "pretty_name": values.get("PRETTY_NAME"),
        "like": values.get("ID_LIKE", "").split(),
    }


def _virtualization(evidence: Evidence) -> str | None:
    """Vendor and product of a virtual machine as its firmware names them; ``None`` on a machine of its own."""
    dmi = mapping(evidence.host.get("dmi"))
    name = " ".join(part for part in (text(dmi.get("sys_vendor")).strip(), text(dmi.get("product_name")).strip()) if part)
    return name[:200] if _VIRTUAL.search(name) and ".metal" not in name else None


def _kind(evidence: Evidence, gpus: t.Sequence[dict[str, t.Any]]) -> str:
    if evidence.host.get("wsl") is True or "microsoft-standard" in text(evidence.host.get("kernel")).lower():
        return WSL2
    if "/etc/nv_tegra_release" in evidence.files or evidence.files.get("/sys/devices/soc0/family", "").strip() == "Tegra":
        return TEGRA
    if any(gpu["vgpu"] for gpu in gpus):
        return VGPU_GUEST
    if _virtualization(evidence) or _HYPERVISOR.search(evidence.files.get("/proc/cpuinfo", "")):
        return VIRTUAL_MACHINE
    if any(gpu["virtualization_mode"] == "Pass-Through" for gpu in gpus):
        return VIRTUAL_MACHINE
    return BARE_METAL
