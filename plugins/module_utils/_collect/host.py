# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The only way from the collector to the machine, so that tests can give it another one."""

from __future__ import annotations

import glob
import os
import selectors
import subprocess
import time
import typing as t

FILE_LIMIT = 256 * 1024
OUTPUT_LIMIT = 4 * 1024 * 1024
# nvidia-smi is elsewhere in WSL (/usr/lib/wsl/lib) and on image-based systems (/opt/bin); sudo's PATH may lack sbin.
SEARCH_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/lib/wsl/lib", "/opt/bin")


class _Started(Exception):
    """Takes a process out of run_command: that has no time limit, and would wait for ever for one that hangs in the driver."""

    def __init__(self, process: t.Any) -> None:
        super().__init__()
        self.process = process


def _take_over(process: t.Any) -> None:
    raise _Started(process)


class Running(t.NamedTuple):
    """A command under way; ``process`` is ``None`` where it could not be started, for the reason in ``error``."""

    argv: t.Sequence[str]
    process: t.Any
    error: str


class Host:
    """The machine as the collector sees it.

    :param run_command: of the ``AnsibleModule``.
    :param root: the directory that counts as ``/`` for files; commands and sockets are always the real ones.
    """

    def __init__(self, run_command: t.Callable[..., t.Any], root: str = "/") -> None:
        self._run_command = run_command
        self._root = root.rstrip("/")

    def path(self, path: str) -> str:
        """The real path of an absolute path on the host."""
        return self._root + path

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> bytes:
        """At most ``limit`` bytes of a file.

        :raises OSError: the file can't be read.
        """
        with open(self.path(path), "rb") as stream:
            return stream.read(limit)

    def read_line(self, path: str) -> str | None:
        """A one-line file without its line's end; ``None`` where it can't be read."""
        try:
            return self.read_bytes(path, 4096).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))

    def listdir(self, path: str) -> list[str]:
        """The sorted names in a directory; empty where it can't be read."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def readlink(self, path: str) -> str | None:
        """The last component of a link's target; ``None`` where there is no link."""
        try:
            return os.path.basename(os.readlink(self.path(path)))
        except OSError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """The sorted absolute paths that match a shell pattern."""
        return sorted(found[len(self._root):] for found in glob.glob(glob.escape(self._root) + pattern))

    def uname(self) -> os.uname_result:
        return os.uname()

    def which(self, name: str) -> str | None:
        """The absolute path of a program."""
        candidates = [os.path.join(folder, name) for folder in SEARCH_PATH]
        return next((path for path in candidates if os.access(self.path(path), os.X_OK)), None)

    def start(self, argv: t.Sequence[str]) -> Running:
        """Start a command without waiting for it."""
        program = self.which(argv[0]) if "/" not in argv[0] else argv[0]
        if program is None:
            return Running(argv, None, "not installed")
        failure = "not started"
        try:
            self._run_command(
                [program, *argv[1:]],
                environ_update={"LC_ALL": "C", "PATH": os.pathsep.join(SEARCH_PATH)},
                expand_user_and_vars=False,
                before_communicate_callback=_take_over,
                handle_exceptions=False,
            )
        except _Started as started:
            return Running(argv, started.process, "")
        except OSError as error:
            failure = str(error)
        return Running(argv, None, failure)

    def finish(self, running: dict[str, Running], timeout: float) -> dict[str, dict[str, t.Any]]:
        """Wait for commands, all at once, and give what they said.

        :param timeout: seconds for all of them together; what still runs then is killed and not waited for.
        """
        processes = [entry.process for entry in running.values() if entry.process is not None]
        deadline = time.monotonic() + timeout
        texts = _drain(processes, deadline)
        late = {process.pid for process in processes if not _ended(process, deadline)}
        return {name: _record(entry, texts, late) for name, entry in running.items()}


def _drain(processes: t.Sequence[t.Any], deadline: float) -> dict[t.Any, bytearray]:
    """Read the processes' pipes until all are closed or the deadline passed; bytes beyond the limit are dropped."""
    texts = {stream: bytearray() for process in processes for stream in (process.stdout, process.stderr)}
    with selectors.DefaultSelector() as selector:
        for stream in texts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            ready = selector.select(max(remaining, 0))
            if not ready and remaining <= 0:
                break
            for key, _events in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                texts[key.fileobj] += chunk[: OUTPUT_LIMIT - len(texts[key.fileobj])]
    return texts


def _ended(process: t.Any, deadline: float) -> bool:
    """Whether the process ended by itself; else it is killed, and given up where even that doesn't end it."""
    process.stdout.close()
    process.stderr.close()
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


def _record(entry: Running, texts: dict[t.Any, bytearray], late: set[int]) -> dict[str, t.Any]:
    process = entry.process
    if process is None:
        return {"argv": list(entry.argv), "rc": None, "stdout": "", "stderr": entry.error, "timed_out": False}
    timed_out = process.pid in late
    return {
        "argv": list(entry.argv),
        "rc": None if timed_out else process.returncode,
        "stdout": texts[process.stdout].decode("utf-8", "replace"),
        "stderr": texts[process.stderr].decode("utf-8", "replace"),
        "timed_out": timed_out,
    }
