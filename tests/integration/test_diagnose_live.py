# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a live cluster's sick pods, jobs and nodes are found to suffer from, and the same again from a bundle of what was seen."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import kubernetes
import pytest

from tests.integration.bed import GPU, Bed, eventually

SICK = "diagnosed"
LIMITED = "diagnosed-quota"
CORDONED = "gpu-3"
TAINTED = "gpu-2"
TAINT = {"key": "example.com/reserved", "value": "yes", "effect": "NoSchedule"}

pytestmark = pytest.mark.timeout(600)

Object = t.Dict[str, t.Any]


def spec(gpus: int = 1, node: str | None = None, cpu: str | None = None, runtime_class: str = "nvidia") -> Object:
    limits = {GPU: str(gpus), **({"cpu": cpu} if cpu else {})}
    return {
        "runtimeClassName": runtime_class,
        **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}),
        "containers": [{"name": "train", "image": "registry.invalid/train:1", "command": ["sleep", "infinity"], "resources": {"limits": limits}}],
    }


def job(name: str, pod: Object) -> Object:
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": {"spec": {**pod, "restartPolicy": "Never"}}}}


PENDING = {
    "too-many": (spec(gpus=64), "InsufficientResource"),
    "cpu-hungry": (spec(cpu="4000"), "InsufficientCpu"),
    "nowhere": (spec(node="no-such-node"), "AffinityMismatch"),
    "to-cordoned": (spec(node=CORDONED), "NodeCordoned"),
    "to-tainted": (spec(node=TAINTED), "UntoleratedTaint"),
}
REFUSED = {
    "over-quota": (spec(gpus=2), "QuotaExceeded"),
    "no-class": (spec(runtime_class="nvidia-missing"), "RuntimeClassMissing"),
}


def first_codes(result: Object) -> dict[str, str]:
    """The first code that is said of each pod, job and node."""
    return {finding["subject"]["name"]: finding["code"] for finding in reversed(result["findings"])}


def told(result: Object) -> list[tuple[str, ...]]:
    return sorted((finding["code"], finding["severity"], str(finding["subject"]), finding["summary"]) for finding in result["findings"])


def diagnose(bed: Bed, **options: t.Any) -> Object:
    result = bed.module("gpu_diagnose", **options)
    assert not result.get("failed"), result
    return result


@pytest.fixture
def healthy(ready: Bed) -> Bed:
    return ready


@pytest.fixture(scope="module")
def sick(bed: Bed) -> t.Iterator[Bed]:
    """A cluster with pods that wait and jobs that were refused, each for another reason."""
    bed.ensure("ready")
    core, batch = bed.core(), kubernetes.client.BatchV1Api(bed.api())
    core.patch_node(CORDONED, {"spec": {"unschedulable": True}})
    core.patch_node(TAINTED, {"spec": {"taints": [TAINT]}})
    try:
        for namespace in (SICK, LIMITED):
            core.create_namespace({"metadata": {"name": namespace}})
            eventually(lambda name=namespace: core.list_namespaced_service_account(name).items, 20, "the namespace's service account")
        core.create_namespaced_resource_quota(LIMITED, {"metadata": {"name": "gpus"}, "spec": {"hard": {f"requests.{GPU}": "1"}}})
        eventually(lambda: core.read_namespaced_resource_quota("gpus", LIMITED).status.hard, 20, "the quota's status")
        for name, (pod, _code) in PENDING.items():
            core.create_namespaced_pod(SICK, {"metadata": {"name": name}, "spec": pod})
        for name, (pod, _code) in REFUSED.items():
            batch.create_namespaced_job(LIMITED, job(name, pod))
        for namespace, reason, names in ((SICK, "FailedScheduling", PENDING), (LIMITED, "FailedCreate", REFUSED)):
            eventually(lambda args=(namespace, reason, names): events(bed, *args[:2]) >= set(args[2]), 30, f"{reason} of all")
        yield bed
    finally:
        for namespace in (SICK, LIMITED):
            core.delete_namespace(namespace)
        core.patch_node(CORDONED, {"spec": {"unschedulable": False}})
        core.patch_node(TAINTED, {"spec": {"taints": None}})
        eventually(lambda: not {SICK, LIMITED} & {item.metadata.name for item in core.list_namespace().items}, 60, "the namespaces gone")


def events(bed: Bed, namespace: str, reason: str) -> set[str]:
    found = bed.core().list_namespaced_event(namespace, field_selector=f"reason={reason}").items
    return {event.involved_object.name for event in found}


def test_a_healthy_cluster_gives_no_alarm_and_the_absent_operator_is_a_note(healthy: Bed) -> None:
    result = diagnose(healthy, operator=True)
    assert [finding for finding in result["findings"] if finding["severity"] != "info"] == []
    assert [note["what"] for note in result["unused"]] == ["GPU Operator"]
    assert diagnose(healthy)["unused"] == []


def test_each_pod_that_waits_has_its_reason(sick: Bed) -> None:
    codes = first_codes(diagnose(sick, namespace=SICK))
    assert {name: codes.get(name) for name in PENDING} == {name: code for name, (_pod, code) in PENDING.items()}


def test_a_single_pod(sick: Bed) -> None:
    result = diagnose(sick, namespace=SICK, pod="too-many")
    assert {finding["subject"]["name"] for finding in result["findings"] if finding["subject"]["kind"] == "pod"} == {"too-many"}
    assert result["nodes"] == sick.names()


@pytest.mark.parametrize("name", REFUSED)
def test_a_job_that_could_make_no_pod(sick: Bed, name: str) -> None:
    result = diagnose(sick, namespace=LIMITED, job=name)
    assert result["findings"][0]["subject"] == {"kind": "job", "name": name, "namespace": LIMITED}
    assert result["findings"][0]["code"] == REFUSED[name][1]


def test_a_cordoned_node(sick: Bed) -> None:
    assert first_codes(diagnose(sick, node=CORDONED))[CORDONED] == "NodeCordoned"


def test_what_does_not_exist_is_named_with_what_is_near(sick: Bed) -> None:
    result = sick.module("gpu_diagnose", namespace=SICK, pod="too-mny")
    assert result["failure"]["code"] == "PodNotFound"
    assert "too-many" in result["failure"]["details"]["near"]


@pytest.mark.parametrize("mask", [False, True])
def test_a_bundle_tells_the_same_as_the_cluster(sick: Bed, tmp_path: Path, mask: bool) -> None:
    live = diagnose(sick, save=str(tmp_path / "bundle"), mask=mask)
    assert first_codes(live).items() >= {name: code for name, (_pod, code) in {**PENDING, **REFUSED}.items()}.items()
    again = diagnose(sick, evidence=str(tmp_path / "bundle"))
    assert told(again) == told(live)
    assert again["nodes"] == live["nodes"]


def test_nodes_and_cluster_in_one_report(sick: Bed, tmp_path: Path) -> None:
    run = sick.play(
        "diagnose",
        gpu_diagnose_report_path=str(tmp_path / "report.json"),
        gpu_diagnose_bundle=str(tmp_path / "bundle"),
        gpu_diagnose_fail_on="error",
    )
    assert run.rc != 0
    assert sum(numbers["changed"] for host, numbers in run.stats.items() if host != "localhost") == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["nodes"] == sick.names()
    assert report["summary"] in str(run.failures("localhost"))
    assert {path.parent.name for path in (tmp_path / "bundle").glob("nodes/*/evidence.json")} == set(sick.names())
    assert (tmp_path / "bundle/report.txt").read_text().startswith(report["summary"])


def test_nodes_alone_where_no_cluster_is_reached(healthy: Bed, tmp_path: Path) -> None:
    run = healthy.play("diagnose", gpu_diagnose_report_path=str(tmp_path / "report.json"), gpu_diagnose_kubeconfig=str(tmp_path / "none"))
    assert run.rc == 0, run.output[-2000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert [note["what"] for note in report["unused"]] == ["cluster"]
    assert report["nodes"] == healthy.names()
