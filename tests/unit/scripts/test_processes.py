# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that the drivers run: their output, their end, and what they leave."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from scripts import processes


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_goes_to_the_log_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "folder" / "log"

    assert processes.run_logged(python("print('said'); raise SystemExit(3)"), log, timeout=60, label="x", say=print) == 3
    assert log.read_text() == "said\n"


def test_missing_program_is_an_exit_code_and_a_line_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"

    assert processes.run_logged(["no-such-program"], log, timeout=60, label="x", say=print) == 127
    assert "no-such-program" in log.read_text()


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = "import subprocess, time; child = subprocess.Popen(['sleep', '60']); print(child.pid, flush=True); time.sleep(60)"

    assert processes.run_logged(python(parent), log, timeout=1.5, label="x", say=print) is None

    child = int(log.read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2]:
        assert time.monotonic() < deadline, f"the child {child} still runs"
        time.sleep(0.05)


def test_a_long_command_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SIGN_OF_LIFE_SECONDS", 0.3)
    said: list[str] = []

    processes.run_logged(python("import time; print('step 2', flush=True); time.sleep(1)"), tmp_path / "log", timeout=60, label="unit", say=said.append)

    assert said
    assert said[-1].startswith("unit: running for ")
    assert said[-1].endswith(": step 2")


def test_shown_command_writes_to_the_terminal_and_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"

    assert processes.run_shown(python("import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr); sys.exit(2)"), log) == 2
    assert capfd.readouterr().out == log.read_text() == "out\nerr\n"


def test_tools_of_the_virtual_environment_come_first() -> None:
    assert processes.environment(EXTRA="1")["PATH"].split(os.pathsep)[0] == str(processes.VENV_BIN)
    assert processes.environment(EXTRA="1")["EXTRA"] == "1"
