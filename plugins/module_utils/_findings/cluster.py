# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a cluster's nodes and on its GPU pods that aren't well."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import node_object_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]


def cluster_findings(gpu_cluster: Object, seen: Observation) -> Findings:
    """Findings on the nodes of a ``gpu_cluster`` result and on the cluster's GPU pods that aren't well.

    :param gpu_cluster: facts on all nodes of ``seen``: a pod that waits may go to any of them.
    """
    on_nodes = [item for node in gpu_cluster["nodes"] for item in node_object_findings(node)]
    on_pods = [item for pod in seen.pods.unwell for item in pod_findings(pod, seen.events, nodes=gpu_cluster["nodes"], objects=seen.nodes)]
    return arrange(on_nodes + on_pods, {("pod", *pod_key(pod)): node for pod in seen.pods.unwell for node in [bound_node(pod)] if node})


def only_findings(findings: Findings, chosen: Object, everything: Object) -> Findings:
    """Those about the chosen nodes, and about pods that none of the other nodes holds."""
    names = {node["name"] for node in chosen["nodes"]}
    elsewhere = {(item["namespace"], item["pod"]) for node in everything["nodes"] if node["name"] not in names for item in node["consumers"]}
    return [item for item in findings if _concerns(item["subject"], names, elsewhere)]


def _concerns(subject: Object, names: t.Container[str], elsewhere: t.Container[t.Tuple[str, str]]) -> bool:
    if subject["kind"] == "node":
        return subject["name"] in names
    return (subject["namespace"], subject["name"]) not in elsewhere
