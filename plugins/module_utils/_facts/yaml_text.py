# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. YAML of unknown origin: every scalar stays text, and nothing grows beyond what was read."""

from __future__ import annotations

import json
import typing as t


def parse_yaml(content: str) -> tuple[t.Any, str | None]:
    """A document of YAML, of which JSON is a part, and, where it isn't one, what is wrong.

    :return: texts, lists and mappings alone. Aliases are refused: no program that writes these files uses them, and a few make a text grow without bounds.
    """
    # Here and not at the top: PyYAML is on every controller, while sanity tests import this file with the Pythons of the nodes too.
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        if "&" in content and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, Loader=loader)):
            return None, "it has aliases"
        return yaml.load(content, Loader=loader), None
    except yaml.YAMLError as error:
        return None, _reason(error)
    except (ValueError, RecursionError) as error:
        return None, str(error) or "nested too deep"


def parse_json(content: str) -> tuple[t.Any, str | None]:
    """A document of JSON, as strictly as Go reads it, and, where it isn't one, what is wrong at which line."""
    try:
        return json.loads(content, parse_constant=_refuse), None
    except (ValueError, RecursionError) as error:
        return None, str(error) or "nested too deep"


def _refuse(name: str) -> t.NoReturn:
    raise ValueError(f"{name} is no JSON")


def _reason(error: t.Any) -> str:
    """PyYAML's message in one line, with the line at which it stands."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{problem} (at line {mark.line + 1})" if mark else str(problem)
