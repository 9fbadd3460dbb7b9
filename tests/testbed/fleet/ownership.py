# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods the fleet agent plays and which ones kwok does: one rule, in the two languages that need it.

The agent's are the pods that name a RuntimeClass, ask for an ``nvidia.com/*`` resource, or are the device plugin itself.
"""

from __future__ import annotations

from typing import Any

PLUGIN_IMAGE = "k8s-device-plugin"
RESOURCE_PREFIX = "nvidia.com/"

AGENT_POD_JQ = (
    '.spec.runtimeClassName != null or ([.spec.containers[], .spec.initContainers[]?] | any('
    f'(.image // "" | contains("{PLUGIN_IMAGE}")) or (.resources.limits // {{}} | keys | any(startswith("{RESOURCE_PREFIX}")))))'
)


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """All containers of a pod, init containers last."""
    return [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]


def is_plugin(pod: dict[str, Any]) -> bool:
    """Whether the pod is NVIDIA's device plugin."""
    return any(PLUGIN_IMAGE in container.get("image", "") for container in containers(pod))


def limits(container: dict[str, Any]) -> dict[str, int]:
    """The ``nvidia.com/*`` resources that a container asks for, as counts."""
    asked = container.get("resources", {}).get("limits", {})
    return {resource: int(count) for resource, count in asked.items() if resource.startswith(RESOURCE_PREFIX)}


def is_agents(pod: dict[str, Any]) -> bool:
    """The Python twin of ``AGENT_POD_JQ``."""
    return pod["spec"].get("runtimeClassName") is not None or is_plugin(pod) or any(limits(container) for container in containers(pod))
