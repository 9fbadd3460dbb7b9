# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Nodes offer fewer GPUs than they should. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_nodes_short
short_description: Nodes that offer fewer GPUs than expected
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Counts what a Node's kubelet would hand out (allocatable), over all NVIDIA resource names, and compares it with what is expected.
  - Made for the role C(gpu_device_plugin); its result may change in any release.
positional: nodes
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_cluster_info#module:gpu_cluster) value.
    type: dict
    required: true
  nodes:
    description: Names of the Nodes to look at.
    type: list
    elements: str
    required: true
  expected:
    description: GPUs that a Node must offer. At least one where a Node isn't named.
    type: dict
    default: {}
  findings:
    description: The RV(gpufleet.k8s.gpu_cluster_info#module:findings) value; those about a Node that falls short are told with it.
    type: list
    elements: dict
    default: []
  live:
    description: The device plugin's DaemonSet, its Pods and their Events, as the API server gave them, to explain why a Node falls short.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Wait for the GPUs
  gpufleet.k8s.gpu_cluster_info:
  register: cluster
  until: "cluster.gpu_cluster | gpufleet.k8s.gpu_nodes_short(['gpu-1'], expected={'gpu-1': 8}) | length == 0"
"""

RETURN = r"""
_value:
  description: One entry for each Node that falls short, with C(code), C(message) and C(details).
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, is_live
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange, subject_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import owner_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]

PREFIX = "nvidia.com/"
HINT = "Look at the device plugin's pod on that node and its log, and at the node with gpu_node_info (driver loaded, runtime handler known to the daemon)."


def short(
    gpu_cluster: Object,
    nodes: t.Sequence[str],
    expected: t.Optional[t.Mapping[str, int]] = None,
    findings: t.Sequence[Object] = (),
    live: t.Sequence[Object] = (),
) -> t.List[Object]:
    """Nodes below their expected count, in the order of their names; options and result as documented above."""
    known = {node["name"]: node for node in gpu_cluster["nodes"]}
    wanted = {node: int((expected or {}).get(node, 1)) for node in sorted(nodes)}
    return [
        _shortfall(node, known.get(node), count, _arranged(node, _plugin_findings(node, live) + _node_findings(node, findings)))
        for node, count in wanted.items()
        if allocatable(known.get(node)) < count
    ]


def allocatable(node: t.Optional[Object]) -> int:
    """GPUs, shares of GPUs and MIG devices that the Node's kubelet would hand out."""
    return sum(item["allocatable"] for item in _resources(node))


def _resources(node: t.Optional[Object]) -> t.List[Object]:
    return [item for item in (node or {}).get("resources", ()) if item["resource"].startswith(PREFIX)]


def _shortfall(name: str, node: t.Optional[Object], expected: int, findings: t.Sequence[Object]) -> Object:
    found = allocatable(node)
    capacity = sum(item["capacity"] for item in _resources(node))
    reasons = [f"{finding['code']}: {finding['summary']} {finding['next_step']}" for finding in findings if finding["severity"] == "error"]
    return {
        "code": "GpuNotAllocatable",
        "message": f"Expected Node {name} to offer {expected} GPUs, found {found} allocatable (capacity {capacity}). " + " ".join(reasons or [HINT]),
        "details": {"node": name, "expected": expected, "allocatable": found, "capacity": capacity, "findings": findings},
    }


def _arranged(node: str, found: t.List[Object]) -> t.List[Object]:
    return arrange(found, {subject_key(item): node for item in found})


def _node_findings(node: str, findings: t.Iterable[Object]) -> t.List[Object]:
    return [finding for finding in findings if finding["subject"]["kind"] == "node" and finding["subject"]["name"] == node]


def _plugin_findings(node: str, live: t.Sequence[Object]) -> t.List[Object]:
    """Why the device plugin doesn't work on the Node: its pod's troubles, or those of making one."""
    events = [obj for obj in live if obj["kind"] == "Event"]
    pods = [obj for obj in live if obj["kind"] == "Pod" and is_live(obj) and bound_node(obj) == node]
    if pods:
        return [finding for pod in pods for finding in pod_findings(pod, events)]
    daemonsets = [obj["metadata"] for obj in live if obj["kind"] == "DaemonSet"]
    return [finding for metadata in daemonsets for finding in owner_findings("DaemonSet", metadata["namespace"], metadata["name"], events)]


class FilterModule:
    """Makes the comparison usable in the role's tasks."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gpu_nodes_short": short}
