# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds and ends the processes of one testbed instance, without trusting a pid file alone.

A pid file may be missing (a crash between fork and write) or name a stranger (the number was given out again), so each
process is recognised by what the kernel says of it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_DELETED = " (deleted)"


@dataclass(frozen=True)
class Process:
    """What the kernel tells about one running process."""

    pid: int
    executable: Path
    directory: Path
    arguments: tuple[str, ...]


def _link(path: Path) -> Path:
    return Path(str(path.readlink()).removesuffix(_DELETED))


def _read(entry: Path) -> Process | None:
    try:
        arguments = (entry / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
        return Process(int(entry.name), _link(entry / "exe"), _link(entry / "cwd"), tuple(arguments))
    except OSError:  # it ended meanwhile, is a zombie, or belongs to someone else
        return None


def find(belongs: Callable[[Process], bool]) -> list[Process]:
    """All running processes of this user that ``belongs`` accepts."""
    read = (_read(entry) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [process for process in read if process is not None and belongs(process)]


def end(belongs: Callable[[Process], bool], *, number: signal.Signals = signal.SIGKILL, timeout: float = 10) -> list[int]:
    """Sends a signal to the processes that ``belongs`` accepts and waits until they are gone.

    Returns their pids. Raises TimeoutError where some still run after ``timeout`` seconds.
    """
    found = find(belongs)
    for process in found:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            continue
    give_up = time.monotonic() + timeout
    while left := find(belongs):
        if time.monotonic() > give_up:
            raise TimeoutError(f"still running {timeout:.0f} s after {number.name}: pids {[process.pid for process in left]}")
        time.sleep(0.05)
    return [process.pid for process in found]
