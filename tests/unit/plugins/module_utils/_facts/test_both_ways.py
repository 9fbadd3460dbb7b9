# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real GPU said through NVML and, a moment later, through nvidia-smi."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from tests.e2e.real_gpu import different, is_expected
from tests.unit import node_cases


def test_a_real_gpu_has_the_same_facts_both_ways() -> None:
    ways = {check.name: node_facts(check.evidence, SUBSETS) for check in node_cases.checks() if check.name.startswith("h200-one-gpu")}
    nvml, xml = ways["h200-one-gpu nvml"], ways["h200-one-gpu xml"]
    assert [difference for difference in different(nvml, xml) if not is_expected(difference)] == []
    assert nvml["gpus"][0]["serial"] == xml["gpus"][0]["serial"] == "1600000000003"
