# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What has to be read of a cluster to explain a pod, a job, a namespace, a node or the operator.

Secrets are never read. The number of requests depends on what is sick, up to a bound, and not on the size of the cluster.
"""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.reading import Collection, Reading
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.selection import (
    asks_for_gpus,
    brief_pod,
    config_maps_of,
    gpu_or_component_pod,
    identity,
    is_component,
    is_plugin,
    logs_of,
    near_names,
    needs_look,
    nodes_without_offer,
    plugin_containers,
    short_event,
    short_node,
    without_descriptions,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import about
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, conditions, is_live, owner, phase, pod_key

Object = t.Dict[str, t.Any]
Objects = t.List[Object]
Identity = t.Tuple[str, str]
T = t.TypeVar("T")

NODES = Collection("v1", "Node", "nodes")
PODS = Collection("v1", "Pod", "pods")
EVENTS = Collection("v1", "Event", "events")
NAMESPACES = Collection("v1", "Namespace", "namespaces")
QUOTAS = Collection("v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGES = Collection("v1", "LimitRange", "limitranges")
CONFIG_MAPS = Collection("v1", "ConfigMap", "configmaps")
JOBS = Collection("batch/v1", "Job", "jobs")
DAEMONSETS = Collection("apps/v1", "DaemonSet", "daemonsets")
REPLICA_SETS = Collection("apps/v1", "ReplicaSet", "replicasets")
STATEFUL_SETS = Collection("apps/v1", "StatefulSet", "statefulsets")
DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments")
RUNTIME_CLASSES = Collection("node.k8s.io/v1", "RuntimeClass", "runtimeclasses")
CRDS = Collection("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
# The GPU Operator's resources, all of the cluster's scope; a cluster without the operator has none of them.
OPERATOR_RESOURCES = (
    Collection("nvidia.com/v1", "ClusterPolicy", "clusterpolicies"),
    Collection("nvidia.com/v1alpha1", "NVIDIADriver", "nvidiadrivers"),
    Collection("nvidia.com/v1alpha1", "GPUCluster", "gpuclusters"),
)
OPERATOR_SELECTOR = "app.kubernetes.io/component=gpu-operator"
# Those that make pods of people's own; a Deployment does it by a ReplicaSet.
_CONTROLLERS = {collection.kind: collection for collection in (JOBS, REPLICA_SETS, STATEFUL_SETS)}

MOST_PODS = 100
MOST_JOBS = 20
MOST_NODES = 20
MOST_CONFIG_MAPS = 20
# Served from the API server's memory: what changes seldom.
_CACHED = "0"
_NOT_SUCCEEDED = "status.phase!=Succeeded"
_UNHAPPY = "type!=Normal"
# Of an autoscaler that won't make a node; a normal event, for whatever reason.
_NOT_SCALED_UP = "reason=NotTriggerScaleUp"


def diagnose(api: Api, params: t.Mapping[str, t.Any]) -> Object:
    """``objects``, ``logs`` and ``notes`` on what the options ``pod``, ``job``, ``namespace``, ``node`` and ``operator`` name; on the cluster if none does.

    :raises GpuFleetError: PodNotFound, JobNotFound, NamespaceNotFound, NodeNotFound; ApiUnauthorized.
    """
    reading = Reading(api, params["log_lines"])
    look = _Look(api, reading)
    namespace = params["namespace"] or "default"
    if params["pod"]:
        look.at_pod(namespace, params["pod"])
    elif params["job"]:
        look.at_job(namespace, params["job"])
    elif params["node"]:
        look.at_node(params["node"])
    elif params["operator"]:
        look.at_operator()
    elif params["namespace"]:
        look.at_namespace(namespace)
    else:
        look.at_cluster()
    return reading.result()


class _Look:
    """The questions, each in terms of what it needs. Events are read last: those about other objects than the ones kept say nothing."""

    def __init__(self, api: Api, reading: Reading) -> None:
        self._api = api
        self._reading = reading
        self._saw_everything = False

    def at_pod(self, namespace: str, name: str) -> None:
        pod = self._existing(PODS, name, namespace)
        self._keep_stack()
        self._keep_limits(namespace)
        self._explain([pod], [pod])
        self._keep_events(namespace, fieldSelector=f"involvedObject.kind=Pod,involvedObject.name={name}")

    def at_job(self, namespace: str, name: str) -> None:
        job = self._existing(JOBS, name, namespace)
        self._keep_stack()
        self._reading.keep(job)
        self._keep_limits(namespace)
        pods = self._reading.list(PODS, namespace, labelSelector=f"job-name={name}")
        self._explain(pods, [pod for pod in pods if phase(pod) != "Succeeded"])
        self._keep_events(namespace)

    def at_namespace(self, namespace: str) -> None:
        if self._may_lack_namespace(namespace):
            raise _not_found(NAMESPACES, namespace, "", self._known(NAMESPACES), [])
        self._keep_stack()
        self._keep_limits(namespace)
        self._explain_sick(self._reading.list(PODS, namespace, take=_gpu_pod, fieldSelector=_NOT_SUCCEEDED))
        jobs = self._reading.list(JOBS, namespace, take=_open_gpu_job)
        self._reading.keep(*self._bounded(jobs, MOST_JOBS, f"jobs of namespace {namespace}"))
        self._keep_refused(namespace)
        self._keep_events(namespace)

    def at_node(self, name: str) -> None:
        node = self._existing(NODES, name)
        self._keep_stack()
        self._reading.keep(short_node(node))
        self._explain_sick(self._pods_on(name))
        self._read_plugin_logs({name})
        self._keep_events(fieldSelector=f"involvedObject.kind=Node,involvedObject.name={name}")
        if any(needs_look(pod) for pod in self._reading.kept("Pod")):
            self._keep_events(fieldSelector=_UNHAPPY)

    def at_operator(self) -> None:
        self._keep_stack()
        self._keep_operator()
        pods = self._see_everything()
        for namespace in self._operator_namespaces():
            self._explain_sick(self._reading.list(PODS, namespace, fieldSelector=_NOT_SUCCEEDED))
            self._keep_events(namespace)
        self._reading.keep(*(brief_pod(pod) for pod in pods))

    def at_cluster(self) -> None:
        self._keep_stack()
        self._keep_operator()
        pods = self._see_everything()
        self._explain_sick(pods)
        plugins = [pod for pod in pods if is_component(pod) and is_plugin(pod)]
        self._read_plugin_logs(nodes_without_offer(self._reading.kept("Node"), plugins))
        self._keep_refused()
        self._keep_limits("", {pod_key(obj)[0] for kind in ("Pod", *_CONTROLLERS) for obj in self._reading.kept(kind) if asks_for_gpus(obj)})
        self._keep_events(fieldSelector=_UNHAPPY)
        self._keep_events(fieldSelector=_NOT_SCALED_UP)

    def _existing(self, collection: Collection, name: str, namespace: str = "") -> Object:
        """The object that was asked about: not to have it is a failure."""
        found = self._api.find(collection.path(namespace, name))
        if found is not None:
            return {"apiVersion": collection.api_version, "kind": collection.kind, **found}
        raise _not_found(collection, name, namespace, self._known(collection, namespace), self._known(collection) if namespace else [])

    def _known(self, collection: Collection, namespace: str = "") -> t.List[Identity]:
        """Namespaces and names of what there is, for those who asked for what there isn't."""
        return [pod_key(obj) for obj in self._reading.list(collection, namespace, take=identity)]

    def _may_lack_namespace(self, namespace: str) -> bool:
        """Whether the namespace doesn't exist, and not merely may not be read."""
        before = len(self._reading.notes)
        found = self._reading.find(NAMESPACES, namespace)
        if found:
            self._reading.keep(found)
        return found is None and len(self._reading.notes) == before

    def _keep_stack(self) -> None:
        """RuntimeClasses, the DaemonSets that make GPUs available or use them, and their configuration."""
        self._reading.keep(*self._reading.list(RUNTIME_CLASSES, resourceVersion=_CACHED))
        daemonsets = self._reading.list(DAEMONSETS, take=_gpu_daemonset, resourceVersion=_CACHED)
        self._reading.keep(*daemonsets)
        wanted = sorted({(pod_key(obj)[0], name) for obj in daemonsets if is_component(obj) for name in config_maps_of(obj)})
        for namespace, name in self._bounded(wanted, MOST_CONFIG_MAPS, "configmaps of DaemonSets"):
            self._keep_found(CONFIG_MAPS, name, namespace)
        for collection in OPERATOR_RESOURCES:
            self._reading.keep(*self._reading.list(collection))

    def _keep_operator(self) -> None:
        for collection in OPERATOR_RESOURCES:
            crd = self._reading.find(CRDS, f"{collection.plural}.nvidia.com")
            if crd:
                self._reading.keep(without_descriptions(crd))
        self._reading.keep(*self._reading.list(DEPLOYMENTS, labelSelector=OPERATOR_SELECTOR))

    def _operator_namespaces(self) -> t.List[str]:
        """Where the operator is, or where it was by what it has left."""
        kinds = {collection.kind for collection in OPERATOR_RESOURCES}
        found = {pod_key(obj)[0] for obj in self._reading.kept("Deployment")}
        found |= {pod_key(obj)[0] for obj in self._reading.kept("DaemonSet") if owner(obj)[0] in kinds}
        if not found:
            reason = f"found none: no Deployment has the label {OPERATOR_SELECTOR}, and no DaemonSet belongs to a ClusterPolicy or GPUCluster"
            self._reading.note("GPU Operator", reason)
        return sorted(found)

    def _keep_limits(self, namespace: str, concerned: t.Optional[t.Set[str]] = None) -> None:
        """Quotas and LimitRanges.

        :param concerned: namespaces whose limits matter, where those of all namespaces are read.
        """
        for collection in (QUOTAS, LIMIT_RANGES):
            self._reading.keep(*(obj for obj in self._reading.list(collection, namespace) if concerned is None or pod_key(obj)[0] in concerned))

    def _see_everything(self) -> Objects:
        """All nodes, and all pods that hold GPUs or belong to the stack: a waiting pod may go to any node that they leave room on."""
        self._saw_everything = True
        self._reading.keep(*self._reading.list(NODES, take=short_node))
        return self._reading.list(PODS, take=gpu_or_component_pod, fieldSelector=_NOT_SUCCEEDED)

    def _pods_on(self, node: str) -> Objects:
        if self._saw_everything:
            return [pod for pod in self._see_everything() if bound_node(pod) == node]
        return self._reading.list(PODS, take=gpu_or_component_pod, fieldSelector=f"spec.nodeName={node}")

    def _explain_sick(self, pods: Objects) -> None:
        self._explain(pods, [pod for pod in pods if needs_look(pod)])

    def _explain(self, pods: Objects, sick: Objects) -> None:
        """Keep pods, and for the sick among them what explaining takes: logs, their nodes, and all nodes where one waits for a node."""
        chosen = self._bounded(sorted(sick, key=_urgency), MOST_PODS, "pods that aren't well")
        self._reading.keep(*chosen, *(brief_pod(pod) for pod in pods))
        if any(bound_node(pod) is None and is_live(pod) for pod in chosen):
            self._reading.keep(*(brief_pod(pod) for pod in self._see_everything()))
        for node in self._bounded(sorted({bound_node(pod) or "" for pod in chosen} - {""}), MOST_NODES, "nodes of pods that aren't well"):
            self._keep_node(node)
        for pod in chosen:
            for container, previous in logs_of(pod):
                self._reading.log(pod, container, previous=previous)

    def _keep_node(self, name: str) -> None:
        if not any(node["metadata"]["name"] == name for node in self._reading.kept("Node")):
            found = self._reading.find(NODES, name)
            self._reading.keep(*([short_node(found)] if found else []))
        self._reading.keep(*(pod for pod in self._pods_on(name)))
        self._read_plugin_logs({name})

    def _read_plugin_logs(self, nodes: t.Set[str]) -> None:
        for node in self._bounded(sorted(nodes), MOST_NODES, "nodes whose device plugin's log tells more"):
            for pod in self._pods_on(node):
                if is_component(pod) and is_plugin(pod):
                    for container in plugin_containers(pod):
                        self._reading.log(pod, container)

    def _keep_refused(self, namespace: str = "") -> None:
        """Controllers whose pods ask for GPUs and could not be made: there is no pod that would tell."""
        events = self._reading.list(EVENTS, namespace, take=short_event, fieldSelector=_UNHAPPY)
        refused = sorted({about(event) for event in events if about(event)[0] in _CONTROLLERS and event.get("reason") == "FailedCreate"})
        for kind, where, name in self._bounded(refused, MOST_JOBS, "controllers that could not make a pod"):
            self._keep_found(_CONTROLLERS[kind], name, where, asks_for_gpus)

    def _keep_found(self, collection: Collection, name: str, namespace: str, wanted: t.Callable[[Object], bool] = bool) -> None:
        found = self._reading.find(collection, name, namespace)
        if found and wanted(found):
            self._reading.keep(found)

    def _keep_events(self, namespace: str = "", **query: str) -> None:
        """Events about objects that are kept."""
        known = {key if key[0] != "Node" else ("Node", "default", key[2]) for key in self._reading.identities()}
        self._reading.keep(*(event for event in self._reading.list(EVENTS, namespace, take=short_event, **query) if about(event) in known))

    def _bounded(self, found: t.Sequence[T], most: int, what: str) -> t.Sequence[T]:
        if len(found) > most:
            self._reading.note(what, f"{most} of {len(found)} were looked at. Ask about one node, namespace or pod for the others.")
        return found[:most]


def _not_found(collection: Collection, name: str, namespace: str, beside: t.Sequence[Identity], elsewhere: t.Sequence[Identity]) -> GpuFleetError:
    """The failure to have what was asked about, with what was perhaps meant.

    :param beside: what there is in that namespace.
    :param elsewhere: what there is in all namespaces.
    """
    kind = collection.kind
    near = near_names(name, [known for _namespace, known in beside])
    same = sorted(other for other, known in elsewhere if known == name)
    alike = [] if near or same else near_names(name, [known for _namespace, known in elsewhere])
    similar = [f"{other}/{known}" for other, known in sorted(elsewhere) if known in alike]
    hints = [f"{told}: {', '.join(names)}" for told, names in (("near names", near), ("it is in namespace", same), ("in other namespaces", similar)) if names]
    found = f"found none of that name{' (' + '; '.join(hints) + ')' if hints else ''}"
    return GpuFleetError(
        f"Expected the {kind} {namespace + '/' if namespace else ''}{name}, {found}. Check the name{' and the namespace' if namespace else ''}.",
        code=f"{kind}NotFound",
        name=name,
        namespace=namespace,
        near=near or similar,
        namespaces=same,
    )


def _gpu_pod(pod: Object) -> t.Optional[Object]:
    return pod if asks_for_gpus(pod) else None


def _gpu_daemonset(daemonset: Object) -> t.Optional[Object]:
    return daemonset if is_component(daemonset) or asks_for_gpus(daemonset) else None


def _open_gpu_job(job: Object) -> t.Optional[Object]:
    return job if asks_for_gpus(job) and conditions(job).get("Complete", {}).get("status") != "True" else None


def _urgency(pod: Object) -> t.Tuple[bool, str, str]:
    """Pods that wait before those that failed; the order among them is only to be the same each time."""
    return (not is_live(pod), *pod_key(pod))
