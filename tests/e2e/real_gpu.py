# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collector finds on a machine with a real GPU: ``python3 -m tests.e2e.real_gpu``, from the repository.

Prints JSON: the evidence by way of NVML and by way of nvidia-smi's XML, the facts from each, where they differ apart from what changes from moment to
moment, the findings, and how long each way takes.
"""

from __future__ import annotations

import json
import sys
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.gpus import NVML_ONLY
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.benchmarks import node_info
from tests.e2e import collector

# Readings that two passes, a moment apart, seldom share.
_MEASURED = (
    "clock_memory_mhz", "clock_sm_mhz", "memory_used_mib", "performance_state", "power_draw_w", "temperature_c", "temperature_memory_c", "throttle_reasons",
    "tlimit_c", "uptime_s",
)
# What tells which way the facts came.
_SOURCE = ("nvidia_smi", "source")


def compare() -> dict[str, t.Any]:
    """Both ways over this machine."""
    evidence = {name: collector.evidence(use_nvml=name == "nvml") for name in ("nvml", "xml")}
    # The second pass was told to look for the library elsewhere, so that it would find none.
    evidence["xml"]["libraries"] = evidence["nvml"]["libraries"]
    facts = {name: node_facts(found, SUBSETS) for name, found in evidence.items()}
    differences = list(different(facts["nvml"], facts["xml"]))
    return {
        "equal": all(is_expected(difference) for difference in differences),
        "differences": [difference for difference in differences if not is_expected(difference)],
        "differences_expected": [difference for difference in differences if is_expected(difference)],
        "findings": {name: node_findings(found, "node") for name, found in facts.items()},
        "collector_errors": {name: found["collector_errors"] for name, found in evidence.items()},
        "facts": facts,
        "evidence": evidence,
    }


def is_expected(difference: dict[str, t.Any]) -> bool:
    """Whether two passes may differ here: readings of the moment, and what only one of the ways has."""
    expected = {*_MEASURED, *_SOURCE, *(name.rpartition(".")[2] for name in NVML_ONLY)}
    return bool(expected.intersection(difference["path"].split(".")))


def different(one: t.Any, other: t.Any, path: str = "") -> t.Iterator[dict[str, t.Any]]:
    """Where two values of JSON differ, by path."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from different(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from different(left, right, f"{path}.{position}")
    elif one != other:
        yield {"path": path, "nvml": one, "xml": other}


if __name__ == "__main__":
    result = compare()
    if "--no-timings" not in sys.argv[1:]:
        result["seconds"] = node_info.timings()
    json.dump(result, sys.stdout, indent=1)
