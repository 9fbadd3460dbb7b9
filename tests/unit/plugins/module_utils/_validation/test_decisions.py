# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gpu_validate decides before it launches anything, and what it would launch."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import PodIndex, cluster_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.inspection import parse_inspection
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.manifests import Run, cuda_job, inspection_pod, namespace_object
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.plan import announce, announce_obstacle, make_plan
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.runtime_class import choose_runtime_class
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.targets import choose_targets
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.verdict import Surroundings
from tests.unit.cluster_cases import CASES
from tests.unit.validation_world import gpu_cluster, node, observation, smi

Object = t.Dict[str, t.Any]


def plugin(runtime_class: str | None) -> Object:
    return {"kind": "daemonset", "namespace": "n", "name": "p", "image": "i", "desired": 1, "ready": 1, "runtime_class": runtime_class}


@pytest.mark.parametrize(
    ("asked", "classes", "plugins", "chosen"),
    [
        ("nvidia", ["nvidia", "gvisor"], [], "nvidia"),
        ("", ["nvidia"], [plugin("nvidia")], None),
        (None, ["nvidia", "nvidia-cdi", "nvidia-legacy"], [plugin("nvidia")], "nvidia"),
        (None, ["nvidia-cdi"], [plugin(None)], "nvidia-cdi"),
        (None, ["gvisor", "nvidia"], [], "nvidia"),
        (None, ["gvisor"], [], None),
        (None, [], [plugin(None)], None),
        (None, ["nvidia", "nvidia-cdi"], [plugin("nvidia"), plugin(None)], "nvidia"),
    ],
)
def test_the_runtime_class(asked: str | None, classes: list[str], plugins: list[Object], chosen: str | None) -> None:
    assert choose_runtime_class(asked, gpu_cluster(runtime_classes=classes, plugins=plugins)).name == chosen


@pytest.mark.parametrize(
    ("asked", "classes", "plugins", "code"),
    [
        ("nvidia-typo", ["nvidia", "gvisor"], [], "RuntimeClassMissing"),
        (None, [], [plugin("nvidia")], "RuntimeClassMissing"),
        (None, ["nvidia", "nvidia-cdi"], [], "RuntimeClassAmbiguous"),
        (None, ["nvidia", "nvidia-cdi"], [plugin("nvidia"), plugin("nvidia-cdi")], "RuntimeClassAmbiguous"),
    ],
)
def test_a_runtime_class_that_cannot_be_chosen(asked: str | None, classes: list[str], plugins: list[Object], code: str) -> None:
    with pytest.raises(GpuFleetError) as caught:
        choose_runtime_class(asked, gpu_cluster(runtime_classes=classes, plugins=plugins))
    assert caught.value.code == code
    assert caught.value.details["runtime_classes"] == sorted(classes)


def holding(gpus: int, on: str, resource: str = "nvidia.com/gpu") -> PodIndex:
    index = PodIndex([])
    containers = [{"name": "c", "resources": {"limits": {resource: str(gpus)}}}]
    index.add({"metadata": {"name": "job", "namespace": "lab"}, "spec": {"nodeName": on, "containers": containers}, "status": {"phase": "Running"}})
    return index


@pytest.mark.parametrize(
    ("held", "gpus", "asked", "codes", "severities"),
    [
        (0, None, 4, [], []),
        (1, None, 3, [], []),
        (1, 2, 2, [], []),
        (4, None, 0, ["InsufficientResource"], ["warning"]),
        (3, 2, 0, ["InsufficientResource"], ["warning"]),
        (0, 8, 0, ["InsufficientResource"], ["error"]),
    ],
)
def test_how_many_gpus_are_asked_for(held: int, gpus: int | None, asked: int, codes: list[str], severities: list[str]) -> None:
    seen = observation(node("a", 4))._replace(pods=holding(held, "a"))
    [target] = choose_targets(cluster_facts(seen), None, gpus)
    assert target.gpus == asked
    assert target.launchable is (asked > 0)
    assert [item["code"] for item in target.findings] == codes
    assert [item["severity"] for item in target.findings] == severities
    assert all("lab/job" in item["summary"] or not held for item in target.findings)


def test_one_of_a_shared_resource_or_of_a_mig_profile() -> None:
    shared, mig = node("a", 0), node("b", 0)
    shared["status"]["capacity"] = shared["status"]["allocatable"] = {"nvidia.com/gpu.shared": "8"}
    mig["status"]["capacity"] = mig["status"]["allocatable"] = {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.5gb": "7"}
    targets = choose_targets(gpu_cluster(shared, mig), None, None)
    assert [(target.resource, target.gpus) for target in targets] == [("nvidia.com/gpu.shared", 1), ("nvidia.com/mig-1g.5gb", 1)]


def test_tolerations_are_those_of_the_lasting_taints() -> None:
    taints = [
        {"key": "pool", "value": "gpu", "effect": "NoSchedule"},
        {"key": "empty", "effect": "NoExecute"},
        {"key": "soft", "effect": "PreferNoSchedule"},
        {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"},
    ]
    [target] = choose_targets(gpu_cluster(node("a", taints=taints)), None, None)
    assert list(target.tolerations) == [
        {"key": "pool", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"key": "empty", "operator": "Equal", "value": "", "effect": "NoExecute"},
    ]


def bare(name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def test_which_nodes_are_chosen() -> None:
    cluster = gpu_cluster(node("gpu"), bare("labelled", **{"nvidia.com/gpu.present": "true"}), bare("cpu"))
    assert [target.name for target in choose_targets(cluster, None, None)] == ["gpu", "labelled"]
    [named] = choose_targets(cluster, ["cpu"], None)
    assert [item["code"] for item in named.findings] == ["GpuResourceNotAdvertised"]
    with pytest.raises(GpuFleetError) as caught:
        choose_targets(cluster, ["gpu", "gone"], None)
    assert caught.value.code == "NodeNotFound"
    with pytest.raises(GpuFleetError) as caught:
        choose_targets(gpu_cluster(bare("cpu")), None, None)
    assert caught.value.code == "NoGpuNodes"


RUN = Run("run1", "lab", "cuda:1", "nvidia", 300)


def objects(run: Run = RUN, **spec: t.Any) -> tuple[Object, Object]:
    [target] = choose_targets(gpu_cluster(node("a-node-" + "x" * 200, **spec)), None, None)
    return inspection_pod(run, target, 0), cuda_job(run, target, 0)


def test_pods_meet_the_restricted_level_and_ask_for_what_they_are_limited_to() -> None:
    pod, job = objects()
    for spec, gpus in ((pod["spec"], "2"), (job["spec"]["template"]["spec"], "1")):
        [container] = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert spec["automountServiceAccountToken"] is False
        assert spec["restartPolicy"] == "Never"
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == gpus
        assert spec["runtimeClassName"] == "nvidia"
        assert "nodeName" not in spec
        assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & set(spec)


def test_jobs_end_and_go_by_themselves() -> None:
    pod, job = objects()
    assert pod["spec"]["activeDeadlineSeconds"] == 300
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["activeDeadlineSeconds"] == 300
    assert job["spec"]["ttlSecondsAfterFinished"] > 0


def test_labels_are_valid_for_the_longest_node_name_and_the_runtime_class_is_optional() -> None:
    pod, job = objects(RUN._replace(runtime_class=None))
    for obj in (pod, job):
        assert all(len(value) <= 63 for value in obj["metadata"]["labels"].values())
        assert len(obj["metadata"]["name"]) <= 63
        assert obj["metadata"]["labels"]["gpufleet.io/run"] == "run1"
        assert obj["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gpufleet"
    assert "runtimeClassName" not in pod["spec"]


def test_the_namespace_is_restricted() -> None:
    labels = namespace_object(RUN)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


OPTIONS: Object = {"nodes": None, "gpus": None, "namespace": "lab", "image": "cuda:1", "runtime_class": None, "timeout": 300}


def test_check_mode_announces_what_would_be_created() -> None:
    cluster = gpu_cluster(node("a"), node("b", unschedulable=True))
    result = announce(make_plan(cluster, OPTIONS, "run1"), Surroundings("lab", [], cluster["nodes"], {}))
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in result["would_create"]] == [("Pod", "inspect-run1-0"), ("Job", "cuda-run1-0")]
    assert result["passed"] is None
    assert [entry["verdict"] for entry in result["nodes"]] == ["not_tested", "not_tested"]
    assert result["obstacle"] is None


@pytest.mark.parametrize("options", [{}, {"runtime_class": "nvidia"}])
def test_check_mode_forgives_what_earlier_tasks_would_make(options: Object) -> None:
    nodes = [node("a")] if options else [bare("a")]
    with pytest.raises(GpuFleetError) as caught:
        make_plan(gpu_cluster(*nodes, runtime_classes=[]), {**OPTIONS, **options}, "run1")
    result = announce_obstacle(caught.value)
    assert result["obstacle"]["code"] == caught.value.code
    assert (result["passed"], result["would_create"]) == (None, [])


def test_check_mode_forgives_nothing_else() -> None:
    with pytest.raises(GpuFleetError) as caught:
        make_plan(gpu_cluster(node("a")), {**OPTIONS, "nodes": ["gone"]}, "run1")
    with pytest.raises(GpuFleetError):
        announce_obstacle(caught.value)


def test_the_report_of_a_real_node() -> None:
    found = parse_inspection((CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8"))
    assert found is not None
    assert found.driver_version == "580.159.04"
    assert [gpu["product"] for gpu in found.gpus] == ["NVIDIA H200", "NVIDIA H200"]
    assert len({gpu["uuid"] for gpu in found.gpus}) == 2


def test_mig_devices_are_counted_one_by_one() -> None:
    found = parse_inspection((CASES / "N11" / "nvidia-smi.xml").read_text(encoding="utf-8"))
    assert found is not None
    assert len(found.gpus) == 4


@pytest.mark.parametrize("log", ["", "nvidia-smi: not found", smi(2)[:-20], smi(2)[30:], "<nvidia_smi_log><gpu></nvidia_smi_log>"])
def test_what_is_no_report(log: str) -> None:
    assert parse_inspection(log) is None


def test_text_around_a_report() -> None:
    found = parse_inspection("WARNING: infoROM is corrupted at gpu 0000:01:00.0\n" + smi(2) + "\nbye\n")
    assert found is not None
    assert len(found.gpus) == 2
