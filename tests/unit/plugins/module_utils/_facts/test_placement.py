# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.placement import matches_affinity, tolerates

Object = t.Dict[str, t.Any]
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "true"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
    ],
)
def test_tolerations(toleration: Object, matches: bool) -> None:
    assert tolerates({"spec": {"tolerations": [toleration]}}, TAINT) is matches


def test_an_empty_value_is_a_value() -> None:
    taint = {"key": "gpu", "value": "", "effect": "NoSchedule"}
    assert tolerates({"spec": {"tolerations": [{"key": "gpu", "operator": "Equal", "value": ""}]}}, taint)
    assert not tolerates({"spec": {}}, taint)


def requiring(*terms: Object) -> Object:
    return {"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}}}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("pod", "matches"),
    [
        ({"spec": {}}, True),
        ({"spec": {"nodeSelector": {"zone": "a"}}}, True),
        ({"spec": {"nodeSelector": {"zone": "b"}}}, False),
        (requiring(expression("zone", "In", "a", "b")), True),
        (requiring(expression("zone", "NotIn", "a")), False),
        (requiring(expression("absent", "NotIn", "a")), True),
        (requiring(expression("zone", "Exists")), True),
        (requiring(expression("zone", "DoesNotExist")), False),
        (requiring(expression("memory", "Gt", "70000")), True),
        (requiring(expression("memory", "Lt", "70000")), False),
        (requiring(expression("zone", "Gt", "1")), False),
        (requiring(expression("absent", "Gt", "1")), False),
        (requiring(expression("zone", "In", "b"), expression("memory", "Exists")), True),
        (requiring({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}), True),
        (requiring({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-2"]}]}), False),
        (requiring({}), False),
        (requiring(), False),
    ],
)
def test_selectors_and_affinity(pod: Object, matches: bool) -> None:
    assert matches_affinity(pod, {"metadata": {"name": "gpu-1", "labels": {"zone": "a", "memory": "81920"}}}) is matches
