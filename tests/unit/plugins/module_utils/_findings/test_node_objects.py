# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node object tells: its conditions, its labels against its resources, its plugins."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.nodes import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import node_object_findings

Object = t.Dict[str, t.Any]
GPU = "nvidia.com/gpu"
READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
BY_VENDOR = {"feature.node.kubernetes.io/pci-10de.present": "true"}
BY_CLASS = {"feature.node.kubernetes.io/pci-0302_10de.present": "true"}
OTHER_CARD = {"feature.node.kubernetes.io/pci-1af4.present": "true"}
PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.count": "2"}
GRACE = {"feature.node.kubernetes.io/cpu-model.vendor_id": "NVIDIA"}


def labels(count: int, replicas: int, strategy: str = "none", mig: str = "none") -> Object:
    return {
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/mig.strategy": mig,
    }


def judge(
    found: Object, capacity: Object, allocatable: Object | None = None, conditions: t.Any = "ready", plugins: int = 0, spec: Object | None = None
) -> list[str]:
    conditions = READY if conditions == "ready" else conditions
    status = {"capacity": capacity, "allocatable": capacity if allocatable is None else allocatable, "conditions": conditions}
    facts = node_facts({"metadata": {"name": "gpu-1", "labels": found}, "spec": spec or {}, "status": status})
    facts["plugin_pods"] = [{"namespace": "gpu", "pod": f"plugin-{number}", "running": True} for number in range(plugins)]
    return [item["code"] for item in node_object_findings(facts)]


@pytest.mark.parametrize(
    ("found", "capacity", "codes"),
    [
        ({}, {GPU: "2"}, []),
        ({**BY_VENDOR, **PRODUCT}, {GPU: "2"}, []),
        ({**BY_CLASS, **PRODUCT}, {GPU: "2"}, []),
        (OTHER_CARD, {}, []),
        # Discovery is the judge of what there is, where it wrote anything at all.
        ({**OTHER_CARD, **PRODUCT}, {}, ["StaleLabels"]),
        ({**OTHER_CARD, **PRODUCT}, {GPU: "2"}, []),
        ({"feature.node.kubernetes.io/cpu-cpuid.AVX2": "true", **PRODUCT}, {}, ["GpuResourceNotAdvertised"]),
        ({**GRACE, **OTHER_CARD, **PRODUCT}, {}, ["GpuResourceNotAdvertised"]),
        ({**PRODUCT, "nvidia.com/gpu.present": "false"}, {}, ["StaleLabels"]),
        ({"nvidia.com/gpu.present": "false"}, {}, []),
        (PRODUCT, {}, ["GpuResourceNotAdvertised"]),
        (BY_CLASS, {}, ["NfdLabelFormatMismatch", "GpuResourceNotAdvertised"]),
        ({"feature.node.kubernetes.io/pci-0300_10de_1eb8.present": "true"}, {}, ["NfdLabelFormatMismatch", "GpuResourceNotAdvertised"]),
        ({**BY_CLASS, **BY_VENDOR}, {}, ["GpuResourceNotAdvertised"]),
        ({**BY_CLASS, "nvidia.com/gpu.present": "true"}, {}, ["GpuResourceNotAdvertised"]),
    ],
)
def test_labels(found: Object, capacity: Object, codes: list[str]) -> None:
    assert judge(found, capacity) == codes


@pytest.mark.parametrize(
    ("found", "capacity", "codes"),
    [
        (labels(2, 1), {GPU: "2"}, []),
        (labels(2, 4, "time-slicing"), {GPU: "8"}, []),
        (labels(2, 4, "time-slicing"), {"nvidia.com/gpu.shared": "8"}, []),
        (labels(2, 1), {GPU: "8"}, ["GfdConfigMismatch"]),
        (labels(2, 4, "time-slicing"), {GPU: "2"}, ["GfdConfigMismatch"]),
        (labels(2, 4, "mps"), {GPU: "2"}, ["GfdConfigMismatch"]),
        # A GPU less is another matter, and MIG counts by another rule.
        (labels(2, 1), {GPU: "1"}, []),
        (labels(7, 0, mig="single"), {GPU: "14"}, []),
        (labels(2, 0, mig="mixed"), {GPU: "1", "nvidia.com/mig-1g.10gb": "7"}, []),
        ({"nvidia.com/gpu.count": "two", "nvidia.com/gpu.replicas": "1"}, {GPU: "8"}, []),
        ({"nvidia.com/gpu.count": "2"}, {GPU: "8"}, []),
    ],
)
def test_discovery_against_the_plugin(found: Object, capacity: Object, codes: list[str]) -> None:
    assert judge(found, capacity) == codes


@pytest.mark.parametrize(
    ("conditions", "codes"),
    [
        (READY, []),
        ([], []),
        (None, []),
        ([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "container runtime is down"}], ["NodeNotReady"]),
        ([{"type": "Ready", "status": "Unknown"}], ["NodeNotReady"]),
        ([*READY, {"type": "EtcdIsVoter", "status": "True"}], []),
    ],
)
def test_conditions(conditions: t.Any, codes: list[str]) -> None:
    assert judge({}, {GPU: "2"}, conditions=conditions) == codes


def test_why_a_node_is_not_ready() -> None:
    status = {"capacity": {GPU: "2"}, "conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "runtime is down"}]}
    facts = {**node_facts({"metadata": {"name": "gpu-1"}, "status": status}), "plugin_pods": []}
    [found, *_rest] = node_object_findings(facts)
    assert found["summary"] == "Node gpu-1 isn't ready: KubeletNotReady."
    assert found["evidence"] == [{"where": "condition Ready", "text": "False KubeletNotReady runtime is down"}]


@pytest.mark.parametrize(
    ("capacity", "allocatable", "plugins", "codes"),
    [
        ({GPU: "2"}, {GPU: "2"}, 1, []),
        ({GPU: "2"}, {GPU: "2"}, 2, ["PluginConflict"]),
        ({GPU: "2"}, {GPU: "0"}, 2, ["PluginConflict", "AllGpusUnhealthyOrPluginDown"]),
        ({GPU: "2"}, {GPU: "0"}, 1, ["AllGpusUnhealthyOrPluginDown"]),
        ({GPU: "0"}, {GPU: "0"}, 1, ["PluginNotRegistered"]),
        ({GPU: "0"}, {GPU: "0"}, 0, ["GpuResourceNotAdvertised"]),
        ({GPU: "8"}, {GPU: "7"}, 1, ["DeviceUnhealthy"]),
        ({GPU: "8", "nvidia.com/gpu.shared": "8"}, {GPU: "8", "nvidia.com/gpu.shared": "0"}, 1, ["StaleResource"]),
    ],
)
def test_resources_and_plugins(capacity: Object, allocatable: Object, plugins: int, codes: list[str]) -> None:
    assert judge({}, capacity, allocatable, plugins=plugins) == codes


MIXED = {GPU: "4", "nvidia.com/mig-1g.10gb": "7"}


@pytest.mark.parametrize(
    ("version", "capacity", "codes"),
    [
        ("570.124.06", MIXED, ["KnownDriverIssue"]),
        ("570.133.20", MIXED, ["KnownDriverIssue"]),
        ("570.148.08", MIXED, ["KnownDriverIssue"]),
        ("570.158.01", MIXED, ["KnownDriverIssue"]),
        ("570.86.15", MIXED, []),
        ("570.172.08", MIXED, []),
        ("580.159.04", MIXED, []),
        ("570.124.06", {GPU: "4"}, []),
        ("none", MIXED, []),
    ],
)
def test_drivers_with_a_published_fault(version: str, capacity: Object, codes: list[str]) -> None:
    assert judge({"nvidia.com/cuda.driver-version.full": version}, capacity) == codes


def test_the_driver_version_of_older_discovery() -> None:
    parts = {"nvidia.com/cuda.driver.major": "535", "nvidia.com/cuda.driver.minor": "104", "nvidia.com/cuda.driver.rev": "05"}
    assert node_facts({"metadata": {"labels": parts}})["driver_version"] == "535.104.05"
    assert node_facts({})["driver_version"] is None
