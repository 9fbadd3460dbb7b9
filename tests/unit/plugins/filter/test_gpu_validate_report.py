# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.filter.gpu_validate_report import report
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import catalogue


def finding(code: str, severity: str = "error") -> dict[str, t.Any]:
    return {"code": code, "severity": severity, "summary": f"{code} happened.", "next_step": "Cure it."}


def node(name: str, verdict: str = "passed", **values: t.Any) -> dict[str, t.Any]:
    passed = [{"name": "inspect", "status": "passed", "message": "2 devices", "pod": f"inspect-r4nd0m-{name}", "exit_code": 0, "seconds": 2.5}]
    return {
        "node": name,
        "product": "NVIDIA H200",
        "driver_version": "580.159.04",
        "allocatable": 2,
        "gpus_seen": [{"uuid": "GPU-a"}, {"uuid": "GPU-b"}],
        "verdict": verdict,
        "checks": passed,
        "findings": [],
        "summary": f"{name}: {verdict} in 2.5 s",
        **values,
    }


def test_the_table_is_sorted_aligned_and_says_what_is_unknown() -> None:
    table = report([node("gpu-10", "failed", driver_version=None, product=None, gpus_seen=[], allocatable=0), node("gpu-1")], {"gpu-1": "1.20.2"})["table"]
    assert table == [
        "node    product      GPUs  driver      toolkit  allocatable  verdict",
        "gpu-1   NVIDIA H200  2     580.159.04  1.20.2   2            passed",
        "gpu-10  -            0     -           -        0            failed",
    ]


def test_two_validations_of_the_same_state_give_the_same_report() -> None:
    first, second = node("gpu-1"), node("gpu-1", summary="other", checks=[{**node("gpu-1")["checks"][0], "pod": "inspect-0th3r", "seconds": 7.1}])
    assert report([first])["report"] == report([second])["report"]


def test_the_report_keeps_what_is_behind_a_verdict() -> None:
    result = report([node("gpu-2"), node("gpu-1", "not_tested")], {"gpu-2": "1.20.2"})["report"]
    assert result["passed"]
    assert [entry["verdict"] for entry in result["nodes"]] == ["not_tested", "passed"]
    assert [entry["toolkit_version"] for entry in result["nodes"]] == [None, "1.20.2"]
    assert result["nodes"][1]["checks"] == [{"name": "inspect", "status": "passed", "message": "2 devices", "exit_code": 0}]


def test_each_bad_verdict_fails_with_every_finding_and_its_remedy() -> None:
    bad = node("gpu-1", "failed", findings=[finding("RuntimeHandlerMissing"), finding("DeadlineExceeded", "warning"), finding("NodeNotReady")])
    result = report([node("gpu-2"), bad])
    [failure] = result["failures"]
    assert not result["report"]["passed"]
    assert failure["code"] == "ValidationFailed"
    assert failure["message"].endswith("RuntimeHandlerMissing: RuntimeHandlerMissing happened. Cure it. NodeNotReady: NodeNotReady happened. Cure it.")
    assert [item["code"] for item in failure["details"]["findings"]] == ["RuntimeHandlerMissing", "DeadlineExceeded", "NodeNotReady"]


def test_without_an_error_the_failed_checks_explain_themselves() -> None:
    checks = [{"name": "cuda", "status": "failed", "message": "exit code 1: (empty log)", "pod": None, "exit_code": 1, "seconds": 1.0}]
    [failure] = report([node("gpu-1", "failed", checks=checks)])["failures"]
    assert failure["message"].endswith("cuda: exit code 1: (empty log)")


def seen(code: str, kind: str = "node", name: str = "gpu-1", **values: t.Any) -> dict[str, t.Any]:
    return catalogue.finding(code, kind=kind, name=name, summary=f"{code} happened.", **values)


def test_what_a_node_tells_of_itself_explains_what_the_cluster_shows() -> None:
    bad = node("gpu-1", "failed", findings=[seen("AllGpusUnhealthyOrPluginDown")])
    result = report([bad], {}, {"gpu-1": [seen("ToolkitVulnerable"), seen("DriverNotLoaded")]})
    [entry] = result["report"]["nodes"]
    assert [(item["code"], item["consequence_of"]) for item in entry["findings"]] == [
        ("DriverNotLoaded", None),
        ("AllGpusUnhealthyOrPluginDown", "DriverNotLoaded"),
        ("ToolkitVulnerable", None),
    ]
    [failure] = result["failures"]
    assert failure["details"]["findings"] == entry["findings"]
    cause = f"DriverNotLoaded: DriverNotLoaded happened. {entry['findings'][0]['next_step']}"
    assert failure["message"].endswith(f"{cause} AllGpusUnhealthyOrPluginDown: AllGpusUnhealthyOrPluginDown happened. Follows from DriverNotLoaded.")


def test_pods_and_files_of_one_verdict_are_all_of_its_node() -> None:
    bad = node("gpu-1", "failed", findings=[seen("DeadlineExceeded", "job", "cuda-1", namespace="gpufleet-validation")])
    own = {"gpu-1": [seen("CdiSpecStale", "file", "/var/run/cdi/nvidia.yaml")]}
    [entry] = report([bad], {}, own)["report"]["nodes"]
    assert [(item["code"], item["consequence_of"]) for item in entry["findings"]] == [("CdiSpecStale", None), ("DeadlineExceeded", "CdiSpecStale")]


def test_a_node_that_passed_or_was_not_asked_keeps_its_findings() -> None:
    nodes = [node("gpu-1"), node("gpu-2", "not_tested"), node("gpu-3", "failed", findings=[seen("NodeNotReady", name="gpu-3")])]
    entries = report(nodes, {}, {name: [seen("DriverNotLoaded", name=name)] for name in ("gpu-1", "gpu-2", "gpu-4")})["report"]["nodes"]
    assert [[item["code"] for item in entry["findings"]] for entry in entries] == [[], [], ["NodeNotReady"]]
