# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What a pod asks for, by the scheduler's own rule."""

from __future__ import annotations

import re
import typing as t
from fractions import Fraction

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.quantity import is_quantity, parse_quantity
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, named

Object = t.Dict[str, t.Any]
Amounts = t.Dict[str, Fraction]

# Whole GPUs, shared GPUs and MIG devices; NVIDIA's network devices (nvidia.com/hostdev ...) are none.
_GPU_RESOURCE = re.compile(r"nvidia\.com/(gpu(\.[\w.-]+)?|mig-[\w.-]+)")
# Pod-level requests exist for these alone: k8s.io/component-helpers v0.36 resource/helpers.go, supportedPodLevelResources.
_POD_LEVEL = re.compile(r"cpu|memory|hugepages-.+")


def is_gpu_resource(name: str) -> bool:
    """Whether a resource name stands for GPUs."""
    return _GPU_RESOURCE.fullmatch(name) is not None


def pod_requests(pod: Object) -> Amounts:
    """Amounts that the scheduler sets aside for a pod on its node.

    Containers add up. A sidecar (an init container with restartPolicy Always) stays, so it adds to the containers and to every
    init container after it. Other init containers run one by one before, so that only the largest step counts. Requests of the
    pod itself replace the sum, overhead comes on top. Source: k8s.io/component-helpers v0.36, resource.PodRequests.

    :param pod: a Pod, or anything with its ``spec`` (a Job's template). An amount that is no quantity counts for nothing: the API
        server admits none.
    """
    spec = mapping(pod.get("spec"))
    total = _sum(_container_requests(container) for container in mappings(spec.get("containers")))
    sidecars: Amounts = {}
    start: Amounts = {}
    for container in mappings(spec.get("initContainers")):
        own = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _sum((total, own)), _sum((sidecars, own))
            step = sidecars
        else:
            step = _sum((sidecars, own))
        start = _largest(start, step)
    total = _largest(total, start)
    total.update({name: amount for name, amount in _requests(spec.get("resources")).items() if _POD_LEVEL.fullmatch(name)})
    return _sum((total, _amounts(spec.get("overhead"))))


def gpu_requests(pod: Object) -> t.Dict[str, int]:
    """GPU resources that a pod asks for, with their counts; empty for a pod without GPUs."""
    if not _mentions_gpu(pod):
        return {}
    return {name: int(amount) for name, amount in pod_requests(pod).items() if amount and is_gpu_resource(name)}


def _mentions_gpu(pod: Object) -> bool:
    spec = mapping(pod.get("spec"))
    return any(
        is_gpu_resource(str(name))
        for container in mappings(spec.get("containers")) + mappings(spec.get("initContainers"))
        for part in ("requests", "limits")
        for name in mapping(mapping(container.get("resources")).get(part))
    )


def _container_requests(container: Object) -> Amounts:
    return _requests(container.get("resources"))


def _requests(resources: t.Any) -> Amounts:
    """Requests, and limits where no request is given: the API server fills requests in that way."""
    resources = mapping(resources)
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(found: t.Any) -> Amounts:
    return {name: parse_quantity(value) for name, value in named(found).items() if is_quantity(value)}


def _sum(parts: t.Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def _largest(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, Fraction(0)), right.get(name, Fraction(0))) for name in {**left, **right}}
