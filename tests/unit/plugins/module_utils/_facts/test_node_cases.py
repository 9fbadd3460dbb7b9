# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every case folder gives the facts and the finding that its case.json names."""

from __future__ import annotations

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.unit import node_cases

CHECKS = node_cases.checks()
NEEDS_ATTENTION = ("error", "warning")


@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
def test_case(check: node_cases.Check) -> None:
    facts = node_facts(check.evidence, SUBSETS)
    assert {path: node_cases.look_up(facts, path) for path in check.expected} == check.expected
    codes = [found["code"] for found in node_findings(facts, "gpu-1") if found["severity"] in NEEDS_ATTENTION]
    assert check.findings is None or codes[:1] == check.findings, codes


def test_the_cases_are_many() -> None:
    folders = {check.name.split()[0] for check in CHECKS}
    print(f"{len(CHECKS)} checks in {len(folders)} case folders")
    assert len(folders) >= 26


@pytest.mark.parametrize("subset", SUBSETS)
def test_a_subset_alone_raises_no_finding_that_needs_another(subset: str) -> None:
    healthy = next(check for check in CHECKS if check.name == "h200 node")
    facts = node_facts(healthy.evidence, [subset])
    assert [name for name, value in facts.items() if value is not None] == [subset]
    assert node_findings(facts, "gpu-1") == []
