# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Packages from the lines that dpkg-query or rpm gave."""

from __future__ import annotations

import re
import typing as t

# dpkg's third and second state letter: files unpacked, half configured, triggers outstanding ... (dpkg-query(1), Status-Abbrev)
_INSTALLED = "i"
_INTERRUPTED = frozenset("UFHWt")
# "ii  nvidia-smi     525.85.12-1  amd64  NVIDIA System Management Interface", and a name behind which an architecture may stand.
_DPKG_LINE = re.compile(r"^([uihrp][ncHUFWti]R?)\s+([a-z0-9][\w.+-]+)(?::\w+)?\s+(\d\S*)(?:\s|$)")
_RPM_LINE = re.compile(r"^([A-Za-z0-9][\w.+-]*)-(\d[\w.+~^]*-[\w.+~^]+)\.(?:x86_64|aarch64|noarch)$")
_TOOLKIT = frozenset(("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1"))
_RUNTIME = re.compile(r"^(?:containerd|runc)")
_DRIVER = re.compile(
    r"^(?:nvidia-(?:open|driver|kernel|dkms|headless|utils|compute|smi|persistenced|modprobe|alternative|fabric-?manager|imex)"
    r"|cuda-drivers|kmod-nvidia|linux-modules-nvidia|libcuda1|libnvidia-(?!container)|xserver-xorg-video-nvidia)"
)
# Whose version is the driver's, the kernel module's first. linux-modules-nvidia-* carries the kernel's version instead.
_MODULE_PACKAGES = re.compile(
    r"^(?:nvidia-kernel-open-dkms|nvidia-kernel-dkms|nvidia-dkms-|kmod-nvidia|nvidia-open$|nvidia-open-\d|nvidia-driver(?:-\d|$)|cuda-drivers)"
)
_LIBRARY_PACKAGES = re.compile(r"^(?:libnvidia-ml1|libnvidia-compute|nvidia-driver-cuda(?:-libs)?$|nvidia-smi$|nvidia-utils|libcuda1)")
_PREFERRED = ("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "nvidia-dkms-", "kmod-nvidia")


class Package(t.NamedTuple):
    """A package that the package manager knows and hasn't forgotten.

    :param status: dpkg's two letters, want and state; a hold is in ``held`` instead: ``ii`` installed, ``iF`` half configured.
    """

    name: str
    version: str
    status: str
    held: bool

    @property
    def installed(self) -> bool:
        return self.status[1:2] == _INSTALLED

    @property
    def interrupted(self) -> bool:
        return self.status[1:2] in _INTERRUPTED or len(self.status) > 2

    def as_fact(self) -> dict[str, t.Any]:
        return self._asdict()


def parse(text: str) -> list[Package]:
    """Packages from lines of status, name, version and architecture, apart by tabs; those that are gone are left out.

    What people paste is read, too: ``dpkg -l`` and ``rpm -qa``.
    """
    found = []
    for line in text.splitlines():
        columns = _columns(line)
        if len(columns) >= 3 and len(columns[0]) >= 2 and columns[0][1] not in "nc":
            status = columns[0].strip()
            held = status[0] == "h"
            found.append(Package(columns[1], columns[2], "i" + status[1:] if held else status, held))
    return sorted(set(found))


def _columns(line: str) -> list[str]:
    if "\t" in line:
        return line.split("\t")
    listed = _DPKG_LINE.match(line)
    if listed:
        return list(listed.groups())
    queried = _RPM_LINE.match(line.strip())
    return ["ii", *queried.groups()] if queried else []


def driver(packages: t.Sequence[Package]) -> list[Package]:
    return [package for package in packages if _DRIVER.match(package.name)]


def toolkit(packages: t.Sequence[Package]) -> list[Package]:
    return [package for package in packages if package.name in _TOOLKIT]


def runtime(packages: t.Sequence[Package]) -> list[Package]:
    return [package for package in packages if _RUNTIME.match(package.name)]


def module_version(packages: t.Sequence[Package]) -> str | None:
    """The driver version that the packages of the kernel module have, ``None`` where none is installed."""
    candidates = [package for package in packages if package.installed and _MODULE_PACKAGES.match(package.name)]
    candidates.sort(key=lambda package: not package.name.startswith(_PREFERRED))
    return upstream(candidates[0].version) if candidates else None


def library_version(packages: t.Sequence[Package]) -> str | None:
    """The driver version that the packages of the user space have, ``None`` where none is installed."""
    candidates = [package for package in packages if package.installed and _LIBRARY_PACKAGES.match(package.name)]
    return upstream(candidates[0].version) if candidates else None


def upstream(version: str) -> str:
    """A package's version without epoch and revision: ``2:580.159.04-1`` gives ``580.159.04``."""
    return version.rpartition(":")[2].partition("-")[0].partition("~")[0]
