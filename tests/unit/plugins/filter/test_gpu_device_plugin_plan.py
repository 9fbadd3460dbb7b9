# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_device_plugin_plan as subject

NAMES = {"namespace": "nvidia-device-plugin", "name": "nvidia-device-plugin", "runtime_class": "nvidia", "handler": "nvidia"}


def node(name: str, labels: dict[str, str] | None = None, taints: t.Sequence[dict[str, str]] = (), runtime: str = "containerd://2.1.4") -> dict[str, t.Any]:
    return {"name": name, "labels": labels or {}, "taints": list(taints), "container_runtime": runtime}


def plugin(namespace: str = "nvidia-device-plugin", name: str = "nvidia-device-plugin", **values: t.Any) -> dict[str, t.Any]:
    return {"kind": "daemonset", "namespace": namespace, "name": name, "image": "k8s-device-plugin:v0.20.0", "desired": 1, "ready": 1, **values}


def cluster(*nodes: dict[str, t.Any], plugins: t.Sequence[t.Any] = (), runtime_classes: t.Sequence[t.Any] = (), version: str = "v1.36.3") -> dict[str, t.Any]:
    return {"nodes": list(nodes), "plugins": list(plugins), "runtime_classes": list(runtime_classes), "kubernetes_version": version}


def namespace(labels: dict[str, str], phase: str = "Active") -> dict[str, t.Any]:
    return {"kind": "Namespace", "metadata": {"name": "nvidia-device-plugin", "labels": labels}, "status": {"phase": phase}}


def daemonset(strategy: str = "cdi-cri", managed_by: str = "gpufleet") -> dict[str, t.Any]:
    container = {"name": "nvidia-device-plugin", "env": [{"name": "DEVICE_LIST_STRATEGY", "value": strategy}]}
    return {
        "kind": "DaemonSet",
        "metadata": {"name": "nvidia-device-plugin", "namespace": "nvidia-device-plugin", "labels": {"app.kubernetes.io/managed-by": managed_by}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def resource_slice(on: str) -> dict[str, t.Any]:
    return {"kind": "ResourceSlice", "metadata": {"name": f"{on}-gpu.nvidia.com-x"}, "spec": {"driver": "gpu.nvidia.com", "nodeName": on}}


def plan(gpu_cluster: dict[str, t.Any], *nodes: str, **options: t.Any) -> dict[str, t.Any]:
    return subject.plan(gpu_cluster, list(nodes) or [item["name"] for item in gpu_cluster["nodes"]], **{**NAMES, **options})


def codes(result: dict[str, t.Any]) -> list[str]:
    return [failure["code"] for failure in result["failures"]]


def test_a_bare_cluster_gets_everything() -> None:
    result = plan(cluster(node("gpu-2"), node("gpu-1")))
    assert codes(result) == []
    assert result["apply_namespace"]
    assert result["create_runtime_class"]
    assert [item["metadata"]["name"] for item in result["labels"]] == ["gpu-1", "gpu-2"]
    assert not result["ready"]


def test_an_equipped_cluster_needs_nothing_but_the_daemonset_kept_right() -> None:
    found = cluster(node("gpu-1", {"nvidia.com/gpu.present": "true"}), plugins=[plugin()], runtime_classes=[{"name": "nvidia", "handler": "nvidia"}])
    result = plan(found, live=[daemonset()])
    assert codes(result) == []
    assert (result["labels"], result["apply_namespace"], result["create_runtime_class"], result["ready"]) == ([], False, False, True)


@pytest.mark.parametrize(
    ("found", "options", "code", "in_message"),
    [
        (cluster(), {}, "NoNodesGiven", "gpu_device_plugin_nodes"),
        (cluster(node("gpu-1")), {"nodes": ["gpu-1", "gpu-9"]}, "NodeNotFound", "gpu-9"),
        (cluster(node("gpu-1"), plugins=[plugin("kube-system", "nvidia-daemonset")]), {}, "PluginConflict", "kube-system/nvidia-daemonset"),
        (cluster(node("gpu-1")), {"live": [{"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": {}}]}, "PluginConflict", "cluster-policy"),
        (cluster(node("gpu-1")), {"live": [resource_slice("gpu-1")]}, "PluginConflict", "GPUs of gpu-1"),
        (cluster(node("gpu-1"), plugins=[plugin()]), {"live": [daemonset(managed_by="Helm")]}, "PluginConflict", "somebody else"),
        (cluster(node("gpu-1"), runtime_classes=[{"name": "nvidia", "handler": "other"}]), {}, "RuntimeClassConflict", "found other"),
        (cluster(node("gpu-1")), {"live": [namespace({"pod-security.kubernetes.io/enforce": "restricted"})]}, "PodSecurityViolation", "restricted"),
        (cluster(node("gpu-1")), {"live": [namespace({}, phase="Terminating")]}, "NamespaceTerminating", "terminating"),
        (cluster(node("gpu-1", {"nvidia.com/gpu.present": "false"})), {}, "NodeLabelConflict", "found false"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else None,
)
def test_refusals(found: dict[str, t.Any], options: dict[str, t.Any], code: str, in_message: str) -> None:
    options = dict(options)
    result = plan(found, *options.pop("nodes", ()), **options)
    assert codes(result) == [code]
    assert in_message in result["failures"][0]["message"]


def test_everything_wrong_comes_in_one_list() -> None:
    found = cluster(node("gpu-1"), plugins=[plugin("a", "b")], runtime_classes=[{"name": "nvidia", "handler": "other"}])
    assert codes(plan(found, "gpu-1", "gpu-9")) == ["NodeNotFound", "PluginConflict", "RuntimeClassConflict"]


def test_a_plugin_for_other_nodes_is_accepted_when_it_is_named() -> None:
    assert codes(plan(cluster(node("gpu-1"), plugins=[plugin("other", "pool")]), other_plugins=["other/pool"])) == []


@pytest.mark.parametrize(
    "neighbour",
    [
        {"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": {"devicePlugin": {"enabled": False}}},
        resource_slice("gpu-9"),
    ],
    ids=["operator without a device plugin", "DRA driver on other nodes"],
)
def test_neighbours_that_leave_the_gpus_alone(neighbour: dict[str, t.Any]) -> None:
    assert codes(plan(cluster(node("gpu-1")), live=[neighbour])) == []


@pytest.mark.parametrize(
    ("labels", "ours"),
    [({"app.kubernetes.io/managed-by": "gpufleet"}, True), ({}, False), ({"pod-security.kubernetes.io/enforce": "privileged"}, False)],
)
def test_a_namespace_of_others_is_used_but_not_touched(labels: dict[str, str], ours: bool) -> None:
    result = plan(cluster(node("gpu-1")), live=[namespace(labels)])
    assert codes(result) == []
    assert result["apply_namespace"] is ours


@pytest.mark.parametrize(
    ("taints", "wanted"),
    [
        ([], []),
        ([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}], []),
        ([{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}], []),
        ([{"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}], []),
        ([{"key": "gpu", "effect": "PreferNoSchedule"}], []),
        ([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]),
        (
            [{"key": "pool", "value": "gpu", "effect": "NoExecute"}, {"key": "pool", "value": "gpu", "effect": "NoExecute"}],
            [{"key": "pool", "operator": "Equal", "value": "gpu", "effect": "NoExecute"}],
        ),
    ],
)
def test_tolerations_answer_the_taints_that_last(taints: list[dict[str, str]], wanted: list[dict[str, str]]) -> None:
    assert plan(cluster(node("gpu-1", taints=taints)))["tolerations"] == wanted


def test_tolerations_of_nodes_equipped_before_stay() -> None:
    taint = {"key": "pool", "value": "a", "effect": "NoSchedule"}
    found = cluster(node("gpu-1"), node("gpu-2", {"nvidia.com/gpu.present": "true"}, [taint]), node("cpu-1", taints=[{"key": "cpu", "effect": "NoSchedule"}]))
    assert [item["key"] for item in plan(found, "gpu-1")["tolerations"]] == ["pool"]


@pytest.mark.parametrize(
    ("runtime", "version", "options", "wanted"),
    [
        ("containerd://2.1.4", "v1.36.3", {}, "cdi-cri"),
        ("cri-o://1.31.0", "v1.36.3", {}, "cdi-cri"),
        ("cri-o://1.28.0", "v1.36.3", {}, "envvar"),
        ("containerd://1.7.24", "v1.36.3", {}, "envvar"),
        ("containerd://1.7.24", "v1.36.3", {"cdi_nodes": {"gpu-1": True}}, "cdi-cri"),
        ("containerd://2.1.4", "v1.36.3", {"cdi_nodes": {"gpu-1": False}}, "envvar"),
        ("containerd://2.1.4", "v1.28.9", {}, "envvar"),
        ("docker://27.0.0", "v1.36.3", {}, "envvar"),
        (None, "v1.36.3", {}, "envvar"),
        (None, "v1.36.3", {"live": [daemonset("cdi-cri")]}, "cdi-cri"),
        (None, "v1.36.3", {"live": [daemonset("envvar")]}, "envvar"),
        ("containerd://1.6.20", "v1.36.3", {"strategy": "cdi-cri"}, "cdi-cri"),
    ],
)
def test_the_strategy_is_the_safe_one_where_every_node_can(runtime: str, version: str, options: dict[str, t.Any], wanted: str) -> None:
    chosen = plan(cluster(node("gpu-1", runtime=runtime), version=version), **options)["strategy"]
    assert chosen["value"] == wanted
    assert chosen["reason"]
