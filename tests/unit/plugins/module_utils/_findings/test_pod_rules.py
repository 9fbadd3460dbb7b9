# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod's fields tell, before any text is read. Objects are the smallest that show the rule; real ones are in tests/unit/cases."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.driver_image import parse_driver_image
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.isolation import listed_devices
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.namespaces import namespace_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.orphans import orphan_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import job_findings, owner_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]
GPU = "nvidia.com/gpu"


def pod(*, state: Object | None = None, last: Object | None = None, restarts: int = 0, gpus: int = 1, spec: Object | None = None, **status: t.Any) -> Object:
    container: Object = {"name": "c", "image": "app:1", "resources": {"limits": {GPU: gpus}} if gpus else {}, **(spec or {}).pop("container", {})}
    told = [{"name": "c", "image": container["image"], "state": state or {}, "lastState": last or {}, "restartCount": restarts}] if state else []
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "lab", **(spec or {}).pop("metadata", {})},
        "spec": {"nodeName": "gpu-1", "containers": [container], **(spec or {})},
        "status": {"phase": "Running", "containerStatuses": told, **status},
    }


def event(reason: str, message: str = "", kind: str = "Pod", name: str = "p", at: str = "") -> Object:
    return {"reason": reason, "message": message, "involvedObject": {"kind": kind, "name": name, "namespace": "lab"}, "lastTimestamp": at}


def codes(found: list[Object]) -> list[str]:
    return [item["code"] for item in found]


def ended(code: int, reason: str = "Error", message: str = "") -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def waits(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


RUNS: Object = {"running": {"startedAt": "2026-11-30T22:00:00Z"}}
ALL: Object = {"container": {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}}
BY_CDI: Object = {"metadata": {"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=0"}}}
LAST_START = ended(128, "StartError", "nvml error: driver/library version mismatch: unknown")
MISMATCH = "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown"
SMI = {"container": {"command": ["/usr/bin/nvidia-smi", "-L"]}}
REFUSED = "Pod was rejected: Allocate failed due to "

SICK: dict[str, tuple[Object, list[str], str]] = {
    "out of host memory": (pod(state=ended(137, "OOMKilled"), phase="Failed"), ["ContainerOutOfMemory"], "host memory"),
    "out of memory again": (pod(state=waits("CrashLoopBackOff"), last=ended(137, "OOMKilled"), restarts=4), ["ContainerOutOfMemory"], "after 4 restarts"),
    "a crash loop whose last end is known": (pod(state=waits("CrashLoopBackOff"), last=LAST_START), ["DriverLibraryMismatch"], "versions"),
    "a program that ends well": (pod(state=waits("CrashLoopBackOff"), last=ended(0, "Completed"), restarts=5), ["ContainerFailed"], "exit code 0"),
    "a crash loop that nothing explains": (pod(state=waits("CrashLoopBackOff"), last=ended(2)), ["ContainerFailed"], "exit code 2"),
    "a signal": (pod(state=ended(139), phase="Failed"), ["ContainerFailed"], "signal 11"),
    "nvidia-smi without a driver": (pod(state=ended(9), spec=dict(SMI), phase="Failed"), ["DriverNotLoaded"], "exit code 9"),
    "nvidia-smi without NVML": (pod(state=ended(12), spec=dict(SMI), phase="Failed"), ["ToolkitNotInjecting"], "exit code 12"),
    "another program's 9": (pod(state=ended(9), phase="Failed"), ["ContainerFailed"], "exit code 9"),
    "an image": (pod(state=waits("ErrImagePull", "not found"), phase="Pending"), ["ImagePullFailed"], "app:1"),
    "a ConfigMap": (pod(state=waits("CreateContainerConfigError", 'configmap "cfg" not found'), phase="Pending"), ["ReferencedObjectMissing"], "configmap cfg"),
    "a start that nothing explains": (pod(state=waits("CreateContainerError", "what"), phase="Pending"), ["ContainerFailed"], "'what'"),
    "a root image": (
        pod(state=waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), phase="Pending"),
        ["PodSecurityViolation"],
        "runAsUser",
    ),
    "too few devices": (pod(phase="Failed", reason="OutOfnvidia.com/gpu", message="no"), ["DeviceUnavailable"], "nvidia.com/gpu"),
    "too little CPU": (pod(phase="Failed", reason="OutOfcpu"), ["InsufficientCpu"], "CPU"),
    "an allocation that failed": (pod(phase="Failed", reason="UnexpectedAdmissionError", message=REFUSED + "rpc error"), ["DeviceUnavailable"], "devices"),
    "no NUMA node": (pod(phase="Failed", reason="TopologyAffinityError"), ["DeviceUnavailable"], "NUMA"),
    "evicted": (pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory"), ["PodEvicted"], "Evicted"),
    "preempted": (
        pod(phase="Failed", conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]),
        ["PodEvicted"],
        "higher priority",
    ),
    "a node that was shut down": (pod(phase="Failed", reason="Terminated"), ["NodeNotReady"], "shut down"),
    "a deadline": (pod(phase="Failed", reason="DeadlineExceeded"), ["DeadlineExceeded"], "deadline"),
    "privileged": (pod(state=RUNS, spec={"container": {"securityContext": {"privileged": True}}}), ["PrivilegedPod"], "asked for 1"),
    "all GPUs by a variable": (pod(gpus=0, state=RUNS, spec=dict(ALL)), ["GpuIsolationBypass"], "=all"),
    "GPUs by a mount": (
        pod(gpus=0, state=RUNS, spec={"container": {"volumeMounts": [{"mountPath": "/var/run/nvidia-container-devices/all"}]}}),
        ["GpuIsolationBypass"],
        "mount",
    ),
    "GPUs by an annotation": (pod(gpus=0, state=RUNS, spec=dict(BY_CDI)), ["GpuIsolationBypass"], "annotation"),
}


@pytest.mark.parametrize(("sick", "expected", "says"), SICK.values(), ids=SICK)
def test_a_sick_pod(sick: Object, expected: list[str], says: str) -> None:
    found = pod_findings(sick)
    assert codes(found) == expected
    assert says in found[0]["summary"]
    assert found[0]["subject"] == {"kind": "pod", "name": "p", "namespace": "lab"}


NO_NVIDIA = {"container": {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}}
AGENT = {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": "exporter", "controller": True}]}}

WELL: dict[str, Object] = {
    "it runs": pod(state=RUNS),
    "it ran into something before": pod(state=RUNS, last=ended(137, "OOMKilled"), restarts=1),
    "it starts": pod(state=waits("ContainerCreating"), phase="Pending"),
    "it ended well": pod(state=ended(0, "Completed"), phase="Succeeded"),
    "a variable that takes none": pod(gpus=0, state=RUNS, spec=dict(NO_NVIDIA)),
    "an agent of the node": pod(gpus=0, state=RUNS, spec={**AGENT, **ALL}),
    "a privileged pod without GPUs": pod(gpus=0, state=RUNS, spec={"container": {"securityContext": {"privileged": True}}}),
}


@pytest.mark.parametrize("well", WELL.values(), ids=WELL)
def test_a_pod_that_is_well(well: Object) -> None:
    assert pod_findings(well) == []


def test_a_variable_beside_a_request_is_told_and_no_more() -> None:
    found = pod_findings(pod(state=RUNS, spec=dict(ALL)))
    assert [(item["code"], item["severity"]) for item in found] == [("GpuIsolationBypass", "info")]


def test_an_init_container_that_fails() -> None:
    broken = pod(phase="Pending", initContainerStatuses=[{"name": "init", "state": waits("CrashLoopBackOff"), "lastState": ended(1, "Error", MISMATCH)}])
    assert codes(pod_findings(broken)) == ["DriverLibraryMismatch"]


def test_failures_of_the_start_that_are_over() -> None:
    failed = event("FailedCreatePodSandBox", 'no runtime for "nvidia" is configured')
    assert codes(pod_findings(pod(state=waits("ContainerCreating"), phase="Pending"), [failed])) == ["RuntimeHandlerMissing"]
    assert pod_findings(pod(state=RUNS), [failed]) == []
    assert pod_findings(pod(state=ended(0), phase="Succeeded"), [failed]) == []


def test_last_words_come_from_the_log() -> None:
    [found] = pod_findings(pod(state=ended(1), phase="Failed"), log="Traceback\nValueError: no data\n\n")
    assert "its last words: 'ValueError: no data'" in found["summary"]


def test_a_program_that_ended_well_once_is_started_again() -> None:
    assert pod_findings(pod(state=waits("ContainerCreating"), last=ended(0, "Completed"), restarts=1)) == []


def test_the_next_step_fits_the_pod() -> None:
    log = "CUDA driver version is insufficient for CUDA runtime version"
    [bare] = pod_findings(pod(state=ended(1), phase="Failed"), log=log)
    [classed] = pod_findings(pod(state=ended(1), phase="Failed", spec={"runtimeClassName": "nvidia"}), log=log)
    [none] = pod_findings(pod(state=ended(1), phase="Failed", gpus=0), log=log)
    assert bare["code"] == classed["code"] == none["code"] == "DriverTooOldOrNotInjected"
    assert "runtimeClassName: nvidia" in bare["next_step"]
    assert "libdl" in classed["next_step"]
    assert "asks for no GPU" in none["next_step"]


@pytest.mark.parametrize(
    ("image", "reason", "said", "code"),
    [
        ("nvcr.io/nvidia/driver:550.90.07-debian12", "ErrImagePull", "manifest unknown", "DriverImageNotFound"),
        ("nvcr.io/nvidia/driver:550.54.14", "ImagePullBackOff", "Back-off pulling image", "DriverImageNotFound"),
        ("nvcr.io/nvidia/driver:550.54.14-ubuntu22.04", "ImagePullBackOff", "dial tcp: lookup nvcr.io: no such host", "ImagePullFailed"),
        ("example.org/taxi-driver:550-ubuntu22.04", "ErrImagePull", "not found", "ImagePullFailed"),
    ],
)
def test_images_of_the_driver(image: str, reason: str, said: str, code: str) -> None:
    waiting = pod(state=waits(reason), phase="Pending", spec={"container": {"image": image}})
    assert codes(pod_findings(waiting, [event("Failed", said)])) == [code]


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nvcr.io/nvidia/driver:570-6.8.0-59-generic-ubuntu22.04", ("570", "6.8.0-59-generic", "ubuntu22.04")),
        ("driver:580.159.04-rhel9.6", ("580.159.04", None, "rhel9.6")),
        ("registry.example:5000/nvidia/driver:595-5.14.0-503.el9.x86_64-rhel9.5", ("595", "5.14.0-503.el9.x86_64", "rhel9.5")),
        ("driver:595.91.07-rocky10", ("595.91.07", None, "rocky10")),
        ("driver:550.54.14", ("550.54.14", None, None)),
        ("driver@sha256:00", None),
        ("nginx:1", None),
    ],
)
def test_parts_of_a_driver_image(image: str, parts: tuple[str, str | None, str | None] | None) -> None:
    assert parse_driver_image(image) == parts


@pytest.mark.parametrize(
    ("log", "count"),
    [
        (None, 0),
        ("Test PASSED", 0),
        ("GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)\nGPU 0: NVIDIA H200 (UUID: GPU-1)", 2),
        ("GPU 0: NVIDIA H100 (UUID: GPU-1)\n  MIG 1g.10gb     Device  0: (UUID: MIG-1)\n  MIG 1g.10gb     Device  1: (UUID: MIG-2)", 2),
        ("GPU 0: A100 (UUID: GPU-1)\n  MIG 3g.20gb Device 0: (UUID: MIG-GPU-1/1/0)", 1),
    ],
)
def test_devices_in_a_log(log: str | None, count: int) -> None:
    assert listed_devices(log) == count


NODES: list[Object] = [
    {
        "name": "gpu-1",
        "driver_version": "570.148.08",
        "conditions": [],
        "resources": [{"resource": GPU, "capacity": 4}, {"resource": "nvidia.com/mig-1g.10gb", "capacity": 7}],
    }
]


def test_a_pod_that_was_forgotten() -> None:
    forgotten = pod(phase="Pending")
    assert codes(pod_findings(forgotten, [event("Scheduled")], nodes=NODES, objects={})) == ["KnownDriverIssue"]
    assert pod_findings(forgotten, [event("Pulling")], nodes=NODES, objects={}) == []
    assert pod_findings(forgotten, nodes=[{**NODES[0], "driver_version": "570.172.08"}], objects={}) == []
    assert pod_findings(forgotten, nodes=[{**NODES[0], "resources": NODES[0]["resources"][:1]}], objects={}) == []


def test_a_pod_on_a_node_that_is_lost() -> None:
    lost = [
        {**NODES[0], "conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}
    ]
    assert codes(pod_findings(pod(state=waits("ContainerCreating"), phase="Pending"), nodes=lost, objects={})) == ["NodeNotReady"]


QUOTA = 'pods "x" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=2'


def test_a_refusal_that_is_over() -> None:
    refused = event("FailedCreate", QUOTA, "ReplicaSet", "rs", "2026-11-30T22:00:00Z")
    made = event("SuccessfulCreate", "Created pod: rs-1", "ReplicaSet", "rs", "2026-11-30T22:01:00Z")
    assert codes(owner_findings("ReplicaSet", "lab", "rs", [refused])) == ["QuotaExceeded"]
    assert owner_findings("ReplicaSet", "lab", "rs", [refused, made]) == []
    again = event("FailedCreate", QUOTA, "ReplicaSet", "rs", "2026-11-30T22:02:00Z")
    assert codes(owner_findings("ReplicaSet", "lab", "rs", [refused, made, again])) == ["QuotaExceeded"]


def job(reason: str = "", kind: str = "Failed", failed: int = 0) -> Object:
    return {"metadata": {"name": "j", "namespace": "lab"}, "status": {"failed": failed, "conditions": [{"type": kind, "status": "True", "reason": reason}]}}


def test_jobs() -> None:
    refused = event("FailedCreate", QUOTA, "Job", "j")
    made = pod(state=RUNS, spec={"metadata": {"name": "j-1", "ownerReferences": [{"kind": "Job", "name": "j"}]}})
    [given_up] = job_findings(job("BackoffLimitExceeded", failed=7))
    assert (given_up["code"], given_up["subject"]["kind"]) == ("ContainerFailed", "job")
    assert "failed 7 times" in given_up["summary"]
    assert codes(job_findings(job("DeadlineExceeded"))) == ["DeadlineExceeded"]
    assert codes(job_findings(job("BackoffLimitExceeded"), [], [refused])) == ["QuotaExceeded", "ContainerFailed"]
    assert job_findings(job(kind="Complete"), [], [refused]) == []
    assert job_findings({"metadata": {"name": "j", "namespace": "lab"}}, [made], [refused]) == []


def test_a_namespace() -> None:
    def quota(used: str) -> Object:
        status = {"hard": {"requests.nvidia.com/gpu": "2", "pods": "1"}, "used": {"requests.nvidia.com/gpu": used, "pods": "1"}}
        return {"metadata": {"name": "q", "namespace": "lab"}, "status": status}

    assert namespace_findings([quota("1")]) == []
    [full] = namespace_findings([quota("2")])
    assert (full["code"], full["severity"]) == ("QuotaExceeded", "info")
    refused = event("FailedCreate", QUOTA, "StatefulSet", "s")
    found = namespace_findings([], [refused])
    assert [(item["code"], item["severity"], item["subject"]["kind"]) for item in found] == [("QuotaExceeded", "error", "statefulset")]
    assert namespace_findings([], [refused], known={("StatefulSet", "lab", "s")}) == []


def test_events_about_pods_that_are_not_at_hand() -> None:
    waiting = event("FailedScheduling", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    assert codes(orphan_findings([waiting])) == ["InsufficientResource"]
    assert orphan_findings([waiting], [pod()]) == []
    assert codes(orphan_findings([event("FailedCreatePodSandBox", 'no runtime for "nvidia" is configured')])) == ["RuntimeHandlerMissing"]
