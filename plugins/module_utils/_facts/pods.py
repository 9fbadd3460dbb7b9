# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What Pod objects and events say, in few words."""

from __future__ import annotations

import typing as t

Object = t.Dict[str, t.Any]

FINISHED = ("Succeeded", "Failed")
# Reasons of a waiting container that are steps of a normal start.
STARTING = ("ContainerCreating", "PodInitializing", "")


class ContainerState(t.NamedTuple):
    """One container's state.

    :param state: ``waiting``, ``running`` or ``terminated``.
    """

    name: str
    image: str
    state: str
    reason: str
    message: str
    exit_code: t.Optional[int]


def pod_key(pod: Object) -> t.Tuple[str, str]:
    """Namespace and name."""
    metadata = pod["metadata"]
    return metadata.get("namespace") or "default", metadata["name"]


def bound_node(pod: Object) -> t.Optional[str]:
    """Name of the node that the scheduler chose."""
    return (pod.get("spec") or {}).get("nodeName")


def phase(pod: Object) -> str:
    return (pod.get("status") or {}).get("phase") or "Pending"


def is_live(pod: Object) -> bool:
    """Whether the pod holds, or waits for, its resources."""
    return phase(pod) not in FINISHED


def unschedulable_message(pod: Object) -> t.Optional[str]:
    """The scheduler's words where it found no node."""
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return condition.get("message") or ""
    return None


def container_states(pod: Object) -> t.List[ContainerState]:
    """States of all containers that the kubelet reported, init containers first; the state of before a restart follows its container's."""
    status = pod.get("status") or {}
    found = []
    for entry in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
        for part in ("state", "lastState"):
            for state, values in (entry.get(part) or {}).items():
                found.append(
                    ContainerState(
                        entry["name"], entry.get("image") or "", state, values.get("reason") or "", values.get("message") or "", values.get("exitCode")
                    )
                )
    return found


def is_stuck(pod: Object) -> bool:
    """Whether a live pod that has a node doesn't come up: events may say why."""
    if bound_node(pod) is None or not is_live(pod):
        return False
    waiting = [state for state in container_states(pod) if state.state == "waiting"]
    return phase(pod) == "Pending" or any(state.reason not in STARTING for state in waiting)


def is_well(pod: Object) -> bool:
    """Whether nothing about a live pod needs explaining."""
    return bound_node(pod) is not None and not is_stuck(pod)


def privileged_containers(pod: Object) -> t.List[str]:
    return [
        container["name"]
        for container in (pod.get("spec") or {}).get("containers") or []
        if (container.get("securityContext") or {}).get("privileged") is True
    ]


def events_of(events: t.Iterable[Object], kind: str, namespace: str, name: str) -> t.List[Object]:
    """Events about one object, oldest first as far as they carry a time."""
    chosen = [
        event
        for event in events
        if (event.get("involvedObject") or event.get("regarding") or {}).get("kind") == kind
        and (event.get("involvedObject") or event.get("regarding") or {}).get("name") == name
        and ((event.get("involvedObject") or event.get("regarding") or {}).get("namespace") or "default") == namespace
    ]
    return sorted(chosen, key=_event_time)


def _event_time(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")


def event_message(event: Object) -> str:
    return str(event.get("message") or event.get("note") or "")
