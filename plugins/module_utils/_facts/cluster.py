# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A cluster's GPUs: who offers them, who holds them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, is_live, is_well, owner, phase, pod_key, pod_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, number, text, texts

Object = t.Dict[str, t.Any]

_PLUGIN_IMAGE = "k8s-device-plugin"
_PLUGIN_NAME = "nvidia-device-plugin"
# The same image and chart also bring these, which offer no devices.
_NOT_PLUGIN = ("gpu-feature-discovery", "mps-control-daemon", "config-manager", "validator")
_TOTALS = ("capacity", "allocatable", "requested", "free", "unhealthy")


class PodIndex:
    """What the cluster's live pods mean for GPUs, gathered in one pass so that a long list needn't be kept.

    :ivar requested: GPU resources asked for, per node and resource.
    :ivar consumers: who asks for them, per node.
    :ivar plugin_pods: device plugin pods, per node.
    :ivar unwell: GPU pods that have no node or don't come up, as they were read.
    """

    def __init__(self, plugins: t.Iterable[Object]) -> None:
        self._plugins = {(plugin["namespace"], plugin["name"]) for plugin in plugins}
        self.requested: t.Dict[str, t.Dict[str, int]] = {}
        self.consumers: t.Dict[str, t.List[Object]] = {}
        self.plugin_pods: t.Dict[str, t.List[Object]] = {}
        self.unwell: t.List[Object] = []

    def add(self, pod: Object) -> None:
        if not is_live(pod):
            return
        node = bound_node(pod)
        if node is not None and self._is_plugin(pod):
            self._add_plugin(node, pod)
        asked = gpu_requests(pod)
        if not asked:
            return
        if not is_well(pod):
            self.unwell.append(pod)
        if node is not None:
            self._add_consumer(node, pod, asked)

    def _is_plugin(self, pod: Object) -> bool:
        namespace, name = pod_key(pod)
        kind, made_by = owner(pod)
        if kind not in ("DaemonSet", ""):
            return False
        return (namespace, made_by) in self._plugins or any(_is_plugin_container(made_by or name, item) for item in mappings(pod_spec(pod).get("containers")))

    def _add_plugin(self, node: str, pod: Object) -> None:
        namespace, name = pod_key(pod)
        running = phase(pod) == "Running" and not mapping(pod.get("metadata")).get("deletionTimestamp")
        self.plugin_pods.setdefault(node, []).append({"namespace": namespace, "pod": name, "running": running})

    def _add_consumer(self, node: str, pod: Object, asked: t.Dict[str, int]) -> None:
        namespace, name = pod_key(pod)
        sums = self.requested.setdefault(node, {})
        for resource, count in asked.items():
            sums[resource] = sums.get(resource, 0) + count
            self.consumers.setdefault(node, []).append({"namespace": namespace, "pod": name, "resource": resource, "count": count})


class Observation(t.NamedTuple):
    """What was read from a cluster.

    :param version: the API server's ``gitVersion``.
    :param nodes: Node objects by name.
    :param plugins: as :func:`plugin_facts` gives them.
    :param pods: all live pods, summed up.
    :param runtime_classes: RuntimeClass objects.
    :param events: of pods; read only where a GPU pod isn't well.
    """

    version: str
    nodes: t.Dict[str, Object]
    plugins: t.List[Object]
    pods: PodIndex
    runtime_classes: t.List[Object]
    events: t.List[Object]


def cluster_facts(seen: Observation) -> Object:
    """The ``gpu_cluster`` result, all nodes in it."""
    entries = [
        {
            **node_facts(node, seen.pods.requested.get(name)),
            "consumers": seen.pods.consumers.get(name, []),
            "plugin_pods": seen.pods.plugin_pods.get(name, []),
        }
        for name, node in sorted(seen.nodes.items())
    ]
    return {
        "nodes": entries,
        "totals": totals(entries),
        "plugins": seen.plugins,
        "runtime_classes": [{"name": text(mapping(item.get("metadata")).get("name")), "handler": text(item.get("handler"))} for item in seen.runtime_classes],
        "kubernetes_version": seen.version,
    }


def only_nodes(gpu_cluster: Object, names: t.Optional[t.Sequence[str]]) -> Object:
    """The same result for some nodes; ``None`` means all.

    :raises GpuFleetError: NodeNotFound.
    """
    if names is None:
        return gpu_cluster
    known = {node["name"]: node for node in gpu_cluster["nodes"]}
    missing = sorted(set(names) - set(known))
    if missing:
        raise GpuFleetError(
            f"Expected the nodes {', '.join(missing)} in the cluster, found {_some(sorted(known))}. "
            "Give names of Kubernetes Nodes (kubectl get nodes), which may differ from inventory names.",
            code="NodeNotFound",
            missing=missing,
            nodes=sorted(known),
        )
    entries = [known[name] for name in sorted(set(names))]
    return {**gpu_cluster, "nodes": entries, "totals": totals(entries)}


def _some(names: t.Sequence[str], most: int = 10) -> str:
    more = len(names) - most
    return (", ".join(names[:most]) or "none") + (f" and {more} more" if more > 0 else "")


def totals(nodes: t.Iterable[Object]) -> t.List[Object]:
    """Sums per resource over nodes; stale resources count for nothing."""
    sums: t.Dict[str, Object] = {}
    for node in nodes:
        for entry in node["resources"]:
            if entry["stale"]:
                continue
            total = sums.setdefault(entry["resource"], {"resource": entry["resource"], "nodes": 0, **dict.fromkeys(_TOTALS, 0)})
            total["nodes"] += 1
            for key in _TOTALS:
                total[key] += entry[key]
    return [sums[name] for name in sorted(sums)]


def plugin_facts(daemonsets: t.Iterable[Object]) -> t.List[Object]:
    """NVIDIA device plugins among DaemonSets, by name or by image: the operator's, the chart's, a manifest's."""
    found = []
    for daemonset in daemonsets:
        metadata, status = mapping(daemonset.get("metadata")), mapping(daemonset.get("status"))
        spec = mapping(mapping(mapping(daemonset.get("spec")).get("template")).get("spec"))
        container = next((item for item in mappings(spec.get("containers")) if _is_plugin_container(text(metadata.get("name")), item)), None)
        if container is None:
            continue
        found.append(
            {
                "kind": "daemonset",
                "namespace": text(metadata.get("namespace")) or "default",
                "name": text(metadata.get("name")),
                "image": container.get("image"),
                "desired": number(status.get("desiredNumberScheduled")) or 0,
                "ready": number(status.get("numberReady")) or 0,
                "runtime_class": spec.get("runtimeClassName"),
            }
        )
    return found


def _is_plugin_container(daemonset: str, container: Object) -> bool:
    called = [daemonset, text(container.get("name")), *texts(container.get("command"))[:1]]
    if any(other in word for other in _NOT_PLUGIN for word in called):
        return False
    repository = text(container.get("image")).rsplit("@", 1)[0]
    return any(_PLUGIN_NAME in word for word in called[:2]) or _PLUGIN_IMAGE in repository.rsplit("/", 1)[-1]
