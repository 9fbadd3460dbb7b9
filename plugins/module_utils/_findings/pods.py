# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a pod, from its object, its events and its log."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import event_message, event_reason, events_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import (
    bound_node,
    conditions,
    container_states,
    is_live,
    is_stuck,
    phase,
    pod_key,
    pod_status,
    unschedulable_message,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.advice import advised
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.containers import container_findings, failed_findings, log_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.isolation import reach_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.known_issues import stuck_pod_finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import text_finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.scheduling import pending_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

# Events that tell of a start that failed, beside what the pod's status says.
_START_EVENTS = ("FailedCreatePodSandBox", "Failed", "FailedMount", "FailedAttachVolume", "UnexpectedAdmissionError")
_SCHEDULING_EVENTS = ("FailedScheduling", "NotTriggerScaleUp")
_UNHEALTHY_DEVICES = "DeviceUnhealthy"
_GPU_PREFIX = "OutOfnvidia.com/"

# The kubelet's reason in a pod's status, and what it means where the message says no more.
# Source: kubernetes v1.36 pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/eviction, pkg/kubelet/nodeshutdown.
_STATUS_REASONS = {
    "UnexpectedAdmissionError": ("DeviceUnavailable", "the kubelet could not give it its devices"),
    "TopologyAffinityError": ("DeviceUnavailable", "the kubelet found no devices and CPUs on one NUMA node"),
    "OutOfcpu": ("InsufficientCpu", "its node had too little CPU left when it arrived"),
    "OutOfmemory": ("InsufficientMemory", "its node had too little memory left when it arrived"),
    "NodeAffinity": ("AffinityMismatch", "its node no longer matches its node selector or affinity"),
    "NodeLost": ("NodeNotReady", "its node is lost"),
    "Terminated": ("NodeNotReady", "its node was shut down"),
    "NodeShutdown": ("NodeNotReady", "its node was shut down"),
    "Evicted": ("PodEvicted", "its node ran short of something"),
    "Preempting": ("PodEvicted", "the kubelet needed its place for a critical pod"),
}
# Reasons of the condition DisruptionTarget (k8s.io/api v0.36 core/v1).
_DISRUPTIONS = {
    "PreemptionByScheduler": "a pod of higher priority needed its place",
    "DeletionByTaintManager": "its node got a taint that it doesn't tolerate",
    "EvictionByEvictionAPI": "someone evicted it, as a drain does",
    "DeletionByPodGC": "its node is gone",
    "TerminationByKubelet": "its node ran short of something or was shut down",
}


def pod_findings(
    pod: Object,
    events: t.Iterable[Object] = (),
    *,
    nodes: t.Optional[t.Sequence[Object]] = None,
    objects: t.Optional[t.Mapping[str, Object]] = None,
    log: t.Optional[str] = None,
) -> Findings:
    """Why a pod isn't well, the cause first; nothing for one that is.

    :param events: events of the pod's namespace; others are passed over.
    :param nodes: facts on all nodes (``gpu_cluster.nodes``), ``None`` where they aren't known.
    :param objects: Node objects by name; needed where ``nodes`` is given.
    :param log: the log of its GPU container.
    """
    own = events_of(events, "Pod", *pod_key(pod))
    if bound_node(pod) is None and is_live(pod) and not container_states(pod):
        found = _unscheduled(pod, own, nodes, objects or {}) or _start_events(pod, own)
    elif phase(pod) == "Succeeded":
        found = []
    else:
        found = _started(pod, own, nodes, log)
    return [advised(pod, item) for item in _once(found + reach_findings(pod, log))]


def _started(pod: Object, events: t.Sequence[Object], nodes: t.Optional[t.Sequence[Object]], log: t.Optional[str]) -> Findings:
    """On a pod that has a node: the kubelet's words, the containers' states, the events of its start, its log; exit codes where nothing explains them."""
    found = _on_lost_node(pod, nodes) + _status(pod) + container_findings(pod, [event_message(event) for event in events])
    if _may_not_have_started(pod):
        found += _start_events(pod, events)
    found += log_findings(pod, log)
    return found or stuck_pod_finding(pod, events, nodes or ()) or failed_findings(pod, log)


def _unscheduled(pod: Object, events: t.Sequence[Object], nodes: t.Optional[t.Sequence[Object]], objects: t.Mapping[str, Object]) -> Findings:
    messages = [unschedulable_message(pod)] + [event_message(event) for event in reversed(events) if event_reason(event) in _SCHEDULING_EVENTS]
    found = (pending_findings(pod, message, nodes, objects) for message in messages if message)
    return next((items for items in found if items), [])


def _on_lost_node(pod: Object, nodes: t.Optional[t.Sequence[Object]]) -> Findings:
    """A pod that doesn't come up on a node that isn't ready waits for the node."""
    node = next((item for item in nodes or () if item["name"] == bound_node(pod)), None)
    lost = [item for item in node["conditions"] if item["type"] == "Ready"] if node else []
    if not lost or not (is_stuck(pod) or phase(pod) == "Unknown"):
        return []
    text_of = f"{lost[0]['status']} {lost[0]['reason']} {lost[0]['message']}".strip()
    return [_about(pod, "NodeNotReady", f"is on node {bound_node(pod)}, which isn't ready", "condition Ready", text_of)]


def _status(pod: Object) -> Findings:
    """What the pod's own reason and conditions say: refused by the kubelet, ended by its deadline, evicted."""
    status = pod_status(pod)
    reason, message = text(status.get("reason")), text(status.get("message"))
    namespace, name = pod_key(pod)
    known = text_finding(message, where=f"status of {namespace}/{name}", kind="pod", name=name, namespace=namespace, node=bound_node(pod))
    if known:
        return [_after_reboot(pod, message) or known] if known["code"] == _UNHEALTHY_DEVICES else [known]
    if reason == "DeadlineExceeded":
        return [_about(pod, reason, "was ended by its deadline", "status", message, severity=None)]
    if reason.startswith(_GPU_PREFIX):
        return [_about(pod, "DeviceUnavailable", f"was refused by the kubelet, which had too few {reason[len('OutOf') :]} left", "status", message or reason)]
    if reason in _STATUS_REASONS:
        code, summary = _STATUS_REASONS[reason]
        return [_about(pod, code, f"was ended ({reason}): {summary}", "status", message or reason)]
    disrupted = text(conditions(pod).get("DisruptionTarget", {}).get("reason"))
    if not is_live(pod) and disrupted in _DISRUPTIONS:
        return [_about(pod, "PodEvicted", f"was ended ({disrupted}): {_DISRUPTIONS[disrupted]}", "condition DisruptionTarget", disrupted)]
    return []


def _after_reboot(pod: Object, message: str) -> t.Optional[Object]:
    """A pod that ran before and is refused for want of healthy devices met its node's restart: the device plugin wasn't back yet."""
    if not any(state.state == "terminated" for state in container_states(pod)):
        return None
    summary = f"ran on node {bound_node(pod)} before and was refused after the node's restart, when the device plugin wasn't back yet"
    return _about(pod, "DeviceUnavailable", summary, "status", message)


def _may_not_have_started(pod: Object) -> bool:
    """Whether failures in its events still count: they don't once every container has started, since the kubelet tries again by itself."""
    states = [state for state in container_states(pod) if not state.previous]
    return phase(pod) == "Failed" or not states or any(state.state != "running" and state.exit_code != 0 for state in states)


def _start_events(pod: Object, events: t.Sequence[Object]) -> Findings:
    namespace, name = pod_key(pod)
    told = [event for event in events if event_reason(event) in _START_EVENTS]
    found = [
        text_finding(
            event_message(event), where=f"event {event_reason(event)} of {namespace}/{name}", kind="pod", name=name, namespace=namespace, node=bound_node(pod)
        )
        for event in told
    ]
    return [item for item in found if item]


def _about(pod: Object, code: str, summary: str, where: str, shown: str, severity: t.Optional[str] = "error") -> Object:
    namespace, name = pod_key(pod)
    evidence = [seen(f"{where} of {namespace}/{name}", shown)]
    return finding(code, kind="pod", name=name, namespace=namespace, summary=f"Pod {name} {summary}.", evidence=evidence, severity=severity)


def _once(found: t.Iterable[Object]) -> Findings:
    """The first finding of each code; the later ones only say it again."""
    return list({item["code"]: item for item in reversed(list(found))}.values())[::-1]
