# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The objects that a validation creates."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.targets import Target

Object = t.Dict[str, t.Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gpufleet"
RUN_LABEL = "gpufleet.io/run"
TARGET_LABEL = "gpufleet.io/target"
CHECK_LABEL = "gpufleet.io/check"
NODE_ANNOTATION = "gpufleet.io/node"

INSPECT = "inspect"
CUDA = "cuda"

# Any id but root's: NVIDIA's device files are open to all.
_USER = 65532
_CPU, _MEMORY = "250m", "1Gi"
# A pod that is deleted while it runs has nothing to save.
_GRACE_S = 5
# A job that a killed run left behind goes away by itself after this time.
_JOB_TTL_S = 600
# UUID, product, driver version and MIG devices in one call.
_INSPECTION = ["nvidia-smi", "-q", "-x"]


class Run(t.NamedTuple):
    """What all objects of a validation have in common.

    :param run_id: unique to this validation.
    :param runtime_class: ``None`` for pods that name none.
    :param timeout_s: after which the kubelet and the Job controller end what still runs.
    """

    run_id: str
    namespace: str
    image: str
    runtime_class: t.Optional[str]
    timeout_s: int


def namespace_object(run: Run) -> Object:
    """A namespace that admits only pods without privileges. By its run label, validations know one of theirs, which the last of them removes."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": run.namespace, "labels": {MANAGED_BY: MANAGER, RUN_LABEL: run.run_id, **levels}}}


def inspection_pod(run: Run, target: Target, index: int) -> Object:
    """A pod that holds the target's GPUs and lists what it sees."""
    spec = _pod_spec(run, target, INSPECT, target.gpus, _INSPECTION)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(run, target, INSPECT, index),
        "spec": {**spec, "activeDeadlineSeconds": run.timeout_s},
    }


def cuda_job(run: Run, target: Target, index: int) -> Object:
    """A job that computes on one of the target's GPUs with the image's own command."""
    metadata = _metadata(run, target, CUDA, index)
    template = {key: metadata[key] for key in ("labels", "annotations")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": run.timeout_s,
            "ttlSecondsAfterFinished": _JOB_TTL_S,
            "template": {"metadata": template, "spec": _pod_spec(run, target, CUDA, 1, None)},
        },
    }


def _metadata(run: Run, target: Target, check: str, index: int) -> Object:
    return {
        "name": f"{check}-{run.run_id}-{index}",
        "namespace": run.namespace,
        "labels": {MANAGED_BY: MANAGER, RUN_LABEL: run.run_id, TARGET_LABEL: str(index), CHECK_LABEL: check},
        # A node's name may be longer than a label's value.
        "annotations": {NODE_ANNOTATION: target.name},
    }


def _pod_spec(run: Run, target: Target, check: str, count: int, command: t.Optional[t.List[str]]) -> Object:
    amounts = {"cpu": _CPU, "memory": _MEMORY, str(target.resource): str(count)}
    container: Object = {
        "name": check,
        "image": run.image,
        # The image decides what the runtime injects: without it, a node could fail for the image's sake.
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}],
        "resources": {"requests": amounts, "limits": amounts},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
    }
    if command:
        container["command"] = command
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_S,
        "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": _only_on(target.name),
        "tolerations": list(target.tolerations),
        "containers": [container],
    }
    if run.runtime_class:
        spec["runtimeClassName"] = run.runtime_class
    return spec


def _only_on(node: str) -> Object:
    """By the node's name, through the scheduler: spec.nodeName would go past quota of the node's devices and past its explanations."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
