# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo does around its steps; the steps themselves are what `make demo` shows."""

from __future__ import annotations

import sys

import pytest

from scripts import demo

RECAP = "PLAY RECAP ****\ngpu-1 : ok=9 changed={changed} unreachable=0 failed=0\nlocalhost : ok=5 changed=0 unreachable=0 failed=0\n"


def test_second_run_without_changes_names_each_host(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "site", lambda _log_name: RECAP.format(changed=0))

    demo.second_run()

    assert capsys.readouterr().out.split("\n") == ["  gpu-1: changed=0", "  localhost: changed=0", ""]


@pytest.mark.parametrize(("output", "says"), [(RECAP.format(changed=2), "gpu-1: changed=2"), ("", "reached no host")])
def test_second_run_that_proves_nothing_fails(monkeypatch: pytest.MonkeyPatch, output: str, says: str) -> None:
    monkeypatch.setattr(demo, "site", lambda _log_name: output)

    with pytest.raises(demo.StepFailed, match=says):
        demo.second_run()


def test_steps_have_headings_and_durations(capsys: pytest.CaptureFixture[str]) -> None:
    demo.run_steps((("first", lambda: None), ("second", lambda: None)))

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("===")] == ["=== 1/2 first", "=== 2/2 second"]
    assert lines[-1].split() == ["0", "s", "all", "of", "it"]


def test_step_that_fails_ends_the_demo_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise demo.StepFailed("playbooks/site.yml ended with exit code 2; its output is in .cache/logs/demo/site.log")

    monkeypatch.setattr(demo, "down", fail)
    monkeypatch.setattr(sys, "argv", ["demo", "down"])

    assert demo.main() == 1
    assert "its output is in .cache/logs/demo/site.log" in (said := capsys.readouterr().err)
    assert "make demo-down" in said


@pytest.mark.parametrize(
    ("user", "path", "limited"), [pytest.param(0, "playbooks/site.yml", False, id="root"), pytest.param(1000, demo.SIMULATED, True, id="another user")]
)
def test_without_root_no_playbook_reaches_for_machines(monkeypatch: pytest.MonkeyPatch, user: int, path: str, limited: bool) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(demo.os, "geteuid", lambda: user)
    monkeypatch.setattr(demo, "run", lambda *argv: calls.append(argv))

    demo.first_run()
    demo.validate()

    site, validate = calls
    assert site[-1] == path
    assert validate[-1] == "playbooks/validate.yml"
    assert ("--limit" in validate, "gpu_validate_nodes" in str(validate)) == (limited, limited)
