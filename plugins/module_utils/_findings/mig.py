# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on MIG: the layout that a node is asked for, and what became of it."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import mig_layout
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import COUNT_LABEL
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import WARNING, finding, seen

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

CONFIG_LABEL = "nvidia.com/mig.config"
STATE_LABEL = "nvidia.com/mig.config.state"
STRATEGY_LABEL = "nvidia.com/mig.strategy"
_DEPLOY_LABEL = "nvidia.com/gpu.deploy."
_PAUSED = "paused-for-mig-change"


def mig_findings(nodes: t.Iterable[Object], layouts: t.Mapping[str, t.Sequence[Object]]) -> Findings:
    """What is wrong with the MIG layout of nodes.

    :param nodes: node facts (``gpu_cluster.nodes``).
    :param layouts: of mig-parted's configuration, by name; empty where it isn't known.
    """
    return [item for node in nodes for rule in (_incomplete, _wedged, _failed, _not_reloaded) for item in rule(node, layouts)]


def _incomplete(node: Object, layouts: t.Mapping[str, t.Sequence[Object]]) -> Findings:
    layout, count = node["labels"].get(CONFIG_LABEL, ""), node["labels"].get(COUNT_LABEL, "")
    if layout not in layouts or not count.isdecimal() or len(count) > 4 or node["labels"].get(STRATEGY_LABEL) == "single":
        return []
    missing = mig_layout.uncovered(layouts[layout], int(count))
    if not missing:
        return []
    told = ", ".join(str(index) for index in missing[:16])
    summary = f"Node {node['name']} has {count} GPUs; its MIG layout {layout} says nothing about {told}."
    return [_about(node, "MigLayoutIncomplete", summary, f"label {CONFIG_LABEL}", layout)]


def _wedged(node: Object, _layouts: t.Mapping[str, t.Sequence[Object]]) -> Findings:
    """Its clients are held back, its state is pending: nothing moves it until the layout's label changes (NVIDIA/gpu-operator#2833)."""
    paused = sorted(key[len(_DEPLOY_LABEL) :] for key, value in node["labels"].items() if key.startswith(_DEPLOY_LABEL) and value == _PAUSED)
    if node["labels"].get(STATE_LABEL) != "pending" or not paused:
        return []
    layout = node["labels"].get(CONFIG_LABEL, "")
    summary = f"Node {node['name']}: the change to MIG layout {layout} is pending, and {', '.join(paused)} are held back for it."
    step = (
        "A change takes a few minutes. If the state stays pending: set the label nvidia.com/mig.config to another layout and back, "
        f"and the labels {_DEPLOY_LABEL}* back to true; read the MIG manager's log."
    )
    return [
        finding(
            "MigManagerWedged",
            kind="node",
            name=node["name"],
            summary=summary,
            evidence=[seen(f"label {STATE_LABEL}", "pending"), *(seen(f"label {_DEPLOY_LABEL}{name}", _PAUSED) for name in paused[:4])],
            next_step=step,
        )
    ]


def _failed(node: Object, _layouts: t.Mapping[str, t.Sequence[Object]]) -> Findings:
    if node["labels"].get(STATE_LABEL) != "failed":
        return []
    layout = node["labels"].get(CONFIG_LABEL, "")
    summary = f"Node {node['name']}: the change to MIG layout {layout} failed; the MIG manager tries again only when the label changes."
    step = "Read the MIG manager's log on the node, cure what it names, then set the label nvidia.com/mig.config to another layout and back."
    shown = [seen(f"label {STATE_LABEL}", "failed")]
    return [finding("MigManagerWedged", kind="node", name=node["name"], summary=summary, evidence=shown, next_step=step, severity=WARNING)]


def _not_reloaded(node: Object, layouts: t.Mapping[str, t.Sequence[Object]]) -> Findings:
    """The layout is there, and the plugin offers fewer devices than one GPU has with it."""
    layout, strategy = node["labels"].get(CONFIG_LABEL, ""), node["labels"].get(STRATEGY_LABEL, "")
    profile = mig_layout.uniform_profile(layout)
    if node["labels"].get(STATE_LABEL) != "success" or profile is None or strategy not in ("single", "mixed"):
        return []
    counts = mig_layout.MOST_DEVICES.get(profile, ())
    resource = mig_layout.GPU if strategy == "single" else mig_layout.resource_name(profile)
    offered = sum(entry["allocatable"] for entry in node["resources"] if entry["resource"] in (resource, f"{resource}.shared"))
    has = sum(entry["capacity"] for entry in node["resources"] if entry["resource"] in (resource, f"{resource}.shared"))
    if not counts or max(offered, has) >= counts[0]:
        return []
    expected = " or ".join(str(count) for count in reversed(counts))
    summary = f"Node {node['name']} has the MIG layout {layout}, {expected} devices on each GPU, and offers {offered} {resource}."
    return [_about(node, "DevicePluginNotReloaded", summary, f"status.allocatable, {resource}", str(offered))]


def _about(node: Object, code: str, summary: str, where: str, shown: str) -> Object:
    return finding(code, kind="node", name=node["name"], summary=summary, evidence=[seen(where, shown)])
