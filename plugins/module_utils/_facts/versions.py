# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Versions that are compared."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def numbers(version: str | None) -> tuple[int, ...]:
    """The leading numbers of a version; empty where it has none: ``v2.4.2-k3s1`` gives ``(2, 4, 2)``."""
    found = _NUMBERS.search(version or "")
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def is_below(version: str | None, floor: str) -> bool:
    """Whether a version is known to be older than another. A shorter one is compared as far as it goes."""
    mine, other = numbers(version), numbers(floor)
    return bool(mine) and mine < other[: len(mine)]
