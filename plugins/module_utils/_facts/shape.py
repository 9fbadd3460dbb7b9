# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Reading objects that may lack any field: cut, edited by hand, or typed from memory.

What the API server gives is complete. What a colleague mails need not be, so a field of the wrong type counts as absent.
"""

from __future__ import annotations

import typing as t

Object = t.Dict[str, t.Any]


def mapping(value: t.Any) -> Object:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: t.Any) -> t.List[Object]:
    """The mappings of a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: t.Any) -> t.List[str]:
    """The texts of a list, else none."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text(value: t.Any) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: t.Any) -> t.Optional[int]:
    """The value where it is a whole number, ``None`` otherwise (true and false are none)."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def named(value: t.Any) -> Object:
    """The entries of a mapping whose key is a text: YAML allows any key, and JSON only those."""
    found: t.Dict[t.Any, t.Any] = mapping(value)
    return {key: item for key, item in found.items() if isinstance(key, str)}


def text_values(value: t.Any) -> t.Dict[str, str]:
    """A mapping of texts, as labels and annotations are; other values are left out."""
    return {key: item for key, item in named(value).items() if isinstance(item, str)}
