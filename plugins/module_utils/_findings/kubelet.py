# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings from the kubelet's log: who registered as a device plugin, and when."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import is_gpu_resource
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import LONGEST

Object = t.Dict[str, t.Any]

# kubernetes v1.36 pkg/kubelet/cm/devicemanager/plugin/v1beta1: server.go, client.go.
_STARTED = "ing device plugin registration server"
_REGISTERED = re.compile(r'"Got registration request from device plugin with resource" resourceName="(?P<resource>[^"]+)"')
_ENDED = re.compile(r'"(?:ListAndWatch ended unexpectedly for device plugin|Endpoint became unhealthy)".*resource(?:Name)?="(?P<resource>[^"]+)"')


def kubelet_findings(log: str, node: str) -> t.List[Object]:
    """A plugin that registered while another one served the same resource: the kubelet keeps the second, and loses it with the first one's end.

    :param log: lines of the kubelet's log, oldest first.
    :param node: name of the node that it was read on.
    """
    serving: t.Dict[str, str] = {}
    found: t.Dict[str, t.Tuple[str, str]] = {}
    for line in log.splitlines():
        registered, ended = _REGISTERED.search(line), _ENDED.search(line)
        if _STARTED in line:
            serving.clear()
        elif registered:
            resource = registered.group("resource")
            if resource in serving:
                found[resource] = (serving[resource], line)
            serving[resource] = line
        elif ended:
            serving.pop(ended.group("resource"), None)
    return [_conflict(node, resource, lines) for resource, lines in found.items() if is_gpu_resource(resource)]


def _conflict(node: str, resource: str, lines: t.Sequence[str]) -> Object:
    summary = f"Node {node}: a second device plugin registered {resource} while the first one still served it."
    evidence = [seen("kubelet's log", line.strip()[:LONGEST]) for line in lines]
    return finding("PluginConflict", kind="node", name=node, summary=summary, evidence=evidence)
