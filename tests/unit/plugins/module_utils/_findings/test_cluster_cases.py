# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects and texts from public reports and from a real node: each gets the finding that its case names."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.driver_image import parse_driver_image
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import event_message
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.scheduling import parse_refusal
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.isolation import isolation_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.kubelet import kubelet_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import recognise
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import node_object_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import job_findings, owner_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.scheduling import pending_findings
from tests.unit import cluster_cases

Object = t.Dict[str, t.Any]


def asks(question: str) -> t.Any:
    found = cluster_cases.checks(question)
    assert found
    return pytest.mark.parametrize("check", found, ids=[check.name for check in found])


def facts(check: cluster_cases.Check) -> Object:
    index = PodIndex([])
    for pod in check.objects("pods"):
        index.add(pod)
    nodes = {node["metadata"]["name"]: node for node in check.objects("nodes")}
    return cluster_facts(Observation("v1.36.3", nodes, [], index, [], []))


def agree(check: cluster_cases.Check, found: list[Object]) -> None:
    assert [item["code"] for item in found] == check.asked["findings"]
    assert check.asked.get("says", "") in (found[0]["summary"] if found else "")
    assert check.asked.get("step", "") in (found[0]["next_step"] if found else "")
    assert check.asked.get("retryable") in (None, found[0]["retryable"] if found else None)


def test_every_case_says_what_its_files_give_together() -> None:
    for folder in cluster_cases.folders():
        assert set(cluster_cases.answer(folder)["diagnose"]) <= set(CATALOGUE), folder.name


@asks("pod")
def test_a_pod_is_explained(check: cluster_cases.Check) -> None:
    nodes = facts(check)["nodes"] if "nodes" in check.asked else None
    objects = {node["metadata"]["name"]: node for node in check.objects("nodes")}
    [pod] = check.objects("pod")
    agree(check, pod_findings(pod, check.objects("events"), nodes=nodes, objects=objects, log=check.read("log")))


@asks("owner")
def test_a_controller_without_pods_is_explained(check: cluster_cases.Check) -> None:
    agree(check, owner_findings(check.asked["kind"], check.asked["namespace"], check.asked["object"], check.objects("events")))


@asks("driver image")
def test_a_driver_image_is_taken_apart(check: cluster_cases.Check) -> None:
    found = parse_driver_image(check.objects("pod")[0]["status"]["containerStatuses"][0]["image"])
    assert found is not None
    assert {**found._asdict(), "precompiled": found.precompiled} == {key: check.asked[key] for key in ("version", "kernel", "os", "precompiled")}


@asks("job")
def test_a_job_is_explained_with_its_pods(check: cluster_cases.Check) -> None:
    [job] = check.objects("job")
    pods, events = check.objects("pods"), check.objects("events")
    found = [item for pod in pods for item in pod_findings(pod, events, log=check.read("log"))]
    agree(check, found + job_findings(job, pods, events))


@asks("kubelet")
def test_a_kubelets_log_is_read(check: cluster_cases.Check) -> None:
    agree(check, kubelet_findings(check.text(), "gpu-1"))


@asks("text")
def test_a_text_is_recognised(check: cluster_cases.Check) -> None:
    found = recognise(check.text())
    assert (found.code if found else None) == check.asked["code"]
    if found and "values" in check.asked:
        assert found.values == check.asked["values"]


@asks("nodes")
def test_a_node_is_judged(check: cluster_cases.Check) -> None:
    cluster = facts(check)
    [node] = cluster["nodes"]
    agree(check, node_object_findings(node))
    counts = {entry["resource"]: [entry["capacity"], entry["allocatable"]] for entry in node["resources"]}
    assert counts == check.asked.get("resources", counts)
    totals = {entry["resource"]: entry["capacity"] for entry in cluster["totals"]}
    assert totals == check.asked.get("totals", totals)
    assert check.asked.get("allocatable") in (None, sum(entry["allocatable"] for entry in node["resources"]))


@asks("isolation")
def test_what_a_pod_sees_is_compared_with_what_it_asked_for(check: cluster_cases.Check) -> None:
    agree(check, isolation_findings(check.objects("pod")[0], check.asked["seen"], check.asked["asked"]))


@asks("scheduling")
def test_a_scheduling_message_is_taken_apart(check: cluster_cases.Check) -> None:
    pod: Object = {"metadata": {"name": "pod"}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    if "events" in check.asked:
        message, pod = event_message(check.objects("events")[0]), {"metadata": {"name": "pod"}}
    elif "pod" in check.asked:
        message = check.objects("pod")[0]["status"]["conditions"][0]["message"]
    else:
        message = (check.folder / check.asked["message"]).read_text(encoding="utf-8")
    refusal = parse_refusal(message)
    assert refusal is not None
    assert refusal.nodes_total == check.asked["nodes_total"]
    assert refusal.blocked_by() == check.asked["blocked_by"]
    if "findings" in check.asked:
        agree(check, pending_findings(pod, message, None, {}))
