# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""RETURN of gpu_node_info names every fact on the hardware, the driver and the kernel's log, and no other."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import evidence, gpu_record, kernel_log, services
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.modules import gpu_node_info
from tests.unit import node_cases

Tree = t.Dict[str, t.Any]
DOCUMENTED: Tree = yaml.safe_load(gpu_node_info.RETURN)["gpu_node"]["contains"]
SUBSETS = ("platform", "pci", "driver", "gpus", "kernel_log")


def _facts() -> Tree:
    check = next(check for check in node_cases.checks() if check.name == "h200 node")
    return node_facts(check.evidence, SUBSETS)


@pytest.mark.parametrize("subset", SUBSETS)
def test_every_fact_is_documented(subset: str) -> None:
    found = _facts()[subset]
    facts = found[0] if isinstance(found, list) else found
    assert set(DOCUMENTED[subset]["contains"]) == set(facts)


@pytest.mark.parametrize("fact", gpu_record.PARTS)
def test_parts_of_a_gpu(fact: str) -> None:
    assert set(DOCUMENTED["gpus"]["contains"][fact]["contains"]) == set(gpu_record.PARTS[fact])


def test_events_services_and_builds() -> None:
    (event,) = kernel_log.parse(["NVRM: Xid (PCI:0000:3b:00): 79, x"])["events"]
    assert set(DOCUMENTED["kernel_log"]["contains"]["events"]["contains"]) == set(event)
    driver = DOCUMENTED["driver"]["contains"]
    known = services.facts(evidence.read({"commands": {"services": {"rc": 0, "stdout": "Id=nvidia-imex.service\nLoadState=loaded\n"}}}), [])
    assert known is not None
    assert known["imex"] is not None
    assert set(driver["services"]["contains"]) == set(known)
    assert set(driver["services"]["contains"]["imex"]["contains"]) == set(known["imex"])
    (build,) = services.dkms("nvidia/580.95.05: added\n")
    assert set(driver["dkms"]["contains"]) == set(build)
