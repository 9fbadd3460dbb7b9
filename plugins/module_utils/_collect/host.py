# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The only way from the collector to the machine, so that tests can give it another one."""

from __future__ import annotations

import glob
import os
import typing as t

FILE_LIMIT = 256 * 1024
# nvidia-smi is elsewhere in WSL (/usr/lib/wsl/lib) and on image-based systems (/opt/bin, /usr/local/nvidia/bin); sudo's PATH may lack sbin.
SEARCH_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/lib/wsl/lib", "/opt/bin", "/usr/local/nvidia/bin")


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
        """The real path of an absolute path on the host. What was read from a file may have NUL bytes, which no path has."""
        return self._root + path.replace("\0", "\ufffd")

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

    def leads_to(self, path: str) -> str:
        """The name of the file that a chain of links ends at; the path's own name where it is no link."""
        return os.path.basename(os.path.realpath(self.path(path)))

    def glob(self, pattern: str) -> list[str]:
        """The sorted absolute paths that match a shell pattern."""
        return sorted(found[len(self._root):] for found in glob.glob(glob.escape(self._root) + pattern.replace("\0", "\ufffd")))

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
        except (OSError, ValueError) as error:
            failure = str(error)
        return Running(argv, None, failure)
