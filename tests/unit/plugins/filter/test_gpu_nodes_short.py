# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter.gpu_nodes_short import short
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import catalogue


def cluster(**allocatable: dict[str, int]) -> dict[str, t.Any]:
    return {
        "nodes": [
            {"name": name, "resources": [{"resource": resource, "capacity": 2, "allocatable": count} for resource, count in resources.items()]}
            for name, resources in allocatable.items()
        ]
    }


def finding(code: str, name: str) -> dict[str, t.Any]:
    return catalogue.finding(code, kind="node", name=name, summary=f"{code} happened.", next_step="Cure it.")


def plugin_pod(name: str, node: str) -> dict[str, t.Any]:
    return {
        "kind": "Pod",
        "metadata": {"namespace": "plugin", "name": name},
        "spec": {"nodeName": node, "containers": [{"name": "plugin"}]},
        "status": {"phase": "Pending"},
    }


def event(kind: str, name: str, reason: str, message: str) -> dict[str, t.Any]:
    about = {"kind": kind, "namespace": "plugin", "name": name}
    return {"kind": "Event", "involvedObject": about, "reason": reason, "message": message, "metadata": {"name": f"{name}.1"}}


NO_HANDLER = 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured'
FORBIDDEN = 'Error creating: pods "plugin-" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes (volume "cdi")'


@pytest.mark.parametrize(
    ("resources", "expected", "falls_short"),
    [
        ({"nvidia.com/gpu": 2}, {"a": 2}, False),
        ({"nvidia.com/gpu": 1}, {"a": 2}, True),
        ({"nvidia.com/gpu": 1}, {}, False),
        ({"nvidia.com/gpu": 0}, {}, True),
        ({}, {}, True),
        ({"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 8}, {"a": 2}, False),
        ({"nvidia.com/gpu": 1, "nvidia.com/mig-1g.18gb": 7}, {"a": 8}, False),
        ({"example.com/fpga": 4}, {}, True),
    ],
)
def test_counts_what_the_kubelet_would_hand_out(resources: dict[str, int], expected: dict[str, int], falls_short: bool) -> None:
    assert bool(short(cluster(a=resources), ["a"], expected=expected)) is falls_short


def test_a_node_that_has_vanished_falls_short() -> None:
    [entry] = short(cluster(), ["gone"])
    assert (entry["code"], entry["details"]["node"], entry["details"]["allocatable"]) == ("GpuNotAllocatable", "gone", 0)


def test_the_message_gives_the_findings_about_that_node_only() -> None:
    [entry] = short(cluster(a={}, b={"nvidia.com/gpu": 2}), ["b", "a"], findings=[finding("NodeNotReady", "a"), finding("NodeCordoned", "b")])
    assert [item["code"] for item in entry["details"]["findings"]] == ["NodeNotReady"]
    assert "NodeNotReady happened. Cure it." in entry["message"]


def test_the_plugins_pod_on_the_node_explains_it() -> None:
    live = [plugin_pod("plugin-a", "a"), plugin_pod("plugin-b", "b"), event("Pod", "plugin-a", "FailedCreatePodSandBox", NO_HANDLER)]
    first, second = short(cluster(a={}, b={}), ["a", "b"], live=live)
    assert [item["code"] for item in first["details"]["findings"]] == ["RuntimeHandlerMissing"]
    assert second["details"]["findings"] == []


def test_what_the_plugins_pod_meets_explains_what_the_node_shows() -> None:
    live = [plugin_pod("plugin-a", "a"), event("Pod", "plugin-a", "FailedCreatePodSandBox", NO_HANDLER)]
    [entry] = short(cluster(a={}), ["a"], findings=[finding("PluginNotRegistered", "a")], live=live)
    told = [(item["code"], item["consequence_of"]) for item in entry["details"]["findings"]]
    assert told == [("RuntimeHandlerMissing", None), ("PluginNotRegistered", "RuntimeHandlerMissing")]


def test_a_daemonset_that_may_make_no_pod_explains_it() -> None:
    live = [{"kind": "DaemonSet", "metadata": {"namespace": "plugin", "name": "plugin"}}, event("DaemonSet", "plugin", "FailedCreate", FORBIDDEN)]
    [entry] = short(cluster(a={}), ["a"], live=live)
    assert [item["code"] for item in entry["details"]["findings"]] == ["PodSecurityViolation"]


def test_without_findings_the_message_says_where_to_look() -> None:
    [entry] = short(cluster(a={"nvidia.com/gpu": 0}), ["a"], expected={"a": 2})
    assert entry["message"].startswith("Expected Node a to offer 2 GPUs, found 0 allocatable (capacity 2). Look at")
