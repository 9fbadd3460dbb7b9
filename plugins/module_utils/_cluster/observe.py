# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What is read from a cluster, unjudged."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, plugin_facts

Object = t.Dict[str, t.Any]

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
EVENTS = "/api/v1/events"
NAMESPACES = "/api/v1/namespaces"
DAEMONSETS = "/apis/apps/v1/daemonsets"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
VERSION = "/version"

_LIVE = "status.phase!=Succeeded,status.phase!=Failed"


# Parts of a Node that are long and say nothing about GPUs.
_UNREAD_METADATA = ("managedFields", "annotations")
_UNREAD_STATUS = ("images", "volumesInUse", "volumesAttached")


def observe(api: Api) -> Observation:
    """Read a cluster: five lists, and the events where a GPU pod needs explaining.

    DaemonSets and RuntimeClasses come from the server's watch cache: they change seldom. Nodes and pods are read as of now.
    """
    version = api.get(VERSION)["gitVersion"]
    plugins = plugin_facts(api.items(DAEMONSETS, resourceVersion="0"))
    pods = PodIndex(plugins)
    for pod in api.items(PODS, fieldSelector=_LIVE):
        pods.add(pod)
    return Observation(
        version=version,
        nodes={node["metadata"]["name"]: _short(node) for node in api.items(NODES)},
        plugins=plugins,
        pods=pods,
        runtime_classes=list(api.items(RUNTIME_CLASSES, resourceVersion="0")),
        events=list(api.items(EVENTS, fieldSelector="involvedObject.kind=Pod")) if pods.unwell else [],
    )


def _short(node: Object) -> Object:
    return {
        "metadata": {key: value for key, value in node["metadata"].items() if key not in _UNREAD_METADATA},
        "spec": node.get("spec") or {},
        "status": {key: value for key, value in (node.get("status") or {}).items() if key not in _UNREAD_STATUS},
    }
