# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on pods and on the Jobs and DaemonSets that should have made them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import (
    ContainerState,
    bound_node,
    container_states,
    event_message,
    events_of,
    is_live,
    pod_key,
    privileged_containers,
    unschedulable_message,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import recognise, text_finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.scheduling import pending_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_PULL_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError")
# Events that tell of a start that failed, beside what the pod's status says.
_START_EVENTS = ("FailedCreatePodSandBox", "Failed", "FailedMount", "FailedAttachVolume")
_SCHEDULING_EVENTS = ("FailedScheduling", "NotTriggerScaleUp")


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
    namespace, name = pod_key(pod)
    own = events_of(events, "Pod", namespace, name)
    if bound_node(pod) is None and is_live(pod):
        return _unscheduled(pod, own, nodes, objects or {})
    found = _status(pod) + _containers(pod) + _start_events(pod, own)
    text = text_finding(log, where=f"log of {namespace}/{name}", kind="pod", name=name, namespace=namespace)
    return _once(found + ([text] if text else []))


def owner_findings(kind: str, namespace: str, name: str, events: t.Iterable[Object]) -> Findings:
    """Why a controller could make no pod, from its FailedCreate events: a pod that was never made has no status to read.

    :param kind: ``Job`` or ``DaemonSet``.
    """
    where = f"events of {kind} {namespace}/{name}"
    refused = [event for event in events_of(events, kind, namespace, name) if event.get("reason") == "FailedCreate"]
    found = [text_finding(event_message(event), where=where, kind=kind.lower(), name=name, namespace=namespace) for event in refused]
    return _once([item for item in found if item])


def refusal_finding(message: str, *, kind: str, name: str, namespace: str) -> t.Optional[Object]:
    """What the API server's refusal to create an object means; ``None`` where that isn't known."""
    return text_finding(message, where=f"the API server's answer to create {kind} {namespace}/{name}", kind=kind, name=name, namespace=namespace)


def isolation_findings(pod: Object, seen_gpus: int, asked: int) -> Findings:
    """Whether a pod sees exactly the devices that it asked for.

    :param seen_gpus: devices that the pod's nvidia-smi listed.
    """
    namespace, name = pod_key(pod)
    privileged = privileged_containers(pod)
    about: Object = {"kind": "pod", "name": name, "namespace": namespace, "evidence": [seen(f"nvidia-smi in {namespace}/{name}", f"{seen_gpus} devices")]}
    if privileged:
        summary = f"Pod {name} is privileged ({', '.join(privileged)}) and sees {seen_gpus} devices; it asked for {asked}."
        return [finding("PrivilegedPod", summary=summary, **about)]
    if seen_gpus > asked:
        return [finding("GpuIsolationBypass", summary=f"Pod {name} sees {seen_gpus} devices and asked for {asked}.", severity="error", **about)]
    if seen_gpus < asked:
        return [finding("GpuCountMismatch", summary=f"Pod {name} sees {seen_gpus} devices and asked for {asked}.", **about)]
    return []


def _unscheduled(pod: Object, events: t.Sequence[Object], nodes: t.Optional[t.Sequence[Object]], objects: t.Mapping[str, Object]) -> Findings:
    messages = [unschedulable_message(pod)] + [event_message(event) for event in reversed(events) if event.get("reason") in _SCHEDULING_EVENTS]
    found = (pending_findings(pod, message, nodes, objects) for message in messages if message)
    return _once(next((items for items in found if items), []))


def _status(pod: Object) -> Findings:
    """What the pod's own reason says: refused by the kubelet, ended by its deadline."""
    namespace, name = pod_key(pod)
    status = pod.get("status") or {}
    reason, message = status.get("reason") or "", status.get("message") or ""
    where = f"status of {namespace}/{name}"
    known = text_finding(message, where=where, kind="pod", name=name, namespace=namespace)
    if known:
        return [known]
    if reason == "DeadlineExceeded":
        summary = f"Pod {name} was ended by its deadline."
        return [finding("DeadlineExceeded", kind="pod", name=name, namespace=namespace, summary=summary, evidence=[seen(where, message)])]
    return []


def _containers(pod: Object) -> Findings:
    namespace, name = pod_key(pod)
    found: t.List[t.Optional[Object]] = []
    for state in container_states(pod):
        where = f"container {state.name} of {namespace}/{name}"
        if state.state == "waiting" and state.reason in _PULL_REASONS:
            found.append(_image(state, where, namespace, name))
        elif state.state != "running":
            found.append(text_finding(state.message, where=where, kind="pod", name=name, namespace=namespace))
    return [item for item in found if item]


def _image(state: ContainerState, where: str, namespace: str, name: str) -> Object:
    summary = f"Pod {name} can't get the image {state.image or 'of container ' + state.name} ({state.reason})."
    return finding("ImagePullFailed", kind="pod", name=name, namespace=namespace, summary=summary, evidence=[seen(where, state.message or state.reason)])


def _start_events(pod: Object, events: t.Sequence[Object]) -> Findings:
    namespace, name = pod_key(pod)
    found = []
    for event in events:
        if event.get("reason") in _START_EVENTS:
            known = recognise(event_message(event))
            if known:
                on_node = f" on node {bound_node(pod)}" if bound_node(pod) else ""
                evidence = [seen(f"event {event['reason']} of {namespace}/{name}", known.text)]
                summary = f"Pod {name}{on_node}: {known.summary}."
                found.append(finding(known.code, kind="pod", name=name, namespace=namespace, summary=summary, evidence=evidence, severity="error"))
    return found


def _once(found: t.Iterable[Object]) -> Findings:
    """The first finding of each code; the later ones only say it again."""
    return list({item["code"]: item for item in reversed(list(found))}.values())[::-1]
