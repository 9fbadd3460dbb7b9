# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Driver versions with a published fault that shows in the cluster."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import event_reason
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, container_states, phase, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen

Object = t.Dict[str, t.Any]
Version = t.Tuple[int, ...]

_MIG, _WHOLE = "nvidia.com/mig-", "nvidia.com/gpu"
_VERSION = re.compile(r"\d{1,5}(?:\.\d{1,5}){1,3}")


class Layout(t.NamedTuple):
    """How a node's GPUs are divided, from whatever shows it.

    :param mig: whether a GPU has MIG enabled.
    :param whole: whether a GPU hasn't.
    :param mig_products: products with MIG enabled.
    """

    mig: bool
    whole: bool
    mig_products: t.Tuple[str, ...]


class KnownIssue(t.NamedTuple):
    """A published fault.

    :param first: the first driver version that has it.
    :param last: the last one.
    :param applies: whether a node of that layout meets it.
    :param source: where it was published.
    """

    first: str
    last: str
    applies: t.Callable[[Layout], bool]
    summary: str
    next_step: str
    source: str


ISSUES = (
    KnownIssue(
        "570.124.06",
        "570.158.01",
        lambda layout: layout.mig and layout.whole,
        "whole GPUs beside GPUs with MIG: GPU pods stay Pending there, without events",
        "Set gpu_driver_version to one outside 570.124.06 to 570.158.01 (NVIDIA names 570.86.15), or give all GPUs of the node the same MIG mode.",
        "NVIDIA/gpu-operator#1361",
    ),
    KnownIssue(
        "575.57.08",
        "575.57.08",
        lambda layout: any("RTX PRO 6000" in product for product in layout.mig_products),
        "MIG on an RTX PRO 6000, which this driver doesn't support",
        "Set gpu_driver_version to a later one, or turn MIG off.",
        "GPU Operator, MIG configuration of its release notes",
    ),
)


def known_issues(driver_version: t.Optional[str], layout: Layout) -> t.List[KnownIssue]:
    """The published faults that a node meets by its driver's version and its layout."""
    version = parse_version(driver_version)
    return [issue for issue in ISSUES if version and _between(issue, version) and issue.applies(layout)]


def layout_of_resources(node: Object) -> Layout:
    """The layout of a node as ``gpu_cluster.nodes`` has it, by the resources that it has."""
    names = [entry["resource"] for entry in node["resources"] if entry["capacity"]]
    mig = any(name.startswith(_MIG) for name in names)
    return Layout(mig, any(name.startswith(_WHOLE) for name in names), (node.get("product") or "",) if mig else ())


def known_issue(node: Object) -> t.Optional[KnownIssue]:
    """The first published fault that such a node meets."""
    return next(iter(known_issues(node["driver_version"], layout_of_resources(node))), None)


def node_issue_findings(node: Object) -> t.List[Object]:
    """A warning on a node whose driver has a published fault."""
    issue = known_issue(node)
    if issue is None:
        return []
    summary = f"Node {node['name']} has driver {node['driver_version']} and {issue.summary} ({issue.source})."
    evidence = [seen("driver version", node["driver_version"])]
    return [finding("KnownDriverIssue", kind="node", name=node["name"], summary=summary, evidence=evidence, next_step=issue.next_step)]


def stuck_pod_finding(pod: Object, events: t.Sequence[Object], nodes: t.Sequence[Object]) -> t.List[Object]:
    """A pod that was scheduled and then forgotten: no container, no event of its start, on a node whose driver does just that."""
    if phase(pod) != "Pending" or container_states(pod) or any(event_reason(event) != "Scheduled" for event in events):
        return []
    node = next((item for item in nodes if item["name"] == bound_node(pod)), None)
    issue = known_issue(node) if node else None
    if node is None or issue is None:
        return []
    namespace, name = pod_key(pod)
    summary = f"Pod {name} waits on node {node['name']} without any event; driver {node['driver_version']} does that with {issue.summary}."
    evidence = [seen(f"status of {namespace}/{name}", "scheduled, no container"), seen("driver version", node["driver_version"])]
    step = issue.next_step
    return [finding("KnownDriverIssue", kind="pod", name=name, namespace=namespace, summary=summary, evidence=evidence, next_step=step, severity="error")]


def parse_version(text: t.Optional[str]) -> t.Optional[Version]:
    """A driver version as numbers; ``None`` for anything else."""
    return tuple(int(part) for part in text.split(".")) if text and _VERSION.fullmatch(text) else None


def _between(issue: KnownIssue, version: Version) -> bool:
    return (parse_version(issue.first) or ()) <= version <= (parse_version(issue.last) or ())
