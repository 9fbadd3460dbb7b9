# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Whether a pod reaches GPUs that it wasn't given."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import (
    containers,
    environment,
    mount_paths,
    owner,
    pod_annotations,
    pod_key,
    privileged_containers,
)
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import INFO, WARNING, finding, seen

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
# Values by which a container gets no device.
_NONE = ("", "none", "void")
_MOUNT = "/var/run/nvidia-container-devices"
_CDI_ANNOTATION = "cdi.k8s.io/"
# Controllers of the node's own agents, which see its GPUs on purpose.
_AGENTS = ("DaemonSet", "Node")
# Lines of `nvidia-smi -L`.
_LISTED = re.compile(r"^\s*(?:GPU \d+|MIG \S+ +Device +\d+): .*\(UUID: (?P<uuid>(?P<kind>GPU|MIG)-[\w/-]+)\)", re.M)


def isolation_findings(pod: Object, seen_gpus: int, asked: int) -> Findings:
    """Whether a pod sees exactly the devices that it asked for.

    :param seen_gpus: devices that the pod's nvidia-smi listed.
    """
    namespace, name = pod_key(pod)
    privileged = privileged_containers(pod)
    about: Object = {"kind": "pod", "name": name, "namespace": namespace, "evidence": [seen(f"nvidia-smi in {namespace}/{name}", f"{seen_gpus} devices")]}
    if privileged:
        summary = f"Pod {name} is privileged ({', '.join(privileged)}) and sees {seen_gpus} devices; it asked for {asked}."
        return [finding("PrivilegedPod", summary=summary, **about)]
    if seen_gpus > asked:
        return [finding("GpuIsolationBypass", summary=f"Pod {name} sees {seen_gpus} devices and asked for {asked}.", severity="error", **about)]
    if seen_gpus < asked:
        return [finding("GpuCountMismatch", summary=f"Pod {name} sees {seen_gpus} devices and asked for {asked}.", **about)]
    return []


def reach_findings(pod: Object, log: t.Optional[str]) -> Findings:
    """Whether a pod sees more than it asked for, by its log; else whether its specification tries to.

    :param log: of its GPU container; what ``nvidia-smi -L`` printed there proves what it sees.
    """
    asked = sum(gpu_requests(pod).values())
    listed = listed_devices(log)
    if listed:
        return isolation_findings(pod, listed, asked) if listed > asked else []
    if privileged_containers(pod):
        return [_privileged(pod, asked)] if asked else []
    ways = [] if owner(pod)[0] in _AGENTS else list(_ways(pod))
    if not ways:
        return []
    namespace, name = pod_key(pod)
    has = f"asks for {asked} GPUs and may take others" if asked else "asks for no GPU and takes some"
    summary = f"Pod {name} {has}: {', '.join(ways)}."
    evidence = [seen(f"specification of {namespace}/{name}", way) for way in ways]
    severity = INFO if asked else WARNING
    return [finding("GpuIsolationBypass", kind="pod", name=name, namespace=namespace, summary=summary, evidence=evidence, severity=severity)]


def listed_devices(log: t.Optional[str]) -> int:
    """Devices that ``nvidia-smi -L`` listed in a log; MIG devices count in the place of the GPUs that they are part of."""
    found = {match.group("uuid"): match.group("kind") for match in _LISTED.finditer(log or "")}
    kinds = list(found.values())
    return kinds.count("MIG") or kinds.count("GPU")


def _ways(pod: Object) -> t.Iterator[str]:
    for container in containers(pod):
        name = text(container.get("name"))
        value = environment(container).get(_VARIABLE, "")
        if value not in _NONE:
            yield f"{_VARIABLE}={value} in container {name}"
        if any(path.startswith(_MOUNT) for path in mount_paths(container)):
            yield f"a mount below {_MOUNT} in container {name}"
    for key, value in pod_annotations(pod).items():
        if key.startswith(_CDI_ANNOTATION) and "nvidia" in value:
            yield f"annotation {key}: {value}"


def _privileged(pod: Object, asked: int) -> Object:
    namespace, name = pod_key(pod)
    found = ", ".join(privileged_containers(pod))
    evidence = [seen(f"specification of {namespace}/{name}", f"securityContext.privileged: true in {found}")]
    summary = f"Pod {name} is privileged ({found}), so that it sees every GPU of its node; it asked for {asked}."
    return finding("PrivilegedPod", kind="pod", name=name, namespace=namespace, summary=summary, evidence=evidence)
