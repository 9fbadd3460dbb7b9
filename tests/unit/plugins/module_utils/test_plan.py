# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._plan import Change, Plan


def test_an_empty_plan_changes_nothing() -> None:
    plan = Plan()
    assert not plan.changed
    assert plan.diff() == {"before": {}, "after": {}}
    assert plan.summary() == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Change("Namespace gpu-lab", None, {"labels": {}}), "create Namespace gpu-lab"),
        (Change("Namespace gpu-lab", {"labels": {}}, None), "remove Namespace gpu-lab"),
        (Change("/etc/containerd/config.toml", "a", "b"), "change /etc/containerd/config.toml"),
    ],
)
def test_changed_diff_and_summary_agree(change: Change, sentence: str) -> None:
    plan = Plan((change,))
    assert plan.changed
    assert plan.diff() == {"before": {change.subject: change.before}, "after": {change.subject: change.after}}
    assert plan.summary() == [sentence]
