# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.scheduling import parse_refusal

REASONS = {
    "Insufficient nvidia.com/gpu": ("insufficient", {"resource": "nvidia.com/gpu"}),
    "Insufficient cpu": ("insufficient", {"resource": "cpu"}),
    "Insufficient nvidia.com/mig-1g.10gb": ("insufficient", {"resource": "nvidia.com/mig-1g.10gb"}),
    "node(s) had untolerated taint {nvidia.com/gpu: present}": ("taint", {"key": "nvidia.com/gpu", "value": "present"}),
    "node(s) had untolerated taint {gpu: }": ("taint", {"key": "gpu", "value": ""}),
    "node(s) had untolerated taint(s)": ("taint", {}),
    "node(s) had taint {dedicated: ml}, that the pod didn't tolerate": ("taint", {"key": "dedicated", "value": "ml"}),
    "node(s) were unschedulable": ("cordoned", {}),
    "node(s) didn't match Pod's node affinity/selector": ("affinity", {}),
    "node(s) didn't match node selector": ("affinity", {}),
    "node(s) didn't have free ports for the requested pod ports": ("other", {}),
    "a reason, of another scheduler: with 2/3 and more": ("other", {}),
}
TAILS = [
    ".",
    "",
    ". preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling..",
    ". no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
]


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_alone(reason: str) -> None:
    refusal = parse_refusal(f"0/3 nodes are available: 3 {reason}.")
    assert refusal is not None
    [clause] = refusal.clauses
    assert (clause.kind, clause.values, clause.nodes, clause.text) == (*REASONS[reason], 3, reason)


@given(st.lists(st.tuples(st.integers(1, 5000), st.sampled_from(sorted(REASONS))), min_size=1, max_size=6), st.integers(0, 5000), st.sampled_from(TAILS))
def test_any_combination(parts: list[tuple[int, str]], total: int, tail: str) -> None:
    refusal = parse_refusal(f"0/{total} nodes are available: " + ", ".join(f"{count} {reason}" for count, reason in parts) + tail)
    assert refusal is not None
    assert refusal.nodes_total == total
    assert [(clause.nodes, clause.text) for clause in refusal.clauses] == parts


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    parse_refusal(text)
    parse_refusal(f"0/1 nodes are available: {text}")


def test_another_message() -> None:
    assert parse_refusal("Successfully assigned default/pod to gpu-1") is None
