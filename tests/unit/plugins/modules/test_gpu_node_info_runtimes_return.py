# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""RETURN of gpu_node_info names every fact on runtimes, the toolkit and CDI, and no other."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.modules import gpu_node_info
from tests.unit import node_cases

Tree = t.Dict[str, t.Any]
DOCUMENTED: Tree = yaml.safe_load(gpu_node_info.RETURN)["gpu_node"]["contains"]
SUBSETS = ("runtimes", "toolkit", "cdi")
CHECKS = {check.name: check for check in node_cases.checks()}
CRIO: Tree = {"files": {"/etc/crio/crio.conf": {"text": '[crio.runtime.runtimes.nvidia]\nruntime_path = "/x"\n'}}}


def _of(name: str) -> Tree:
    return node_facts(CHECKS[name].evidence, SUBSETS)


@pytest.mark.parametrize("facts", [_of("containerd-2.4 after, from the dump"), _of("R17 docker info with it"), node_facts(CRIO, SUBSETS)])
def test_every_runtime_has_the_same_facts(facts: Tree) -> None:
    (runtime,) = facts["runtimes"]
    documented = DOCUMENTED["runtimes"]["contains"]
    assert set(documented) == set(runtime)
    for part in ("daemon", "cri"):
        assert runtime[part] is None or set(documented[part]["contains"]) == set(runtime[part])
    assert set(documented["handlers"]["contains"]) == set(runtime["handlers"][0])


def test_toolkit_and_specifications() -> None:
    facts = _of("h200-node-ctk-configured files")
    assert set(DOCUMENTED["toolkit"]["contains"]) == set(facts["toolkit"]) == set(_of("R06 files")["toolkit"])
    assert set(DOCUMENTED["cdi"]["contains"]) == set(facts["cdi"])
    (spec,) = facts["cdi"]["specs"]
    assert set(DOCUMENTED["cdi"]["contains"]["specs"]["contains"]) == set(spec)
