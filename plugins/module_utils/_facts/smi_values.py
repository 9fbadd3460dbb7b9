# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Values as nvidia-smi writes them, in whatever form it was asked to write."""

from __future__ import annotations

import re
import typing as t

TEXT_LIMIT = 500

# What nvidia-smi writes where it has no value. "None" is not among them: as a recovery action it means that none is needed.
_NO_VALUE = frozenset(("", "n/a", "not supported", "not available", "not found", "requested functionality has been deprecated", "insufficient permissions"))
# What it writes in place of values where the device doesn't answer (texts of nvmlErrorString).
FAULTS = {
    "gpu is lost": "GPU is lost",
    "gpu requires reset": "GPU requires reset",
    "unknown error": "Unknown Error",
    "err!": "ERR!",
}
# No line of nvidia-smi's is longer than this, but for a CSV's.
LINE_WIDTH = 400
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?")
_YES_NO = {"yes": True, "no": False}


def line_of(text: str) -> str:
    """A line without padding, and cut where it can't be one of nvidia-smi's."""
    return text[:LINE_WIDTH].strip()


def plain(text: str) -> str:
    """A value without padding and without the brackets that ``--query-gpu`` sets around words: ``[N/A]`` gives ``N/A``."""
    text = text.strip()
    return text[1:-1].strip() if text[:1] == "[" and text[-1:] == "]" else text


def fault(text: str) -> str | None:
    """The fault that stands in place of a value, ``None`` where the value is one."""
    return FAULTS.get(plain(text).lower())


def word(text: str) -> str | None:
    """A value that is text, ``None`` where there is none."""
    text = plain(text)
    return None if text.lower() in _NO_VALUE or text.lower() in FAULTS else text[:TEXT_LIMIT]


def state(text: str) -> str | None:
    """A state of the NVLink fabric, of which ``Not Supported`` is one."""
    text = plain(text)
    return text if text.lower() == "not supported" else word(text)


def decimal(text: str) -> float | None:
    """The number at the beginning of a value with a unit: ``66.84 W``."""
    match = _NUMBER.match(plain(text)[:TEXT_LIMIT])
    return float(match.group()) if match else None


def integer(text: str) -> int | None:
    """The whole number at the beginning of a value with a unit: ``143771 MiB``, ``-5 C``."""
    match = _NUMBER.match(plain(text)[:TEXT_LIMIT])
    return int(match.group().partition(".")[0]) if match else None


def yes_no(text: str) -> bool | None:
    return _YES_NO.get(plain(text).lower())


# Kind of a value to its reader.
READERS: t.Dict[str, t.Callable[[str], t.Any]] = {"text": word, "state": state, "int": integer, "float": decimal, "bool": yes_no}
