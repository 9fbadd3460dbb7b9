# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. TOML documents, and what is wrong with those that aren't."""

from __future__ import annotations

import re
import typing as t

_DEPTH_LIMIT = 64
# tomllib's time grows with the square of a dotted key's parts.
_DOTS_LIMIT = 1000
_TOO_DEEP = "nested too deep"
_LINE = re.compile(r"\b(?:line|row) (\d+)")
# What a Go template (k3s, RKE2) holds, and a configuration of containerd never does.
_GO_TEMPLATE = re.compile(r"\{\{-?\s*(?:template|if|else|end|range|with|define|block|/\*|\.|\$|printf|toJson)")


def parse_toml(content: str) -> tuple[dict[str, t.Any], str | None]:
    """A TOML document and, where it isn't one, what is wrong at which line."""
    # Here and not at the top: tomllib is there from Python 3.11, which every controller has, while sanity tests import
    # this file with the Pythons of the nodes too.
    import tomllib

    if content.count(".") > _DOTS_LIMIT and any(line.count(".") > _DOTS_LIMIT for line in content.splitlines()):
        return {}, _TOO_DEEP
    try:
        document = tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        return {}, str(error) or _TOO_DEEP
    # A dotted key nests without end, and without a word from the parser.
    return ({}, _TOO_DEEP) if _is_deeper(document, _DEPTH_LIMIT) else (document, None)


def line_of(error: str | None) -> int | None:
    """The number of the line that an error message names."""
    found = _LINE.search(error or "")
    return int(found.group(1)) if found else None


def is_template(content: str) -> bool:
    """Whether a text is a Go template, of which a configuration is made, and so no configuration itself."""
    return bool(_GO_TEMPLATE.search(content))


def _is_deeper(document: t.Any, limit: int) -> bool:
    level = [document]
    for _depth in range(limit):
        level = [value for table in level if isinstance(table, (dict, list)) for value in (table.values() if isinstance(table, dict) else table)]
    return bool(level)
