# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the testbed promises, and what our playbooks do about it: break one thing on a machine and its GPUs go."""

from __future__ import annotations

import pytest

from tests.integration.bed import Bed, eventually
from tests.integration.sweeps import BREAK_SAMPLE, BREAKS, check_break

NODE = "gpu-2"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BREAK_SAMPLE)
def test_gpus_vanish_and_a_plain_rerun_brings_them_back(bed: Bed, name: str) -> None:
    check_break(bed, BREAKS[name])


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
