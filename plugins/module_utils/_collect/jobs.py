# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Commands and forked work that run side by side, each with its own time and bounded output."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.child import Child
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host, Running
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask

OUTPUT_LIMIT = 4 * 1024 * 1024

Record = t.Dict[str, t.Any]


class _Job(t.NamedTuple):
    running: Running
    deadline: float
    texts: t.Dict[t.Any, bytearray]

    @property
    def is_open(self) -> bool:
        return any(not stream.closed for stream in self.texts)


class Jobs:
    """What runs while the collector reads files.

    :param timeout: seconds that each of them may take from its start; what still runs then is killed and not waited for.
    """

    def __init__(self, host: Host, timeout: float) -> None:
        self._host = host
        self._timeout = timeout
        self._jobs: dict[str, _Job] = {}
        self._records: dict[str, Record] = {}
        self._selector = selectors.DefaultSelector()

    def start(self, name: str, argv: t.Sequence[str]) -> None:
        """Start a command."""
        self._add(name, self._host.start(argv))

    def start_all(self, commands: t.Mapping[str, t.Sequence[str]]) -> None:
        for name, argv in commands.items():
            self.start(name, argv)

    def fork(self, name: str, work: t.Callable[[], str]) -> None:
        """Start a function in a process of its own; what it returns is the record's ``stdout``."""
        self._add(name, Running((name,), Child(work, self._timeout), ""))

    def result(self, name: str) -> Record:
        """Wait for one of them; the others' output is read meanwhile."""
        if name not in self._records:
            job = self._jobs[name]
            self._drain((job,))
            self._records[name] = self._finished(job)
        return self._records[name]

    def results(self) -> dict[str, Record]:
        """Wait for all of them."""
        self._drain(list(self._jobs.values()))
        return {name: self.result(name) for name in self._jobs}

    def _add(self, name: str, running: Running) -> None:
        streams = (running.process.stdout, running.process.stderr) if running.process is not None else ()
        job = _Job(running, time.monotonic() + self._timeout, {stream: bytearray() for stream in streams if stream is not None})
        for stream, text in job.texts.items():
            self._selector.register(stream, selectors.EVENT_READ, text)
        self._jobs[name] = job

    def _drain(self, jobs: t.Collection[_Job]) -> None:
        """Read what the pipes of all give until those of the given jobs are closed or their time is over."""
        while True:
            now = time.monotonic()
            remaining = [job.deadline - now for job in jobs if job.is_open and job.deadline > now]
            self._read(max(remaining, default=0))
            if not remaining:
                # That was once more, for what came while nobody read.
                return

    def _read(self, seconds: float) -> None:
        """Read once from each pipe that has something, waiting for the first one; bytes beyond the limit are dropped."""
        ready = self._selector.select(seconds) if self._selector.get_map() else []
        for key, _events in ready:
            chunk = os.read(key.fd, 65536)
            if not chunk:
                self._selector.unregister(key.fileobj)
                t.cast(t.IO[bytes], key.fileobj).close()
            key.data.extend(chunk[: OUTPUT_LIMIT - len(key.data)])

    def _finished(self, job: _Job) -> Record:
        argv, process, error = job.running
        if process is None:
            return {"argv": list(argv), "rc": None, "stdout": "", "stderr": error, "timed_out": False}
        # Before its pipes are closed: that would end one that writes for ever.
        timed_out = not _ended(process, job.deadline)
        for stream in job.texts:
            if not stream.closed:
                self._selector.unregister(stream)
                stream.close()
        stdout, stderr = (mask(job.texts.get(stream, b"").decode("utf-8", "replace")) for stream in (process.stdout, process.stderr))
        return {"argv": list(argv), "rc": None if timed_out else process.returncode, "stdout": stdout, "stderr": stderr, "timed_out": timed_out}


def _ended(process: t.Any, deadline: float) -> bool:
    """Whether the process ended by itself; else it is killed, and given up where even that doesn't end it."""
    try:
        process.wait(max(deadline - time.monotonic(), 0.05))
        return True
    except subprocess.TimeoutExpired:
        _kill(process)
        return False


def _kill(process: t.Any) -> None:
    process.kill()
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        # It waits in the kernel, where no signal reaches it.
        return
