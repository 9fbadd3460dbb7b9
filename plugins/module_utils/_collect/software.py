# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The commands that tell what is installed and which services run; none that would load the driver."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host

Commands = t.Dict[str, t.Sequence[str]]

_PATTERNS = (
    "nvidia*", "libnvidia*", "cuda-drivers*", "libcuda1", "linux-modules-nvidia*", "kmod-nvidia*", "xserver-xorg-video-nvidia*",
    "containerd*", "docker-ce", "docker.io", "moby-engine", "cri-o*",
)
_DPKG = ("dpkg-query", "-W", "-f", r"${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n")
# The same columns, and `ii`, since rpm has no half-installed state.
_RPM = ("rpm", "-qa", "--qf", r"ii \t%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n")

_SERVICES = ("nvidia-persistenced", "nvidia-fabricmanager", "nvidia-imex", "nvidia-cdi-refresh", "nvidia-gridd")
_SHOW = ("systemctl", "show", "--property=Id,LoadState,ActiveState,SubState,UnitFileState", *(f"{name}.service" for name in _SERVICES))


def commands(host: Host, wanted: t.AbstractSet[str]) -> Commands:
    """The commands that the wanted subsets need: no program twice, and none for what isn't there."""
    chosen: Commands = {}
    if wanted & {"driver", "toolkit", "runtimes"}:
        chosen["packages"] = _DPKG + _PATTERNS if host.which("dpkg-query") else _RPM + _PATTERNS
    if "toolkit" in wanted and host.which("nvidia-ctk"):
        chosen["nvidia_ctk_version"] = ("nvidia-ctk", "--version")
    if wanted & {"driver", "cdi"} and host.exists("/run/systemd/system"):
        chosen["services"] = _SHOW
    if "driver" in wanted and host.glob("/var/lib/dkms/nvidia*"):
        chosen["dkms_status"] = ("dkms", "status")
    return chosen
