# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Files of a node, kept as evidence within limits."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import FILE_LIMIT, Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask

# Only the flags of the first processor are of interest; the file has them once for each.
_FILE_LIMITS = {"/proc/cpuinfo": 8 * 1024}
_FILES_LIMIT = 128
# Bytes of all files together.
_TOTAL_LIMIT = 8 * 1024 * 1024


class Reader:
    """Keeps what is read from a host, and what could not be.

    :ivar files: the evidence's ``files``.
    :ivar errors: the evidence's ``collector_errors``.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.files: dict[str, dict[str, t.Any]] = {}
        self.errors: list[dict[str, str]] = []
        self._size = 0
        self._is_full = False

    def read_all(self, paths: t.Iterable[str]) -> None:
        for path in paths:
            self.read(path)

    def read(self, path: str) -> str:
        """Keep a file's text and return it. A file that isn't there is no error: its absence is the evidence."""
        if path not in self.files and self._host.exists(path):
            self._keep(path)
        return self.files[path]["text"] if path in self.files else ""

    def error(self, what: str, error: str) -> None:
        self.errors.append({"what": what, "error": error})

    def _keep(self, path: str) -> None:
        if len(self.files) >= _FILES_LIMIT or self._size >= _TOTAL_LIMIT:
            if not self._is_full:
                self.error(path, f"left out, and maybe others: more than {_FILES_LIMIT} files or {_TOTAL_LIMIT >> 20} MiB")
            self._is_full = True
            return
        limit = _FILE_LIMITS.get(path, FILE_LIMIT)
        try:
            data = self._host.read_bytes(path, limit + 1)
        except OSError as error:
            self.error(path, str(error))
            return
        self._size += min(len(data), limit)
        self.files[path] = {"text": mask(data[:limit].decode("utf-8", "replace")), "truncated": len(data) > limit}
