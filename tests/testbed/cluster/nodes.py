# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of the testbed cluster: Node objects as a kubelet would register them, before any device plugin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.testbed.cluster import gobuild
from tests.testbed.fleet.api import Api

MACHINE = "testbed.gpufleet.io/machine"
GPUS = "testbed.gpufleet.io/gpus"

_SIZE = {"cpu": "32", "memory": "263856764Ki", "ephemeral-storage": "259886Mi", "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": "110"}


def node_object(name: str, *, machine: bool, labels: Mapping[str, str], gpus: int) -> dict[str, Any]:
    """The Node that ``register_node`` creates."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, **labels,
            },
            "annotations": {MACHINE: str(machine).lower(), GPUS: str(gpus)},
        },
        "status": {
            "capacity": _SIZE,
            "allocatable": _SIZE,
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "osImage": "Debian GNU/Linux", "kernelVersion": "",
                "containerRuntimeVersion": "containerd://", "kubeletVersion": gobuild.kubernetes_version(), "kubeProxyVersion": "",
                "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    }


def register_node(kubeconfig: Path, name: str, machine: bool, labels: Mapping[str, str] | None = None, gpus: int = 2) -> None:
    """Makes ``name`` a Node of the cluster; it advertises no GPU until the fleet agent finds a working device plugin on it.

    ``machine``: a testbed machine of that name stands behind it; otherwise the node is simulated, always healthy, with
    ``gpus`` GPUs. A Node that exists gets the labels and annotations and is otherwise left alone.
    """
    api = Api(kubeconfig)
    wanted = node_object(name, machine=machine, labels=labels or {}, gpus=gpus)
    if api.create("/api/v1/nodes", wanted) is None:
        metadata = {key: wanted["metadata"][key] for key in ("labels", "annotations")}
        api.patch(f"/api/v1/nodes/{name}", {"metadata": metadata})
