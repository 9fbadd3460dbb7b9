# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What a validation will do, and what came of it."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.checks import Check
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.manifests import Run, cuda_job, inspection_pod
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.runtime_class import Choice, choose_runtime_class
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.targets import Target, choose_targets
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.verdict import PASSED, Surroundings, judge

Object = t.Dict[str, t.Any]

# What earlier tasks of a play in check mode would have made.
_NOT_YET_THERE = frozenset(("NoGpuNodes", "RuntimeClassMissing"))


class ValidationPlan(t.NamedTuple):
    """:param choice: the RuntimeClass and why it was chosen."""

    run: Run
    choice: Choice
    targets: t.List[Target]


def make_plan(gpu_cluster: Object, params: t.Mapping[str, t.Any], run_id: str) -> ValidationPlan:
    """Decide what to launch where.

    :param params: the options of gpu_validate.
    :raises GpuFleetError: NodeNotFound, NoGpuNodes, RuntimeClassMissing, RuntimeClassAmbiguous.
    """
    targets = choose_targets(gpu_cluster, params["nodes"], params["gpus"])
    choice = choose_runtime_class(params["runtime_class"], gpu_cluster)
    return ValidationPlan(Run(run_id, params["namespace"], params["image"], choice.name, params["timeout"]), choice, targets)


def report(plan: ValidationPlan, checks: t.Mapping[int, t.Sequence[Check]], around: Surroundings) -> Object:
    """The module's result."""
    nodes = [judge(target, checks.get(index, []), around) for index, target in enumerate(plan.targets)]
    return {
        "nodes": nodes,
        "passed": all(node["verdict"] == PASSED for node in nodes),
        "findings": [item for node in nodes for item in node["findings"]],
        "summary": [node["summary"] for node in nodes],
        **_settings(plan),
    }


def announce(plan: ValidationPlan, around: Surroundings) -> Object:
    """The result in check mode: what is known without launching anything, and what would be launched."""
    objects = [
        obj
        for index, target in enumerate(plan.targets)
        if target.launchable
        for obj in (inspection_pod(plan.run, target, index), cuda_job(plan.run, target, index))
    ]
    return {**report(plan, {}, around), "passed": None, "would_create": objects, "obstacle": None}


def announce_obstacle(error: GpuFleetError) -> Object:
    """The result in check mode where something is missing that earlier tasks would have made.

    :raises GpuFleetError: the error itself where that isn't so.
    """
    if error.code not in _NOT_YET_THERE:
        raise error
    empty: Object = {"nodes": [], "findings": [], "summary": [], "would_create": []}
    return {**empty, "passed": None, "obstacle": {"message": str(error), **error.as_failure()}}


def _settings(plan: ValidationPlan) -> Object:
    return {
        "run_id": plan.run.run_id,
        "namespace": plan.run.namespace,
        "image": plan.run.image,
        "runtime_class": {"name": plan.choice.name, "reason": plan.choice.reason},
    }
