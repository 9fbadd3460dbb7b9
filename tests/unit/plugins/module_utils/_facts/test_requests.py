# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scheduler's rule, case by case."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests, is_gpu_resource, pod_requests

Object = t.Dict[str, t.Any]
GPU = "nvidia.com/gpu"


def container(gpus: int | None = None, *, sidecar: bool = False, cpu: str | None = None, part: str = "limits") -> Object:
    amounts = {name: value for name, value in ((GPU, gpus), ("cpu", cpu)) if value is not None}
    return {"name": "c", "resources": {part: amounts}, **({"restartPolicy": "Always"} if sidecar else {})}


def pod(*containers: Object, init: t.Sequence[Object] = (), **spec: t.Any) -> Object:
    return {"spec": {"containers": list(containers), "initContainers": list(init), **spec}}


@pytest.mark.parametrize(
    ("described", "gpus"),
    [
        (pod(container()), {}),
        (pod(container(0)), {}),
        (pod(container(2)), {GPU: 2}),
        (pod(container(2, part="requests")), {GPU: 2}),
        (pod(container(1), container(2)), {GPU: 3}),
        (pod(container(1), init=[container(4)]), {GPU: 4}),
        (pod(container(2), init=[container(1), container(1)]), {GPU: 2}),
        (pod(container(1), init=[container(1, sidecar=True)]), {GPU: 2}),
        # A sidecar runs beside the init containers after it, and not beside those before it.
        (pod(container(1), init=[container(1, sidecar=True), container(3)]), {GPU: 4}),
        (pod(container(1), init=[container(3), container(1, sidecar=True)]), {GPU: 3}),
        (pod(container(1), init=[container(1, sidecar=True), container(1, sidecar=True)]), {GPU: 3}),
        ({"spec": {"containers": [{"name": "c"}]}}, {}),
        ({}, {}),
    ],
)
def test_gpus(described: Object, gpus: dict[str, int]) -> None:
    assert gpu_requests(described) == gpus


def test_several_resources_in_one_pod() -> None:
    mixed = pod({"name": "c", "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1", "nvidia.com/gpu.shared": 2, "nvidia.com/hostdev": 1, "memory": "1Gi"}}})
    assert gpu_requests(mixed) == {"nvidia.com/mig-1g.5gb": 1, "nvidia.com/gpu.shared": 2}


def test_requests_of_the_pod_replace_the_sum_where_they_exist_and_overhead_comes_on_top() -> None:
    described = pod(container(1, cpu="2"), container(1, cpu="2"), resources={"requests": {"cpu": "3", GPU: 9}}, overhead={"cpu": "250m"})
    assert pod_requests(described) == {GPU: 2, "cpu": Fraction("3.25")}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-3g.40gb", True),
        ("nvidia.com/mig-1g.10gb.me", True),
        ("nvidia.com/hostdev", False),
        ("nvidia.com/gpus", False),
        ("amd.com/gpu", False),
        ("cpu", False),
    ],
)
def test_which_resources_are_gpus(name: str, is_one: bool) -> None:
    assert is_gpu_resource(name) is is_one
