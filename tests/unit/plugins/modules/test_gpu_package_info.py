# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.modules import gpu_package_info as subject


class Node:
    """The part of AnsibleModule that is used, with an apt that answers as told."""

    def __init__(self, tmpdir: Path, update: tuple[int, str, str], madison: str = "", **params: t.Any) -> None:
        self.tmpdir = str(tmpdir)
        self.params = {"uri": "http://mirror/driver", "suite": "./", "components": [], "packages": ["nvidia-open"], "timeout": 7, **params}
        self.answers = {"update": update, "madison": (0, madison, "")}
        self.source = ""
        self.commands: list[list[str]] = []

    def get_bin_path(self, name: str, required: bool) -> str:
        return f"/usr/bin/{name}"

    def run_command(self, argv: list[str], check_rc: bool = False) -> tuple[int, str, str]:
        self.commands.append(argv)
        [source] = [word.partition("=")[2] for word in argv if word.startswith("Dir::Etc::SourceList=")]
        self.source = Path(source).read_text()
        return self.answers["update" if "update" in argv else "madison"]


def test_versions_by_package(tmp_path: Path) -> None:
    node = Node(tmp_path, (0, "", ""), " nvidia-open | 580.159.04-1 | http://mirror/driver ./ Packages\n", packages=["nvidia-open", "nvidia-closed"])
    assert subject.ask(node) == {"versions": {"nvidia-open": ["580.159.04-1"], "nvidia-closed": []}}


def test_apt_knows_nothing_but_the_repository_and_writes_nowhere_else(tmp_path: Path) -> None:
    node = Node(tmp_path, (0, "", ""), suite="stable", components=["main"])
    subject.ask(node)
    assert node.source == "deb [trusted=yes] http://mirror/driver stable main\n"
    for argv in node.commands:
        settings = dict(word.split("=", 1) for word in argv if "::" in word)
        assert all(settings[name].startswith(str(tmp_path)) for name in ("Dir::Etc::SourceList", "Dir::Etc::SourceParts", "Dir::State::Lists", "Dir::Cache"))
        assert settings["Acquire::http::Timeout"] == "7"
    assert list(tmp_path.iterdir()) == []


def test_a_repository_that_does_not_answer(tmp_path: Path) -> None:
    node = Node(tmp_path, (100, "", "W: hm\nE: Failed to fetch http://mirror/driver/./InRelease  Could not connect\n"))
    with pytest.raises(GpuFleetError, match=r"http://mirror/driver.*Could not connect") as caught:
        subject.ask(node)
    assert caught.value.code == "RepositoryUnreachable"
    assert caught.value.details["uri"] == "http://mirror/driver"
    assert list(tmp_path.iterdir()) == []
