# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of real evidence with the right answer beside them, for nodes.

A folder of tests/unit/cases has a ``case.json`` with ``id``, ``title``, ``source`` (where the evidence was published), ``provenance`` and ``checks``.
Each check has a ``name``; ``evidence``, in the collector's form except that texts, and the answer over the CRI, are given as names of files in the
folder; ``expected``, facts by their path in ``gpu_node`` (a number is a position, ``#`` the length of a list, and behind ``pci`` a kind stands for
how many there are); and ``findings``, the code of the first finding of severity error or warning, in a list that is empty where there is none.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

CASES = Path(__file__).parent / "cases"


class Check(t.NamedTuple):
    """One question to a case: evidence and the answer that it has to give."""

    name: str
    evidence: dict[str, t.Any]
    expected: dict[str, t.Any]
    findings: list[str] | None


def checks() -> list[Check]:
    """The checks of every folder that is about a node."""
    return [check for folder in sorted(CASES.iterdir()) if (folder / "case.json").is_file() for check in _folder(folder)]


def _folder(folder: Path) -> list[Check]:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    return [
        Check(f"{case['id']} {check['name']}", evidence(folder, check["evidence"]), check["expected"], check.get("findings"))
        for check in case.get("checks", [])
    ]


def evidence(folder: Path, described: dict[str, t.Any]) -> dict[str, t.Any]:
    """The evidence that a check describes, in the form in which the collector gives it."""
    commands = {
        name: {
            "argv": [name],
            "rc": record.get("rc", 0),
            "stdout": _text(folder, record.get("stdout")),
            "stderr": _text(folder, record.get("stderr")),
            "timed_out": record.get("timed_out", False),
        }
        for name, record in described.get("commands", {}).items()
    }
    files = {path: {"text": _text(folder, name), "truncated": False} for path, name in described.get("files", {}).items()}
    cri = described.get("cri")
    answer = json.loads(_text(folder, cri)) if isinstance(cri, str) else cri
    return {"schema": 1, "host": {}, "collector_errors": [], **described, "commands": commands, "files": files, "cri": answer}


def _text(folder: Path, name: str | None) -> str:
    return "" if name is None else (folder / name).read_text(encoding="utf-8", errors="replace")


def look_up(facts: dict[str, t.Any], path: str) -> t.Any:
    """A fact by its path."""
    value: t.Any = facts
    for step in path.split("."):
        if step == "#":
            value = len(value)
        elif isinstance(value, list) and not step.isdigit():
            value = sum(item["kind"] == step for item in value)
        else:
            value = value[int(step)] if isinstance(value, list) else value[step]
    return value
