# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Work that may hang or crash in a library, done by a copy of this process."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
import typing as t

# Nothing opens more before it forks.
_DESCRIPTORS = 1024


class Child:
    """A forked process, with as much of ``subprocess.Popen`` as ``Jobs`` uses.

    :param work: what it does; the text that it returns is what ``stdout`` gives.
    :param seconds: after which it is over even where nobody is left to kill it.
    """

    def __init__(self, work: t.Callable[[], str], seconds: float) -> None:
        read_end, write_end = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _do(work, write_end, seconds)
        os.close(write_end)
        self.stdout = os.fdopen(read_end, "rb", buffering=0)
        self.stderr = None

    def wait(self, seconds: float) -> int:
        """The exit status, or the signal that ended it as a negative number.

        :raises subprocess.TimeoutExpired: it still runs.
        """
        deadline = time.monotonic() + seconds
        pause = 0.0005
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
            elif time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("forked work", seconds)
            else:
                time.sleep(pause)
                pause = min(pause * 2, 0.05)
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def _do(work: t.Callable[[], str], write_end: int, seconds: float) -> None:
    """The child's life; never returns, and lets go of what whoever started the module waits for."""
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(math.ceil(seconds) + 1)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, write_end)
        os.closerange(write_end + 1, _DESCRIPTORS)
        with open(write_end, "wb") as stream:
            stream.write(work().encode("utf-8", "replace"))
        status = 0
    finally:
        os._exit(status)
