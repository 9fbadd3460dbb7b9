# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A folder or file that somebody mailed, as texts: nothing is run, followed out of it or
read without bound."""

from __future__ import annotations

import os
import re
import stat
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

Note = t.Dict[str, str]

# Bytes of one file and of all together, files, and folders within folders.
FILE_LIMIT = 16 * 1024 * 1024
TOTAL_LIMIT = 128 * 1024 * 1024
COUNT_LIMIT = 4000
DEPTH_LIMIT = 16
NOTES_LIMIT = 200
# Without O_NONBLOCK, opening a FIFO would wait for its writer for ever.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_PACKED = (
    (0, b"\x1f\x8b", "gzip"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\x00", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (257, b"ustar", "tar"),
)
_BOM = "\ufeff"
_UTF8_BOM = b"\xef\xbb\xbf"
# The longer mark first: that of UTF-32 begins with that of UTF-16.
_WIDE = ((b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_BINARY_HEAD = 64 * 1024
# Share of control characters from which on a file is no text, in hundredths.
_BINARY_PERCENT = 10
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Document(t.NamedTuple):
    """A file's text.

    :param path: relative to the folder, with slashes; the bare name where a single file was given.
    :param text: decoded; a byte order mark stays, since in a configuration file it may be what is wrong.
    :param truncated: whether the file is longer than what was read of it.
    """

    path: str
    text: str
    truncated: bool = False


def read(path: str) -> t.Tuple[t.List[Document], t.List[Note]]:
    """All texts in a folder, or the one in a file, and what could not be read or only in part.

    Links are not followed, but for ``path`` itself; devices, sockets and pipes are not read.

    :return: documents by path, and notes: ``{"what": path, "reason": ...}``.
    :raises GpuFleetError: EvidenceUnreadable, where ``path`` isn't there or can't be read.
    """
    reading = _Reading()
    try:
        if os.path.isdir(path):
            _read_folder(os.path.realpath(path), reading)
        else:
            # The name is the user's own, so that a link there is meant.
            reading.add(os.path.basename(path), os.path.realpath(path), None)
            if not reading.documents and reading.failure:
                raise OSError(reading.failure)
    except (OSError, ValueError) as error:
        raise GpuFleetError(
            f"Expected a folder or a file with evidence at {path}; reading it failed: {error}. Name one that exists and that this user may read.",
            code="EvidenceUnreadable",
            path=path,
        ) from error
    return reading.documents, reading.notes()


class _Reading:
    """What was read so far, within the limits.

    :ivar failure: why the last file could not be opened.
    """

    def __init__(self) -> None:
        self.documents: t.List[Document] = []
        self.failure = ""
        self._notes: t.List[Note] = []
        self._more_notes = 0
        self._count = 0
        self._left_out = 0
        self._bytes = 0

    def note(self, what: str, reason: str) -> None:
        if len(self._notes) < NOTES_LIMIT:
            self._notes.append({"what": _printable(what), "reason": reason})
        else:
            self._more_notes += 1

    def notes(self) -> t.List[Note]:
        found = list(self._notes)
        if self._left_out:
            found.append({"what": f"{self._left_out} files", "reason": f"left out: at most {COUNT_LIMIT} files and {TOTAL_LIMIT} bytes are read"})
        if self._more_notes:
            found.append({"what": f"{self._more_notes} more", "reason": "could not be used either"})
        return found

    def add(self, relative: str, name: str, folder: t.Optional[int]) -> None:
        """Read one file.

        :param name: as it is opened, in the directory of the descriptor ``folder`` if there is one.
        """
        if self._count >= COUNT_LIMIT or self._bytes >= TOTAL_LIMIT:
            self._left_out += 1
            return
        self._count += 1
        try:
            data, reason = _bytes_of(name, folder, min(FILE_LIMIT, TOTAL_LIMIT - self._bytes))
        except OSError as error:
            self.failure = error.strerror or str(error)
            self.note(relative, f"can't be read: {self.failure}")
            return
        if reason:
            self.failure = reason
            self.note(relative, reason)
        self._bytes += len(data)
        if data:
            self._decode(relative, data, bool(reason))

    def _decode(self, relative: str, data: bytes, truncated: bool) -> None:
        text, reason = decode(data)
        if reason:
            self.note(relative, reason)
        if text is not None:
            self.documents.append(Document(_printable(relative), text, truncated))


def decode(data: bytes) -> t.Tuple[t.Optional[str], str]:
    """The text that bytes stand for, ``None`` where they are none, and what is unusual about them (empty where nothing is)."""
    packed = next((name for offset, magic, name in _PACKED if data[offset : offset + len(magic)] == magic), None)
    if packed:
        return None, f"a {packed} archive, which isn't unpacked here: unpack it first"
    wide = next((encoding for mark, encoding in _WIDE if data.startswith(mark)), None) or _wide_without_mark(data)
    if wide:
        return data.decode(wide, "replace").lstrip(_BOM).replace("\0", ""), f"{wide.upper()}, read as such"
    head = data[:_BINARY_HEAD]
    if len(_CONTROL.findall(head)) * 100 > len(head) * _BINARY_PERCENT:
        return None, "binary, not a text"
    text, reasons = data.decode("utf-8", "replace"), []
    if data.startswith(_UTF8_BOM):
        reasons.append("starts with a byte order mark")
    if "\0" in text:
        text = text.replace("\0", "")
        reasons.append("has NUL bytes, which were left out")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        reasons.append("isn't valid UTF-8; the bytes in question were replaced")
    return text, ", ".join(reasons)


def _wide_without_mark(data: bytes) -> t.Optional[str]:
    """UTF-16 as Windows writes it without a mark: every other byte of the beginning is zero."""
    head = data[:1024]
    pairs = len(head) // 2
    if pairs < 8:
        return None
    for encoding, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if zeros.count(0) > pairs * 0.9 and others.count(0) < pairs * 0.1:
            return encoding
    return None


def _bytes_of(name: str, folder: t.Optional[int], limit: int) -> t.Tuple[bytes, str]:
    """The beginning of a file, and why that isn't all of it.

    :raises OSError: it can't be opened or read.
    """
    handle = os.open(name, _OPEN, dir_fd=folder)
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b"", "not a regular file"
        data = stream.read(limit + 1)
    return (data[:limit], f"larger than {limit} bytes: the rest was not read") if len(data) > limit else (data, "")


def _read_folder(root: str, reading: _Reading) -> None:
    """Every folder is opened relative to the one that holds it, so that nothing can put a link in its place meanwhile."""

    def unreadable(error: OSError) -> None:
        if os.path.realpath(str(error.filename)) == root:
            raise error
        reading.note(os.path.relpath(str(error.filename), root), f"can't be read: {error.strerror}")

    for place, folders, names, handle in os.fwalk(root, onerror=unreadable, follow_symlinks=False):
        below = os.path.relpath(place, root)
        prefix = "" if below == os.curdir else below + "/"
        for name in sorted(names + _links(folders, handle)):
            if _is_link(name, handle):
                reading.note(prefix + name, "a symbolic link, which isn't followed")
            else:
                reading.add(prefix + name, name, handle)
        folders[:] = sorted(name for name in folders if not _is_link(name, handle))
        if prefix.count("/") >= DEPTH_LIMIT and folders:
            reading.note(prefix, f"folders in it are left out: more than {DEPTH_LIMIT} within each other")
            folders.clear()


def _links(names: t.Iterable[str], folder: int) -> t.List[str]:
    return [name for name in names if _is_link(name, folder)]


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _printable(path: str) -> str:
    """A path as text: its bytes need not be UTF-8, and it may hold line breaks."""
    return "".join(char if char.isprintable() else "?" for char in path.encode("utf-8", "replace").decode("utf-8"))
