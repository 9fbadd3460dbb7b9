# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the parts of `make test` are run and added up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import run_tests
from scripts.parts import Check, Part
from scripts.results import Count

GOOD = Check("good", (sys.executable, "-c", ""), 60)
BAD = Check("bad", (sys.executable, "-c", "print('what went wrong'); raise SystemExit(2)"), 60)
MACHINES = Part(lambda: [GOOD, GOOD], needs_machines=True)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "REPOSITORY", tmp_path)
    monkeypatch.setattr(run_tests.os, "geteuid", lambda: 0)


def test_a_bad_check_shows_its_log_and_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tests.run_part("lint", Part(lambda: [GOOD, BAD, GOOD]), None) == Count(passed=2, failed=1)
    assert "the end of lint-bad.log:\nwhat went wrong" in capsys.readouterr().out


def test_check_with_reports_counts_their_cases(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    write = f"open({str(report)!r}, 'w').write('<testsuite><testcase/><testcase><failure/></testcase></testsuite>'); raise SystemExit(1)"

    assert run_tests.run_check("unit", Check("pytest", (sys.executable, "-c", write), 60, report)) == Count(passed=1, failed=1)


def test_report_of_an_earlier_run_does_not_count(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text("<testsuite><testcase/></testsuite>")

    assert run_tests.run_check("unit", Check("pytest", (sys.executable, "-c", ""), 60, report)) == Count(failed=1)


def test_machines_are_skipped_without_root_and_said_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run_tests.os, "geteuid", lambda: 1000)

    assert run_tests.run_part("molecule", MACHINES, None) == Count(skipped=2)
    assert "needs root" in capsys.readouterr().out


def test_machines_that_were_not_built_fail_what_needs_them() -> None:
    assert run_tests.run_part("molecule", MACHINES, Count(failed=1)) == Count(failed=2)


def test_testbed_is_built_once_before_the_first_part_that_needs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run_tests, "PARTS", {"lint": Part(lambda: [GOOD]), "molecule": MACHINES, "integration": MACHINES})
    monkeypatch.setattr(run_tests, "TESTBED_BUILD", Check("build", (sys.executable, "-c", ""), 60))

    assert run_tests.run_parts(["lint", "molecule", "integration"]) == Count(passed=6)
    assert capsys.readouterr().out.count("testbed: build: 1 passed") == 1
