# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No evidence, however broken, makes the facts or the findings of a node fail, and the output stays bounded."""

from __future__ import annotations

import json
import typing as t

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import packages, pci, platform, smi_xml, toml_text, xml
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.unit import node_cases

CHECKS = node_cases.checks()
RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
KEYS = (
    "schema", "files", "commands", "pci", "host", "modules", "libraries", "loaded_modules", "kernel_log", "nvml", "runtimes", "kubelet",
    "collector_errors",
)
PARSERS: list[t.Callable[[str], t.Any]] = [smi_xml.parse, toml_text.parse_toml, packages.parse, pci.address, platform.os_release, xml.parse]


def _interpret(evidence: t.Any) -> None:
    facts = node_facts(evidence, SUBSETS)
    json.dumps([facts, node_findings(facts, "gpu-1")])


@RELAXED
@given(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON)
def test_any_json_is_evidence(evidence: t.Any) -> None:
    _interpret(evidence)


@RELAXED
@given(st.sampled_from(CHECKS), st.data())
def test_cut_and_mangled_texts(check: node_cases.Check, data: st.DataObject) -> None:
    def mangled(text: str) -> str:
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        noise = data.draw(st.binary(max_size=8)).decode("utf-8", "replace")
        return text[:start] + noise + text[end:]

    files = {path: {**record, "text": mangled(record["text"])} for path, record in check.evidence["files"].items()}
    commands = {name: {**record, "stdout": mangled(record["stdout"])} for name, record in check.evidence["commands"].items()}
    _interpret({**check.evidence, "files": files, "commands": commands})


@RELAXED
@given(st.binary(max_size=400), st.sampled_from(PARSERS))
def test_parsers_take_any_bytes(data: bytes, parser: t.Callable[[str], t.Any]) -> None:
    parser(data.decode("utf-8", "surrogateescape"))
    parser(data.decode("latin-1"))


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><nvidia_smi_log><gpu>&b;</gpu></nvidia_smi_log>'
    assert smi_xml.parse(bomb) == {"driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": [], "error": "entity declaration"}


def test_depth_is_bounded() -> None:
    assert smi_xml.parse("<a>" * 100_000)["error"] == "too deep or too many elements"
    assert toml_text.parse_toml("a = " + "[" * 100_000)[1] is not None


def test_a_cut_document_keeps_the_gpus_that_are_whole() -> None:
    text = (node_cases.CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8")
    first_ends = text.index("</gpu>") + len("</gpu>")
    cut = smi_xml.parse(text[: first_ends + 4000])
    assert [gpu["uuid"] for gpu in cut["gpus"]] == ["GPU-00000001-0000-4000-8000-000000000001"]
    assert cut["error"] is not None


def test_text_behind_the_document_is_ignored() -> None:
    text = (node_cases.CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8")
    assert smi_xml.parse(text + "WARNING: infoROM is corrupted at gpu 0000:B3:00.0\n") == smi_xml.parse(text)
