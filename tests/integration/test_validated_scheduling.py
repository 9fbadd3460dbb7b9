# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from tests.integration.bed import GPU, Bed, eventually

NODE = "gpu-1"
NAMESPACE = "default"

pytestmark = pytest.mark.timeout(600)


def gpu_pod(name: str, gpus: int) -> dict[str, t.Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "runtimeClassName": "nvidia",
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "containers": [{"name": "train", "image": "registry.invalid/train:1", "command": ["sleep", "infinity"], "resources": {"limits": {GPU: str(gpus)}}}],
        },
    }


def refused_by_scheduler(bed: Bed, pod: str) -> bool:
    events = bed.core().list_namespaced_event(NAMESPACE, field_selector=f"involvedObject.name={pod},reason=FailedScheduling")
    return bool(events.items)


@pytest.fixture
def two_pods(ready: Bed) -> t.Iterator[Bed]:
    core = ready.core()
    for name in ("first", "second"):
        core.create_namespaced_pod(NAMESPACE, gpu_pod(name, gpus=2))
        if name == "first":
            eventually(lambda: core.read_namespaced_pod("first", NAMESPACE).status.phase == "Running", 30, "first pod Running")
    yield ready
    for name in ("first", "second"):
        core.delete_namespaced_pod(name, NAMESPACE, grace_period_seconds=0)


def test_the_pod_that_finds_no_gpu_stays_pending_and_the_reason_has_a_name(two_pods: Bed) -> None:
    eventually(lambda: refused_by_scheduler(two_pods, "second"), 20, "the scheduler's word on the second pod")
    assert two_pods.core().read_namespaced_pod("second", NAMESPACE).status.phase == "Pending"
    result = two_pods.module("gpu_cluster_info")
    [finding] = [item for item in result["findings"] if item["subject"].get("name") == "second"]
    assert finding["code"] == "InsufficientResource"
    assert finding["subject"] == {"kind": "pod", "name": "second", "namespace": NAMESPACE}
    [node] = [item for item in result["gpu_cluster"]["nodes"] if item["name"] == NODE]
    [gpus] = [item for item in node["resources"] if item["resource"] == GPU]
    assert (gpus["allocatable"], gpus["requested"], gpus["free"]) == (2, 2, 0)
