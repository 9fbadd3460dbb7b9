# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Case folders as a colleague would mail them, and the answer that gpu_diagnose has to give.

A folder of tests/unit/cases whose ``case.json`` has ``diagnose`` is about a state: the list holds the code of the first finding of severity error or
warning, and is empty where there is none. The files are mailed under their names; those that ``checks`` place on a node (``evidence.files``) go to that
path below the folder, as somebody does who copies them with their folders, and an exit code that it states is laid beside the output.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

CASES = Path(__file__).parent / "cases"


class Case(t.NamedTuple):
    """A folder and its answer."""

    folder: Path
    name: str
    answer: list[str]
    evidence: dict[str, t.Any]


def cases() -> list[Case]:
    """All that are about a state. A folder whose checks are about several nodes gives one case for each."""
    found = []
    for folder in sorted(CASES.iterdir()):
        described = json.loads((folder / "case.json").read_text(encoding="utf-8")) if (folder / "case.json").is_file() else {}
        if "diagnose" in described:
            found.append(Case(folder, described["id"], described["diagnose"], _evidence(described)))
    return found


def _evidence(described: dict[str, t.Any]) -> dict[str, t.Any]:
    """What the only check of a case says about its files; nothing where there are several checks, which would exclude each other."""
    checks = described.get("checks", [])
    return checks[0]["evidence"] if len(checks) == 1 else {}


def mail(case: Case, target: Path) -> Path:
    """Lay a case's files out below a folder."""
    files = {path.lstrip("/"): given for path, given in case.evidence.get("files", {}).items()}
    placed = {given: path for path, given in files.items() if isinstance(given, str)}
    for source in sorted(case.folder.rglob("*")):
        relative = source.relative_to(case.folder).as_posix()
        if source.is_file() and relative != "case.json":
            _write(target / placed.get(relative, relative), source.read_bytes())
    for path, given in files.items():
        if isinstance(given, dict):
            _write(target / path, given["text"].encode())
    for name, command in case.evidence.get("commands", {}).items():
        output = command.get("stdout")
        if isinstance(output, dict):
            _write(target / f"{name}.txt", output["text"].encode())
            output = f"{name}.txt"
        if output and isinstance(command.get("rc"), int):
            _write((target / output).with_suffix(".rc"), f"{command['rc']}\n".encode())
    return target


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
