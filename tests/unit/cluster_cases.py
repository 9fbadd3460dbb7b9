# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of real objects and texts with the right answer beside them, for pods and clusters.

A folder of tests/unit/cases has a ``case.json`` with ``id``, ``title`` (what is so, in our words), ``source`` (where it was published), ``provenance``,
``diagnose`` (the code of the first error or warning that the folder's files give together; empty for what is well) and ``cluster_checks``. Each of
these has a ``name``, the question that it ``ask``s, the files that belong to it, and the answers: ``findings`` (codes in their order), ``says``
(a value that the first summary must hold), ``step`` (the same for its next step), and what the question's own test reads.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

CASES = Path(__file__).parent / "cases"

Object = t.Dict[str, t.Any]


class Check(t.NamedTuple):
    """One question to a case."""

    folder: Path
    name: str
    asked: Object

    def objects(self, key: str) -> list[Object]:
        """The objects in the file that the check names under a key; none where it names no file."""
        if key not in self.asked:
            return []
        found = json.loads((self.folder / self.asked[key]).read_text(encoding="utf-8"))
        return found["items"] if found.get("kind", "").endswith("List") else [found]

    def read(self, key: str) -> t.Optional[str]:
        """The file that the check names under a key; ``None`` where it names none."""
        return (self.folder / self.asked[key]).read_text(encoding="utf-8") if key in self.asked else None

    def text(self) -> str:
        """The text that a check is about: a file, or the message in a Status object or in a pod's status."""
        if "pod_message" in self.asked:
            return self.objects("pod_message")[0]["status"]["message"]
        text = (self.folder / self.asked["text"]).read_text(encoding="utf-8")
        return json.loads(text)["message"] if self.asked["text"].endswith(".json") else text


def answer(folder: Path) -> Object:
    """What a case says of itself."""
    return json.loads((folder / "case.json").read_text(encoding="utf-8"))


def folders() -> list[Path]:
    """All cases about pods and clusters."""
    return [folder for folder in sorted(CASES.iterdir()) if (folder / "case.json").is_file() and "cluster_checks" in answer(folder)]


def checks(ask: str) -> list[Check]:
    """All checks that ask a certain question."""
    cases = [(folder, answer(folder)) for folder in folders()]
    return [Check(folder, f"{case['id']} {check['name']}", check) for folder, case in cases for check in case["cluster_checks"] if check["ask"] == ask]
