# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet would report of its node: GPUs, readiness, system. Pure: the Node and facts in, a patch of its status out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.testbed.fleet.machines import Facts
from tests.testbed.fleet.pods import GPU, stamp

Json = dict[str, Any]

RUNTIME_SECONDS = 30  # a kubelet calls its runtime down after this long without an answer
SILENCE_SECONDS = 40  # the cluster calls a node unknown after this long without a word from it
_MERGED_LISTS = ("conditions", "addresses")  # wanted only where they differ


def has_rebooted(node: Json, facts: Facts) -> bool:
    """Whether the machine has another boot id than the one that the Node was last reported with."""
    reported = node["status"].get("nodeInfo", {}).get("bootID", "")
    return facts.running and reported not in ("", facts.boot_id)


def _devices(node: Json, facts: Facts, *, plugin: bool, rebooted: bool) -> Json:
    """Capacity and allocatable of GPUs. Without a plugin the capacity stays and nothing is allocatable; after a reboot both are 0."""
    known = GPU in node["status"].get("capacity", {})
    if rebooted:
        return {"capacity": {GPU: "0"}, "allocatable": {GPU: "0"}} if known else {}
    if plugin:
        count = str(len(facts.gpus))
        return {"capacity": {GPU: count}, "allocatable": {GPU: count}}
    return {"allocatable": {GPU: "0"}} if known else {}


def _readiness(facts: Facts, silent: float) -> tuple[str, str, str] | None:
    """Status, reason and message of the Ready condition; None while it is too early to tell."""
    if facts.running and facts.runtime is not None:
        return "True", "KubeletReady", "kubelet is posting ready status"
    if facts.running and silent >= RUNTIME_SECONDS:
        return "False", "KubeletNotReady", "container runtime is down"
    if not facts.running and silent >= SILENCE_SECONDS:
        return "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
    return None


def _conditions(node: Json, facts: Facts, silent: float, now: datetime) -> Json:
    wanted = _readiness(facts, silent)
    current = next((entry for entry in node["status"].get("conditions", []) if entry["type"] == "Ready"), None)
    if wanted is None or current is None or current["status"] == wanted[0]:
        return {}
    status, reason, message = wanted
    times = {"lastHeartbeatTime": stamp(now), "lastTransitionTime": stamp(now)}
    return {"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message, **times}]}


def _addresses(node: Json, facts: Facts) -> Json:
    wanted = {"type": "InternalIP", "address": facts.address}
    return {"addresses": [wanted]} if facts.address and wanted not in node["status"].get("addresses", []) else {}


def _differs(current: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return not isinstance(current, dict) or any(_differs(current.get(key), value) for key, value in wanted.items())
    return bool(current != wanted)


def patch(node: Json, facts: Facts, *, plugin: bool, silent: float, now: datetime) -> Json | None:
    """The strategic merge patch of the Node's status that is due, or None.

    ``plugin``: a device plugin works on the node. ``silent``: seconds since machine and runtime were last both well.
    """
    wanted = _conditions(node, facts, silent, now)
    if facts.running:
        wanted |= _devices(node, facts, plugin=plugin, rebooted=has_rebooted(node, facts))
        wanted |= {"nodeInfo": facts.system} if facts.system else {}
        wanted |= _addresses(node, facts)
    changed = {key: value for key, value in wanted.items() if key in _MERGED_LISTS or _differs(node["status"].get(key), value)}
    return {"status": changed} if changed else None
