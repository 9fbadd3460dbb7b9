# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that exist in many variants: `make test` takes a sample of each kind, `make test-long` all of them."""

from __future__ import annotations

import typing as t

from tests.integration.bed import Bed, eventually
from tests.testbed import faults

BROKEN_NODE = "gpu-2"


class KillPoint(t.NamedTuple):
    """:param delay: seconds between the task's begin and the kill."""

    task: str
    delay: float


KILL_POINTS = {
    "packages half installed": KillPoint("Install the driver", 1.5),
    "before the driver is loaded": KillPoint("Load the driver", 0.0),
    "drop-in written": KillPoint("Configure containerd", 0.5),
    "containerd restarting": KillPoint("Restart containerd", 0.3),
    "device plugin half applied": KillPoint("Apply the device plugin", 0.8),
}
KILL_SAMPLE = ("packages half installed", "containerd restarting")

# Faults of the testbed that a plain run of site.yml cures.
BREAKS = ("module-unloaded", "handler-removed", "containerd-stopped")
BREAK_SAMPLE = ("module-unloaded", "handler-removed")


def check_kill(bed: Bed, point: KillPoint, undisturbed: dict[str, t.Any]) -> None:
    """A playbook killed at the point, then run again plainly, ends as if it had never been disturbed."""
    bed.ensure("bare")
    bed.state = None
    bed.play_and_kill(point.task, "site", delay=point.delay)
    run = bed.play("site")
    assert run.rc == 0, run.output[-4000:]
    assert bed.snapshot() == undisturbed
    bed.state = "ready"


def check_break(bed: Bed, fault: str) -> None:
    """A fault of one machine takes its GPUs from the Node within 5 s, no other's, and a plain re-run gives them back."""
    bed.ensure("ready")
    assert bed.gpus(BROKEN_NODE) == 2
    bed.state = None
    faults.inject(bed.instance, BROKEN_NODE, fault)
    eventually(lambda: bed.gpus(BROKEN_NODE) == 0, 5, f"no GPU allocatable on {BROKEN_NODE}")
    assert {bed.gpus(name) for name in bed.names() if name != BROKEN_NODE} == {2}
    run = bed.play("site")
    assert run.rc == 0, run.output[-4000:]
    assert bed.gpus(BROKEN_NODE) == 2
    faults.forget(bed.instance, BROKEN_NODE, fault)
    bed.state = "ready"
