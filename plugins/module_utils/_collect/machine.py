# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The machine and its kernels."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask_arguments

_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_MODULES = "/lib/modules"
_LISTING_LIMIT = 8 * 1024 * 1024
_KERNELS = 8


def about(host: Host) -> dict[str, t.Any]:
    """The evidence's ``host``; ``uptime_s`` in seconds."""
    uname = host.uname()
    uptime = re.match(r"\d{1,12}", host.read_line("/proc/uptime") or "")
    return {
        "hostname": uname.nodename,
        "kernel": running_kernel(host),
        "kernel_command_line": mask_arguments(host.read_line("/proc/cmdline") or ""),
        "kernels": _other_kernels(host),
        "machine": uname.machine,
        "boot_id": host.read_line("/proc/sys/kernel/random/boot_id"),
        "uptime_s": int(uptime.group()) if uptime else None,
        "secure_boot": _secure_boot(host),
        "reboot_required": host.exists("/run/reboot-required"),
        "wsl": host.exists("/dev/dxg"),
        "dmi": {name: host.read_line(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")},
        "euid": os.geteuid(),
    }


def running_kernel(host: Host) -> str:
    return host.read_line("/proc/sys/kernel/osrelease") or host.uname().release


def module_files(host: Host, release: str) -> list[str]:
    """The files of NVIDIA's module that a kernel would load, relative to its module directory."""
    try:
        listing = host.read_bytes(f"{_MODULES}/{release}/modules.dep", _LISTING_LIMIT)
    except OSError:
        return []
    return [line.partition(b":")[0].decode("utf-8", "replace") for line in _lines_with(listing, b"/nvidia.ko")]


def _lines_with(text: bytes, name: bytes) -> t.Iterator[bytes]:
    """The lines whose part before the colon has a name in it. The text is long, and hardly any has."""
    position = text.find(name)
    while position >= 0:
        start = text.rfind(b"\n", 0, position) + 1
        end = text.find(b"\n", position)
        line = text[start : end if end >= 0 else len(text)]
        if name in line.partition(b":")[0]:
            yield line
        position = text.find(name, start + len(line))


def _other_kernels(host: Host) -> list[dict[str, t.Any]]:
    """Kernels that are installed beside the running one, the newest folders last; a folder without the kernel's own modules is a remainder."""
    running = running_kernel(host)
    found = [name for name in host.listdir(_MODULES) if name != running and host.exists(f"{_MODULES}/{name}/kernel")]
    return [{"release": name, "module_files": module_files(host, name)} for name in found[-_KERNELS:]]


def _secure_boot(host: Host) -> bool | None:
    try:
        return host.read_bytes(_SECURE_BOOT)[-1:] == b"\x01"
    except OSError:
        return None
