# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The command lines that services were started with."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host

# The processes of a service by its control group: version 2 first, then systemd's own of version 1.
_GROUPS = ("/sys/fs/cgroup/system.slice/{unit}/cgroup.procs", "/sys/fs/cgroup/systemd/system.slice/{unit}/cgroup.procs")
_PIDS_LIMIT = 64


def arguments_of(host: Host, pid: int) -> list[str]:
    """The command line of a process; empty where it can't be read."""
    try:
        return host.read_bytes(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


def of_unit(host: Host, unit: str) -> list[int]:
    """The ids of the first processes of a systemd unit."""
    for group in _GROUPS:
        try:
            text = host.read_bytes(group.format(unit=unit), 4096).decode("ascii", "replace")
        except OSError:
            continue
        return [int(pid) for pid in text.split()[:_PIDS_LIMIT] if pid.isdecimal()]
    return []


def option(arguments: t.Sequence[str], names: t.Collection[str]) -> str | None:
    """The value of an option of a command line, given as ``--name value`` or ``--name=value``."""
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[position + 1:]), None)
    return None
