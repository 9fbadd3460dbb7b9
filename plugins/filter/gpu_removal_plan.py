# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be removed of the objects that this collection made, and what stays and why. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_removal_plan
short_description: Decide which of our objects can go, and in which order
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Sorts objects that carry this collection's labels into those to delete, Nodes to take our labels from, and those that stay because others use them.
  - Made for the roles C(gpu_device_plugin) and C(gpu_cleanup); its result may change in any release.
positional: pods
options:
  _input:
    description: Objects that carry this collection's labels, as the API server gave them.
    type: list
    elements: dict
    required: true
  pods:
    description: Pods that may use them, at least those of their Namespaces and those that name a RuntimeClass. Finished ones are ignored.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Decide
  ansible.builtin.set_fact:
    plan: "{{ ours | gpufleet.k8s.gpu_removal_plan(pods) }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    workloads:
      description: Objects that run or start pods; their pods must be gone before the rest is touched.
      type: list
      elements: dict
    runtime_classes:
      description: RuntimeClasses that no pod of others uses.
      type: list
      elements: dict
    nodes:
      description: Nodes without the labels that we set, to be applied by the field manager that set them.
      type: list
      elements: dict
    namespaces:
      description: Namespaces that hold no pod of others.
      type: list
      elements: dict
    left:
      description: What stays and why, a line each.
      type: list
      elements: str
"""

import typing as t

Object = t.Dict[str, t.Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gpufleet"
WORKLOADS = ("DaemonSet", "Job", "Pod")
FINISHED = ("Succeeded", "Failed")
SHOWN = 5


def plan(objects: t.Sequence[Object], pods: t.Sequence[Object] = ()) -> Object:
    """What to remove, in which order, and what to leave; options and result as documented above."""
    others = [pod for pod in pods if not _is_ours(pod) and pod.get("status", {}).get("phase") not in FINISHED]
    in_use = {_title(obj): _users(obj, others) for obj in objects}
    free = [obj for obj in objects if not in_use[_title(obj)]]
    return {
        "workloads": [_identity(obj) for obj in free if obj["kind"] in WORKLOADS],
        "runtime_classes": [_identity(obj) for obj in free if obj["kind"] == "RuntimeClass"],
        "nodes": [_bare_node(obj) for obj in free if obj["kind"] == "Node"],
        "namespaces": [_identity(obj) for obj in free if obj["kind"] == "Namespace"],
        "left": [f"{title}: used by {_shortened(users)}" for title, users in in_use.items() if users],
    }


def _is_ours(obj: Object) -> bool:
    return (obj["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGER


def _users(obj: Object, others: t.Iterable[Object]) -> t.List[str]:
    """Names of the pods of others that need the object."""
    return [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in others if _needs(pod, obj)]


def _needs(pod: Object, obj: Object) -> bool:
    name = obj["metadata"]["name"]
    if obj["kind"] == "RuntimeClass":
        return pod["spec"].get("runtimeClassName") == name
    return obj["kind"] == "Namespace" and pod["metadata"]["namespace"] == name


def _identity(obj: Object) -> Object:
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


def _bare_node(node: Object) -> Object:
    """An apply of nothing takes back what the same field manager had applied. The uid keeps it from making a Node that has just gone."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}}


def _title(obj: Object) -> str:
    return f"{obj['kind']} " + "/".join(filter(None, (obj["metadata"].get("namespace"), obj["metadata"]["name"])))


def _shortened(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


class FilterModule:
    """Makes the decision usable in the roles' tasks."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gpu_removal_plan": plan}
