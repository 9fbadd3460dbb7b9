# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A cluster's GPUs: who offers them, who holds them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, is_live, is_well, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests

Object = t.Dict[str, t.Any]

_PLUGIN_IMAGE = "k8s-device-plugin"
_PLUGIN_NAME = "nvidia-device-plugin"
# The same image and chart also bring these, which offer no devices.
_NOT_PLUGIN = ("gpu-feature-discovery", "mps-control-daemon", "config-manager")
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
        """:raises ValueError: the pod asks for something that is no quantity (the API server admits none)."""
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
        owners = {(namespace, owner["name"]) for owner in pod["metadata"].get("ownerReferences") or [] if owner.get("kind") == "DaemonSet"}
        return bool(owners & self._plugins) or (not owners and name.startswith(_PLUGIN_NAME))

    def _add_plugin(self, node: str, pod: Object) -> None:
        namespace, name = pod_key(pod)
        running = (pod.get("status") or {}).get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
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
        "runtime_classes": [{"name": item["metadata"]["name"], "handler": item["handler"]} for item in seen.runtime_classes],
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
        spec, status = daemonset["spec"]["template"]["spec"], daemonset.get("status") or {}
        container = next((item for item in spec.get("containers") or [] if _is_plugin_container(daemonset["metadata"]["name"], item)), None)
        if container is None:
            continue
        found.append(
            {
                "kind": "daemonset",
                "namespace": daemonset["metadata"]["namespace"],
                "name": daemonset["metadata"]["name"],
                "image": container.get("image"),
                "desired": status.get("desiredNumberScheduled", 0),
                "ready": status.get("numberReady", 0),
                "runtime_class": spec.get("runtimeClassName"),
            }
        )
    return found


def _is_plugin_container(daemonset: str, container: Object) -> bool:
    called = [daemonset, container["name"]] + [str(word) for word in (container.get("command") or [])[:1]]
    if any(other in word for other in _NOT_PLUGIN for word in called):
        return False
    repository = (container.get("image") or "").rsplit("@", 1)[0]
    return _PLUGIN_NAME in daemonset or _PLUGIN_IMAGE in repository.rsplit("/", 1)[-1]
