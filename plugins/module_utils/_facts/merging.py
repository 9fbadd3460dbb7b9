# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Configurations that are read one over the other."""

from __future__ import annotations

import typing as t


def merge(base: dict[str, t.Any], over: dict[str, t.Any]) -> dict[str, t.Any]:
    """Two configurations in one: tables are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        merged[key] = merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
    return merged
