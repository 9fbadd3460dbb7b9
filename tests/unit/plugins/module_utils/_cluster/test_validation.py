# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole validations against an API server in memory."""

from __future__ import annotations

import time
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import ApiError
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.validation import Validation
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import cluster_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.plan import make_plan, report
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.verdict import Surroundings
from tests.unit.validation_world import VECTORADD, World, ended, healthy, node, observation, smi

Object = t.Dict[str, t.Any]
NAMESPACE = "gpufleet-validation"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
OPTIONS: Object = {"nodes": None, "gpus": None, "namespace": NAMESPACE, "image": "cuda", "runtime_class": None, "timeout": 300}


def run(world: World, *nodes: Object, keep: bool = False, **options: t.Any) -> Object:
    seen = observation(*nodes)
    cluster = cluster_facts(seen)
    plan = make_plan(cluster, {**OPTIONS, **options}, "run1")
    around = Surroundings(NAMESPACE, [], cluster["nodes"], seen.nodes)
    validation = Validation(t.cast(Api, world), plan.run, plan.targets, around, clock=world.clock, sleep=world.sleep)
    validation.carry_out(keep=keep)
    return report(plan, validation.checks, validation.around)


def verdicts(result: Object) -> dict[str, str]:
    return {entry["node"]: entry["verdict"] for entry in result["nodes"]}


def codes(result: Object) -> list[str]:
    return [item["code"] for item in result["findings"]]


def test_healthy_nodes_pass_and_nothing_remains() -> None:
    world = World()
    result = run(world, node("a"), node("b"))
    assert result["passed"] is True
    assert verdicts(result) == {"a": "passed", "b": "passed"}
    [first, _second] = result["nodes"]
    assert first["gpus_seen"] == [{"uuid": "GPU-0", "product": "NVIDIA H200"}, {"uuid": "GPU-1", "product": "NVIDIA H200"}]
    assert (first["driver_version"], first["product"], first["gpus_expected"]) == ("580.159.04", "NVIDIA H200", 2)
    assert [(check["name"], check["status"], check["exit_code"]) for check in first["checks"]] == [("inspect", "passed", 0), ("cuda", "passed", 0)]
    assert world.leftovers() == []
    assert world.namespaces == {}
    assert world.watches == 1


def test_what_is_kept_and_what_was_there_before() -> None:
    world = World()
    run(world, node("a"), keep=True)
    assert world.leftovers() == ["cuda-run1-0", "cuda-run1-0-x", "inspect-run1-0"]
    assert NAMESPACE in world.namespaces
    other = World()
    other.namespaces[NAMESPACE] = {"metadata": {"name": NAMESPACE}, "status": {"phase": "Active"}}
    run(other, node("a"))
    assert NAMESPACE in other.namespaces
    assert other.leftovers() == []


def test_the_job_starts_after_the_inspection() -> None:
    world = World()
    run(world, node("a"))
    assert [line for line in world.log if line.startswith("create")] == [f"create Namespace {NAMESPACE}", "create Pod inspect-run1-0", "create Job cuda-run1-0"]


def cuda_says(status: Object, log: str) -> t.Callable[[Object], tuple[Object, str]]:
    return lambda pod: (status, log) if pod["spec"]["containers"][0]["name"] == "cuda" else healthy(pod)


def inspection_says(status: Object, log: str) -> t.Callable[[Object], tuple[Object, str]]:
    return lambda pod: (status, log) if pod["spec"]["containers"][0]["name"] == "inspect" else healthy(pod)


NO_NVIDIA_SMI = 'runc create failed: exec: "nvidia-smi": executable file not found in $PATH: unknown'
NOT_STARTED = ended("inspect", 128, reason="StartError", message=NO_NVIDIA_SMI)
UNHEALTHY = "Allocate failed: cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected"
REJECTED = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": UNHEALTHY}
NO_DEVICE = "Failed to allocate device vector A (error code no CUDA-capable device is detected)!\n[Vector addition of 50000 elements]\n"

FAULTS: dict[str, tuple[t.Callable[[Object], tuple[Object, str]], list[str], list[str], str]] = {
    "no device": (
        cuda_says(ended("cuda", 1), NO_DEVICE),
        ["CudaNoDevice"],
        ["passed", "failed"],
        "no CUDA-capable device",
    ),
    "a log that lies": (cuda_says(ended("cuda", 1), VECTORADD), ["ContainerFailed"], ["passed", "failed"], "exit code 1"),
    "a log that lacks the result": (cuda_says(ended("cuda"), "[Vector addition of 50000 elements]\n"), [], ["passed", "failed"], "lacks"),
    "a log that can't be read": (cuda_says(ended("cuda"), "unreadable"), [], ["passed", "failed"], "can't be read"),
    "a report that was cut": (inspection_says(ended("inspect"), smi(2)[:200]), [], ["failed", "passed"], "isn't nvidia-smi's report"),
    "fewer GPUs": (inspection_says(ended("inspect"), smi(1)), ["GpuCountMismatch"], ["failed", "passed"], "sees 1 devices and asked for 2"),
    "more GPUs": (inspection_says(ended("inspect"), "a warning\n" + smi(8)), ["GpuIsolationBypass"], ["failed", "passed"], "sees 8 devices and asked for 2"),
    "the driver is gone": (
        inspection_says(ended("inspect", 9), "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
        ["DriverNotLoaded"],
        ["failed", "passed"],
        "exit code 9",
    ),
    "nvidia-smi isn't injected": (inspection_says(NOT_STARTED, ""), ["ToolkitNotInjecting"], ["failed", "skipped"], "exit code 128"),
    "the kubelet refuses it": (inspection_says(REJECTED, ""), ["DeviceUnhealthy"], ["failed", "skipped"], "never ran"),
}


@pytest.mark.parametrize(("behaviour", "findings", "checks", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_fails_its_node_alone_and_has_a_name(
    behaviour: t.Callable[[Object], tuple[Object, str]], findings: list[str], checks: list[str], says: str
) -> None:
    world = World(bad=behaviour)
    result = run(world, node("bad"), node("good"))
    assert verdicts(result) == {"bad": "failed", "good": "passed"}
    assert result["passed"] is False
    [bad, _good] = result["nodes"]
    assert [item["code"] for item in bad["findings"]] == findings
    assert [check["status"] for check in bad["checks"]] == checks
    assert any(says in check["message"] for check in bad["checks"])
    assert bad["summary"].startswith("bad: failed")
    assert world.leftovers() == []


def waiting(reason: str, message: str = "") -> Object:
    return {"phase": "Pending", "containerStatuses": [{"name": "inspect", "image": "i", "state": {"waiting": {"reason": reason, "message": message}}}]}


def sandbox_event(message: str) -> Object:
    involved = {"kind": "Pod", "name": "inspect-run1-0", "namespace": NAMESPACE}
    return {"type": "Warning", "reason": "FailedCreatePodSandBox", "message": message, "involvedObject": involved}


def test_what_waiting_cannot_cure_is_given_up_early() -> None:
    world = World(bad=inspection_says(waiting("ContainerCreating"), ""))
    world.events.append(sandbox_event('rpc error: no runtime for "nvidia" is configured'))
    result = run(world, node("bad"), node("good"))
    assert verdicts(result) == {"bad": "failed", "good": "passed"}
    assert codes(result) == ["RuntimeHandlerMissing"]
    assert 20 <= world.now < 60
    assert world.leftovers() == []


def test_what_may_still_come_is_waited_for_until_the_deadline() -> None:
    world = World(bad=inspection_says(waiting("ContainerCreating"), ""))
    result = run(world, node("bad"), timeout=100)
    assert codes(result) == ["DeadlineExceeded"]
    assert 100 <= world.now < 110
    assert "not finished in time" in result["nodes"][0]["checks"][0]["message"]


def test_an_image_that_cannot_be_pulled() -> None:
    world = World(bad=inspection_says(waiting("ImagePullBackOff", "Back-off pulling image"), ""))
    assert codes(run(world, node("bad"))) == ["ImagePullFailed"]
    assert world.now < 60


QUOTA = 'pods "x" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=0'


def test_a_namespace_that_refuses_all_pods_fails_the_run() -> None:
    world = World()
    world.refuse = lambda _obj: QUOTA
    with pytest.raises(GpuFleetError) as caught:
        run(world, node("a"), node("b"))
    assert caught.value.code == "NamespaceRefusesPods"
    assert caught.value.details["reason"] == QUOTA
    assert [item["code"] for item in caught.value.details["findings"]] == ["QuotaExceeded"]
    assert world.leftovers() == []
    assert world.namespaces == {}


def test_a_quota_that_is_enough_for_one_node_fails_the_other() -> None:
    world = World()
    world.refuse = lambda obj: QUOTA if obj["metadata"]["name"] == "inspect-run1-1" else None
    result = run(world, node("a"), node("b"))
    assert verdicts(result) == {"a": "passed", "b": "failed"}
    assert codes(result) == ["QuotaExceeded"]


def test_a_new_namespace_without_service_account_is_waited_for() -> None:
    world = World()
    world.refuse = lambda _obj: 'error looking up service account n/default: serviceaccount "default" not found' if world.now < 1 else None
    assert run(world, node("a"))["passed"] is True


def test_a_namespace_that_never_gets_ready() -> None:
    world = World()
    world.namespaces[NAMESPACE] = {"metadata": {"name": NAMESPACE}, "status": {"phase": "Terminating"}}
    with pytest.raises(GpuFleetError) as caught:
        run(world, node("a"), timeout=10)
    assert caught.value.code == "NamespaceNotReady"
    assert world.log == []


def test_an_error_half_way_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def explode(*_arguments: t.Any, **_query: t.Any) -> t.Iterator[Object]:
        raise ApiError(500, "etcd lost", code="ApiError", what="watch pods")

    monkeypatch.setattr(world, "watch", explode)
    with pytest.raises(ApiError):
        run(world, node("a"))
    assert world.leftovers() == []
    assert world.namespaces == {}


def leftover(run_id: str, age_s: int) -> Object:
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_000_000 - age_s))
    labels = {"app.kubernetes.io/managed-by": "gpufleet", "gpufleet.io/run": run_id}
    return {"metadata": {"name": f"old-{run_id}", "labels": labels, "creationTimestamp": created}, "spec": {"activeDeadlineSeconds": 300}}


def test_leftovers_go_once_their_deadline_has_passed() -> None:
    world = World()
    world.namespaces[NAMESPACE] = {"metadata": {"name": NAMESPACE}, "status": {"phase": "Active"}}
    foreign = {"metadata": {"name": "foreign", "labels": {}, "creationTimestamp": "1970-01-01T00:00:00Z"}}
    world.objects[PODS] = {"old-dead": leftover("dead", 1000), "old-alive": leftover("alive", 100), "foreign": foreign}
    run(world, node("a"))
    assert world.leftovers() == ["foreign", "old-alive"]


def test_a_namespace_in_which_another_run_is_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    result_of_other = leftover("other", 0)

    def arrive(obj: Object) -> None:
        world.objects.setdefault(PODS, {})["old-other"] = result_of_other

    monkeypatch.setattr(world, "refuse", arrive)
    run(world, node("a"))
    assert NAMESPACE in world.namespaces
    assert world.leftovers() == ["old-other"]


def test_the_last_run_removes_the_namespace_of_an_earlier_one() -> None:
    world = World()
    labels = {"app.kubernetes.io/managed-by": "gpufleet", "gpufleet.io/run": "earlier"}
    world.namespaces[NAMESPACE] = {"metadata": {"name": NAMESPACE, "labels": labels}, "status": {"phase": "Active"}}
    run(world, node("a"))
    assert world.namespaces == {}


def test_a_pod_that_somebody_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(bad=inspection_says(waiting("ContainerCreating"), ""))
    gone = world.watch

    def deleted(*arguments: t.Any, **query: t.Any) -> t.Iterator[Object]:
        for event in gone(*arguments, **query):
            yield {**event, "type": "DELETED"}

    monkeypatch.setattr(world, "watch", deleted)
    result = run(world, node("bad"))
    assert "somebody deleted its pod" in result["nodes"][0]["checks"][0]["message"]


def test_an_expired_watch_lists_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    watch, expired = world.watch, []

    def expiring(*arguments: t.Any, **query: t.Any) -> t.Iterator[Object]:
        if not expired:
            expired.append(True)
            world.pending.clear()
            raise ApiError(410, "too old", code="ApiGone", what="watch pods")
        return watch(*arguments, **query)

    monkeypatch.setattr(world, "watch", expiring)
    assert run(world, node("a"))["passed"] is True


def test_nodes_on_which_nothing_can_be_launched_are_reported_without_any_request() -> None:
    world = World()
    result = run(world, node("a", unschedulable=True))
    assert verdicts(result) == {"a": "not_tested"}
    assert codes(result) == ["NodeCordoned"]
    assert world.log == []
    assert result["summary"] == ["a: not_tested, 2 allocatable - Node a is cordoned."]
