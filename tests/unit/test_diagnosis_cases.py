# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_diagnose on every folder of real evidence that is about a state: the right answer is the first finding."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import snapshot_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from tests.unit import mailed

CASES = mailed.cases()
# The least number of cases of each kind: N of a node, R of its runtime, S of sharing, O of the operator, V of pods, h of the node with H200s.
LEAST = {"N": 30, "R": 18, "S": 13, "O": 13, "V": 26, "h": 70}
KEYS = {"code", "severity", "subject", "summary", "cause", "next_step", "evidence", "retryable", "consequence_of"}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_first_finding_is_the_root_cause(case: mailed.Case, tmp_path: Path) -> None:
    findings = explain(snapshot_of(str(mailed.mail(case, tmp_path))))
    assert [finding["code"] for finding in findings if finding["severity"] != "info"][:1] == case.answer
    for finding in findings:
        assert set(finding) == KEYS
        assert finding["code"] in CATALOGUE
        assert re.fullmatch(r"\S.*[.!?]\"?", finding["summary"], re.DOTALL), finding["summary"]
    subjects = [(finding["code"], *finding["subject"].values()) for finding in findings]
    assert len(subjects) == len(set(subjects))


def test_how_many_cases_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter(case.name[0] for case in CASES)
    healthy = sum(not case.answer for case in CASES)
    with capsys.disabled():
        print(f"\ngpu_diagnose: {len(CASES)} folders ({', '.join(f'{area} {number}' for area, number in sorted(counts.items()))}), {healthy} of them healthy")
    assert {area: counts[area] for area in LEAST if counts[area] < LEAST[area]} == {}
