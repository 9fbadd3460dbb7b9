# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet agent's kubelet: what it does next with a pod."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.testbed.fleet import pods
from tests.testbed.fleet.cri import RuntimeStatus
from tests.testbed.fleet.machines import Facts, Outcome
from tests.testbed.fleet.workloads import Play, play

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
GPUS = ("GPU-a", "GPU-b")
RUNTIME = RuntimeStatus(handlers={"runc": "", "nvidia": "/usr/bin/nvidia-container-runtime"}, default_handler="runc")
HEALTHY = Facts(running=True, driver="580.159.04", gpus=GPUS, runtime=RUNTIME)
NO_DRIVER = replace(HEALTHY, driver=None, gpus=())


def scene(facts=HEALTHY, *, handler="nvidia", devices=GPUS, healthy=2, outcome=None, now=NOW, rebooted=False):
    return pods.Scene(
        facts=facts, handler=handler, free={pods.GPU: devices}, total={pods.GPU: healthy}, rebooted=rebooted, now=now, outcome=lambda container: outcome
    )


def pod(gpus=1, *, command=("nvidia-smi", "-L"), image="cuda", restart="Never", **spec):
    resources = {"limits": {pods.GPU: str(gpus)}} if gpus else {}
    container = {"name": "main", "image": image, "command": list(command), "resources": resources}
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {"restartPolicy": restart, "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def plugin():
    return pod(0, command=(), image="nvcr.io/nvidia/k8s-device-plugin:v0.20.0", restart="Always")


def advance(subject, *scenes):
    """Applies one step per scene and returns the last one."""
    step = pods.Step()
    for at in scenes:
        step = pods.next_step(subject, at)
        subject["status"] |= step.status or {}
    return step


def state(subject):
    return subject["status"]["containerStatuses"][0]["state"]


def test_a_pod_is_admitted_then_runs_then_ends_with_the_exit_code_of_its_command():
    subject = pod()
    advance(subject, scene())
    assert (subject["status"]["phase"], state(subject)) == ("Pending", {"waiting": {"reason": "ContainerCreating"}})
    assert advance(subject, scene()).run == ("main",)
    assert subject["status"]["phase"] == "Running"
    assert advance(subject, scene()).status is None  # nothing is due while the command runs
    advance(subject, scene(outcome=Outcome("no driver", 9)))
    assert subject["status"]["phase"] == "Failed"
    assert state(subject)["terminated"]["exitCode"] == 9
    assert advance(subject, scene()) == pods.Step()


def test_a_pod_gets_as_many_devices_as_it_asks_for():
    subject = pod(1)
    advance(subject, scene())
    held: dict = {}
    pods.add_devices(held, subject["status"])
    assert held == {pods.GPU: {"GPU-a"}}


@pytest.mark.parametrize(
    ("devices", "healthy", "text"),
    [
        ((), 0, "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu"),
        (("GPU-a",), 2, "Requested: 2, Available: 1"),
    ],
)
def test_a_bound_pod_without_enough_devices_is_rejected(devices, healthy, text):
    step = advance(pod(2), scene(devices=devices, healthy=healthy))
    assert (step.status["phase"], step.status["reason"]) == ("Failed", "UnexpectedAdmissionError")
    assert text in step.status["message"]
    assert step.status["message"].endswith("which is unexpected")


@pytest.mark.parametrize(
    ("facts", "handler", "text"),
    [
        (HEALTHY, "typo", 'failed to get sandbox runtime: no runtime for "typo" is configured'),
        (replace(HEALTHY, runtime=None, runtime_error="code = Unavailable desc = gone"), "nvidia", "rpc error: code = Unavailable desc = gone"),
        (replace(HEALTHY, missing_binaries=frozenset({"nvidia"})), "nvidia", "fork/exec /usr/bin/nvidia-container-runtime: no such file or directory"),
    ],
)
def test_without_its_runtime_a_pod_waits_and_says_why(facts, handler, text):
    subject = pod()
    step = advance(subject, scene(), scene(facts, handler=handler))
    assert step.status is None
    assert [event.reason for event in step.events] == ["FailedCreatePodSandBox"]
    assert text in step.events[0].message
    advance(subject, scene())
    assert subject["status"]["phase"] == "Running"


def test_the_plugin_is_never_ready_while_it_cannot_start():
    subject = plugin()
    advance(subject, scene(NO_DRIVER), scene(NO_DRIVER))
    assert "Driver Not Loaded" in state(subject)["terminated"]["message"]
    advance(subject, scene(NO_DRIVER))
    assert state(subject)["waiting"]["reason"] == "CrashLoopBackOff"
    assert not pods.plugin_works(subject, HEALTHY, "nvidia")
    advance(subject, scene())  # the driver came, the back-off goes on
    assert "waiting" in state(subject)
    advance(subject, scene(now=NOW + timedelta(seconds=pods.LONGEST_BACK_OFF)))
    assert subject["status"]["containerStatuses"][0]["restartCount"] == 1
    assert pods.plugin_works(subject, HEALTHY, "nvidia")


def test_the_plugin_needs_a_handler_that_injects_the_driver():
    subject = plugin()
    advance(subject, scene(handler=None), scene(handler=None))
    assert "ERROR_LIBRARY_NOT_FOUND" in state(subject)["terminated"]["message"]


def test_a_running_plugin_outlives_its_handler_but_does_not_work_without():
    subject = plugin()
    bare = replace(HEALTHY, runtime=RuntimeStatus(handlers={"runc": ""}, default_handler="runc"))
    assert advance(subject, scene(), scene(), scene(bare)).status is None
    assert not pods.plugin_works(subject, bare, "nvidia")


def test_a_plugin_that_is_being_deleted_does_not_work():
    subject = plugin()
    advance(subject, scene(), scene())
    subject["metadata"]["deletionTimestamp"] = pods.stamp(NOW)
    assert not pods.plugin_works(subject, HEALTHY, "nvidia")


def test_a_reboot_ends_pods_that_hold_devices_and_restarts_the_others():
    holding, system = pod(command=("sleep", "inf"), restart="Always"), plugin()
    for subject in (holding, system):
        advance(subject, scene(), scene(), scene(rebooted=True))
    assert holding["status"]["reason"] == "UnexpectedAdmissionError"
    assert "terminated" in state(holding)
    assert system["status"]["containerStatuses"][0]["restartCount"] == 1


def test_an_active_deadline_ends_a_pod():
    subject = pod(command=("sleep", "inf"), activeDeadlineSeconds=5)
    advance(subject, scene(), scene(), scene(now=NOW + timedelta(seconds=5)))
    assert subject["status"]["reason"] == "DeadlineExceeded"


def test_a_machine_that_is_down_reports_nothing():
    assert pods.next_step(pod(), scene(Facts(running=False))) == pods.Step()


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}, Play.PLUGIN),
        ({"image": "cuda", "command": ["nvidia-smi"]}, Play.NVIDIA_SMI),
        ({"image": "cuda", "command": ["/usr/bin/nvidia-smi"], "args": ["-L"]}, Play.NVIDIA_SMI),
        ({"image": "cuda", "command": ["sh", "-c", "nvidia-smi -q -x"]}, Play.NVIDIA_SMI),
        ({"image": "cuda", "command": ["sh", "-c", "nvidia-smi; rm -rf /"]}, Play.HOLD),
        ({"image": "cuda", "command": ["sleep", "inf"]}, Play.HOLD),
        ({"image": "cuda-sample"}, Play.VECTORADD),
        ({"image": "cuda-sample:vectorAdd-cuda12.5", "command": ["/cuda-samples/vectorAdd"]}, Play.VECTORADD),
    ],
)
def test_what_a_container_does(container, expected):
    assert play(container) is expected
