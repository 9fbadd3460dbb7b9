# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which nodes are validated, with how many GPUs of which name."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import only_nodes
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import lasting_taints
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import is_offering, node_object_findings

Object = t.Dict[str, t.Any]


class Target(t.NamedTuple):
    """A node to validate.

    :param node: its facts, an entry of ``gpu_cluster.nodes``.
    :param resource: the resource that its pods ask for; ``None`` where nothing can be asked for.
    :param gpus: devices that the inspection pod asks for; the CUDA job asks for one.
    :param findings: what speaks against the node already now.
    """

    node: Object
    resource: t.Optional[str]
    gpus: int
    tolerations: t.Tuple[Object, ...]
    findings: t.Tuple[Object, ...]

    @property
    def name(self) -> str:
        return self.node["name"]

    @property
    def launchable(self) -> bool:
        return self.resource is not None


def choose_targets(gpu_cluster: Object, names: t.Optional[t.Sequence[str]], gpus: t.Optional[int]) -> t.List[Target]:
    """One target per chosen node, also for those on which nothing can be launched: no node is passed over in silence.

    :param names: nodes to validate; ``None`` for every node that offers GPUs or is labelled as having some.
    :param gpus: devices per node; ``None`` for all that are free, or one where the resource is shared or a MIG profile.
    :raises GpuFleetError: NodeNotFound, NoGpuNodes.
    """
    chosen = [node for node in only_nodes(gpu_cluster, names)["nodes"] if names is not None or node["gpu"]]
    if not chosen:
        raise GpuFleetError(
            f"Expected nodes with GPUs, found none that offers one or is labelled as having one among {len(gpu_cluster['nodes'])} nodes. "
            "Run the role gpu_device_plugin, or name the nodes.",
            code="NoGpuNodes",
            nodes=[node["name"] for node in gpu_cluster["nodes"]],
        )
    return [_target({**node, "gpu": True}, gpus) for node in chosen]


def _target(node: Object, gpus: t.Optional[int]) -> Target:
    found = node_object_findings(node)
    tolerations = tuple(_toleration(taint) for taint in lasting_taints(node["taints"]))
    if not node["ready"] or node["unschedulable"] or not is_offering(node):
        return Target(node, None, 0, tolerations, tuple(found))
    entry = next(item for item in node["resources"] if item["allocatable"])
    divided = entry["shared"] or entry["resource"].startswith("nvidia.com/mig-")
    count = gpus or (min(1, entry["free"]) if divided else entry["free"])
    if not 0 < count <= entry["free"]:
        return Target(node, None, 0, tolerations, (*found, _too_few(node, entry, gpus or 1)))
    return Target(node, entry["resource"], count, tolerations, tuple(found))


def _toleration(taint: Object) -> Object:
    return {"key": taint["key"], "operator": "Equal", "value": taint["value"], "effect": taint["effect"]}


def _too_few(node: Object, entry: Object, count: int) -> Object:
    holders = [f"{item['namespace']}/{item['pod']} ({item['count']})" for item in node["consumers"] if item["resource"] == entry["resource"]]
    free = f"{entry['free']} of {entry['allocatable']} {entry['resource']} free"
    summary = f"Node {node['name']} has {free}, {count} wanted; held by {', '.join(holders) or 'nobody'}."
    return finding(
        "InsufficientResource",
        kind="node",
        name=node["name"],
        summary=summary,
        # Busy GPUs are no fault of the node; GPUs that it doesn't have are.
        severity="warning" if count <= entry["allocatable"] else "error",
        evidence=[seen("pods bound to the node", holder) for holder in holders[:5]],
    )
