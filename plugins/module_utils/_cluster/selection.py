# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which objects of a cluster a diagnosis needs, and how much of each; no I/O."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, conditions, container_states, containers, is_live, is_well, phase
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, text

Object = t.Dict[str, t.Any]

# In names and images of NVIDIA's components for Kubernetes and of Node Feature Discovery.
_COMPONENTS = ("nvidia", "gpu-operator", "gpu-feature-discovery", "node-feature-discovery", "mig-manager", "dcgm")
_PLUGIN = "device-plugin"
_UNREAD_METADATA = ("managedFields",)
_UNREAD_NODE_STATUS = ("images", "volumesInUse", "volumesAttached")
_BRIEF_METADATA = ("name", "namespace", "labels", "ownerReferences", "deletionTimestamp")
_BRIEF_SPEC = ("nodeName", "runtimeClassName", "resources", "overhead", "initContainers", "containers")
_BRIEF_CONTAINER = ("name", "image", "resources", "restartPolicy")


def short_node(node: Object) -> Object:
    """A Node without what is long and says nothing about GPUs."""
    metadata = {key: value for key, value in node["metadata"].items() if key not in _UNREAD_METADATA}
    return {**node, "metadata": metadata, "status": {key: value for key, value in mapping(node.get("status")).items() if key not in _UNREAD_NODE_STATUS}}


def brief_pod(pod: Object) -> Object:
    """Of a pod that is well what it holds, where, and whose it is: there may be tens of thousands."""
    spec = {key: value for key, value in pod["spec"].items() if key in _BRIEF_SPEC}
    for key in ("initContainers", "containers"):
        if key in spec:
            spec[key] = [{part: value for part, value in item.items() if part in _BRIEF_CONTAINER} for item in mappings(spec[key])]
    metadata = {key: value for key, value in pod["metadata"].items() if key in _BRIEF_METADATA}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase(pod)}}


def gpu_or_component_pod(pod: Object) -> t.Optional[Object]:
    """A pod that holds GPUs or belongs to the stack, in brief if it is well; ``None`` for any other."""
    if not asks_for_gpus(pod) and not is_component(pod):
        return None
    return pod if needs_look(pod) else brief_pod(pod)


def identity(obj: Object) -> Object:
    """Of an object its name alone."""
    return {"metadata": {key: value for key, value in obj["metadata"].items() if key in ("name", "namespace")}}


def short_event(event: Object) -> Object:
    """An event without the bookkeeping of the API server."""
    return {**event, "metadata": {key: value for key, value in event["metadata"].items() if key not in _UNREAD_METADATA}}


def without_descriptions(crd: t.Any) -> t.Any:
    """A CustomResourceDefinition without the prose of its schema, most of its length."""
    if isinstance(crd, dict):
        return {key: without_descriptions(value) for key, value in crd.items() if not (key == "description" and isinstance(value, str))}
    return [without_descriptions(item) for item in crd] if isinstance(crd, list) else crd


def asks_for_gpus(obj: Object) -> bool:
    """Whether a Pod, or the template of a Job or a DaemonSet, asks for GPUs."""
    template = mapping(mapping(obj.get("spec")).get("template"))
    return bool(gpu_requests(template or obj))


def is_component(obj: Object) -> bool:
    """Whether a Pod or a DaemonSet is a part of the GPU stack: by its name or an image's, unless it asks for GPUs itself."""
    template = mapping(mapping(obj.get("spec")).get("template")) or obj
    words = [obj["metadata"]["name"], *(text(item.get("image")) for item in containers(template))]
    return any(part in word for part in _COMPONENTS for word in words) and not asks_for_gpus(obj)


def is_plugin(pod: Object) -> bool:
    """Whether a component is a device plugin."""
    return any(_PLUGIN in word for word in [pod["metadata"]["name"], *(text(item.get("image")) for item in containers(pod))])


def needs_look(pod: Object) -> bool:
    """Whether there is something to explain about a pod: it failed, has no node, doesn't come up, or came up only to end again."""
    if not is_live(pod):
        return phase(pod) == "Failed"
    restarted = any(state.previous for state in container_states(pod))
    return not is_well(pod) or (restarted and conditions(pod).get("Ready", {}).get("status") != "True")


def logs_of(pod: Object) -> t.List[t.Tuple[str, bool]]:
    """Containers of a pod whose logs exist, and whether the log of before a restart is meant; those that ask for GPUs alone if there are such."""
    asking = {text(item.get("name")) for item in containers(pod) if gpu_requests({"spec": {"containers": [item]}})}
    states = [state for state in container_states(pod) if not asking or state.name in asking]
    return [(state.name, state.previous) for state in states if state.state in ("running", "terminated")]


def plugin_containers(pod: Object) -> t.List[str]:
    """Names of a device plugin pod's containers that offer devices; all if none is called so."""
    names = [text(item.get("name")) for item in mappings(pod["spec"].get("containers"))]
    return [name for name in names if _PLUGIN in name] or names


def nodes_without_offer(nodes: t.Iterable[Object], plugins: t.Iterable[Object]) -> t.Set[str]:
    """Names of nodes on which a device plugin is and no GPU is offered."""
    offering = {node["metadata"]["name"] for node in nodes if _offers(node)}
    return {name for name in (bound_node(plugin) for plugin in plugins) if name and name not in offering}


def _offers(node: Object) -> bool:
    allocatable = mapping(mapping(node.get("status")).get("allocatable"))
    return any(key.startswith("nvidia.com/") and value not in ("0", 0) for key, value in allocatable.items())


def config_maps_of(daemonset: Object) -> t.List[str]:
    """Names of the ConfigMaps that a DaemonSet's pods mount or take their environment from."""
    spec = mapping(mapping(mapping(daemonset.get("spec")).get("template")).get("spec"))
    mounted = [mapping(volume.get("configMap")).get("name") for volume in mappings(spec.get("volumes"))]
    sourced = [mapping(source.get("configMapRef")).get("name") for item in mappings(spec.get("containers")) for source in mappings(item.get("envFrom"))]
    return sorted({name for name in mounted + sourced if isinstance(name, str)})


def near_names(name: str, known: t.Iterable[str], most: int = 5) -> t.List[str]:
    """Names that somebody may have meant: those that hold the name or look like it; none if nothing does."""
    names = sorted(set(known))
    holding = [other for other in names if name in other or other in name]
    return list(dict.fromkeys(holding + difflib.get_close_matches(name, names, n=most, cutoff=0.6)))[:most]
