# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on what makes pods: Jobs, DaemonSets and others, and refusals to make them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import event_message, event_reason, event_time, events_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import conditions, is_live, owner, phase, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, number, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.advice import advised_owner
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import text_finding

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_FAILED_CREATE, _CREATED = "FailedCreate", "SuccessfulCreate"
# Reasons of a Job's condition Failed (k8s.io/api v0.36 batch/v1).
_JOB_REASONS = {
    "BackoffLimitExceeded": ("ContainerFailed", "gave up after its pods failed {failed} times"),
    "PodFailurePolicy": ("ContainerFailed", "gave up because a pod failed in a way that its policy doesn't retry"),
    "MaxFailedIndexesExceeded": ("ContainerFailed", "gave up after too many of its indexes failed"),
    "FailedIndexes": ("ContainerFailed", "ended with failed indexes"),
    "DeadlineExceeded": ("DeadlineExceeded", "was ended by its deadline"),
}


def owner_findings(kind: str, namespace: str, name: str, events: t.Iterable[Object]) -> Findings:
    """Why a controller could make no pod, from its FailedCreate events: a pod that was never made has no status to read.

    A refusal that was followed by a success is over.

    :param kind: ``Job``, ``DaemonSet``, ``ReplicaSet`` ...
    """
    own = events_of(events, kind, namespace, name)
    made = max((event_time(event) for event in own if event_reason(event) == _CREATED), default="")
    refused = [event for event in own if event_reason(event) == _FAILED_CREATE and not (made and event_time(event) < made)]
    where = f"events of {kind} {namespace}/{name}"
    found = [text_finding(event_message(event), where=where, kind=kind.lower(), name=name, namespace=namespace) for event in refused]
    return [advised_owner(kind, namespace, item) for item in _once([item for item in found if item])]


def job_findings(job: Object, pods: t.Iterable[Object] = (), events: t.Iterable[Object] = ()) -> Findings:
    """Why a Job isn't well, as far as the Job itself tells; its pods have findings of their own, which belong before these.

    :param pods: pods of the Job's namespace; others are passed over.
    :param events: events of the Job's namespace.
    """
    namespace, name = pod_key(job)
    found_conditions = conditions(job)
    if _is_true(found_conditions, "Complete") or _is_true(found_conditions, "SuccessCriteriaMet"):
        return []
    own = [pod for pod in pods if owner(pod) == ("Job", name) and pod_key(pod)[0] == namespace]
    refused = [] if any(is_live(pod) or phase(pod) == "Succeeded" for pod in own) else owner_findings("Job", namespace, name, events)
    return _once(refused + _given_up(job, found_conditions))


def refusal_finding(message: str, *, kind: str, name: str, namespace: str) -> t.Optional[Object]:
    """What the API server's refusal to create an object means; ``None`` where that isn't known."""
    return text_finding(message, where=f"the API server's answer to create {kind} {namespace}/{name}", kind=kind, name=name, namespace=namespace)


def _given_up(job: Object, found: t.Mapping[str, Object]) -> Findings:
    failed = found.get("Failed") or found.get("FailureTarget") or {}
    reason = text(failed.get("reason"))
    if failed.get("status") != "True" or reason not in _JOB_REASONS:
        return []
    namespace, name = pod_key(job)
    code, summary = _JOB_REASONS[reason]
    times = number(mapping(job.get("status")).get("failed")) or 0
    evidence = [seen(f"condition Failed of {namespace}/{name}", text(failed.get("message")) or reason)]
    return [finding(code, kind="job", name=name, namespace=namespace, summary=f"Job {name} {summary.format(failed=times)} ({reason}).", evidence=evidence)]


def _is_true(found: t.Mapping[str, Object], kind: str) -> bool:
    return found.get(kind, {}).get("status") == "True"


def _once(found: t.Sequence[Object]) -> Findings:
    return list({item["code"]: item for item in reversed(found)}.values())[::-1]
