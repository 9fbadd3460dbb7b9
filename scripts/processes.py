# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command with its output in a log, a time limit, and a sign of life while it takes long."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LOGS = REPOSITORY / ".cache" / "logs"
VENV_BIN = REPOSITORY / ".venv" / "bin"

SIGN_OF_LIFE_SECONDS = 30
GRACE_SECONDS = 20
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def environment(**extra: str) -> dict[str, str]:
    """Return this process's environment with the tools of .venv found first."""
    return {**os.environ, "PATH": f"{VENV_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}", **extra}


def without_colour(text: str) -> str:
    """Return a text without the escape sequences that colour it."""
    return COLOUR.sub("", text)


def tail(path: Path, lines: int) -> str:
    """Return the last lines of a log, without colours."""
    return "\n".join(without_colour(path.read_text(errors="replace")).splitlines()[-lines:])


def stop_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started: politely, then after GRACE_SECONDS for good."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def run_logged(
    argv: Sequence[str], log: Path, *, timeout: float, label: str, say: Callable[[str], None], env: Mapping[str, str] | None = None
) -> int | None:
    """Run a command from the repository's root, its output in the log alone; every 30 seconds say that it is still running.

    Returns the exit code (127 where the program doesn't exist), or None when it was stopped after timeout seconds.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                argv, cwd=REPOSITORY, env=env or environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except FileNotFoundError as error:
            output.write(f"{error}\n".encode())
            return 127
        try:
            while (elapsed := time.monotonic() - started) < timeout:
                try:
                    return process.wait(min(SIGN_OF_LIFE_SECONDS, timeout - elapsed))
                except subprocess.TimeoutExpired:
                    say(f"{label}: running for {time.monotonic() - started:.0f} s: {tail(log, 1)[:120]}")
            return None
        finally:
            if process.returncode is None:
                stop_group(process)


def run_shown(argv: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None) -> int:
    """Run a command from the repository's root, its output on the terminal and in the log; return its exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as copy:
        process = subprocess.Popen(
            argv, cwd=REPOSITORY, env=env or environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                copy.write(line)
                copy.flush()
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
        return process.wait()
