# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Texts of other programs, and the finding codes that they mean.

Texts are the last resort: a field or an exit code goes first where one exists. Wordings were read from public reports and from
a real node (tests/unit/cases); they differ between versions, so each pattern keeps to the part that carries the meaning.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen

# A line of evidence that is longer is cut: some runtimes repeat themselves for pages.
_LONGEST = 600


class Recognised(t.NamedTuple):
    """A text whose meaning is known.

    :param summary: what it says, with the values found in it, without naming whom it concerns.
    """

    code: str
    summary: str
    values: t.Dict[str, str]
    text: str


# Said by the API server when it refuses to create an object.
REFUSALS = (
    (
        "QuotaExceeded",
        r"exceeded quota: (?P<quota>[^,]+), requested: (?P<requested>.+?), used: (?P<used>.+?), limited: (?P<hard>\S+)",
        "quota {quota} is used up: {requested} requested, {used} used of {hard}",
    ),
    ("QuotaRequiresRequests", r"failed quota: (?P<quota>[^:]+): must specify (?P<missing>[^\n]+)", "quota {quota} demands {missing}"),
    ("PodSecurityViolation", r"violates PodSecurity \"(?P<level>[^\"]+)\": (?P<violations>[^\n]+)", "Pod Security level {level} refuses {violations}"),
    ("AdmissionWebhookDenied", r"admission webhook \"(?P<webhook>[^\"]+)\" denied the request: ?(?P<reason>[^\n]*)", "webhook {webhook} refused it: {reason}"),
    (
        "AdmissionWebhookDenied",
        r"ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding .+? denied request: ?(?P<reason>[^\n]*)",
        "policy {policy} refused it: {reason}",
    ),
    ("RuntimeClassMissing", r"RuntimeClass \"(?P<runtime_class>[^\"]+)\" not found", "RuntimeClass {runtime_class} doesn't exist"),
)

# Said by the kubelet when it refuses a pod that the scheduler gave it.
KUBELET_ADMISSION = (
    (
        "SharedRequestTooLarge",
        r"maximum request size for shared resources is (?P<most>\d+); found (?P<asked>\d+)",
        "{asked} replicas of a shared GPU asked for, {most} allowed",
    ),
    ("DeviceUnhealthy", r"cannot allocate unhealthy devices (?P<resource>[^\s,]+)", "no healthy {resource} left on the node"),
    (
        "DeviceUnavailable",
        r"devices unavailable for (?P<resource>\S+?)\. Requested: (?P<requested>\d+), Available: (?P<available>\d+)",
        "{requested} {resource} asked for, {available} available to the kubelet",
    ),
)

# Said by the container runtime and by what it calls.
CONTAINER_START = (
    ("RuntimeHandlerMissing", r"no runtime for \"(?P<handler>[^\"]*)\" is configured", "the node's container runtime has no handler {handler}"),
    ("RuntimeHandlerMissing", r"failed to find runtime handler (?P<handler>\S+) from runtime list", "the node's container runtime has no handler {handler}"),
    (
        "ToolkitNotInstalled",
        r"exec:? \"?(?P<binary>\S*nvidia-container-runtime[\w.-]*)\"?: .*no(?:t found| such file)",
        "the runtime binary {binary} isn't on the node",
    ),
    ("CdiDeviceUnresolvable", r"unresolvable CDI devices (?P<devices>[^:\n]+)", "no CDI specification on the node names {devices}"),
    ("CdiSpecStale", r"failed to fulfil mount request: open (?P<path>\S+): no such file", "the CDI specification mounts {path}, which the node doesn't have"),
    ("ToolkitNotInjecting", r"exec: \"?(?P<program>nvidia-smi)\"?: executable file not found", "{program} isn't in the container"),
)

# Said by NVIDIA's libraries and tools, through the runtime's error or in a container's log.
DRIVER_AND_CUDA = (
    ("DriverLibraryMismatch", r"[Dd]river/library version mismatch", "driver module and user-space libraries have different versions"),
    ("DriverNotLoaded", r"nvml error: driver not loaded|couldn't communicate with the NVIDIA driver", "the driver isn't loaded on the node"),
    ("ContainerLostGpu", r"Failed to initialize NVML: Unknown Error", "the container can no longer open its GPU"),
    ("ToolkitNotInjecting", r"libnvidia-ml\.so(?:\.1)?|ERROR_LIBRARY_NOT_FOUND", "the driver's libraries aren't in the container"),
    ("FabricManagerNotReady", r"system not yet initialized", "CUDA waits for the NVLink fabric"),
    ("ImageNeedsNewerDriver", r"unsatisfied condition: cuda ?>= ?(?P<cuda>[\d.]+)", "the image needs a driver for CUDA {cuda}"),
    ("DriverTooOldOrNotInjected", r"CUDA driver version is insufficient for CUDA runtime version", "CUDA found no driver or one that is too old for the image"),
    ("CudaNoDevice", r"no CUDA-capable device is detected", "CUDA sees no device"),
    ("CudaDeviceBusy", r"all CUDA-capable devices are busy or unavailable", "CUDA can't open the GPU: another process has it"),
    ("GpuLost", r"GPU is lost", "the driver lost the GPU"),
    ("NoGpuBoundToDriver", r"No devices were found", "the driver answers and has no device"),
)

_RULES = tuple(
    (code, re.compile(pattern), summary) for code, pattern, summary in REFUSALS + KUBELET_ADMISSION + CONTAINER_START + DRIVER_AND_CUDA
)


def recognise(text: t.Optional[str]) -> t.Optional[Recognised]:
    """What a text means.

    :param text: an error, an event's message or a whole log.
    :return: ``None`` where no known wording occurs.
    """
    if not text:
        return None
    for code, pattern, summary in _RULES:
        match = pattern.search(text)
        if match:
            values = {name: value.strip() for name, value in match.groupdict().items() if value is not None}
            return Recognised(code, summary.format(**values), values, _line_around(text, match.start(), match.end()))
    return None


def text_finding(text: t.Optional[str], *, where: str, kind: str, name: str, namespace: t.Optional[str] = None) -> t.Optional[t.Dict[str, t.Any]]:
    """The finding that a text stands for, ``None`` where it means nothing known.

    :param where: where the text was read.
    """
    known = recognise(text)
    if known is None:
        return None
    summary = f"{kind.capitalize()} {name}: {known.summary}."
    evidence = [seen(where, known.text)]
    return finding(known.code, kind=kind, name=name, namespace=namespace, summary=summary, evidence=evidence, severity="error")


def _line_around(text: str, start: int, end: int) -> str:
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[first : len(text) if last < 0 else last].strip()[:_LONGEST]
