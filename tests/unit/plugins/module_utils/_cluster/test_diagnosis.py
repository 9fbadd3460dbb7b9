# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read to explain something: enough, nothing twice, nothing without a bound, and on in spite of what may not be read."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.masking import MASK
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster import diagnosis
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.reading import MOST_LOGS
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from tests.unit.diagnosis_world import STACK, Object, World, crashing, event, logs, names, node, plugin, pod


def test_a_pod_that_crashes() -> None:
    world = World(*STACK, crashing("train"), pod("other"), event("Pod", "train"), event("Pod", "other"))
    result = world.diagnose(pod="train")
    assert names(result, "Pod") == ["other", "plugin-gpu-1", "train"]
    assert names(result, "Node") == ["gpu-1"]
    assert names(result, "Event") == ["train.Failed"]
    assert (names(result, "ResourceQuota"), names(result, "LimitRange"), names(result, "RuntimeClass")) == (["gpus"], ["limits"], ["nvidia"])
    assert (names(result, "DaemonSet"), names(result, "ConfigMap")) == (["nvidia-device-plugin"], ["sharing"])
    assert logs(result) == [("plugin-gpu-1", "nvidia-device-plugin-ctr", False), ("train", "main", True)]
    assert result["notes"] == []


def test_a_pod_without_a_node_needs_all_nodes() -> None:
    world = World(*STACK, pod("train", None), pod("holder", "gpu-2"), pod("web", "gpu-2", gpus=0), pod("done", "gpu-1", status={"phase": "Succeeded"}))
    result = world.diagnose(pod="train")
    assert names(result, "Node") == ["gpu-1", "gpu-2"]
    assert names(result, "Pod") == ["holder", "plugin-gpu-1", "plugin-gpu-2", "train"]
    assert result["logs"] == []


def test_a_pod_that_runs_is_looked_at_all_the_same() -> None:
    states = [{"name": "main", "state": {"running": {}}}, {"name": "sidecar", "state": {"running": {}}}]
    result = World(*STACK, pod("train", status={"containerStatuses": states})).diagnose(pod="train")
    assert ("train", "main", False) in logs(result)


@pytest.mark.parametrize("kind", ["Job", "ReplicaSet", "StatefulSet"])
def test_a_controller_that_was_refused_has_no_pod_that_tells(kind: str) -> None:
    controller = {"kind": kind, "metadata": {"name": "train", "namespace": "default"}, "spec": {"template": {"spec": pod("x")["spec"]}}}
    refused = event(kind, "train", reason="FailedCreate")
    for question in ({"namespace": "default"}, {}):
        result = World(*STACK, controller, refused).diagnose(**question)
        assert (names(result, kind), names(result, "Event")) == (["train"], ["train.FailedCreate"])
        assert names(result, "ResourceQuota") == ["gpus"]


def test_a_refused_controller_that_asks_for_no_gpu_is_not_our_business() -> None:
    controller = {"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}, "spec": {"template": {"spec": pod("x", gpus=0)["spec"]}}}
    result = World(*STACK, controller, event("ReplicaSet", "web", reason="FailedCreate")).diagnose()
    assert (names(result, "ReplicaSet"), names(result, "Event")) == ([], [])


def test_a_job_that_is_asked_about_and_was_refused() -> None:
    job = {"kind": "Job", "metadata": {"name": "train", "namespace": "default"}, "spec": {"template": {"spec": pod("x")["spec"]}}}
    assert names(World(*STACK, job, event("Job", "train", reason="FailedCreate")).diagnose(job="train"), "Event") == ["train.FailedCreate"]


def test_the_pods_of_a_job() -> None:
    label = {"labels": {"job-name": "train"}}
    job = {"kind": "Job", "metadata": {"name": "train", "namespace": "default"}, "spec": {"template": {"spec": pod("x")["spec"]}}}
    world = World(*STACK, job, crashing("train-a", **label), pod("train-b", status={"phase": "Succeeded"}, **label), event("Pod", "train-a"))
    result = world.diagnose(job="train")
    assert names(result, "Pod") == ["plugin-gpu-1", "train-a", "train-b"]
    assert names(result, "Event") == ["train-a.Failed"]


def test_a_namespace() -> None:
    sick = [crashing("train"), pod("waiting", None), pod("refused", status={"phase": "Failed", "reason": "UnexpectedAdmissionError"})]
    world = World(*STACK, *sick, pod("fine"), pod("theirs", None, namespace="elsewhere"), pod("web", gpus=0), event("Pod", "refused"))
    result = world.diagnose(namespace="default")
    assert names(result, "Pod") == ["fine", "plugin-gpu-1", "plugin-gpu-2", "refused", "theirs", "train", "waiting"]
    assert names(result, "Event") == ["refused.Failed"]
    assert ("train", "main", True) in logs(result)


def test_a_node() -> None:
    world = World(*STACK, crashing("train"), pod("fine"), pod("far", "gpu-2"), event("Node", "gpu-1"), event("Node", "gpu-2"), event("Pod", "train"))
    result = world.diagnose(node="gpu-1")
    assert (names(result, "Node"), names(result, "Pod")) == (["gpu-1"], ["fine", "plugin-gpu-1", "train"])
    assert names(result, "Event") == ["gpu-1.Failed", "train.Failed"]
    assert ("plugin-gpu-1", "nvidia-device-plugin-ctr", False) in logs(result)
    [kept] = [obj for obj in result["objects"] if obj["kind"] == "Node"]
    assert "images" not in kept["status"]


def test_the_cluster() -> None:
    world = World(
        *STACK, node("gpu-3", gpus=0), plugin("gpu-3"), crashing("train"), pod("fine"), event("Pod", "train"), event("Pod", "fine", event_type="Normal")
    )
    result = world.diagnose()
    assert names(result, "Node") == ["gpu-1", "gpu-2", "gpu-3"]
    assert names(result, "Event") == ["train.Failed"]
    # Of the plugins the one whose node offers nothing, and the one beside a pod that isn't well.
    assert {log[0] for log in logs(result)} == {"train", "plugin-gpu-1", "plugin-gpu-3"}


def test_the_operator() -> None:
    operator = "gpu-operator"
    world = World(
        *STACK,
        {"kind": "Deployment", "metadata": {"name": operator, "namespace": operator, "labels": {"app.kubernetes.io/component": operator}}},
        {"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {"state": "notReady"}},
        {"kind": "CustomResourceDefinition", "metadata": {"name": "clusterpolicies.nvidia.com"}, "spec": {"description": "long", "group": "nvidia.com"}},
        crashing("nvidia-driver-daemonset-x", namespace=operator, gpus=0),
        event("Pod", "nvidia-driver-daemonset-x", operator),
    )
    result = world.diagnose(operator=True)
    assert names(result, "ClusterPolicy") == ["cluster-policy"]
    assert [obj["spec"] for obj in result["objects"] if obj["kind"] == "CustomResourceDefinition"] == [{"group": "nvidia.com"}]
    assert ("nvidia-driver-daemonset-x", "main", True) in logs(result)
    assert names(result, "Event") == ["nvidia-driver-daemonset-x.Failed"]
    assert result["notes"] == []


def test_a_cluster_without_operator_is_noted_and_no_failure() -> None:
    assert [note["what"] for note in World(*STACK).diagnose(operator=True)["notes"]] == ["GPU Operator"]
    assert World(*STACK).diagnose()["notes"] == []


@pytest.mark.parametrize("question", [{}, {"pod": "train"}, {"namespace": "default"}, {"node": "gpu-1"}, {"operator": True}])
def test_nothing_is_read_twice_and_no_secret_at_all(question: Object) -> None:
    world = World(*STACK, crashing("train"), pod("waiting", None), event("Pod", "train"))
    result = world.diagnose(**question)
    assert {path: count for path, count in Counter(world.asked).items() if count > 1} == {}
    assert not any("/secrets" in path for path in world.asked)
    assert "hf_secret" not in json.dumps(result)
    assert MASK in json.dumps(result) or "operator" in question


def test_requests_do_not_grow_with_the_cluster() -> None:
    small, large = World(*STACK, crashing("train")), World(*STACK, crashing("train"))
    large.objects += [node(f"more-{number}") for number in range(300)] + [pod(f"held-{number}", f"more-{number}") for number in range(300)]
    for world in (small, large):
        world.diagnose()
    assert len(large.asked) == len(small.asked)


def test_many_sick_pods_are_bounded_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "MOST_PODS", 60)
    world = World(*STACK, *(crashing(f"sick-{number:03}") for number in range(70)))
    result = world.diagnose()
    assert len(result["logs"]) == MOST_LOGS
    assert {note["what"] for note in result["notes"]} == {"pods that aren't well", "logs"}
    full = [obj for obj in result["objects"] if obj["kind"] == "Pod" and "containerStatuses" in obj["status"]]
    assert len([obj for obj in full if obj["metadata"]["name"].startswith("sick")]) == 60


def test_no_logs_where_none_are_wanted() -> None:
    world = World(*STACK, crashing("train"))
    assert world.diagnose(log_lines=0)["logs"] == []
    assert not any(path.split("?")[0].endswith("/log") for path in world.asked)


def test_logs_are_bounded_by_the_server() -> None:
    world = World(*STACK, crashing("train"))
    world.diagnose(pod="train", log_lines=7)
    assert any("limitBytes=262144&previous=true&tailLines=7" in path for path in world.asked)


@pytest.mark.parametrize(
    ("trouble", "status"),
    [("/events", 403), ("/runtimeclasses", 403), ("/log", 403), ("/log", 400), ("/resourcequotas", 410), ("/daemonsets", 404), ("/nodes", 403)],
)
def test_what_may_not_be_read_is_noted(trouble: str, status: int) -> None:
    world = World(*STACK, crashing("train"), pod("waiting", None), event("Pod", "train"))
    world.trouble = {trouble: status}
    result = world.diagnose()
    assert names(result, "Pod") == ["plugin-gpu-1", "plugin-gpu-2", "train", "waiting"]
    assert result["notes"] or status == 404
    assert all(str(status) in note["reason"] for note in result["notes"])


def test_a_kubelet_that_is_away_costs_its_timeout_once() -> None:
    world = World(*STACK, crashing("a"), crashing("b"))
    world.trouble = {"/log": 502}
    result = world.diagnose()
    assert len(result["notes"]) == 1
    assert world.now <= 6


def test_an_api_server_that_goes_away_is_asked_no_more() -> None:
    world = World(*STACK, crashing("train"), event("Pod", "train"))
    world.trouble = {"/events": 0}
    result = world.diagnose()
    assert "Nothing more was asked" in result["notes"][-1]["reason"]
    assert names(result, "Pod")
    assert world.now <= 31


def test_credentials_that_are_no_longer_accepted_fail() -> None:
    world = World(*STACK)
    world.trouble = {"/events": 401}
    with pytest.raises(GpuFleetError) as caught:
        world.diagnose()
    assert caught.value.code == "ApiUnauthorized"


@pytest.mark.parametrize(
    ("question", "code", "near", "namespaces"),
    [
        ({"pod": "trian-1"}, "PodNotFound", ["train-1"], []),
        ({"pod": "train"}, "PodNotFound", ["train-1"], []),
        ({"pod": "train-1", "namespace": "elsewhere"}, "PodNotFound", [], ["default"]),
        ({"pod": "train-2", "namespace": "elsewhere"}, "PodNotFound", ["default/train-1"], []),
        ({"job": "nothing-like-it"}, "JobNotFound", [], []),
        ({"node": "gpu1"}, "NodeNotFound", ["gpu-1", "gpu-2"], []),
        ({"namespace": "defualt"}, "NamespaceNotFound", ["default"], []),
    ],
)
def test_what_does_not_exist_fails_with_near_names(question: Object, code: str, near: list[str], namespaces: list[str]) -> None:
    with pytest.raises(GpuFleetError) as caught:
        World(*STACK, pod("train-1")).diagnose(**question)
    assert caught.value.code == code
    assert sorted(caught.value.details["near"]) == near
    assert caught.value.details["namespaces"] == namespaces


def test_what_was_asked_about_must_be_readable() -> None:
    world = World(*STACK, pod("train"))
    world.trouble = {"/pods/train": 403}
    with pytest.raises(GpuFleetError) as caught:
        world.diagnose(pod="train")
    assert caught.value.details["status"] == 403
