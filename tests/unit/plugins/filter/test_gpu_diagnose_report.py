# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter.gpu_diagnose_report import FilterModule

report = FilterModule().filters()["gpu_diagnose_report"]


def diagnosis(*severities: str) -> dict[str, t.Any]:
    findings = [
        {
            "code": "DriverNotLoaded",
            "severity": severity,
            "subject": {"kind": "node", "name": "gpu-1", "namespace": None},
            "summary": "The driver isn't loaded.",
            "next_step": "Load it.",
            "consequence_of": None,
        }
        for severity in severities
    ]
    return {"changed": False, "findings": findings, "nodes": ["gpu-1"], "unused": [{"what": "a.bin", "reason": "no text"}], "bundle": ["/tmp/x"]}


def test_the_report_has_what_was_found_and_not_where_it_was_saved() -> None:
    assert sorted(report(diagnosis("error"))["report"]) == ["findings", "nodes", "summary", "unused"]


def test_what_could_not_be_reached_is_told_first() -> None:
    told = report(diagnosis(), {"node gpu-3": "No route to host"})
    assert told["report"]["unused"] == [{"what": "node gpu-3", "reason": "No route to host"}, {"what": "a.bin", "reason": "no text"}]
    assert told["lines"][-2:] == ["  node gpu-3: No route to host", "  a.bin: no text"]


@pytest.mark.parametrize(
    ("severities", "fail_on", "failed"),
    [
        (["error"], "never", False),
        (["error"], "error", True),
        (["warning", "info"], "error", False),
        (["warning"], "warning", True),
        (["error"], "warning", True),
        (["info"], "warning", False),
        ([], "warning", False),
    ],
)
def test_what_fails(severities: list[str], fail_on: str, failed: bool) -> None:
    assert report(diagnosis(*severities), fail_on=fail_on)["failed"] is failed
