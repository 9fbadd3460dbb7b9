# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.report import report_lines, subject_name, summary_line


def finding(code: str, name: str = "gpu-1", kind: str = "node", severity: str = "error", because: str | None = None) -> dict[str, t.Any]:
    subject = {"kind": kind, "name": name, "namespace": "research" if kind == "pod" else None}
    return {"code": code, "severity": severity, "subject": subject, "summary": f"{name} has {code}.", "next_step": f"Cure {code}.", "consequence_of": because}


def test_nothing_found() -> None:
    assert report_lines({"findings": []}) == ["Nothing found that is wrong."]
    assert report_lines({"findings": [], "nodes": ["gpu-2", "gpu-1"]})[-1] == "Nothing wrong with the nodes: gpu-1, gpu-2"


def test_the_summary_counts_and_names_the_first() -> None:
    findings = [finding("A"), finding("B"), finding("C", severity="warning"), finding("D", severity="info")]
    assert summary_line(findings) == "2 errors, 1 warning, 1 info. First: A on node gpu-1."


def test_what_follows_is_below_its_cause() -> None:
    lines = report_lines({"findings": [finding("A"), finding("B", because="A"), finding("C", because="B"), finding("D", severity="warning")]})
    assert lines[2:] == [
        "node gpu-1",
        "  ERROR A: gpu-1 has A.",
        "    Next: Cure A.",
        "    ERROR B: gpu-1 has B.",
        "      Next: Cure B.",
        "      ERROR C: gpu-1 has C.",
        "        Next: Cure C.",
        "  WARNING D: gpu-1 has D.",
        "    Next: Cure D.",
    ]


def test_a_cause_on_something_else_is_named() -> None:
    lines = report_lines({"findings": [finding("A"), finding("B", "train", "pod", because="A")]})
    assert "  ERROR B: train has B. (follows from A on node gpu-1)" in lines
    assert lines.index("node gpu-1") < lines.index("pod research/train")


def test_a_cause_that_several_have_is_not_pinned_on_one() -> None:
    lines = report_lines({"findings": [finding("A"), finding("A", "gpu-2"), finding("B", "train", "pod", because="A")]})
    assert "  ERROR B: train has B. (follows from A)" in lines


def test_every_finding_is_told_even_of_those_that_name_each_other() -> None:
    findings = [finding("A", because="B"), finding("B", because="A"), finding("C", because="C")]
    told = "\n".join(report_lines({"findings": findings}))
    assert all(told.count(f"ERROR {code}:") == 1 for code in "ABC")


def test_the_worst_comes_first() -> None:
    lines = report_lines({"findings": [finding("A", "gpu-1", severity="info"), finding("B", "gpu-2"), finding("C", "gpu-3", severity="warning")]})
    assert [line for line in lines if line.startswith("node")] == ["node gpu-2", "node gpu-3", "node gpu-1"]


def test_many_in_the_same_way_are_told_once() -> None:
    pods = [finding("A", f"train-{number:02}", "pod") for number in range(15)]
    lines = report_lines({"findings": [*pods, finding("B", "other", "pod")]})
    start, end = lines.index("  ERROR A: train-00 has A."), lines.index("pod research/other")
    head = " ".join(line.strip() for line in lines[2:start])
    assert head.startswith("pod research/train-00, and in the same way 14 more: research/train-01, ")
    assert head.endswith("and 4 others")
    assert start < end
    assert sum("ERROR A" in line for line in lines) == 1
    assert "pod research/other" in lines


def test_what_was_not_read_is_told() -> None:
    lines = report_lines({"findings": [], "unused": [{"what": "node gpu-3", "reason": "timed out"}]})
    assert lines[-2:] == ["Not read:", "  node gpu-3: timed out"]


def test_long_lines_are_wrapped_below_themselves() -> None:
    lines = report_lines({"findings": [{**finding("A"), "summary": "word " * 40}]})
    assert max(map(len, lines)) <= 72
    assert lines[4].startswith("      word")


def test_names() -> None:
    assert subject_name({"kind": "pod", "name": "a", "namespace": "b"}) == "pod b/a"
    assert subject_name({"kind": "node", "name": "a"}) == "node a"
