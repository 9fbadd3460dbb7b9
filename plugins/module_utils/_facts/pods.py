# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What Pod objects say, in few words. Any field may be missing."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, named, number, text, text_values, texts

Object = t.Dict[str, t.Any]

FINISHED = ("Succeeded", "Failed")
# Reasons of a waiting container that are steps of a normal start.
STARTING = ("ContainerCreating", "PodInitializing", "")


class ContainerState(t.NamedTuple):
    """One container's state.

    :param state: ``waiting``, ``running``, ``terminated``, or empty where nothing is told.
    :param previous: whether this is how the container ended before its last restart.
    :param program: first word of the container's command, empty where the image's own is used.
    """

    name: str
    image: str
    state: str
    reason: str
    message: str
    exit_code: t.Optional[int]
    restarts: int
    previous: bool
    program: str


def pod_key(pod: Object) -> t.Tuple[str, str]:
    """Namespace and name; a pod without a name has an empty one."""
    metadata = mapping(pod.get("metadata"))
    return text(metadata.get("namespace")) or "default", text(metadata.get("name"))


def pod_spec(pod: Object) -> Object:
    return mapping(pod.get("spec"))


def pod_status(pod: Object) -> Object:
    return mapping(pod.get("status"))


def bound_node(pod: Object) -> t.Optional[str]:
    """Name of the node that the scheduler chose."""
    return text(pod_spec(pod).get("nodeName")) or None


def phase(pod: Object) -> str:
    return text(pod_status(pod).get("phase")) or "Pending"


def is_live(pod: Object) -> bool:
    """Whether the pod holds, or waits for, its resources."""
    return phase(pod) not in FINISHED


def conditions(obj: Object) -> t.Dict[str, Object]:
    """Conditions of an object by their type."""
    return {text(entry.get("type")): entry for entry in mappings(mapping(obj.get("status")).get("conditions"))}


def unschedulable_message(pod: Object) -> t.Optional[str]:
    """The scheduler's words where it found no node."""
    scheduled = conditions(pod).get("PodScheduled", {})
    return text(scheduled.get("message")) if scheduled.get("status") == "False" else None


def containers(pod: Object) -> t.List[Object]:
    """Specifications of all containers, init containers first."""
    spec = pod_spec(pod)
    return mappings(spec.get("initContainers")) + mappings(spec.get("containers"))


def container_states(pod: Object) -> t.List[ContainerState]:
    """States of all containers that the kubelet reported, init containers first; the state of before a restart follows its container's."""
    status = pod_status(pod)
    programs = {text(item.get("name")): next(iter(texts(item.get("command"))), "") for item in containers(pod)}
    return [
        state
        for entry in mappings(status.get("initContainerStatuses")) + mappings(status.get("containerStatuses"))
        for part in ("state", "lastState")
        for state in _states(entry, part, programs.get(text(entry.get("name")), ""))
    ]


def _states(entry: Object, part: str, program: str) -> t.Iterator[ContainerState]:
    for state, values in ((name, mapping(told)) for name, told in named(entry.get(part)).items()):
        yield ContainerState(
            name=text(entry.get("name")),
            image=text(entry.get("image")),
            state=state,
            reason=text(values.get("reason")),
            message=text(values.get("message")),
            exit_code=number(values.get("exitCode")),
            restarts=number(entry.get("restartCount")) or 0,
            previous=part == "lastState",
            program=program.rsplit("/", 1)[-1],
        )


def is_stuck(pod: Object) -> bool:
    """Whether a live pod that has a node doesn't come up: events may say why."""
    if bound_node(pod) is None or not is_live(pod):
        return False
    waiting = [state for state in container_states(pod) if state.state == "waiting" and not state.previous]
    return phase(pod) == "Pending" or any(state.reason not in STARTING for state in waiting)


def is_well(pod: Object) -> bool:
    """Whether nothing about a live pod needs explaining."""
    return bound_node(pod) is not None and not is_stuck(pod)


def owner(pod: Object) -> t.Tuple[str, str]:
    """Kind and name of the controller that made the pod; both empty for a pod that nobody would make again."""
    owners = mappings(mapping(pod.get("metadata")).get("ownerReferences"))
    chosen = next((item for item in owners if item.get("controller") is True), next(iter(owners), {}))
    return text(chosen.get("kind")), text(chosen.get("name"))


def privileged_containers(pod: Object) -> t.List[str]:
    return [text(item.get("name")) for item in mappings(pod_spec(pod).get("containers")) if mapping(item.get("securityContext")).get("privileged") is True]


def environment(container: Object) -> t.Dict[str, str]:
    """Variables that the specification gives a container as plain values."""
    return {text(item.get("name")): text(item.get("value")) for item in mappings(container.get("env"))}


def pod_annotations(pod: Object) -> t.Dict[str, str]:
    return text_values(mapping(pod.get("metadata")).get("annotations"))


def mount_paths(container: Object) -> t.List[str]:
    return [text(item.get("mountPath")) for item in mappings(container.get("volumeMounts"))]
