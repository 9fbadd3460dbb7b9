# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a pod's containers: their images, their ends, their logs."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.driver_image import parse_driver_image
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import STARTING, ContainerState, bound_node, container_states, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import LONGEST, text_finding

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_PULL_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError")
# Wordings of a pull that failed for another reason than that the image doesn't exist.
_NOT_ABSENT = re.compile(
    r"unauthorized|forbidden|denied|authorization failed|no such host|i/o timeout|connection refused|x509|TLS handshake|toomanyrequests|no space left", re.I
)
_OUT_OF_MEMORY = "OOMKilled"
_CRASH_LOOP = "CrashLoopBackOff"
_SIGNAL_BASE = 128

# What nvidia-smi's exit code says. Source: nvidia-smi(1), section return value.
_NVIDIA_SMI = "nvidia-smi"
_SMI_CODES = {
    6: ("NoGpuBoundToDriver", "the driver has no device for it"),
    9: ("DriverNotLoaded", "the driver isn't loaded on the node"),
    12: ("ToolkitNotInjecting", "NVML's library isn't in the container"),
    15: ("GpuFallenOffBus", "the GPU fell off the bus"),
}


def container_findings(pod: Object, messages: t.Sequence[str] = ()) -> Findings:
    """What the states of containers say by themselves: fields first, then exit codes, then known texts.

    :param messages: of the pod's events: why a pull failed stands in full only there.
    """
    return [item for state in _telling(pod) for item in [_of_state(pod, state, messages)] if item]


def log_findings(pod: Object, log: t.Optional[str]) -> Findings:
    """What a container's log says, where it says something known."""
    namespace, name = pod_key(pod)
    found = text_finding(log, where=f"log of {namespace}/{name}", kind="pod", name=name, namespace=namespace, node=bound_node(pod))
    return [found] if found else []


def failed_findings(pod: Object, log: t.Optional[str] = None) -> Findings:
    """Containers that failed for no known reason, with their last words, and those that end well and are started again and again.

    :param log: of the container that ended, if it is known.
    """
    telling = _telling(pod)
    looping = {state.name for state in telling if state.state == "waiting" and state.reason == _CRASH_LOOP}
    ended_well = [state for state in telling if state.previous and state.exit_code == 0 and state.name in looping]
    return [_failed(pod, state, log) for state in telling if _has_failed(state)] + [_repeats(pod, state) for state in ended_well]


def _repeats(pod: Object, state: ContainerState) -> Object:
    found = _about(pod, state, "ContainerFailed", f"ends with exit code 0 and is started again and again ({_CRASH_LOOP})")
    return {**found, "severity": WARNING, "next_step": "Make it a Job, whose pods may end, or run a program that keeps running."}


def _telling(pod: Object) -> t.List[ContainerState]:
    """States that tell of trouble now: how a container ended before counts while it waits to be started again."""
    states = container_states(pod)
    waiting = {state.name for state in states if state.state == "waiting" and not state.previous}
    return [state for state in states if state.state != "running" and (not state.previous or state.name in waiting)]


def _of_state(pod: Object, state: ContainerState, messages: t.Sequence[str]) -> t.Optional[Object]:
    namespace, name = pod_key(pod)
    if state.state == "waiting" and state.reason in _PULL_REASONS:
        return _image(pod, state, messages)
    if state.reason == _OUT_OF_MEMORY:
        return _about(pod, state, "ContainerOutOfMemory", f"was ended by the kernel for want of host memory ({_OUT_OF_MEMORY})")
    if state.program == _NVIDIA_SMI and state.exit_code in _SMI_CODES:
        code, meaning = _SMI_CODES[state.exit_code]
        return _about(pod, state, code, f"ended with nvidia-smi's exit code {state.exit_code}: {meaning}")
    return text_finding(state.message, where=_where(pod, state), kind="pod", name=name, namespace=namespace, node=bound_node(pod))


def _image(pod: Object, state: ContainerState, messages: t.Sequence[str]) -> Object:
    shown = state.message or state.reason
    driver = parse_driver_image(state.image)
    if driver and not any(_NOT_ABSENT.search(message) for message in (state.message, *messages)):
        kernel = f"kernel {driver.kernel}" if driver.kernel else "no kernel"
        system = driver.os or "an operating system that its tag lacks"
        summary = f"finds no image of driver {driver.version} for {system} with {kernel} in the tag: {state.image}"
        return _about(pod, state, "DriverImageNotFound", summary, shown)
    return _about(pod, state, "ImagePullFailed", f"can't get the image {state.image or '(unknown)'} ({state.reason})", shown)


def _has_failed(state: ContainerState) -> bool:
    if state.state == "terminated":
        return state.exit_code not in (0, None)
    return state.state == "waiting" and state.reason not in (*STARTING, *_PULL_REASONS, _CRASH_LOOP)


def _failed(pod: Object, state: ContainerState, log: t.Optional[str]) -> Object:
    words = state.message.strip() or _last_line(log)
    said = f", its last words: {words[:LONGEST]!r}" if words else ""
    if state.exit_code is None:
        return _about(pod, state, "ContainerFailed", f"can't start ({state.reason}){said}", words)
    signal = f", signal {state.exit_code - _SIGNAL_BASE}" if _SIGNAL_BASE < state.exit_code < _SIGNAL_BASE + 64 else ""
    return _about(pod, state, "ContainerFailed", f"ended with exit code {state.exit_code} ({state.reason or 'no reason given'}{signal}){said}", words)


def _last_line(log: t.Optional[str]) -> str:
    return next((line.strip() for line in reversed((log or "").splitlines()) if line.strip()), "")


def _where(pod: Object, state: ContainerState) -> str:
    namespace, name = pod_key(pod)
    return f"container {state.name} of {namespace}/{name}" + (", before its last restart" if state.previous else "")


def _about(pod: Object, state: ContainerState, code: str, summary: str, shown: str = "") -> Object:
    namespace, name = pod_key(pod)
    restarts = f" after {state.restarts} restarts" if state.restarts else ""
    evidence = [seen(_where(pod, state), (shown or state.message or f"{state.state}: {state.reason}, exit code {state.exit_code}")[:LONGEST])]
    sentence = f"Pod {name}: container {state.name} {summary}{restarts}."
    return finding(code, kind="pod", name=name, namespace=namespace, summary=sentence, evidence=evidence, severity="error")
