# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Python .venv is made with. The Pythons are stand-ins that answer as the real ones do when they are tried."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).resolve().parents[3] / "scripts" / "bootstrap"


@pytest.fixture
def pythons(tmp_path: Path) -> Path:
    """A folder of PATH that holds no Python yet; the shell's own tools are in another folder."""
    folder = tmp_path / "with a blank" / "bin"
    folder.mkdir(parents=True)
    return folder


def put(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def put_working(folder: Path, name: str, version: str) -> str:
    return put(folder, name, f"cat >/dev/null; echo '{version.replace('.', ' ')} {folder / name}'")


def chosen(pythons: Path, pyenv: Path) -> subprocess.CompletedProcess[str]:
    tools = pythons.parent / "tools"
    tools.mkdir()
    for tool in ("cut", "dirname", "sort", "tail"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    put(tools, "id", "echo 1000")
    environment = {"PATH": os.pathsep.join([str(pythons), str(tools)]), "PYENV_ROOT": str(pyenv), "HOME": str(pyenv)}
    return subprocess.run([BOOTSTRAP, "python"], env=environment, capture_output=True, text=True, check=False)


def test_newest_that_works_is_taken(pythons: Path, tmp_path: Path) -> None:
    put(pythons, "python3.9", "cat >/dev/null")
    put_working(pythons, "python3.11", "3.11.2")
    newest = put_working(pythons, "python3", "3.12.10")
    put(pythons, "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    put(pythons, "python3.14", "cat >/dev/null; echo \"No module named 'ensurepip'\" >&2; exit 1")

    assert chosen(pythons, tmp_path / "no-pyenv").stdout == f"{newest}\n"


def test_versions_of_pyenv_count_too(pythons: Path, tmp_path: Path) -> None:
    put_working(pythons, "python3", "3.11.9")
    folder = tmp_path / "pyenv" / "versions" / "3.13.1" / "bin"
    folder.mkdir(parents=True)
    newest = put_working(folder, "python3.13", "3.13.1")

    assert chosen(pythons, tmp_path / "pyenv").stdout == f"{newest}\n"


def test_none_that_works_is_an_error_that_says_what_to_do(pythons: Path, tmp_path: Path) -> None:
    put(pythons, "python3.13", "exit 127")

    done = chosen(pythons, tmp_path / "no-pyenv")

    assert done.returncode == 1
    assert "no Python >= 3.11" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
