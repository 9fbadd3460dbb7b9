# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on nodes, as the API server shows them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import catalogue
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_DEPLOY_LABEL = "nvidia.com/gpu.deploy."
_PAUSED = "paused-for-"


def cluster_findings(gpu_cluster: Object, seen: Observation) -> Findings:
    """Findings on the nodes of a ``gpu_cluster`` result and on the cluster's GPU pods that aren't well.

    :param gpu_cluster: facts on all nodes of ``seen``: a pod that waits may go to any of them.
    """
    on_nodes = [item for node in gpu_cluster["nodes"] for item in node_findings(node)]
    on_pods = [item for pod in seen.pods.unwell for item in pod_findings(pod, seen.events, nodes=gpu_cluster["nodes"], objects=seen.nodes)]
    return on_nodes + on_pods


def only_findings(findings: Findings, chosen: Object, everything: Object) -> Findings:
    """Those about the chosen nodes, and about pods that none of the other nodes holds."""
    names = {node["name"] for node in chosen["nodes"]}
    elsewhere = {(item["namespace"], item["pod"]) for node in everything["nodes"] if node["name"] not in names for item in node["consumers"]}
    return [item for item in findings if _concerns(item["subject"], names, elsewhere)]


def _concerns(subject: Object, names: t.Container[str], elsewhere: t.Container[t.Tuple[str, str]]) -> bool:
    if subject["kind"] == "node":
        return subject["name"] in names
    return (subject["namespace"], subject["name"]) not in elsewhere


def node_findings(node: Object) -> Findings:
    """What is wrong with a GPU node, the cause before its effects.

    :param node: an entry of ``gpu_cluster.nodes``. Labels that are missing prove nothing: feature discovery rewrites them and is
        away for up to a minute when it restarts.
    """
    if not node["gpu"]:
        return []
    return [item for rule in _RULES for item in rule(node)]


def is_offering(node: Object) -> bool:
    """Whether the node offers any GPU resource."""
    return any(entry["allocatable"] for entry in node["resources"])


def _not_ready(node: Object) -> Findings:
    if node["ready"]:
        return []
    return [_about(node, "NodeNotReady", f"Node {node['name']} isn't ready.", catalogue.seen("conditions", "Ready is not True"))]


def _cordoned(node: Object) -> Findings:
    if not node["unschedulable"]:
        return []
    return [_about(node, "NodeCordoned", f"Node {node['name']} is cordoned.", catalogue.seen("spec.unschedulable", "true"))]


def _paused(node: Object) -> Findings:
    paused = {key[len(_DEPLOY_LABEL) :]: value for key, value in sorted(node["labels"].items()) if key.startswith(_DEPLOY_LABEL) and value.startswith(_PAUSED)}
    if not paused:
        return []
    causes = ", ".join(sorted({value[len(_PAUSED) :].replace("-", " ") for value in paused.values()}))
    summary = f"Node {node['name']} holds back {', '.join(paused)} because of a {causes}."
    return [_about(node, "OperandsPaused", summary, *(catalogue.seen(f"label {_DEPLOY_LABEL}{name}", value) for name, value in paused.items()))]


def _two_plugins(node: Object) -> Findings:
    owners = [f"{pod['namespace']}/{pod['pod']}" for pod in node["plugin_pods"] if pod["running"]]
    if len(owners) < 2:
        return []
    summary = f"Node {node['name']} runs {len(owners)} device plugins: {', '.join(owners)}."
    return [_about(node, "PluginConflict", summary, catalogue.seen("pods", ", ".join(owners)))]


def _offers_nothing(node: Object) -> Findings:
    if is_offering(node):
        return []
    name = node["name"]
    has = [entry for entry in node["resources"] if entry["capacity"]]
    evidence = [_amounts(entry) for entry in node["resources"]] or [catalogue.seen("status.allocatable", "no GPU resource")]
    running = [f"{pod['namespace']}/{pod['pod']}" for pod in node["plugin_pods"] if pod["running"]]
    if has:
        counts = ", ".join(f"{entry['capacity']} {entry['resource']}" for entry in has)
        return [_about(node, "AllGpusUnhealthyOrPluginDown", f"Node {name} has {counts} and offers none of them.", *evidence)]
    if running:
        summary = f"Node {name} offers no GPU although the device plugin {', '.join(running)} runs on it."
        return [_about(node, "PluginNotRegistered", summary, *evidence)]
    return [_about(node, "GpuResourceNotAdvertised", f"Node {name} is a GPU node, offers no GPU and runs no device plugin.", *evidence)]


def _some_unhealthy(node: Object) -> Findings:
    return [
        _about(
            node,
            "DeviceUnhealthy",
            f"Node {node['name']} offers {entry['allocatable']} of its {entry['capacity']} {entry['resource']}: {entry['unhealthy']} unhealthy.",
            _amounts(entry),
        )
        for entry in node["resources"]
        if entry["allocatable"] and entry["unhealthy"]
    ]


def _stale(node: Object) -> Findings:
    return [
        _about(
            node,
            "StaleResource",
            f"Node {node['name']} still lists {entry['resource']} ({entry['capacity']}) of an earlier mode and offers none of it.",
            _amounts(entry),
        )
        for entry in node["resources"]
        if entry["stale"] and entry["capacity"]
    ]


def _amounts(entry: Object) -> t.Dict[str, str]:
    return catalogue.seen(f"status, {entry['resource']}", f"capacity {entry['capacity']}, allocatable {entry['allocatable']}")


def _about(node: Object, code: str, summary: str, *evidence: t.Dict[str, str]) -> Object:
    return catalogue.finding(code, kind="node", name=node["name"], summary=summary, evidence=evidence)


_RULES: t.Tuple[t.Callable[[Object], Findings], ...] = (_not_ready, _cordoned, _paused, _two_plugins, _offers_nothing, _some_unhealthy, _stale)
