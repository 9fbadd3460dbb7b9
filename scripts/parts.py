# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make test` consists of. To add a check, add a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.processes import LOGS, REPOSITORY

SANITY_REPORTS = REPOSITORY / ".cache" / "sanity" / "ansible_collections" / "gpufleet" / "k8s" / "tests" / "output" / "junit"

# antsibull-docs copies what git tracks, of kubernetes.core too: so git must not take .venv, where that is, for a part of this checkout.
OUTSIDE_OF_GIT = ("env", f"GIT_CEILING_DIRECTORIES={REPOSITORY}")


@dataclass(frozen=True)
class Check:
    """One command of a part, stopped after `timeout` seconds.

    junit is a file or a folder of JUnit reports that the command writes; a check that writes none counts as one test.
    """

    name: str
    argv: tuple[str, ...]
    timeout: int
    junit: Path | None = None

    def reports(self) -> list[Path]:
        if self.junit is None:
            return []
        return sorted(self.junit.glob("*.xml")) if self.junit.is_dir() else [path for path in [self.junit] if path.exists()]


@dataclass(frozen=True)
class Part:
    """What one `make` target runs. A part that needs machines runs as root alone and after the testbed was built."""

    checks: Callable[[], list[Check]]
    needs_machines: bool = False


def pytest(name: str, folder: str, timeout: int, *options: str) -> Check:
    report = LOGS / f"{name}.xml"
    return Check("pytest", (sys.executable, "-m", "pytest", folder, f"--junit-xml={report}", *options), timeout, report)


def lint() -> list[Check]:
    return [
        Check("ansible-lint", ("ansible-lint", "--offline", "--strict", "--nocolor"), 600),
        Check("yamllint", ("yamllint", "--strict", "."), 120),
        Check("ruff", ("ruff", "check", "--output-format=concise"), 120),
        Check("mypy", ("mypy",), 600),
        Check("changelog", ("antsibull-changelog", "lint"), 120),
        Check("docs", (*OUTSIDE_OF_GIT, "antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs=dependent", "."), 300),
        Check("build", ("ansible-galaxy", "collection", "build", "--force", "--output-path", ".cache/build"), 120),
    ]


def molecule() -> list[Check]:
    # All scenarios in one go: they share the nodes that the scenario `default` boots. A killed run leaves the note that they are there.
    return [Check("reset", ("molecule", "reset", "--scenario-name", "default"), 120), Check("scenarios", ("molecule", "test", "--all"), 1800)]


TESTBED_BUILD = Check("build", (sys.executable, "-m", "tests.testbed", "build"), 1800)

PARTS = {
    "unit": Part(lambda: [pytest("unit", "tests/unit", 600)]),
    "lint": Part(lint),
    "sanity": Part(lambda: [Check("ansible-test", (sys.executable, "-m", "scripts.sanity"), 1200, SANITY_REPORTS)]),
    "molecule": Part(molecule, needs_machines=True),
    "integration": Part(lambda: [pytest("integration", "tests/integration", 3000)], needs_machines=True),
    "long": Part(lambda: [pytest("long", "tests/long", 14400)], needs_machines=True),
}
