# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on the NVLink fabric that joins GPUs by NVSwitches.

A GPU alone, or one without NVSwitches, has no fabric, and says ``Not Supported``. Zeros as clique and cluster are normal within one machine.
"""

from __future__ import annotations

import re

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.driver import same_version
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings

_COMPLETED, _SUCCESS, _NOT_SUPPORTED = "Completed", "Success", "Not Supported"
_UNDER_WAY = frozenset(("In Progress", "Not Started"))
# Products whose GPUs are always joined across machines.
_ALWAYS_JOINED = re.compile(r"\bGB[23]00\b")


def manager_not_ready(facts: Facts, node: str) -> Findings:
    """The fabric isn't set up yet, or its manager can't do so."""
    waiting = [gpu for gpu in _with_fabric(facts) if gpu["fabric"]["state"] in _UNDER_WAY]
    reason = _manager_fault(facts)
    if not waiting and reason is None:
        return []
    states = [seen(f"{node_parts.source(facts)}: GPU {gpu['index']}: fabric.state", gpu["fabric"]["state"]) for gpu in waiting]
    words = [f"fabric of {len(waiting)} GPUs: {waiting[0]['fabric']['state']}"] if waiting else []
    return [
        finding(
            "FabricManagerNotReady",
            kind="node",
            name=node,
            summary=f"The NVLink fabric is not ready: {'; '.join(words + ([reason] if reason else []))}.",
            evidence=([seen("nvidia-fabricmanager.service", reason)] if reason else []) + states[: node_parts.EVIDENCE_LIMIT],
        )
    ]


def not_ready(facts: Facts, node: str) -> Findings:
    """GPUs that work as one through NVSwitches say that they have no fabric."""
    without = [gpu for gpu in _with_fabric(facts) if gpu["fabric"]["state"] == _NOT_SUPPORTED]
    if len(without) < 2 or not _needs_fabric(facts, without):
        return []
    shown = [seen(f"{node_parts.source(facts)}: GPU {gpu['index']}: fabric.state", _NOT_SUPPORTED) for gpu in without]
    summary = f"{len(without)} of {len(node_parts.gpus(facts))} GPUs on {node} say that they have no NVLink fabric; Completed was expected."
    return [finding("FabricNotReady", kind="node", name=node, summary=summary, evidence=shown[: node_parts.EVIDENCE_LIMIT])]


def failed(facts: Facts, node: str) -> Findings:
    """Registering with the fabric ended, and not well: only then the status means something."""
    bad = [gpu for gpu in _with_fabric(facts) if gpu["fabric"]["state"] == _COMPLETED and gpu["fabric"]["status"] not in (None, _SUCCESS)]
    return [
        finding(
            "FabricError",
            kind="gpu",
            name=node_parts.gpu_name(gpu, node),
            summary=f"{node_parts.gpu_words(gpu, node)}: the NVLink fabric is {_COMPLETED} with status {gpu['fabric']['status']}; {_SUCCESS} was expected.",
            evidence=[seen(f"{node_parts.source(facts)}: fabric.status", gpu["fabric"]["status"])],
        )
        for gpu in bad
    ]


# In the order of causes: what stands first explains what follows.
RULES = (manager_not_ready, not_ready, failed)


def _with_fabric(facts: Facts) -> list[Facts]:
    return [gpu for gpu in node_parts.gpus(facts) if gpu["fabric"]]


def _switches(facts: Facts) -> list[Facts]:
    return [item for item in facts["pci"] or [] if item["kind"] == "nvswitch"]


def _needs_fabric(facts: Facts, gpus: list[Facts]) -> bool:
    """By the switches on the bus, by the product, or, where neither is known, by there being a state at all on several GPUs."""
    products = [gpu["product"] for gpu in gpus if gpu["product"]]
    if products or facts["pci"] is not None:
        return bool(_switches(facts)) or any(_ALWAYS_JOINED.search(product) for product in products)
    return True


def _manager_fault(facts: Facts) -> str | None:
    """What is wrong with the fabric manager on a machine that has NVSwitches and whose GPUs don't say that the fabric is up."""
    driver = node_parts.part(facts, "driver")
    up = [gpu for gpu in _with_fabric(facts) if gpu["fabric"]["state"] == _COMPLETED]
    if not _switches(facts) or up or not driver.get("loaded_version") or not driver.get("packages") or driver["services"] is None:
        return None
    service = driver["services"]["fabric_manager"]
    if service is None:
        return "no service nvidia-fabricmanager"
    if service["state"] != "active":
        return f"nvidia-fabricmanager is {service['state']}"
    if not same_version(service["version"], driver["loaded_version"]):
        return f"nvidia-fabricmanager is {service['version']}, the driver {driver['loaded_version']}"
    return None
