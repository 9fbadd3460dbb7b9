# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever becomes of real evidence on its way (cut, shuffled, damaged), nothing raises, and what is said of it stays within bounds."""

from __future__ import annotations

import copy
import json
import random
import typing as t

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import merged, snapshot_from
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document, decode
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.snapshot import Snapshot
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from tests.unit import mailed

CASES = mailed.CASES
INPUTS = [
    (path.relative_to(CASES).as_posix().partition("/")[2], path.read_bytes())
    for path in sorted(CASES.rglob("*"))
    if path.is_file() and path.name != "case.json" and path.stat().st_size < 60_000
]
# Values of other types than promised, which replace one in an object.
ODD = st.sampled_from([None, True, -1, 1.5, "", "x", [], [None], {}, {"a": []}])
OURS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def _said(documents: t.Sequence[tuple[str, bytes]]) -> None:
    """Explain documents and check what is said for its form."""
    found = []
    for path, content in documents:
        text, _reason = decode(content)
        if text is not None:
            found.append(Document(path, text))
    snapshot = snapshot_from(found)
    findings = explain(snapshot)
    assert len(findings) < 2000
    assert len(json.dumps(findings)) < 2_000_000
    assert all(finding["code"] in CATALOGUE and finding["summary"] and len(finding["evidence"]) <= 50 for finding in findings)
    json.dumps(snapshot._asdict()).encode("utf-8")


@OURS
@given(st.sampled_from(INPUTS), st.floats(0, 1), st.floats(0, 1))
def test_cut_inputs(item: tuple[str, bytes], start: float, end: float) -> None:
    path, content = item
    first, last = sorted((int(start * len(content)), int(end * len(content))))
    _said([(path, content[first:last]), (path + ".rest", content[:first] + content[last:])])


@OURS
@given(st.sampled_from(INPUTS), st.integers(0, 2**32))
def test_shuffled_lines(item: tuple[str, bytes], seed: int) -> None:
    lines = item[1].splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    _said([(item[0], b"".join(lines))])


@OURS
@given(st.sampled_from(INPUTS), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=8)), max_size=20))
def test_damaged_bytes(item: tuple[str, bytes], damages: list[tuple[float, bytes]]) -> None:
    content = bytearray(item[1])
    for place, put in damages:
        position = int(place * len(content))
        content[position : position + len(put)] = put
    _said([(item[0], bytes(content))])


@OURS
@given(st.lists(st.sampled_from(INPUTS), max_size=8))
def test_inputs_that_do_not_belong_together(items: list[tuple[str, bytes]]) -> None:
    _said([(f"{number}/{path}", content) for number, (path, content) in enumerate(items)])
    _said(items)


@OURS
@given(st.text(max_size=300), st.binary(max_size=300))
def test_any_text_under_any_name(path: str, content: bytes) -> None:
    _said([(path or "x", content), ("etc/docker/daemon.json", content), ("nodes/x/evidence.json", content), ("a_b_c.log", content)])


@OURS
@given(st.sampled_from([item for item in INPUTS if item[1].lstrip().startswith(b"{")]), st.data())
def test_objects_with_values_of_other_types(item: tuple[str, bytes], data: st.DataObject) -> None:
    try:
        value = json.loads(item[1])
    except ValueError:
        return
    for _number in range(data.draw(st.integers(1, 4))):
        _replace(value, data)
    _said([(item[0], json.dumps(value).encode())])


def _replace(value: t.Any, data: st.DataObject) -> None:
    """Put an odd value somewhere into a tree."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(value[key], (dict, list)) or data.draw(st.booleans()):
            value[key] = copy.deepcopy(data.draw(ODD))
            return
        value = value[key]


def test_nothing_is_nothing() -> None:
    assert explain(snapshot_from([])) == []
    assert merged(Snapshot({}, [], [], []), {}) == Snapshot({}, [], [], [])
