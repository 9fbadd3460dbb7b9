# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Why the scheduler found no node for a GPU pod."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.placement import matches_affinity, tolerates
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests, is_gpu_resource
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.scheduling import Clause, Refusal, parse_refusal
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen

Object = t.Dict[str, t.Any]

_OTHER_RESOURCES = {"cpu": "InsufficientCpu", "memory": "InsufficientMemory"}
_NOT_READY_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
# Control-plane nodes keep everybody away; that explains nothing about GPUs.
_CONTROL_PLANE_TAINT = "node-role.kubernetes.io/"


class Candidate(t.NamedTuple):
    """A node that has the resource, and what keeps the pod from it apart from too few free devices.

    :param blockers: ``(code, detail)`` pairs.
    """

    name: str
    capacity: int
    allocatable: int
    free: int
    blockers: t.Tuple[t.Tuple[str, str], ...]


def pending_findings(pod: Object, message: str, nodes: t.Optional[t.Sequence[Object]], objects: t.Mapping[str, Object]) -> t.List[Object]:
    """Findings on a pod that has no node.

    The scheduler says how many nodes fail for which reason, and not which of them have GPUs. Where the nodes are known, only
    reasons that concern nodes with the resource are reported.

    :param message: the scheduler's message, or the autoscaler's.
    :param nodes: node facts; ``None`` where they aren't known, so that the message alone decides.
    :param objects: Node objects by name, for their labels.
    """
    refusal = parse_refusal(message)
    asked = gpu_requests(pod) or _asked_by_message(refusal)
    namespace, name = pod_key(pod)
    about: Object = {"kind": "pod", "name": name, "namespace": namespace, "evidence": [seen(f"scheduling of {namespace}/{name}", message)]}
    found: t.List[Object] = []
    for resource, count in asked.items():
        if nodes is None:
            found += _by_message(refusal, resource, count, about)
        else:
            found += _by_nodes(refusal, resource, count, about, nodes, _candidates(pod, resource, nodes, objects))
    return found


def _asked_by_message(refusal: t.Optional[Refusal]) -> t.Dict[str, int]:
    clauses = refusal.clauses if refusal else ()
    return {clause.values["resource"]: 1 for clause in clauses if clause.kind == "insufficient" and is_gpu_resource(clause.values["resource"])}


def _candidates(pod: Object, resource: str, nodes: t.Iterable[Object], objects: t.Mapping[str, Object]) -> t.List[Candidate]:
    found = []
    for node in nodes:
        entry = next((item for item in node["resources"] if item["resource"] == resource and item["capacity"] and not item["stale"]), None)
        if entry is not None:
            blockers = tuple(_blockers(pod, node, objects.get(node["name"]) or {"metadata": {"name": node["name"]}}))
            found.append(Candidate(node["name"], entry["capacity"], entry["allocatable"], entry["free"], blockers))
    return found


def _blockers(pod: Object, node: Object, obj: Object) -> t.Iterator[t.Tuple[str, str]]:
    if not matches_affinity(pod, obj):
        yield "AffinityMismatch", node["name"]
    if node["unschedulable"] and not tolerates(pod, {"key": _CORDON_TAINT, "value": "", "effect": "NoSchedule"}):
        yield "NodeCordoned", node["name"]
    if not node["ready"]:
        yield "NodeNotReady", node["name"]
    for taint in node["taints"]:
        if taint["key"] not in (_CORDON_TAINT, *_NOT_READY_TAINTS) and taint["effect"] != "PreferNoSchedule" and not tolerates(pod, taint):
            yield "UntoleratedTaint", taint_text(taint)


def taint_text(taint: Object) -> str:
    """A taint as kubectl takes it: ``key=value:effect``."""
    return f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}"


def _by_nodes(
    refusal: t.Optional[Refusal], resource: str, count: int, about: Object, nodes: t.Sequence[Object], candidates: t.Sequence[Candidate]
) -> t.List[Object]:
    if not candidates:
        return _no_candidate(refusal, resource, count, about, nodes)
    within = [candidate for candidate in candidates if ("AffinityMismatch", candidate.name) not in candidate.blockers]
    if not within:
        summary = f"Pod {about['name']} may run on none of the {len(candidates)} nodes that have {resource} ({_names(candidates)})."
        return [finding("AffinityMismatch", summary=summary, **about)]
    enough = [candidate for candidate in within if candidate.allocatable and candidate.free >= count]
    unblocked = [candidate for candidate in within if not candidate.blockers]
    if any(candidate in enough for candidate in unblocked):
        return _not_the_gpu(refusal, about) or _as_said(refusal, resource, count, about)
    found = [_insufficient(resource, count, about, unblocked or within)] if unblocked or not enough else []
    blocked = enough or ([] if unblocked else within)
    return found + [_blocked(code, blocked, about) for code in _codes(blocked)]


def _no_candidate(refusal: t.Optional[Refusal], resource: str, count: int, about: Object, nodes: t.Sequence[Object]) -> t.List[Object]:
    offered = sorted({item["resource"] for node in nodes for item in node["resources"] if item["allocatable"]})
    if offered:
        summary = f"Pod {about['name']} asks for {resource}, which no node offers; offered are {', '.join(offered)}."
        return [finding("ResourceRenamed", summary=summary, next_step=f"Ask for one of {', '.join(offered)}.", **about)]
    taints = [clause for clause in (refusal.clauses if refusal else ()) if clause.kind == "taint" and _concerns_pool(clause)]
    known = {taint["key"]: taint for node in nodes for taint in node["taints"] if not taint["key"].startswith(_CONTROL_PLANE_TAINT)}
    found = []
    for clause in taints:
        taint = known.get(clause.values.get("key", "")) or next(iter(known.values()), None)
        text = taint_text(taint) if taint else clause.text
        found.append(finding("UntoleratedTaint", summary=f"Pod {about['name']} doesn't tolerate the taint {text} of {clause.nodes} node(s).", **about))
    if not taints or any(clause.kind == "insufficient" for clause in (refusal.clauses if refusal else ())):
        summary = f"Pod {about['name']} asks for {count} {resource}, which none of the {len(nodes)} nodes offers."
        found.append(finding("GpuResourceNotAdvertised", summary=summary, **about))
    return found


def _concerns_pool(clause: Clause) -> bool:
    key = clause.values.get("key", "")
    return not key.startswith(_CONTROL_PLANE_TAINT) and key not in _NOT_READY_TAINTS and key != _CORDON_TAINT


def _codes(candidates: t.Iterable[Candidate]) -> t.List[str]:
    return sorted({code for candidate in candidates for code, _detail in candidate.blockers})


def _blocked(code: str, candidates: t.Sequence[Candidate], about: Object) -> Object:
    blocked = [candidate for candidate in candidates if any(code == found for found, _detail in candidate.blockers)]
    details = sorted({detail for candidate in blocked for found, detail in candidate.blockers if found == code})
    sentences = {
        "AffinityMismatch": f"Pod {about['name']} may not run on {_names(blocked)} by its node selector or affinity.",
        "NodeCordoned": f"Pod {about['name']} could run on {_names(blocked)}, which is cordoned.",
        "NodeNotReady": f"Pod {about['name']} could run on {_names(blocked)}, which is not ready.",
        "UntoleratedTaint": f"Pod {about['name']} doesn't tolerate the taint {', '.join(details)} of {_names(blocked)}.",
    }
    return finding(code, summary=sentences[code], severity="error", **about)


def _insufficient(resource: str, count: int, about: Object, candidates: t.Sequence[Candidate]) -> Object:
    largest = max(candidate.capacity for candidate in candidates)
    if not any(candidate.allocatable for candidate in candidates):
        summary = f"Pod {about['name']} asks for {count} {resource}; {_names(candidates)} has {largest} and offers none."
        return finding("AllGpusUnhealthyOrPluginDown", summary=summary, **about)
    free = max(candidate.free for candidate in candidates)
    summary = f"Pod {about['name']} asks for {count} {resource}; at most {free} are free on one node ({_names(candidates)})."
    step = f"No such node has more than {largest}: ask for fewer." if count > largest else None
    return finding("InsufficientResource", summary=summary, next_step=step, **about)


def _names(candidates: t.Sequence[Candidate], most: int = 5) -> str:
    names = [candidate.name for candidate in candidates]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _not_the_gpu(refusal: t.Optional[Refusal], about: Object) -> t.List[Object]:
    """GPUs are free on a node that the pod may use, so the scheduler's other reasons count."""
    found = []
    for clause in refusal.clauses if refusal else ():
        code = _OTHER_RESOURCES.get(clause.values.get("resource", "")) if clause.kind == "insufficient" else None
        if code:
            found.append(finding(code, summary=f"Pod {about['name']}: {clause.nodes} node(s) have too little {clause.values['resource']} left.", **about))
    return found


def _as_said(refusal: t.Optional[Refusal], resource: str, count: int, about: Object) -> t.List[Object]:
    """What the scheduler says of the resource itself, also against the nodes' counts: pods that hold it may be unknown, or came and went."""
    said = any(clause.kind == "insufficient" and clause.values["resource"] == resource for clause in (refusal.clauses if refusal else ()))
    summary = f"Pod {about['name']} asks for {count} {resource}, which no node had free."
    return [finding("InsufficientResource", summary=summary, **about)] if said else []


def _by_message(refusal: t.Optional[Refusal], resource: str, count: int, about: Object) -> t.List[Object]:
    """Without knowledge of the nodes: the scheduler's reasons as they stand, a selector's only where it is the sole one."""
    clauses = refusal.clauses if refusal else ()
    found = _as_said(refusal, resource, count, about)
    if found:
        return found
    found = _not_the_gpu(refusal, about)
    for clause in clauses:
        if clause.kind == "taint" and not clause.values.get("key", "").startswith(_CONTROL_PLANE_TAINT):
            found.append(finding("UntoleratedTaint", summary=f"Pod {about['name']}: {clause.nodes} {clause.text}.", **about))
        elif clause.kind in ("cordoned", "not_ready"):
            code = "NodeCordoned" if clause.kind == "cordoned" else "NodeNotReady"
            found.append(finding(code, summary=f"Pod {about['name']}: {clause.nodes} {clause.text}.", **about))
    if not found and any(clause.kind == "affinity" for clause in clauses):
        found.append(finding("AffinityMismatch", summary=f"Pod {about['name']} matches none of the {refusal.nodes_total if refusal else 0} nodes.", **about))
    return found
