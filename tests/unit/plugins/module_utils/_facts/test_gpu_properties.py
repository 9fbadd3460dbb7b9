# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No text, however cut, shuffled or random, makes a parser of nvidia-smi's output, the kernel log or package lists fail, and what it gives stays bounded."""

from __future__ import annotations

import json
import typing as t

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import (
    evidence,
    gpu_record,
    gpus,
    kernel_log,
    packages,
    pci,
    services,
    smi,
    smi_csv,
    smi_error,
    smi_list,
    smi_nvlink,
    smi_table,
    smi_text,
    smi_xml,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import driver, fabric, hardware, vgpu
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import gpus as gpu_rules
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import kernel_log as kernel_log_rules
from tests.unit.node_cases import CASES

RELAXED = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FOLDERS = [*sorted(CASES.glob("N[0-9]*")), CASES / "h200"]
INPUTS = [path.read_text(encoding="utf-8", errors="replace") for folder in FOLDERS for path in sorted(folder.iterdir()) if path.name != "case.json"]
PARSERS: tuple[t.Callable[[str], t.Any], ...] = (
    smi.parse, smi.form, smi_xml.parse, smi_text.parse, smi_table.parse, smi_list.parse, smi_csv.parse, smi_csv.is_table, smi_nvlink.parse, smi_error.parse,
    smi_error.exit_code, smi_error.handle, smi_error.warnings, services.dkms, packages.parse, pci.address, lambda text: kernel_log.parse(text.splitlines()),
)
RULES = (*hardware.RULES, *driver.RULES, *kernel_log_rules.RULES, *gpu_rules.RULES, *fabric.RULES, *vgpu.RULES)
SUBSETS = ("platform", "pci", "driver", "gpus", "toolkit", "kernel_log")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.dictionaries(st.sampled_from(sorted({name for parts in gpu_record.PARTS.values() for name in parts})), JSON, max_size=4)
# No parser makes more of a text than this many characters for each of it, beside the names of one GPU's facts for each line.
FACTOR, PER_LINE = 60, 3000


def _size(parsed: t.Any) -> int:
    return len(json.dumps(parsed, default=str))


def _all(text: str) -> None:
    for parser in PARSERS:
        assert _size(parser(text)) <= FACTOR * len(text) + PER_LINE * (text.count("\n") + 2)


@RELAXED
@given(st.sampled_from(INPUTS), st.data())
def test_cut_and_mangled(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    _all(text[:start] + data.draw(st.binary(max_size=8)).decode("utf-8", "surrogateescape") + text[end:])


@RELAXED
@given(st.sampled_from(INPUTS), st.randoms(use_true_random=False))
def test_shuffled_lines(text: str, random: t.Any) -> None:
    lines = text.splitlines()[:120]
    random.shuffle(lines)
    _all("\n".join(lines))


@RELAXED
@given(st.lists(st.sampled_from(sorted({line for text in INPUTS for line in text.splitlines()[:60]})), max_size=40))
def test_lines_of_any_inputs_together(lines: list[str]) -> None:
    _all("\n".join(lines))


@RELAXED
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    _all(data.decode("utf-8", "surrogateescape"))
    _all(data.decode("latin-1"))


@RELAXED
@given(st.lists(st.dictionaries(st.sampled_from((*gpus.GPU_FIELDS, "other")), JSON | PARTS, max_size=12), max_size=3), st.none() | JSON, JSON)
def test_any_record_of_nvml(records: list[t.Any], error: t.Any, other: t.Any) -> None:
    facts = node_facts({"schema": 1, "nvml": {"error": error, "gpus": records, "driver_version": other}}, SUBSETS)
    json.dumps([found for rule in RULES for found in rule(facts, "gpu-1")])


@RELAXED
@given(st.lists(st.sampled_from([line for text in INPUTS for line in text.splitlines() if "NVRM" in line or "nvidia" in line]), max_size=30), JSON)
def test_any_kernel_log(lines: list[str], other: t.Any) -> None:
    function = {"address": "0000:3b:00.0", "class": "0x030200", "bars": other, "numa_node": other}
    facts = node_facts({"schema": 1, "kernel_log": {"lines": lines, "dropped": other}, "pci": [function]}, SUBSETS)
    json.dumps([found for rule in RULES for found in rule(facts, "gpu-1")])


def test_big_inputs_are_bounded() -> None:
    assert len(kernel_log.parse([f"NVRM: Xid (PCI:0000:{n % 256:02x}:00): {n}, x" for n in range(100_000)])["events"]) == kernel_log.EVENT_LIMIT
    assert len(smi.parse("GPU 00000000:01:00.0\n" * 200_000)["gpus"]) <= smi_text.LINE_LIMIT
    assert _size(smi.parse("a" * 5_000_000)) < 2_000
    assert evidence.read({"commands": {"nvidia_smi": {"stdout": "x"}}}).commands["nvidia_smi"].rc is None
