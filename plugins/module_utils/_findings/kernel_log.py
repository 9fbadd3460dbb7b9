# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on what the kernel log tells of GPUs.

What a log says is of the past. Where the driver lists the GPU now and says that it needs no action, an event is worth a note and no more; what only kept the
driver from the GPU is over once it lists it.
"""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import xid
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE, ERROR, INFO, WARNING, finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings

# Kinds of events that are over once the driver has the GPU, to their code.
_STARTING = {"fallen_off_bus": "GpuFallenOffBus", "rm_init_failed": "GpuInitFailed", "probe_failed": "GpuInitFailed", "none_probed": "NoGpuBoundToDriver"}
_RANK = {INFO: 0, WARNING: 1, ERROR: 2}


def faults(facts: Facts, node: str) -> Findings:
    """GPUs that the driver lost or could not start, and the faults that it (Xid) and the NVSwitches (SXid) reported; not those of programs."""
    return [
        _finding(code, address, facts, node, events, severity=max((_severity(event, facts) for event in events), key=_RANK.__getitem__))
        for (code, address), events in _grouped([*_not_started(facts), *_faults(facts)]).items()
    ]


def none_probed(facts: Facts, node: str) -> Findings:
    """The module was loaded and found no GPU that it may have, and nothing else in the log says why."""
    driver = node_parts.part(facts, "driver")
    others = node_parts.events(facts, *_STARTING.keys() - {"none_probed"}, "already_bound", "not_probed", "bar_not_assigned", "unsupported")
    events = node_parts.events(facts, "none_probed")
    if not events or others or driver.get("attached_gpus") or (facts["pci"] is not None and not node_parts.pci_gpus(facts)):
        return []
    return [_finding("NoGpuBoundToDriver", None, facts, node, events)]


def recovery_actions(facts: Facts, node: str) -> Findings:
    """What the driver last asked for, on a GPU that doesn't say so itself."""
    known = node_parts.listed(facts)
    asking = [
        event
        for event in node_parts.events(facts, "xid")
        if event["details"].get("recovery_action") in node_parts.RECOVERY and (known.get(event["pci_address"]) or {}).get("recovery_action") is None
    ]
    return [
        finding(
            node_parts.RECOVERY[event["details"]["recovery_action"]],
            kind="gpu",
            name=event["pci_address"],
            summary=f"The GPU at {event['pci_address']} on {node} asks for: {event['details']['recovery_action']}.",
            evidence=node_parts.logged([event]),
        )
        for event in asking
    ]


# In the order of causes: what stands first explains what follows.
RULES = (faults, none_probed, recovery_actions)


def _not_started(facts: Facts) -> list[Facts]:
    """Events of GPUs that the driver doesn't list now."""
    known = node_parts.listed(facts)
    events = [event for event in node_parts.events(facts, "fallen_off_bus", "rm_init_failed") if event["pci_address"] not in known]
    return events if events or _has_all(facts) else node_parts.events(facts, "probe_failed")


def _faults(facts: Facts) -> list[Facts]:
    serious = [event for event in node_parts.events(facts, "xid", "sxid") if event["class"] in (xid.FATAL, xid.WARNING, xid.UNKNOWN)]
    return serious + [event for event in node_parts.events(facts, "xid") if event["class"] == xid.APPLICATION and _code(event) != "XidCritical"]


def _code(event: Facts) -> str:
    return _STARTING.get(event["kind"]) or (xid.look_up(event["code"]).code if event["kind"] == "xid" else "FabricError")


def _grouped(events: list[Facts]) -> dict[tuple[str, str | None], list[Facts]]:
    """Events by finding code and GPU; the codes in the catalogue's order, in which causes stand first."""
    groups: dict[tuple[str, str | None], list[Facts]] = {}
    order = list(CATALOGUE)
    for event in sorted(events, key=lambda event: order.index(_code(event))):
        groups.setdefault((_code(event), event["pci_address"]), []).append(event)
    return groups


def _severity(event: Facts, facts: Facts) -> str:
    """How bad an event is today."""
    gpu = node_parts.listed(facts).get(event["pci_address"] or "")
    over = event["recovered"] or (gpu is not None and gpu["fault"] is None and gpu["recovery_action"] == node_parts.NO_ACTION)
    if over or event["class"] == xid.APPLICATION:
        return INFO
    works = gpu is not None and gpu["fault"] is None and gpu["recovery_action"] is None
    return ERROR if event["class"] == xid.FATAL and not works else WARNING


def _has_all(facts: Facts) -> bool:
    """Whether the driver has every GPU that the bus shows."""
    return node_parts.answers(facts) and facts["driver"]["attached_gpus"] >= max(1, len(node_parts.pci_gpus(facts)))


def _finding(code: str, address: str | None, facts: Facts, node: str, events: list[Facts], severity: str | None = None) -> Facts:
    gpu = node_parts.listed(facts).get(address or "")
    return finding(
        code,
        kind="gpu" if address else "node",
        name=node_parts.gpu_name(gpu, node) if gpu else address or node,
        summary=f"{'The GPU at ' + address + ' on ' + node if address else node}: {_words(events)}.",
        evidence=node_parts.logged(events),
        severity=severity,
    )


def _words(events: list[Facts]) -> str:
    parts = [f"{_name(event)} ({event['count']} times)" if event["count"] > 1 else _name(event) for event in events[: node_parts.EVIDENCE_LIMIT]]
    return ", ".join(parts)


def _name(event: Facts) -> str:
    details = event["details"]
    names = {
        "xid": f"Xid {event['code']}, {xid.look_up(event['code']).meaning}" if event["kind"] == "xid" else "",
        "sxid": f"SXid {event['code']} of an NVSwitch",
        "fallen_off_bus": "fallen off the bus",
        "rm_init_failed": f"initialisation failed with {event['code']}" + (" in the GSP firmware" if details.get("gsp_firmware") else ""),
        "probe_failed": f"the driver failed to start {details.get('devices', 'some')} GPUs",
        "none_probed": "the driver found no GPU that it may drive",
    }
    return names[event["kind"]]
