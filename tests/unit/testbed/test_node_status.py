# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fleet agent reports of a Node."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.testbed.fleet import node_status
from tests.testbed.fleet.cri import RuntimeStatus
from tests.testbed.fleet.machines import Facts
from tests.testbed.fleet.pods import GPU

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
WELL = Facts(running=True, boot_id="1", driver="580", gpus=("GPU-a", "GPU-b"), runtime=RuntimeStatus({}, "runc"), system={"bootID": "1"})


def node(capacity=None, allocatable=None, ready="True", boot="1"):
    return {
        "status": {
            "capacity": {} if capacity is None else {GPU: capacity},
            "allocatable": {} if allocatable is None else {GPU: allocatable},
            "conditions": [{"type": "Ready", "status": ready}],
            "nodeInfo": {"bootID": boot},
        }
    }


@pytest.mark.parametrize(
    ("before", "plugin", "facts", "expected"),
    [
        (node(), False, WELL, None),
        (node(), True, WELL, {"capacity": {GPU: "2"}, "allocatable": {GPU: "2"}}),
        (node("2", "2"), True, WELL, None),
        (node("2", "2"), False, WELL, {"allocatable": {GPU: "0"}}),
        (node("2", "0"), False, WELL, None),
        (node("2", "2", boot="0"), True, WELL, {"capacity": {GPU: "0"}, "allocatable": {GPU: "0"}, "nodeInfo": {"bootID": "1"}}),
        (node("2", "2"), False, Facts(running=False), None),
    ],
)
def test_devices(before, plugin, facts, expected):
    patch = node_status.patch(before, facts, plugin=plugin, silent=0, now=NOW)
    assert patch == (None if expected is None else {"status": expected})


@pytest.mark.parametrize(
    ("facts", "silent", "before", "expected"),
    [
        (replace(WELL, runtime=None), 29, "True", None),
        (replace(WELL, runtime=None), 30, "True", "False"),
        (Facts(running=False), 39, "True", None),
        (Facts(running=False), 40, "True", "Unknown"),
        (WELL, 0, "Unknown", "True"),
    ],
)
def test_readiness(facts, silent, before, expected):
    patch = node_status.patch(node(ready=before), facts, plugin=False, silent=silent, now=NOW)
    conditions = patch["status"]["conditions"] if patch else []
    assert [entry["status"] for entry in conditions] == ([] if expected is None else [expected])
