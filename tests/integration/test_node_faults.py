# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gpu_node_info says of live machines: nothing against a healthy one; of a broken one, the cause first, and nothing any more once it is cured."""

from __future__ import annotations

import typing as t
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.bed import Bed, eventually
from tests.testbed import faults

# Fault of the testbed: the code that names it.
CODES = {
    "module-unloaded": "DriverNotLoaded",
    "library-replaced": "DriverLibraryMismatch",
    "nouveau": "DriverConflict",
    "gpu-gone": "GpuFallenOffBus",
    "xid-79": "GpuFallenOffBus",
    "xid-62": "XidCritical",
    "drop-in-orphaned": "DropInNotImported",
    # gpu_toolkit's record of the node still has the handler, so it is known that it was there.
    "handler-removed": "RuntimeConfigOverwritten",
    "cri-disabled": "CriPluginDisabled",
    "containerd-stopped": "RuntimeNotRunning",
    "cdi-stale": "CdiSpecStale",
    "toolkit-mixed": "ToolkitVersionMixed",
}
# Each machine has one of them at a time, and all machines have theirs at the same time.
ROUNDS = (
    {"gpu-1": "module-unloaded", "gpu-2": "toolkit-mixed", "gpu-3": "xid-79"},
    {"gpu-1": "gpu-gone", "gpu-2": "drop-in-orphaned", "gpu-3": "library-replaced"},
    {"gpu-1": "handler-removed", "gpu-2": "nouveau", "gpu-3": "cri-disabled"},
    {"gpu-1": "cdi-stale", "gpu-2": "xid-62", "gpu-3": "containerd-stopped"},
)

pytestmark = pytest.mark.timeout(600)


def complaints(bed: Bed) -> dict[str, list[str]]:
    """The codes of each machine's errors and warnings, in their order."""
    results = bed.ad_hoc("gpu_nodes", "gpu_node_info")
    assert all("findings" in result for result in results.values()), results
    return {node: [finding["code"] for finding in result["findings"] if finding["severity"] != "info"] for node, result in sorted(results.items())}


def on_all(function: t.Callable[[t.Any, str, str], None], bed: Bed, assigned: dict[str, str]) -> None:
    with ThreadPoolExecutor(len(assigned)) as pool:
        for done in [pool.submit(function, bed.instance, node, fault) for node, fault in assigned.items()]:
            done.result()


def test_healthy_machines_have_neither_errors_nor_warnings(ready: Bed) -> None:
    assert complaints(ready) == {node: [] for node in ready.names()}


@pytest.mark.parametrize("assigned", ROUNDS, ids=lambda assigned: "+".join(assigned.values()))
def test_a_fault_is_named_and_vanishes_when_it_is_cured(ready: Bed, assigned: dict[str, str]) -> None:
    before = ready.snapshot()
    ready.state = None
    try:
        on_all(faults.inject, ready, assigned)
        found = complaints(ready)
    finally:
        on_all(lambda instance, node, _fault: faults.cure(instance, node, *faults.names(instance, node)), ready, assigned)
    assert {node: codes[:1] for node, codes in found.items()} == {node: [CODES[fault]] for node, fault in assigned.items()}
    assert complaints(ready) == {node: [] for node in ready.names()}
    eventually(lambda: {ready.gpus(node) for node in ready.names()} == {2}, 60, "the GPUs of all nodes again")
    eventually(lambda: ready.snapshot() == before, 30, "machines and cluster as they were")
    ready.state = "ready"


def test_every_fault_of_a_ready_machine_is_tried() -> None:
    # The other two are of bare machines: preflight names them before a driver is installed.
    assert CODES.keys() == {fault for round_ in ROUNDS for fault in round_.values()} == faults.FAULTS.keys() - {"no-gpu", "no-headers"}
