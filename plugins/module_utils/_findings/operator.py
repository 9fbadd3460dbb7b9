# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on the GPU Operator: its resources, its CRDs, and what it left on nodes.

Source of states, reasons and labels: NVIDIA gpu-operator v26.7, api/nvidia/v1, internal/conditions, controllers.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import PRESENT_LABEL
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import conditions, phase, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, number, text, text_values, texts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import is_offering

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

KINDS = ("ClusterPolicy", "GPUCluster", "NVIDIADriver")
_READY, _NOT_READY = "ready", "notReady"
# Reasons of the condition Ready under which the operator calls itself ready and manages nothing.
_NOTHING_TO_MANAGE = ("NoGPUNodes", "NFDLabelsMissing")
_STATES = re.compile(r"states not ready: \[(?P<states>[^\]]*)\]")

UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade-state"
_UPGRADE_ENDS = ("upgrade-done", "upgrade-failed", "")
_DEPLOY_LABEL = "nvidia.com/gpu.deploy."
# Marks by which a running operator claims a node. It labels each node with a GPU as present, so that a mark without that label is left over.
_CLAIMS = ("nvidia.com/gpu-operator.resource-allocation.mode", "nvidia.com/gpu-operator.driver.owner")
_BLOCKING = _CLAIMS[0]
_OPERATOR_POD = re.compile(r"^gpu-operator-[0-9a-z]{6,10}-[0-9a-z]{5}$|^gpu-operator(?:-\d+)?-[0-9a-f]+-\w+$")
_GROUP = ".nvidia.com"
# The operator's versions are a year and a month: v26.3.3.
_CHART = re.compile(r"(?:^|-)v?(?P<year>2\d)\.(?P<month>\d{1,2})\.\d+")
_CHART_LABELS = ("helm.sh/chart", "app.kubernetes.io/version")


class Operator(t.NamedTuple):
    """What is known of the operator and its nodes.

    :param resources: ClusterPolicy, GPUCluster and NVIDIADriver objects.
    :param crds: CustomResourceDefinition objects.
    :param nodes: node facts (``gpu_cluster.nodes``).
    :param pods: pods of any kind; whether the operator runs can be told only where some are known.
    :param values: of Helm, as mappings.
    """

    resources: t.Sequence[Object] = ()
    crds: t.Sequence[Object] = ()
    nodes: t.Sequence[Object] = ()
    pods: t.Sequence[Object] = ()
    values: t.Sequence[Object] = ()


def operator_findings(known: Operator) -> Findings:
    """What is wrong with the operator, its resources and its marks on nodes, the cause before its effects."""
    return [item for rule in _RULES for item in rule(known)]


def device_plugin_choices(known: Operator) -> t.List[Object]:
    """What the operator's resources and Helm's values say about the plugin's configuration: mappings with ``name`` and ``default``."""
    holders = [mapping(resource.get("spec")) for resource in known.resources if resource.get("kind") == "ClusterPolicy"] + list(known.values)
    found = [mapping(mapping(holder.get("devicePlugin")).get("config")) for holder in holders]
    # The plugin's own chart has it on top.
    found += [mapping(values.get("config")) for values in known.values]
    return [choice for choice in found if text(choice.get("name"))]


def _orphaned(known: Operator) -> Findings:
    """A resource that waits to be finalised by a controller that doesn't run."""
    if not known.pods or _runs(known.pods):
        return []
    found = []
    for resource in known.resources:
        finalizers = texts(mapping(resource.get("metadata")).get("finalizers"))
        if mapping(resource.get("metadata")).get("deletionTimestamp") and finalizers:
            summary = f"{resource['kind']} {_name(resource)} is being deleted and waits for {', '.join(finalizers)}; no pod of the operator runs."
            evidence = [
                seen(f"metadata.finalizers of {_name(resource)}", ", ".join(finalizers)),
                seen("pods", f"{len(known.pods)} known, no gpu-operator among them"),
            ]
            found.append(_about(resource, "FinalizerOrphaned", summary, *evidence))
    return found


def _crd_outdated(known: Operator) -> Findings:
    """A CRD that is older than the chart, while the operator calls itself ready and no GPU node offers any GPU."""
    ready = [resource for resource in known.resources if resource.get("kind") == "ClusterPolicy" and _state(resource) == _READY]
    gpu_nodes = [node for node in known.nodes if node["gpu"]]
    if not ready or not gpu_nodes or any(is_offering(node) for node in gpu_nodes):
        return []
    found = []
    for crd in known.crds:
        chart, changed = _chart(crd) or next((chart for chart in map(_chart, ready) if chart), None), _last_change(crd)
        if chart is None or not changed or changed[:7] >= chart[1] or not _name(crd).endswith(_GROUP):
            continue
        summary = (
            f"CRD {_name(crd)} is of {changed[:10]} and the chart of {chart[0]}, so that fields of the newer one are dropped: "
            f"the operator is ready and none of {len(gpu_nodes)} GPU nodes offers a GPU."
        )
        evidence = [seen(f"CustomResourceDefinition {_name(crd)}", changed[:10]), seen(f"{_name(ready[0])}: status.state", _READY)]
        found.append(finding("CrdOutdated", kind="customresourcedefinition", name=_name(crd), summary=summary, evidence=evidence))
    return found


def _no_nodes(known: Operator) -> Findings:
    found = []
    for resource in known.resources:
        condition = conditions(resource).get("Ready", {})
        if _state(resource) == _READY and condition.get("reason") in _NOTHING_TO_MANAGE:
            summary = f"{resource['kind']} {_name(resource)} is ready with nothing to manage: {condition['reason']}."
            shown = seen(f"condition Ready of {_name(resource)}", text(condition.get("message")) or condition["reason"])
            severity = ERROR if any(node["gpu"] for node in known.nodes) else WARNING
            found.append(_about(resource, "NoGpuNodes", summary, shown, severity=severity))
    return found


def _not_ready(known: Operator) -> Findings:
    found = []
    for resource in known.resources:
        if _state(resource) != _NOT_READY or mapping(resource.get("metadata")).get("deletionTimestamp"):
            continue
        told = [item for item in (conditions(resource).get("Ready", {}), conditions(resource).get("Error", {})) if text(item.get("message"))]
        message = text(told[0].get("message")) if told else ""
        states = _STATES.search(message)
        what = states.group("states").replace(" ", ", ") if states else message or text(told[0].get("reason")) if told else "no reason given"
        summary = f"{resource['kind']} {_name(resource)} isn't ready: {what}."
        found.append(_about(resource, "OperandNotReady", summary, seen(f"status of {_name(resource)}", message or _NOT_READY)))
    return found


def _stale_upgrade(known: Operator) -> Findings:
    """Upgrade states on the way, where the driver isn't the operator's to upgrade."""
    holders = [(f"{item['kind']} {_name(item)}", mapping(item.get("spec"))) for item in known.resources if item.get("kind") == "ClusterPolicy"]
    holders += [("the chart's values", values) for values in known.values]
    where = next((where for where, spec in holders if mapping(spec.get("driver")).get("enabled") is False), None)
    if where is None or any(item.get("kind") == "NVIDIADriver" for item in known.resources):
        return []
    waiting = [node for node in known.nodes if node["labels"].get(UPGRADE_LABEL, "") not in _UPGRADE_ENDS]
    return [
        finding(
            "StaleUpgradeLabels",
            kind="node",
            name=node["name"],
            summary=f"Node {node['name']} has the upgrade state {node['labels'][UPGRADE_LABEL]}, which nothing moves: {where} has driver.enabled: false.",
            evidence=[seen(f"label {UPGRADE_LABEL}", node["labels"][UPGRADE_LABEL]), seen(where, "driver.enabled: false")],
            next_step=f"kubectl label node {node['name']} {UPGRADE_LABEL}-",
        )
        for node in waiting
    ]


def _left_over(known: Operator) -> Findings:
    """Marks of an operator that is gone, one of which keeps the next one from deploying anything."""
    if any(resource.get("kind") == "GPUCluster" for resource in known.resources):
        return []
    found = []
    for node in known.nodes:
        marks = [key for key in _CLAIMS if key in node["labels"]]
        if not marks or PRESENT_LABEL in node["labels"]:
            continue
        mine = sorted(key for key in node["labels"] if key in (*_CLAIMS, UPGRADE_LABEL) or key.startswith(_DEPLOY_LABEL))
        blocks = f"; {_BLOCKING}={node['labels'][_BLOCKING]} keeps a new operator from deploying its operands" if _BLOCKING in mine else ""
        summary = f"Node {node['name']} has {len(mine)} labels of an operator that no longer looks after it{blocks}."
        evidence = [seen(f"label {key}", node["labels"][key]) for key in mine[:6]]
        step = f"kubectl label node {node['name']} {' '.join(key + '-' for key in mine)}"
        severity = ERROR if blocks and not is_offering(node) else WARNING
        found.append(finding("StaleLabels", kind="node", name=node["name"], summary=summary, evidence=evidence, next_step=step, severity=severity))
    return found


def _driver_root(known: Operator) -> Findings:
    """The toolkit is told another driver root than the driver is below: it is on the host, and the root is the driver container's."""
    found = []
    for resource in known.resources:
        spec = mapping(resource.get("spec"))
        root = next((text(item.get("value")) for item in mappings(mapping(spec.get("toolkit")).get("env")) if item.get("name") == "NVIDIA_DRIVER_ROOT"), "")
        if resource.get("kind") == "ClusterPolicy" and mapping(spec.get("driver")).get("enabled") is False and root.startswith("/run/nvidia/driver"):
            summary = f"ClusterPolicy {_name(resource)} has driver.enabled: false, and its toolkit looks for the driver below {root}; the host's is below /."
            found.append(_about(resource, "DriverRootMismatch", summary, seen("spec.toolkit.env: NVIDIA_DRIVER_ROOT", root)))
    return found


# A gone controller and dropped fields explain what the states say.
_RULES: t.Tuple[t.Callable[[Operator], Findings], ...] = (_orphaned, _crd_outdated, _left_over, _stale_upgrade, _driver_root, _no_nodes, _not_ready)


def _runs(pods: t.Iterable[Object]) -> bool:
    return any(_OPERATOR_POD.match(pod_key(pod)[1]) and phase(pod) == "Running" and not mapping(pod.get("metadata")).get("deletionTimestamp") for pod in pods)


def _state(resource: Object) -> str:
    return text(mapping(resource.get("status")).get("state"))


def _name(obj: Object) -> str:
    return text(mapping(obj.get("metadata")).get("name"))


def _chart(obj: Object) -> t.Optional[t.Tuple[str, str]]:
    """Version of the chart that an object is of, and the month of its release (``2026-03``)."""
    labels = text_values(mapping(obj.get("metadata")).get("labels"))
    versions = [match for match in (_CHART.search(labels.get(key, "")) for key in _CHART_LABELS) if match]
    if not versions:
        return None
    match = versions[0]
    return match.group().lstrip("-"), f"20{match.group('year')}-{int(match.group('month')):02d}"


def _last_change(crd: Object) -> str:
    """When a CRD was made, or last written where that is told; dates compare as texts."""
    metadata = mapping(crd.get("metadata"))
    if not mappings(metadata.get("managedFields")) and (number(metadata.get("generation")) or 1) > 1:
        return ""
    return max([text(metadata.get("creationTimestamp")), *(text(entry.get("time")) for entry in mappings(metadata.get("managedFields")))])


def _about(resource: Object, code: str, summary: str, *evidence: t.Dict[str, str], severity: t.Optional[str] = None) -> Object:
    return finding(code, kind=resource["kind"].lower(), name=_name(resource), summary=summary, evidence=evidence, severity=severity)
