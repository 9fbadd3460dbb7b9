# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations for sharing GPUs, MIG layouts, and what kubectl prints for people."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import describe, kubectl_table, mig_layout, sharing_config, structured
from tests.unit import mailed


def _checks() -> list[t.Any]:
    found = []
    for path in sorted(mailed.CASES.glob("*/case.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        found += [pytest.param(path.parent, check, id=f"{case['id']} {check['name']}") for check in case.get("sharing_checks", [])]
    return found


@pytest.mark.parametrize(("folder", "check"), _checks())
def test_cases(folder: t.Any, check: dict[str, t.Any]) -> None:
    document = structured.load_yaml((folder / check.get("config", check.get("values"))).read_text(encoding="utf-8"))[0]
    if check["name"] == "layout":
        data = document["migManager"]["config"]["data"]["config.yaml"]
        entries = mig_layout.layouts(structured.load_yaml(data)[0])[check["layout"]]
        assert mig_layout.expected(entries, check["strategy"], check["gpus"]) == check["offers"]
        assert mig_layout.uncovered(entries, check["gpus"]) == []
        assert mig_layout.uncovered(entries, check["gpus"] + 2) == [8, 9]
        return
    content = next(iter(document["data"].values())) if "data" in document else json.dumps(document)
    config, error = sharing_config.parse(content)
    assert error is None
    assert config is not None
    assert [problem.field for problem in sharing_config.problems(config)] == check["problems"]
    assert {share.offered: share.replicas for share in sharing_config.shares(config)} == check["shares"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"version": "v1"}, []),
        ({"version": "v1", "flags": {"migStrategy": "mixed"}, "sharing": {"timeSlicing": {"resources": [{"name": "gpu", "replicas": 2}]}}}, []),
        ({"version": "v1", "flags": {"migStrategy": "all"}}, [("flags.migStrategy", False)]),
        ({"version": "v2", "sharing": {}}, [("version", False)]),
        ({"version": "v1", "sharing": {"timeSlicing": {}}}, [("sharing.timeSlicing.resources", False)]),
        ({"version": "v1", "sharing": {"timeSlicing": {"resources": [{"replicas": "4"}]}}},
         [("sharing.timeSlicing.resources[0].replicas", False), ("sharing.timeSlicing.resources[0].name", False)]),
        ({"version": "v1", "sharing": {"timesliced": {}}}, [("sharing.timesliced", True)]),
        ({"version": "v1", "sharing": 5, "flags": []}, []),
    ],
)  # fmt: skip
def test_problems(config: dict[str, t.Any], expected: list[tuple[str, bool]]) -> None:
    assert [(problem.field, problem.ignored) for problem in sharing_config.problems(config)] == expected


def test_mps_counts_where_both_methods_are_given() -> None:
    both = {name: {"resources": [{"name": "nvidia.com/gpu", "replicas": count}]} for name, count in (("timeSlicing", 2), ("mps", 4))}
    assert [(share.method, share.replicas) for share in sharing_config.shares({"sharing": both})] == [("mps", 4)]


@pytest.mark.parametrize(
    ("layout", "profile"), [("all-1g.10gb", "1g.10gb"), ("all-1g.5gb.me", "1g.5gb.me"), ("all-disabled", None), ("all-balanced", None), ("1g.10gb", None)]
)
def test_layouts_that_are_named_after_their_profile(layout: str, profile: str | None) -> None:
    assert mig_layout.uniform_profile(layout) == profile


POD = """Name:             train-1
Namespace:        research
Node:             gpu-1/10.0.0.1
Labels:           app=train
Status:           Pending
Controlled By:    Job/train
Runtime Class Name:  nvidia
Containers:
  main:
    Image:          example.com/train:1
    Command:
      python
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
    Ready:          False
    Restart Count:  3
    Limits:
      nvidia.com/gpu:  2
    Environment:       <none>
Conditions:
  Type              Status
  PodScheduled      True
QoS Class:       BestEffort
Events:
  Type     Reason            Age                   From               Message
  ----     ------            ----                  ----               -------
  Warning  FailedScheduling  5m3s (x3 over 10m)    default-scheduler  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.
"""


def test_a_described_pod() -> None:
    pod, event = describe.parse(POD)
    assert pod["metadata"]["ownerReferences"] == [{"kind": "Job", "name": "train", "controller": True}]
    assert (pod["spec"]["nodeName"], pod["spec"]["runtimeClassName"]) == ("gpu-1", "nvidia")
    assert pod["spec"]["containers"] == [{"name": "main", "image": "example.com/train:1", "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {}}}]
    assert pod["status"]["containerStatuses"] == [
        {
            "name": "main",
            "image": "example.com/train:1",
            "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "Error", "exitCode": 137}},
        }
    ]
    assert (event["reason"], event["count"], event["involvedObject"]["name"]) == ("FailedScheduling", 3, "train-1")


def test_two_described_objects() -> None:
    assert [obj["kind"] for obj in describe.parse(POD + "\n\n" + POD.replace("train-1", "train-2"))] == ["Pod", "Event", "Pod", "Event"]


def test_tables() -> None:
    wide = (
        "NAMESPACE   NAME    READY   STATUS                     RESTARTS        AGE   IP         NODE    NOMINATED NODE   READINESS GATES\n"
        "research    t-1     0/1     UnexpectedAdmissionError   0               5m    <none>     gpu-1   <none>           <none>\n"
        "research    t-2     0/1     Init:CrashLoopBackOff      12 (3m ago)     5m    10.0.0.1   gpu-2   <none>           <none>\n"
        "research    t-3     1/1     Running                    0               5m    10.0.0.1   gpu-2   <none>           <none>\n"
    )
    pods = kubectl_table.parse(wide)
    assert [(pod["metadata"]["name"], pod["metadata"]["namespace"], pod["spec"]["nodeName"], pod["status"]["phase"]) for pod in pods] == [
        ("t-1", "research", "gpu-1", "Failed"), ("t-2", "research", "gpu-2", "Pending"), ("t-3", "research", "gpu-2", "Running")
    ]  # fmt: skip
    assert pods[1]["status"]["initContainerStatuses"][0]["state"] == {"waiting": {"reason": "CrashLoopBackOff"}}
    nodes = kubectl_table.parse("NAME   STATUS                        ROLES    AGE   VERSION\ngpu-1   NotReady,SchedulingDisabled   <none>   44s   v1.36.3\n")
    assert [(node["spec"]["unschedulable"], node["status"]["conditions"][0]["status"]) for node in nodes] == [(True, "False")]
    events = kubectl_table.parse(
        "LAST SEEN   TYPE      REASON             OBJECT      MESSAGE\n4m          Warning   FailedScheduling   pod/t-1     0/1 nodes are available\n"
    )
    assert [(event["reason"], event["message"]) for event in events] == [("FailedScheduling", "0/1 nodes are available")]
    assert events[0]["involvedObject"]["kind"] == "Pod"
    assert kubectl_table.parse("Dear colleague,\nplease look\n") == []


@pytest.mark.parametrize("content", ["a: &a [*a]", "<<: 1", "!!int x: 1", "? {a: b}\n: c", "a: b: c", "!!binary x", "a: !!python/name:os.system"])
def test_yaml_that_is_refused(content: str) -> None:
    with pytest.raises(ValueError):
        structured.load_yaml(content)


def test_dates_stay_texts() -> None:
    assert structured.load_yaml("a: 2026-01-01T00:00:00Z\nb: 1.5\nc: .nan\n") == [{"a": "2026-01-01T00:00:00Z", "b": 1.5, "c": "nan"}]
