# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the testbed promises, and what our playbooks do about it: break one thing on a machine and its GPUs go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.bed import Bed, eventually
from tests.integration.sweeps import BREAK_SAMPLE, check_break
from tests.testbed import faults

NODE = "gpu-2"
FAULT = "module-unloaded"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BREAK_SAMPLE)
def test_gpus_vanish_and_a_plain_rerun_brings_them_back(bed: Bed, name: str) -> None:
    check_break(bed, name)


@pytest.mark.timeout(600)
def test_the_report_on_a_broken_node_begins_with_what_the_node_tells(bed: Bed, tmp_path: Path) -> None:
    bed.ensure("ready")
    bed.state = None
    faults.inject(bed.instance, NODE, FAULT)
    eventually(lambda: bed.gpus(NODE) == 0, 5, f"no GPU allocatable on {NODE}")
    report_file = tmp_path / "report.json"
    run = bed.play("validate", gpu_validate_nodes=[NODE], gpu_validate_report_path=str(report_file))
    assert run.rc != 0
    [entry] = json.loads(report_file.read_text())["nodes"]
    errors = [(item["code"], item["consequence_of"]) for item in entry["findings"] if item["severity"] == "error"]
    assert errors[0] == ("DriverNotLoaded", None)
    assert ("AllGpusUnhealthyOrPluginDown", "DriverNotLoaded") in errors
    assert bed.play("site").rc == 0
    faults.forget(bed.instance, NODE, FAULT)
    bed.state = "ready"


@pytest.mark.timeout(600)
def test_a_reboot_brings_the_gpus_back_without_us(ready: Bed) -> None:
    ready.state = None
    boot = ready.on(NODE, "cat", "/proc/sys/kernel/random/boot_id")
    ready.on(NODE, "systemctl", "reboot", check=False)
    eventually(lambda: ready.running(NODE) and ready.on(NODE, "cat", "/proc/sys/kernel/random/boot_id", check=False) not in ("", boot), 60, "a new boot")
    eventually(lambda: ready.gpus(NODE) == 2, 60, f"GPUs of {NODE} again")
    run = ready.play("site")
    assert (run.rc, sum(run.changed().values())) == (0, 0), [run.changed_tasks(host) for host in run.stats]
    ready.state = "ready"
