# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.filter.gpu_removal_plan import plan


def obj(kind: str, name: str, namespace: str | None = None) -> dict[str, t.Any]:
    metadata = {"name": name, "uid": f"uid-of-{name}", "labels": {"app.kubernetes.io/managed-by": "gpufleet"}}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata if namespace is None else {**metadata, "namespace": namespace}}


def pod(namespace: str, name: str, runtime_class: str | None = None, phase: str = "Running", ours: bool = False) -> dict[str, t.Any]:
    labels = {"app.kubernetes.io/managed-by": "gpufleet"} if ours else {"app": "train"}
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels}, "spec": {"runtimeClassName": runtime_class}, "status": {"phase": phase}}


OURS = [obj("DaemonSet", "plugin", "ns"), obj("RuntimeClass", "nvidia"), obj("Node", "gpu-1"), obj("Namespace", "ns")]


def kinds(result: dict[str, t.Any]) -> list[tuple[str, str]]:
    return [(item["kind"], item["metadata"]["name"]) for part in ("workloads", "runtime_classes", "nodes", "namespaces") for item in result[part]]


def test_nothing_of_ours_leaves_nothing_to_do() -> None:
    result = plan([])
    assert (kinds(result), result["left"]) == ([], [])


def test_all_of_ours_goes_in_order_when_nobody_else_uses_it() -> None:
    result = plan(OURS, [pod("ns", "plugin-1", "nvidia", ours=True), pod("default", "web"), pod("default", "done", "nvidia", phase="Succeeded")])
    assert kinds(result) == [("DaemonSet", "plugin"), ("RuntimeClass", "nvidia"), ("Node", "gpu-1"), ("Namespace", "ns")]
    assert result["left"] == []


def test_a_runtime_class_in_use_stays_and_its_users_are_named() -> None:
    result = plan(OURS, [pod("team", f"train-{number}", "nvidia") for number in range(7)])
    assert result["runtime_classes"] == []
    assert result["left"] == ["RuntimeClass nvidia: used by team/train-0, team/train-1, team/train-2, team/train-3, team/train-4 and 2 more"]


def test_a_namespace_with_pods_of_others_stays() -> None:
    result = plan(OURS, [pod("ns", "squatter")])
    assert result["namespaces"] == []
    assert result["left"] == ["Namespace ns: used by ns/squatter"]


def test_a_node_loses_only_what_we_applied() -> None:
    assert plan(OURS)["nodes"] == [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1", "uid": "uid-of-gpu-1"}}]
