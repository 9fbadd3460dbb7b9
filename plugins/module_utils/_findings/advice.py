# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What to do next about a finding, where the pod's own fields tell it more precisely."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import text

Object = t.Dict[str, t.Any]


def _asks_for_none(pod: Object) -> bool:
    return not gpu_requests(pod)


def _has_no_class(pod: Object) -> bool:
    return not text(pod_spec(pod).get("runtimeClassName"))


def _always(_pod: Object) -> bool:
    return True


# Code, whether it applies to the pod, and the step; the first that applies is taken.
_STEPS: t.Tuple[t.Tuple[str, t.Callable[[Object], bool], str], ...] = (
    ("ToolkitNotInjecting", _asks_for_none, "The pod asks for no GPU, so that it got none: set the limit nvidia.com/gpu on the container."),
    ("ToolkitNotInjecting", _has_no_class, "Give the pod runtimeClassName: nvidia, unless nvidia is the node's default runtime or the plugin uses cdi-cri."),
    (
        "ToolkitNotInjecting",
        _always,
        "The pod has a runtime class: check on the node that the toolkit may inject (accept-nvidia-visible-devices-envvar-when-unprivileged) "
        "and that NVIDIA_DRIVER_CAPABILITIES holds utility.",
    ),
    ("DriverTooOldOrNotInjected", _asks_for_none, "The pod asks for no GPU, so that it got no driver: set the limit nvidia.com/gpu on the container."),
    (
        "DriverTooOldOrNotInjected",
        _has_no_class,
        "Give the pod runtimeClassName: nvidia, unless nvidia is the node's default runtime or the plugin uses cdi-cri; else compare the driver's version.",
    ),
    (
        "DriverTooOldOrNotInjected",
        _always,
        "The pod has a runtime class: compare the driver's CUDA version (nvidia-smi) with the image's, and check that the image has "
        "libdl, librt, libpthread and libm, without which the driver's library can't be loaded.",
    ),
)


# Agents of a node need what a level forbids; for other pods the pod is what should change.
_AGENT = "DaemonSet"
_LABEL_NAMESPACE = "The pods of a node's agent need this: `kubectl label namespace {namespace} pod-security.kubernetes.io/enforce=privileged`."


def advised_owner(kind: str, namespace: str, item: Object) -> Object:
    """The finding on what makes pods, with a next step that fits its kind."""
    if kind == _AGENT and item["code"] == "PodSecurityViolation":
        return {**item, "next_step": _LABEL_NAMESPACE.format(namespace=namespace)}
    return item


def advised(pod: Object, item: Object) -> Object:
    """The finding, with a next step that fits the pod."""
    step = next((step for code, applies, step in _STEPS if code == item["code"] and applies(pod)), None)
    return {**item, "next_step": step} if step else item
