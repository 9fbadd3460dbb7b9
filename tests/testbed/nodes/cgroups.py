# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cgroup of version 2 per instance and machine. Whatever a machine starts stays in it, so ending the cgroup ends all of it, and nothing else."""

from __future__ import annotations

import os
import signal
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

_TOP = "gpufleet-testbed"
_GONE_AFTER = 10.0  # seconds


def hierarchy() -> Path:
    """Return where the host mounts cgroup version 2: alone, or beside version 1.

    :raises RuntimeError: the host has version 1 only
    """
    for candidate in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (candidate / "cgroup.controllers").exists():
            return candidate
    raise RuntimeError("cgroup version 2 is not mounted at /sys/fs/cgroup or /sys/fs/cgroup/unified; mount it: mount -t cgroup2 none /sys/fs/cgroup/unified")


def key(instance: Path) -> str:
    """Return a name for an instance that no instance of another checkout has."""
    return f"{instance.name}-{zlib.crc32(str(instance).encode()):08x}"


def instance_cgroup(instance: Path) -> Path:
    """Return the cgroup of an instance; it may not exist."""
    return hierarchy() / _TOP / key(instance)


def _delegate(group: Path) -> None:
    """Let the children of ``group`` have every controller that the kernel lets them have.

    One by one, since some can't be had everywhere: a container's top group holds processes, and real-time processes keep ``cpu`` out.
    """
    for controller in (group / "cgroup.controllers").read_text().split():
        try:
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError:
            continue


def create(instance: Path, part: str) -> Path:
    """Make the cgroup of one machine or of a host's process of an instance.

    :param part: name of the machine or of the process
    """
    group = instance_cgroup(instance) / part
    group.mkdir(parents=True, exist_ok=True)
    for parent in (hierarchy(), hierarchy() / _TOP, instance_cgroup(instance)):
        _delegate(parent)
    return group


def processes(group: Path) -> Iterator[int]:
    """Yield the ids of all processes in ``group`` and below."""
    for listing in group.glob("**/cgroup.procs"):
        try:
            yield from map(int, listing.read_text().split())
        except OSError:  # the group has just gone
            continue


def end(group: Path) -> None:
    """Kill everything in ``group`` and remove it, and the testbed's own top when that is empty then; all of it may be gone already.

    :raises TimeoutError: a process of it didn't end
    """
    deadline = time.monotonic() + _GONE_AFTER
    while group.exists():
        for pid in processes(group):
            _kill(pid)
        try:
            for folder, _names, _files in os.walk(group, topdown=False):
                Path(folder).rmdir()
        except OSError as error:  # busy until the last process is gone
            if time.monotonic() > deadline:
                raise TimeoutError(f"cgroup {group}: processes {list(processes(group))} are still there {_GONE_AFTER:.0f} s after SIGKILL") from error
            time.sleep(0.05)
    top = hierarchy() / _TOP
    if top.exists() and not any(path.is_dir() for path in top.iterdir()):
        top.rmdir()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
