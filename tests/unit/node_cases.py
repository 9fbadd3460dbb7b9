# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of real evidence with the right answer beside them, for nodes.

A folder of tests/unit/cases has a ``case.json`` with ``id``, ``title``, ``source`` (where the evidence was published), ``provenance`` and ``checks``.
Each check has a ``name``; ``evidence``, in the collector's form except that texts, and answers over the CRI, are given as names of files in the
folder, or as ``{"text": ...}`` where they are by us; ``expected``, facts by their path in ``gpu_node`` (a number is a position, ``#`` the length of a
list, and behind ``pci`` a kind stands for how many there are); and ``findings``, the code of the first finding of severity error or warning, in a list
that is empty where there is none.
``kernel_log`` is the name of a file with its lines. ``diagnose`` is, in the same form as ``findings``, what the folder as a whole has to give.
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
    runtimes = {"runtimes": [_runtime(folder, entry) for entry in described["runtimes"]]} if "runtimes" in described else {}
    log = {"kernel_log": _kernel_log(_text(folder, described["kernel_log"]))} if "kernel_log" in described else {}
    nvml = {"nvml": json.loads(_text(folder, described["nvml"]))} if "nvml" in described else {}
    return {"schema": 1, "host": {}, "collector_errors": [], **described, "commands": commands, "files": files, **runtimes, **log, **nvml}


def _runtime(folder: Path, entry: dict[str, t.Any]) -> dict[str, t.Any]:
    answer = entry.get("cri")
    return {**entry, "cri": json.loads(_text(folder, answer)) if isinstance(answer, str) else answer}


def _kernel_log(text: str) -> dict[str, t.Any]:
    return {"source": None, "complete": True, "dropped": 0, "lines": text.splitlines()}


def _text(folder: Path, given: str | dict[str, str] | None) -> str:
    """The text of a file of the folder, or one that the case itself has."""
    if isinstance(given, dict):
        return given["text"]
    return "" if given is None else (folder / given).read_text(encoding="utf-8", errors="replace")


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
