# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a node, from its Node object: conditions, labels, resources, plugins."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import COUNT_LABEL, PCI_LABEL, PRESENT_LABEL, PRODUCT_LABEL, REPLICAS_LABEL
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import catalogue
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.known_issues import node_issue_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_DEPLOY_LABEL = "nvidia.com/gpu.deploy."
_PAUSED = "paused-for-"
_SHARING_LABEL = "nvidia.com/gpu.sharing-strategy"
_MIG_STRATEGY_LABEL = "nvidia.com/mig.strategy"
_WHOLE, _SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
# Written by feature discovery on nodes with a GPU alone.
_HARDWARE_LABELS = (PRODUCT_LABEL, COUNT_LABEL, "nvidia.com/gpu.memory", "nvidia.com/gpu.family")
# Signs that the operator knows the node.
_OPERATOR_LABELS = (PRESENT_LABEL, _DEPLOY_LABEL)


def node_object_findings(node: Object) -> Findings:
    """What is wrong with a node, the cause before its effects; nothing for a node that has to do with GPUs in no way.

    :param node: an entry of ``gpu_cluster.nodes``. Labels that are missing prove nothing: feature discovery rewrites them and is
        away for up to a minute when it restarts.
    """
    stale = _stale_labels(node)
    if stale or not node["gpu"]:
        return stale
    return [item for rule in _RULES for item in rule(node)]


def is_offering(node: Object) -> bool:
    """Whether the node offers any GPU resource."""
    return any(entry["allocatable"] for entry in node["resources"])


def _stale_labels(node: Object) -> Findings:
    """GPU labels on a node of which discovery says that it has no GPU, and that lists none."""
    labels = {key: value for key, value in node["labels"].items() if key in _HARDWARE_LABELS}
    gone = node["labels"].get(PRESENT_LABEL) == "false" or node["pci_gpu"] is False
    if not labels or not gone or any(entry["capacity"] or entry["allocatable"] for entry in node["resources"]):
        return []
    says = f"label {PRESENT_LABEL}=false" if node["labels"].get(PRESENT_LABEL) == "false" else "no PCI label of an NVIDIA GPU"
    summary = f"Node {node['name']} has no GPU any more ({says}) and still the labels {', '.join(sorted(labels))}."
    return [_about(node, "StaleLabels", summary, *(catalogue.seen(f"label {key}", value) for key, value in sorted(labels.items())))]


def _not_ready(node: Object) -> Findings:
    unready = next((item for item in node["conditions"] if item["type"] == "Ready"), None)
    if unready is None:
        return []
    reason = unready["reason"] or f"Ready is {unready['status'] or 'not told'}"
    shown = " ".join(part for part in (unready["status"], unready["reason"], unready["message"]) if part)
    return [_about(node, "NodeNotReady", f"Node {node['name']} isn't ready: {reason}.", catalogue.seen("condition Ready", shown))]


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


def _label_format(node: Object) -> Findings:
    """Discovery names GPUs by class and vendor, as it does by itself; the operator before 26.7 and the plugin's chart look for the vendor alone."""
    matches = [match for match in map(PCI_LABEL.fullmatch, node["labels"]) if match]
    by_class = sorted(match.group() for match in matches if match.group("class") and node["labels"][match.group()] == "true")
    known = any(key.startswith(_OPERATOR_LABELS) for key in node["labels"]) or node["plugin_pods"] or is_offering(node)
    if not by_class or known or any(not match.group("class") for match in matches):
        return []
    summary = f"Node {node['name']} has a GPU by the label {by_class[0]}; feature.node.kubernetes.io/pci-10de.present, which is looked for, is missing."
    return [_about(node, "NfdLabelFormatMismatch", summary, *(catalogue.seen(f"label {key}", "true") for key in by_class))]


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
        although = f", although the device plugin {', '.join(running)} runs" if running else ""
        return [_about(node, "AllGpusUnhealthyOrPluginDown", f"Node {name} has {counts} and offers none of them{although}.", *evidence)]
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


def _discovery_disagrees(node: Object) -> Findings:
    """Feature discovery and the plugin see the same GPUs, so that different counts mean different configurations."""
    labels, counts = node["labels"], {entry["resource"]: entry["capacity"] for entry in node["resources"] if not entry["stale"]}
    physical, replicas = _count(labels.get(COUNT_LABEL)), _count(labels.get(REPLICAS_LABEL))
    offered = counts.get(_SHARED, 0) + counts.get(_WHOLE, 0)
    if not physical or replicas is None or not offered or labels.get(_MIG_STRATEGY_LABEL, "none") != "none" or len(counts) > 1:
        return []
    expected = physical * max(1, replicas)
    if offered == expected or offered % physical or min(offered, expected) != physical:
        return []
    summary = (
        f"Node {node['name']}: feature discovery says {physical} GPUs with {replicas} replicas "
        f"(sharing {labels.get(_SHARING_LABEL, 'not told')}), the device plugin offers {offered}."
    )
    evidence = [catalogue.seen(f"label {key}", labels[key]) for key in (COUNT_LABEL, REPLICAS_LABEL, _SHARING_LABEL) if key in labels]
    return [_about(node, "GfdConfigMismatch", summary, *evidence, *(_amounts(entry) for entry in node["resources"]))]


def _count(value: t.Optional[str]) -> t.Optional[int]:
    return int(value) if value is not None and value.isdecimal() and len(value) < 10 else None


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


_RULES: t.Tuple[t.Callable[[Object], Findings], ...] = (
    _not_ready,
    _cordoned,
    _paused,
    _label_format,
    _two_plugins,
    _offers_nothing,
    _some_unhealthy,
    node_issue_findings,
    _discovery_disagrees,
    _stale,
)
