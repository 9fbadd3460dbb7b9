# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The lines of the kernel's log that matter for GPUs, since the boot."""

from __future__ import annotations

import collections
import os
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host

Evidence = t.Dict[str, t.Any]

KMSG = "/dev/kmsg"
# Lines of each kind that are kept, the last ones; and characters of a line.
LINES = 200
LINE_LIMIT = 1000
# What is read at most: the largest ring buffer that kernels are built with is 32 MiB.
_READ_LIMIT = 64 * 1024 * 1024
_JOURNAL_LINES = 20_000

# The same log by other means, where the device can't be read. dmesg reads the same buffer, but with other rights.
COMMANDS = {
    "kernel_journal": ("journalctl", "-k", "-b", "0", "-o", "short-monotonic", "--no-pager", "-q", "-n", str(_JOURNAL_LINES)),
    "dmesg": ("dmesg",),
}

# Kind of line to what tells it; the first that fits counts, so that many lines of one kind don't push out those of another.
_KINDS = (
    ("xid", re.compile(r"NVRM: (?:Xid|GPU at PCI|GPU Board)")),
    ("sxid", re.compile(r"SXid|nvswitch", re.IGNORECASE)),
    ("init", re.compile(r"NVRM.*(?:RmInit|rm_init|fallen off|GSP|probe)|fallen off the bus|nvidia.*probe.*fail")),
    ("nvrm", re.compile(r"NVRM")),
    ("other_driver", re.compile(r"\b(?:nouveau|nova|nova_core|novacore)\b", re.IGNORECASE)),
    (
        "signature",
        re.compile(r"module verification|Lockdown: |locked down|loading of (?:unsigned )?module|pkcs#7|key was rejected|unsigned module", re.IGNORECASE),
    ),
    ("nvidia", re.compile(r"nvidia|nvlink|\bgpu\b", re.IGNORECASE)),
)
# One of these is in every line that matters, in small letters; most lines have none, and this is told at once.
_WORDS = (
    "nvrm", "nvidia", "nvlink", "nvswitch", "xid", "fallen off", "nova", "nouveau", "gpu", "verification", "lockdown: ", "locked down", "loading of", "pkcs#7",
    "key was", "unsigned module",
)
_RECORD = re.compile(r"^\d+,(\d{1,18}),(\d{1,18}),[^;\n]*;(.*)$", re.MULTILINE)
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
_SHORT_MONOTONIC = re.compile(r"^\[\s*(\d+\.\d+)\]\s+\S+\s+kernel:\s(.*)$", re.MULTILINE)
_DMESG = re.compile(r"^\[\s*(\d+\.\d+)\]\s?(.*)$", re.MULTILINE)


def read(host: Host, addresses: t.Collection[str]) -> Evidence:
    """The evidence's ``kernel_log`` from the kernel's own buffer.

    :param addresses: of NVIDIA's PCI functions, whose lines matter whoever wrote them.
    :raises OSError: it can't be read, so that ``COMMANDS`` have to be asked.
    """
    return from_kmsg(_records(host.path(KMSG)).decode("utf-8", "replace"), addresses)


def _records(path: str) -> bytes:
    """What the device holds now. It gives one record at a time, and none twice; those that are overwritten meanwhile are skipped."""
    chunks, size = [], 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while size < _READ_LIMIT:
            try:
                chunk = os.read(descriptor, 65536)
            except BrokenPipeError:
                continue
            except BlockingIOError:
                break
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
    finally:
        os.close(descriptor)
    return b"".join(chunks)


def from_kmsg(text: str, addresses: t.Collection[str]) -> Evidence:
    """From records ``priority,sequence,microseconds,flags;message`` (Documentation/ABI/testing/dev-kmsg)."""
    first = _RECORD.match(text)
    records = [match.groups() for match in map(_RECORD.match, _candidates(text, addresses)) if match]
    lines = [line for _number, time, message in records for line in _lines(int(time) / 1_000_000, _unescaped(message))]
    return _evidence("kmsg", first is not None and first.group(1) == "0", lines, addresses)


def from_commands(records: t.Mapping[str, dict[str, t.Any]], addresses: t.Collection[str]) -> Evidence:
    """From what ``COMMANDS`` said, the journal before dmesg. Without any answer, ``source`` is ``None``."""
    journal, ring = records["kernel_journal"]["stdout"], records["dmesg"]["stdout"]
    if _SHORT_MONOTONIC.search(journal):
        return _evidence("journal", journal.count("\n") < _JOURNAL_LINES, _timed(_SHORT_MONOTONIC, journal, addresses), addresses)
    first = _DMESG.match(ring)
    if first is not None:
        return _evidence("dmesg", float(first.group(1)) == 0, _timed(_DMESG, ring, addresses), addresses)
    return _evidence(None, False, [], addresses)


def _candidates(text: str, addresses: t.Collection[str]) -> list[str]:
    """The lines that may matter."""
    words = (*_WORDS, *addresses)
    return [line for line, small in zip(text.split("\n"), text.lower().split("\n")) if any(word in small for word in words)]


def _unescaped(message: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), message)


def _timed(pattern: t.Pattern[str], text: str, addresses: t.Collection[str]) -> list[str]:
    """Lines of text for people; what is indented goes on with the message before it."""
    found = []
    seconds = 0.0
    for line in _candidates(text, addresses):
        match = pattern.match(line)
        seconds = float(match.group(1)) if match else seconds
        if match or line[:1].isspace():
            found += _lines(seconds, match.group(2) if match else line.strip())
    return found


def _lines(seconds: float, message: str) -> list[str]:
    """A message may have several lines, of which each gets the time."""
    return [f"[{seconds:12.6f}] {line}" for line in message.split("\n")]


def _evidence(source: str | None, complete: bool, lines: t.Iterable[str], addresses: t.Collection[str]) -> Evidence:
    """The last lines of each kind, in their order."""
    kept: dict[str, t.Deque[tuple[int, str]]] = {}
    relevant = 0
    for number, line in enumerate(lines):
        kind = next((name for name, pattern in _KINDS if pattern.search(line)), None) or _kind_by_address(line, addresses)
        if kind is not None:
            relevant += 1
            kept.setdefault(kind, collections.deque(maxlen=LINES)).append((number, line[:LINE_LIMIT]))
    last = [line for _number, line in sorted(entry for entries in kept.values() for entry in entries)]
    return {"source": source, "complete": complete, "dropped": relevant - len(last), "lines": last}


def _kind_by_address(line: str, addresses: t.Collection[str]) -> str | None:
    return "pci" if any(address in line for address in addresses) else None
