# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts, only_nodes, plugin_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.cluster import cluster_findings, only_findings

Object = t.Dict[str, t.Any]
GPU = "nvidia.com/gpu"


def node(name: str, capacity: Object, allocatable: Object | None = None, labels: Object | None = None) -> Object:
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "status": {
            "capacity": capacity,
            "allocatable": capacity if allocatable is None else allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, gpus: int, on: str | None, phase: str = "Running", resource: str = GPU, **metadata: t.Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "lab", **metadata},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {resource: str(gpus)}}}], **({"nodeName": on} if on else {})},
        "status": {"phase": phase},
    }


def facts(nodes: list[Object], pods: list[Object], daemonsets: list[Object] | None = None) -> tuple[Object, Observation]:
    plugins = plugin_facts(daemonsets or [])
    index = PodIndex(plugins)
    for item in pods:
        index.add(item)
    seen = Observation("v1.36.3", {item["metadata"]["name"]: item for item in nodes}, plugins, index, [], [])
    return cluster_facts(seen), seen


def resource(cluster: Object, name: str, resource: str = GPU) -> Object:
    [found] = [item for item in cluster["nodes"] if item["name"] == name]
    [entry] = [item for item in found["resources"] if item["resource"] == resource]
    return entry


@pytest.mark.parametrize(
    ("pods", "requested", "free"),
    [
        ([], 0, 4),
        ([pod("a", 1, "gpu-1")], 1, 3),
        ([pod("a", 1, "gpu-1", "Pending")], 1, 3),
        ([pod("a", 1, "gpu-1", deletionTimestamp="2026-11-30T22:00:00Z")], 1, 3),
        ([pod("a", 1, "gpu-1", "Succeeded"), pod("b", 2, "gpu-1", "Failed")], 0, 4),
        ([pod("a", 1, None, "Pending")], 0, 4),
        ([pod("a", 3, "gpu-1"), pod("b", 3, "gpu-1")], 6, 0),
        ([pod("a", 1, "gpu-2")], 0, 4),
    ],
)
def test_what_is_free(pods: list[Object], requested: int, free: int) -> None:
    cluster, _seen = facts([node("gpu-1", {GPU: "4"}), node("gpu-2", {GPU: "4"})], pods)
    entry = resource(cluster, "gpu-1")
    assert (entry["requested"], entry["free"]) == (requested, free)


def test_one_unhealthy_while_all_are_in_use() -> None:
    cluster, seen = facts([node("gpu-1", {GPU: "8"}, {GPU: "7"})], [pod("a", 8, "gpu-1")])
    assert resource(cluster, "gpu-1") == {
        "resource": GPU,
        "capacity": 8,
        "allocatable": 7,
        "requested": 8,
        "free": 0,
        "unhealthy": 1,
        "shared": False,
        "physical": 8,
        "stale": False,
    }
    assert [item["code"] for item in cluster_findings(cluster, seen)] == ["DeviceUnhealthy"]


def test_pods_on_a_node_that_no_longer_offers_what_they_hold() -> None:
    cluster, _seen = facts([node("gpu-1", {})], [pod("a", 2, "gpu-1")])
    entry = resource(cluster, "gpu-1")
    assert (entry["capacity"], entry["requested"], entry["free"]) == (0, 2, 0)
    assert cluster["nodes"][0]["consumers"] == [{"namespace": "lab", "pod": "a", "resource": GPU, "count": 2}]


@pytest.mark.parametrize(
    ("name", "labels", "shared", "physical"),
    [
        (GPU, {}, False, 8),
        (GPU, {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4"}, True, 2),
        (GPU, {"nvidia.com/gpu.replicas": "4"}, True, None),
        (GPU, {"nvidia.com/gpu.replicas": "none"}, False, 8),
        ("nvidia.com/gpu.shared", {}, True, None),
        ("nvidia.com/mig-1g.5gb", {"nvidia.com/gpu.count": "1"}, False, None),
    ],
)
def test_shared_and_physical(name: str, labels: Object, shared: bool, physical: int | None) -> None:
    cluster, _seen = facts([node("gpu-1", {name: "8"}, labels=labels)], [])
    entry = resource(cluster, "gpu-1", name)
    assert (entry["shared"], entry["physical"]) == (shared, physical)


def test_totals_leave_stale_resources_out() -> None:
    renamed = node("a", {GPU: "8", "nvidia.com/gpu.shared": "8"}, {GPU: "8", "nvidia.com/gpu.shared": "0"})
    cluster, _seen = facts([renamed, node("b", {GPU: "2"})], [pod("p", 3, "a")])
    assert cluster["totals"] == [{"resource": GPU, "nodes": 2, "capacity": 10, "allocatable": 10, "requested": 3, "free": 7, "unhealthy": 0}]


@pytest.mark.parametrize(
    ("labels", "gpu"),
    [
        ({}, False),
        ({"nvidia.com/gpu.present": "true"}, True),
        ({"nvidia.com/gpu.present": "false", "nvidia.com/gpu.product": "NVIDIA-H200"}, False),
        ({"nvidia.com/gpu.product": "NVIDIA-H200"}, True),
        ({"feature.node.kubernetes.io/pci-10de.present": "true"}, True),
        ({"feature.node.kubernetes.io/pci-0302_10de.present": "true"}, True),
        ({"feature.node.kubernetes.io/pci-0300_10de_1234.present": "true"}, True),
        ({"feature.node.kubernetes.io/pci-0302_10de.present": "false"}, False),
        ({"feature.node.kubernetes.io/pci-0200_10de.present": "true"}, False),
        ({"feature.node.kubernetes.io/pci-0300_1d0f.present": "true"}, False),
    ],
)
def test_which_nodes_are_gpu_nodes(labels: Object, gpu: bool) -> None:
    cluster, _seen = facts([node("a", {}, labels=labels)], [])
    assert cluster["nodes"][0]["gpu"] is gpu


def daemonset(name: str, image: str, container: str = "ctr", command: list[str] | None = None) -> Object:
    spec = {"containers": [{"name": container, "image": image, "command": command}], "runtimeClassName": "nvidia"}
    return {
        "metadata": {"name": name, "namespace": "gpu"},
        "spec": {"template": {"spec": spec}},
        "status": {"desiredNumberScheduled": 3, "numberReady": 2},
    }


@pytest.mark.parametrize(
    ("found", "is_one"),
    [
        (daemonset("nvidia-device-plugin-daemonset", "mirror.example/kdp:1"), True),
        (daemonset("plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"), True),
        (daemonset("plugin", "mirror.example:5000/nvidia/k8s-device-plugin@sha256:00"), True),
        (daemonset("gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"), False),
        (daemonset("chart-gfd", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0", command=["/usr/bin/gpu-feature-discovery"]), False),
        (daemonset("nvidia-device-plugin-mps-control-daemon", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0", "mps-control-daemon-ctr"), False),
        (daemonset("rdma-shared-dp-ds", "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:1"), False),
        (daemonset("kube-proxy", "registry.k8s.io/kube-proxy:v1.36.3"), False),
    ],
)
def test_which_daemonsets_are_device_plugins(found: Object, is_one: bool) -> None:
    plugins = plugin_facts([found])
    assert bool(plugins) is is_one
    if is_one:
        assert (plugins[0]["desired"], plugins[0]["ready"], plugins[0]["runtime_class"]) == (3, 2, "nvidia")


def plugin_pod(name: str, owner: str, node_name: str = "gpu-1") -> Object:
    return {
        "metadata": {"name": name, "namespace": "gpu", "ownerReferences": [{"kind": "DaemonSet", "name": owner}]},
        "spec": {"nodeName": node_name, "containers": []},
        "status": {"phase": "Running"},
    }


def test_two_plugins_on_a_node() -> None:
    sets = [daemonset("one", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"), daemonset("two", "nvcr.io/nvidia/k8s-device-plugin:v0.19.0")]
    pods = [plugin_pod("one-a", "one"), plugin_pod("two-a", "two"), plugin_pod("other", "kube-proxy"), plugin_pod("one-b", "one", "gpu-2")]
    cluster, seen = facts([node("gpu-1", {GPU: "2"}), node("gpu-2", {GPU: "2"})], pods, sets)
    found = cluster_findings(cluster, seen)
    assert [(item["code"], item["subject"]["name"]) for item in found] == [("PluginConflict", "gpu-1")]


def test_chosen_nodes_and_their_findings() -> None:
    nodes = [node("gpu-1", {GPU: "2"}, {GPU: "0"}), node("gpu-2", {GPU: "2"}, {GPU: "0"})]
    waiting = pod("waits", 1, None, "Pending")
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."}]
    everything, seen = facts(nodes, [waiting])
    chosen = only_nodes(everything, ["gpu-2"])
    assert [item["name"] for item in chosen["nodes"]] == ["gpu-2"]
    found = only_findings(cluster_findings(everything, seen), chosen, everything)
    assert [item["subject"]["name"] for item in found] == ["gpu-2", "waits"]


def test_a_node_that_does_not_exist() -> None:
    everything, _seen = facts([node("gpu-1", {GPU: "2"})], [])
    with pytest.raises(GpuFleetError) as caught:
        only_nodes(everything, ["gpu-1", "gpu-9"])
    assert caught.value.code == "NodeNotFound"
    assert caught.value.details == {"missing": ["gpu-9"], "nodes": ["gpu-1"]}
