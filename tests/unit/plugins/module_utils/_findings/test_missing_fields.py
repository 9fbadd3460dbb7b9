# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that were cut or edited by hand: whatever is missing or of another type, something is said or nothing, and nothing raises."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts, plugin_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.cluster import cluster_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.kubelet import kubelet_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.namespaces import namespace_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.orphans import orphan_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import job_findings, owner_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]
CASES = Path(__file__).parents[3] / "cases"

QUOTA = {
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus", "namespace": "lab"},
    "status": {"hard": {"requests.nvidia.com/gpu": "2"}, "used": {"requests.nvidia.com/gpu": "2"}},
}
CHOOSY = {
    "kind": "Pod",
    "metadata": {"name": "choosy", "namespace": "lab", "annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=all"}},
    "spec": {
        "nodeSelector": {"zone": "b"},
        "tolerations": [{"key": "pool", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}], "matchFields": []}]
                }
            }
        },
        "containers": [{"name": "c", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}], "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"nvidia.com/gpu": 1}}}],
    },
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 Insufficient cpu."}]},
}


def items(path: Path) -> list[Object]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["items"] if found["kind"].endswith("List") else [found]


def world() -> list[Object]:
    """Objects of every kind that the rules read, most of them with something wrong."""
    names = (
        "h200-node-second/*.json h200-node-nobinary-broken/*.json h200-node-boot/*.json h200-node-job/*.json h200-node-two-plugins/*.json "
        "h200-node-gfd-slicing/*.json V02/*.json V17/*events.json V22/*.json V32/pod.json V38/*.json V42/node.json V42/pod.json"
    )
    files = sorted(path for name in names.split() for path in CASES.glob(name) if path.name != "case.json")
    return [*(item for path in files for item in items(path)), QUOTA, CHOOSY]


OBJECTS = world()
WRONG = st.sampled_from([None, "", "text", 7, True, [], {}, [None], ["text"], {"name": None}, [{}], "1e999999999"])


def places(value: t.Any, path: tuple[t.Any, ...] = ()) -> t.Iterator[tuple[t.Any, ...]]:
    """The way to every field and entry."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


def change(obj: Object, path: tuple[t.Any, ...], remove: bool, wrong: t.Any) -> None:
    """Take one field away, or put something else there; a place that went with an earlier change stays away."""
    inner: t.Any = obj
    for key in path[:-1]:
        try:
            inner = inner[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(inner, dict) and path[-1] in inner:
        if remove:
            del inner[path[-1]]
        else:
            inner[path[-1]] = copy.deepcopy(wrong)


@st.composite
def damaged(draw: st.DrawFn) -> list[Object]:
    found = copy.deepcopy(OBJECTS)
    for obj in found:
        for path in draw(st.lists(st.sampled_from(list(places(obj))), max_size=4)):
            change(obj, path, draw(st.booleans()), draw(WRONG))
    return found


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [obj for obj in objects if obj.get("kind") == kind]


def explain(objects: list[Object]) -> list[Object]:
    """Everything that is asked of objects."""
    pods, events, jobs = of_kind(objects, "Pod"), of_kind(objects, "Event"), of_kind(objects, "Job")
    # Several have the same name, since they come from different clusters.
    nodes = {str(number): node for number, node in enumerate(of_kind(objects, "Node"))}
    by_name = {text(mapping(node.get("metadata")).get("name")): node for node in nodes.values()}
    plugins = plugin_facts(objects)
    index = PodIndex(plugins)
    for pod in pods:
        index.add(pod)
    seen = Observation("", nodes, plugins, index, objects[:3], events)
    cluster = cluster_facts(seen)
    found = cluster_findings(cluster, seen)
    for pod in pods:
        found += pod_findings(pod, events, log="GPU 0: NVIDIA H200 (UUID: GPU-1)")
        found += pod_findings(pod, events, nodes=cluster["nodes"], objects=by_name)
    found += [item for job in jobs for item in job_findings(job, pods, events)]
    found += owner_findings("Job", "default", "cuda-vectoradd", events)
    return found + namespace_findings(objects, events) + orphan_findings(events, pods)


@settings(max_examples=60, deadline=None)
@given(damaged())
def test_damaged_objects(objects: list[Object]) -> None:
    found = explain(objects)
    json.dumps(found)
    assert {item["code"] for item in found} <= set(CATALOGUE)


def test_the_objects_as_they_were() -> None:
    """So that the test above is about rules that speak."""
    assert {item["code"] for item in explain(OBJECTS)} >= {
        "DeviceUnavailable",
        "DriverImageNotFound",
        "GfdConfigMismatch",
        "GpuIsolationBypass",
        "KnownDriverIssue",
        "NfdLabelFormatMismatch",
        "PodSecurityViolation",
        "QuotaExceeded",
        "ToolkitNotInstalled",
        "UntoleratedTaint",
    }


@given(st.text())
def test_any_text_as_a_kubelets_log(log: str) -> None:
    assert kubelet_findings(log, "gpu-1") == []
