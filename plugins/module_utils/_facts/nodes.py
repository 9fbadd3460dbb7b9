# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One Node object in our words."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.quantity import is_quantity, parse_count
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import is_gpu_resource
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, named, text, text_values

Object = t.Dict[str, t.Any]

PRODUCT_LABEL = "nvidia.com/gpu.product"
COUNT_LABEL = "nvidia.com/gpu.count"
REPLICAS_LABEL = "nvidia.com/gpu.replicas"
PRESENT_LABEL = "nvidia.com/gpu.present"
DRIVER_LABEL = "nvidia.com/cuda.driver-version.full"
# Feature discovery before 0.16 knew only these.
_OLD_DRIVER_LABELS = ("nvidia.com/cuda.driver.major", "nvidia.com/cuda.driver.minor", "nvidia.com/cuda.driver.rev")
# Node Feature Discovery: the vendor alone, or class (display 0300, 3D 0302) and vendor, perhaps with the device.
PCI_LABEL = re.compile(r"feature\.node\.kubernetes\.io/pci-(?P<class>03\w\w_)?10de(?:_\w+)?\.present")
_PCI_LABELS = "feature.node.kubernetes.io/pci-"
# The CPUs of Grace and Jetson, whose GPU isn't always a PCI device.
_NVIDIA_CPU = ("feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA")
_TROUBLES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
# Set on GPU nodes alone, by the operator and by GPU feature discovery.
_GPU_NODE_LABELS = ("nvidia.com/gpu.deploy.", PRODUCT_LABEL)
# Taints that tell a node's state. Lasting ones are the pool's.
_STATE_TAINT = re.compile(r"node\.kubernetes\.io/|node\.cloudprovider\.kubernetes\.io/|ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler")


def node_facts(node: Object, requested: t.Optional[t.Mapping[str, int]] = None) -> Object:
    """Facts on one node.

    :param node: a Node object.
    :param requested: GPU resources that pods bound to it ask for, in devices.
    :return: an entry of ``gpu_cluster.nodes`` without consumers and plugin pods.
    """
    metadata, spec, status = mapping(node.get("metadata")), mapping(node.get("spec")), mapping(node.get("status"))
    labels, info = text_values(metadata.get("labels")), mapping(status.get("nodeInfo"))
    resources = node_resources(status, labels, requested or {})
    return {
        "name": text(metadata.get("name")),
        "gpu": bool(resources) or is_labelled_gpu(labels),
        "ready": condition(status, "Ready") == "True",
        "unschedulable": bool(spec.get("unschedulable")),
        "product": labels.get(PRODUCT_LABEL),
        "driver_version": labels.get(DRIVER_LABEL) or ".".join(labels[key] for key in _OLD_DRIVER_LABELS if key in labels) or None,
        "container_runtime": info.get("containerRuntimeVersion"),
        "kubelet_version": info.get("kubeletVersion"),
        "runtime_handlers": sorted(text(handler.get("name")) for handler in mappings(status.get("runtimeHandlers"))),
        "labels": {key: value for key, value in labels.items() if is_nvidia_label(key)},
        "pci_gpu": sees_pci_gpu(labels),
        "taints": [{key: text(taint.get(key)) for key in ("key", "value", "effect")} for taint in mappings(spec.get("taints"))],
        "conditions": unwell_conditions(status),
        "resources": resources,
    }


def is_nvidia_label(key: str) -> bool:
    return key.startswith("nvidia.com/") or PCI_LABEL.fullmatch(key) is not None


def is_labelled_gpu(labels: t.Mapping[str, str]) -> bool:
    """Whether feature discovery, the operator or an administrator says that the node has an NVIDIA GPU."""
    if PRESENT_LABEL in labels:
        return labels[PRESENT_LABEL] == "true"
    return any(key.startswith(_GPU_NODE_LABELS) or (value == "true" and PCI_LABEL.fullmatch(key)) for key, value in labels.items())


def sees_pci_gpu(labels: t.Mapping[str, str]) -> t.Optional[bool]:
    """Whether Node Feature Discovery sees an NVIDIA GPU on the PCI bus; ``None`` where it wrote no PCI labels, or the GPU needs no PCI bus."""
    key, vendor = _NVIDIA_CPU
    if labels.get(key) == vendor or not any(name.startswith(_PCI_LABELS) for name in labels):
        return None
    return any(value == "true" and PCI_LABEL.fullmatch(name) for name, value in labels.items())


def condition(status: Object, kind: str) -> str:
    """Status of a condition: ``True``, ``False`` or ``Unknown``."""
    return next((text(entry.get("status")) or "Unknown" for entry in mappings(status.get("conditions")) if entry.get("type") == kind), "Unknown")


def unwell_conditions(status: Object) -> t.List[Object]:
    """The kubelet's conditions that tell of trouble: Ready other than True, pressure and no network."""
    return [
        {key: text(entry.get(key)) for key in ("type", "status", "reason", "message")}
        for entry in mappings(status.get("conditions"))
        if (entry.get("type") == "Ready" and entry.get("status") != "True") or (entry.get("type") in _TROUBLES and entry.get("status") == "True")
    ]


def lasting_taints(taints: t.Iterable[Object]) -> t.List[Object]:
    """Taints that keep pods away and don't merely tell the node's state of the moment."""
    return [taint for taint in taints if taint["effect"] != "PreferNoSchedule" and not _STATE_TAINT.match(taint["key"])]


def node_resources(status: Object, labels: t.Mapping[str, str], requested: t.Mapping[str, int]) -> t.List[Object]:
    """GPU resources of a node, whole GPUs first.

    A resource is ``stale`` where the node offers none of it and another one instead: a name left from an earlier mode.
    Unhealthy devices are counted by capacity, and not by allocatable.
    """
    capacity, allocatable = _gpus(status.get("capacity")), _gpus(status.get("allocatable"))
    names = {**capacity, **allocatable, **requested}
    active = [name for name in names if allocatable.get(name)]
    entries = []
    for name in sorted(names, key=lambda name: (name.count("."), name)):
        has, offers, asked = capacity.get(name, 0), allocatable.get(name, 0), requested.get(name, 0)
        shared = name.endswith(".shared") or (name == "nvidia.com/gpu" and parse_count(_number(labels.get(REPLICAS_LABEL))) > 1)
        stale = not offers and bool(active)
        entries.append(
            {
                "resource": name,
                "capacity": has,
                "allocatable": offers,
                "requested": asked,
                "free": max(0, offers - asked),
                "unhealthy": 0 if stale else max(0, has - offers),
                "shared": shared,
                "physical": _physical(name, has, shared, labels),
                "stale": stale,
            }
        )
    return entries


def _physical(name: str, capacity: int, shared: bool, labels: t.Mapping[str, str]) -> t.Optional[int]:
    if name.startswith("nvidia.com/mig-"):
        return None
    if COUNT_LABEL in labels:
        return parse_count(_number(labels[COUNT_LABEL]))
    return None if shared else capacity


def _number(found: t.Optional[str]) -> t.Optional[str]:
    """Labels are free text: one that is no number counts as absent."""
    return found if found is not None and found.isdecimal() and len(found) < 10 else None


def _gpus(amounts: t.Any) -> t.Dict[str, int]:
    return {name: parse_count(value) for name, value in named(amounts).items() if is_gpu_resource(name) and is_quantity(value)}
