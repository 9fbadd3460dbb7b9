# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a GPU pod has no node, where the nodes are known: only what concerns nodes with the resource counts."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]
GPU = "nvidia.com/gpu"
TAINT = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}


def node(name: str, gpus: int | None = None, *, offered: int | None = None, resource: str = GPU, ready: bool = True, **spec: t.Any) -> Object:
    capacity = {} if gpus is None else {resource: str(gpus)}
    allocatable = {} if gpus is None else {resource: str(gpus if offered is None else offered)}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": allocatable, "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def pod(gpus: int = 1, message: str = "", node_name: str | None = None, *, resource: str = GPU, **spec: t.Any) -> Object:
    status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}
    containers = [{"name": "c", "resources": {"limits": {resource: str(gpus)}}}]
    bound = {"nodeName": node_name} if node_name else {}
    return {
        "metadata": {"name": f"on-{node_name}" if node_name else "pod", "namespace": "lab"},
        "spec": {"containers": containers, **bound, **spec},
        "status": {"phase": "Running"} if node_name else status,
    }


def explain(waiting: Object, nodes: list[Object], *running: Object) -> list[Object]:
    index = PodIndex([])
    for other in running:
        index.add(other)
    objects = {item["metadata"]["name"]: item for item in nodes}
    facts = cluster_facts(Observation("v1.36.3", objects, [], index, [], []))
    return pod_findings(waiting, nodes=facts["nodes"], objects=objects)


NO_GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
ON_GPU_1 = {"nodeSelector": {"kubernetes.io/hostname": "gpu-1"}}

CASES: dict[str, tuple[Object, list[Object], list[Object], list[str], str]] = {
    "all in use": (pod(2, NO_GPU), [node("gpu-1", 2)], [pod(1, node_name="gpu-1")], ["InsufficientResource"], "at most 1 are free"),
    "more than a node has": (pod(9, NO_GPU), [node("gpu-1", 8)], [], ["InsufficientResource"], "asks for 9"),
    "no node has any": (pod(1, NO_GPU), [node("cpu-1")], [], ["GpuResourceNotAdvertised"], "none of the 1 nodes"),
    "another name is offered": (
        pod(1, NO_GPU),
        [node("gpu-1", 8, resource="nvidia.com/gpu.shared")],
        [],
        ["ResourceRenamed"],
        "nvidia.com/gpu.shared",
    ),
    "the plugin is down": (pod(1, NO_GPU), [node("gpu-1", 2, offered=0)], [], ["AllGpusUnhealthyOrPluginDown"], "gpu-1 has 2"),
    "a taint": (
        pod(1, "0/2 nodes are available: 1 node(s) had untolerated taint {pool: gpu}, 1 Insufficient nvidia.com/gpu."),
        [node("gpu-1", 2, taints=[TAINT]), node("cpu-1")],
        [],
        ["UntoleratedTaint"],
        "pool=gpu:NoSchedule",
    ),
    "a taint that newer schedulers don't spell out": (
        pod(1, "0/1 nodes are available: 1 node(s) had untolerated taint(s)."),
        [node("gpu-1", 2, taints=[TAINT])],
        [],
        ["UntoleratedTaint"],
        "pool=gpu:NoSchedule",
    ),
    "a tolerated taint": (
        pod(2, NO_GPU, tolerations=[{"key": "pool", "operator": "Exists"}]),
        [node("gpu-1", 2, taints=[TAINT])],
        [pod(1, node_name="gpu-1")],
        ["InsufficientResource"],
        "at most 1",
    ),
    "cordoned": (pod(1, "0/1 nodes are available: 1 node(s) were unschedulable."), [node("gpu-1", 2, unschedulable=True)], [], ["NodeCordoned"], "gpu-1"),
    "not ready": (
        pod(1, "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }."),
        [node("gpu-1", 2, ready=False, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}])],
        [],
        ["NodeNotReady"],
        "gpu-1",
    ),
    "the selector excludes GPU nodes": (
        pod(1, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector.", nodeSelector={"zone": "b"}),
        [node("gpu-1", 2), node("cpu-1")],
        [],
        ["AffinityMismatch"],
        "gpu-1",
    ),
    "the selector excludes only others": (
        pod(2, "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector.", **ON_GPU_1),
        [node("gpu-1", 2), node("gpu-2", 2), node("cpu-1")],
        [pod(2, node_name="gpu-1")],
        ["InsufficientResource"],
        "at most 0",
    ),
    "busy here, cordoned there": (
        pod(1, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable."),
        [node("gpu-1", 1), node("gpu-2", 1, unschedulable=True)],
        [pod(1, node_name="gpu-1")],
        ["InsufficientResource", "NodeCordoned"],
        "gpu-1",
    ),
    "it is the CPU": (
        pod(1, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 2 Insufficient cpu."),
        [node("gpu-1", 2), node("cpu-1")],
        [],
        ["InsufficientCpu"],
        "cpu",
    ),
    "it is the memory": (pod(1, "0/1 nodes are available: 1 Insufficient memory."), [node("gpu-1", 2)], [], ["InsufficientMemory"], "memory"),
    "a control plane's taint explains nothing": (
        pod(1, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }."),
        [node("gpu-1"), node("cp-1", taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])],
        [],
        ["GpuResourceNotAdvertised"],
        "none of the 2 nodes",
    ),
    "one unhealthy while all are in use": (pod(1, NO_GPU), [node("gpu-1", 8, offered=7)], [pod(8, node_name="gpu-1")], ["InsufficientResource"], "at most 0"),
    "a MIG device": (
        pod(1, "0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb.", resource="nvidia.com/mig-1g.10gb"),
        [node("gpu-1", 1, resource="nvidia.com/mig-1g.10gb")],
        [pod(1, node_name="gpu-1", resource="nvidia.com/mig-1g.10gb")],
        ["InsufficientResource"],
        "nvidia.com/mig-1g.10gb",
    ),
}


@pytest.mark.parametrize(("waiting", "nodes", "running", "codes", "says"), CASES.values(), ids=CASES)
def test_why_a_pod_waits(waiting: Object, nodes: list[Object], running: list[Object], codes: list[str], says: str) -> None:
    found = explain(waiting, nodes, *running)
    assert [item["code"] for item in found] == codes
    assert says in found[0]["summary"]
    assert found[0]["subject"] == {"kind": "pod", "name": "pod", "namespace": "lab"}
    assert {item["severity"] for item in found} == {"error"}


def test_a_pod_that_runs_needs_no_explanation() -> None:
    assert explain(pod(1, node_name="gpu-1"), [node("gpu-1", 2)]) == []
