# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the container runtime says, and the toolkit that it calls."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.wording import Wording

_NO_HANDLER = "the node's container runtime has no handler {handler}"
_NO_BINARY = "the toolkit's program {binary} isn't on the node"
_STALE = "the CDI specification names {path}, which the node doesn't have"

SAID_BY_RUNTIME = (
    Wording("RuntimeHandlerMissing", r"no runtime for \"(?P<handler>[^\"\n]*)\" is configured", _NO_HANDLER),
    Wording("RuntimeHandlerMissing", r"failed to find runtime handler (?P<handler>\S+) from runtime list", _NO_HANDLER),
    Wording("RuntimeHandlerMissing", r"unknown or invalid runtime name: (?P<handler>[\w.-]*[\w-])", _NO_HANDLER, since="Docker 23"),
    Wording("RuntimeHandlerMissing", r"Unknown runtime specified (?P<handler>[\w.-]*[\w-])", _NO_HANDLER, until="Docker 20.10"),
    Wording("ToolkitNotInstalled", r"exec:? \"?(?P<binary>\S*nvidia-(?:container-runtime|ctk|cdi-hook)[\w.-]*)\"?: [^\n]*no(?:t found| such file)", _NO_BINARY),
    Wording("ToolkitNotInstalled", r"could not select device driver \"[^\"\n]*\" with capabilities: \[\[gpu\]\]", "Docker finds no NVIDIA toolkit on the node"),
    Wording("CdiDeviceUnresolvable", r"unresolvable CDI devices (?P<devices>[^:\n]+)", "no CDI specification on the node names {devices}"),
    Wording("CdiSpecStale", r"failed to fulfil mount request: open (?P<path>\S+): no such file", _STALE),
    Wording("CdiSpecStale", r"error mounting \"(?P<path>[^\"\n]*(?:nvidia|cuda)[^\"\n]*)\" to rootfs[^\n]*no such file", _STALE),
    Wording("CdiSpecStale", r"adding custom device \"(?P<path>/dev/nvidia[^\"\n]*)\": no such file", _STALE),
    Wording("CdiSpecInvalid", r"(?:invalid CDI Spec|failed to (?:parse|validate|load) CDI Spec)(?P<reason>[^\n]*)", "a CDI specification is invalid{reason}"),
    Wording(
        "EnvVarDevicesNotAllowed",
        r"insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES",
        "the toolkit lets no unprivileged container choose its GPUs by NVIDIA_VISIBLE_DEVICES",
    ),
    Wording(
        "DriverRootMismatch",
        r"lstat (?P<path>/run/nvidia/driver/\S+): no such file",
        "the driver isn't below the root where it was looked for: {path} is missing",
    ),
    Wording("CgroupDriverMismatch", r"expected cgroupsPath to be of format", "the handler's cgroup driver isn't the kubelet's"),
    Wording(
        "CriPluginDisabled",
        r"unknown service runtime\.v1(?:alpha2)?\.RuntimeService|CRI v1 runtime API is not implemented",
        "the container runtime answers without its CRI plugin",
    ),
    # The kubelet also looks for the sockets of runtimes that nobody installed, and says so in other words.
    Wording(
        "RuntimeNotRunning",
        r"Error while dialing:? dial unix (?P<socket>\S+\.sock): connect: (?P<reason>no such file or directory|connection refused)",
        "nothing answers on {socket} ({reason})",
    ),
    Wording(
        "ConfigInvalid",
        r"containerd: failed to (?:unmarshal|load) TOML[^\n:]*: (?P<reason>[^\n]+)",
        "containerd can't read its configuration: {reason}",
    ),
    Wording("ToolkitNotInjecting", r"exec: \"?(?P<program>nvidia-smi)\"?: executable file not found", "{program} isn't in the container"),
)
