# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole path: bare, validated, unchanged on a second run, bare again, validated again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.bed import Bed


@pytest.mark.timeout(900)
def test_bare_to_validated_and_back(bare: Bed, tmp_path: Path) -> None:
    untouched = bare.snapshot()
    assert {bare.gpus(node) for node in bare.names()} == {0}
    assert {bare.on(node, "sh", "-c", ". /etc/os-release; echo $VERSION_ID").strip() for node in bare.names()} == {"12", "13"}

    bare.state = None
    first = bare.play("site")
    assert first.rc == 0, first.output[-4000:]
    assert {node: bare.gpus(node) for node in bare.names()} == dict.fromkeys(bare.names(), 2)
    for node in bare.names():
        assert len(bare.on(node, "nvidia-smi", "-L").splitlines()) == 2
        assert "runtimes.nvidia" in bare.on(node, "containerd", "config", "dump")
        assert "nvidia" in bare.on(node, "apt-mark", "showhold")

    second = bare.play("site")
    assert second.rc == 0, second.output[-4000:]
    assert second.changed() == dict.fromkeys(second.stats, 0), [second.changed_tasks(host) for host in second.stats]

    report_file = tmp_path / "report.json"
    validated = bare.play("validate", gpu_validate_report_path=str(report_file))
    assert validated.rc == 0, validated.output[-4000:]
    report = json.loads(report_file.read_text())
    assert report["passed"]
    assert {node["node"]: node["verdict"] for node in report["nodes"]} == dict.fromkeys(bare.names(), "passed")
    uuids = [gpu["uuid"] for node in report["nodes"] for gpu in node["gpus_seen"]]
    assert len(uuids) == len(set(uuids)) > 0

    cleaned = bare.play("cleanup")
    assert cleaned.rc == 0, cleaned.output[-4000:]
    assert bare.snapshot() == untouched
    again = bare.play("cleanup")
    assert (again.rc, sum(again.changed().values())) == (0, 0), [again.changed_tasks(host) for host in again.stats]

    third = bare.play("site")
    assert third.rc == 0, third.output[-4000:]
    assert {node: bare.gpus(node) for node in bare.names()} == dict.fromkeys(bare.names(), 2)
    bare.state = "ready"
