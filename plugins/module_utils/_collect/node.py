# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One pass over a node: raw evidence, nothing judged, nothing changed."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import runtimes
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

SCHEMA = 1
SUBSETS = ("platform", "pci", "driver", "gpus", "runtimes", "toolkit")

_PCI = "/sys/bus/pci/devices"
_NVIDIA = "0x10de"
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_DRIVER_PRESENT = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl-gpu")
_LIBRARY = "libnvidia-ml.so.1"
_LIBRARY_FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/nvidia/driver/usr/lib/*-linux-gnu")

_PLATFORM_FILES = ("/etc/os-release", "/etc/nv_tegra_release", "/sys/devices/soc0/family", "/proc/cpuinfo")
_DRIVER_FILES = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")

_PATTERNS = ("nvidia*", "libnvidia*", "cuda-drivers*", "libcuda1", "linux-modules-nvidia*", "kmod-nvidia*", "xserver-xorg-video-nvidia*", "containerd*")
_DPKG = ("dpkg-query", "-W", "-f", r"${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n")
# The same columns, and `ii`, since rpm has no half-installed state.
_RPM = ("rpm", "-qa", "--qf", r"ii \t%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n")


def collect(host: Host, gather: t.Collection[str], timeout: float) -> dict[str, t.Any]:
    """Look once at a node.

    :param host: the machine.
    :param gather: of ``SUBSETS``, those whose facts are wanted.
    :param timeout: seconds for the commands together, and again for the container runtime's answer.
    :return: the evidence, JSON-able; what could not be read is in its ``collector_errors``.
    """
    return _Collector(host, frozenset(gather), timeout).evidence()


class _Collector:
    def __init__(self, host: Host, gather: frozenset[str], timeout: float) -> None:
        self._host = host
        self._gather = gather
        self._timeout = timeout
        self._reader = Reader(host)

    def evidence(self) -> dict[str, t.Any]:
        self._reader.read_all(_PLATFORM_FILES + _DRIVER_FILES)
        runtime: dict[str, t.Any] = {"runtime": None, "cri": None}
        commands = self._commands()
        if "runtimes" in self._gather:
            runtime, more = runtimes.observe(self._host, self._reader, self._timeout)
            commands.update(more)
        # The commands run while the rest is read.
        running = {name: self._host.start(argv) for name, argv in commands.items()}
        evidence = {
            "schema": SCHEMA,
            "host": self._about(),
            "pci": self._pci(),
            "modules": self._module_files(),
            "libraries": self._libraries(),
            **runtime,
        }
        finished = self._host.finish(running, self._timeout)
        return {**evidence, "files": self._reader.files, "commands": finished, "collector_errors": self._reader.errors}

    def _commands(self) -> dict[str, t.Sequence[str]]:
        """What to run: no program twice, and none that would load the driver."""
        wanted = self._gather
        commands: dict[str, t.Sequence[str]] = {}
        if wanted & {"driver", "gpus"} and any(self._host.exists(path) for path in _DRIVER_PRESENT):
            commands["nvidia_smi_xml"] = ("nvidia-smi", "-q", "-x")
        if wanted & {"driver", "toolkit", "runtimes"}:
            commands["packages"] = _DPKG + _PATTERNS if self._host.which("dpkg-query") else _RPM + _PATTERNS
        if "toolkit" in wanted and self._host.which("nvidia-ctk"):
            commands["nvidia_ctk_version"] = ("nvidia-ctk", "--version")
        return commands

    def _about(self) -> dict[str, t.Any]:
        uname = self._host.uname()
        uptime = self._host.read_line("/proc/uptime") or ""
        return {
            "hostname": uname.nodename,
            "kernel": self._host.read_line("/proc/sys/kernel/osrelease") or uname.release,
            "machine": uname.machine,
            "boot_id": self._host.read_line("/proc/sys/kernel/random/boot_id"),
            "uptime_s": int(uptime.partition(".")[0]) if uptime[:1].isdigit() else None,
            "secure_boot": self._secure_boot(),
            "reboot_required": self._host.exists("/run/reboot-required"),
            "wsl": self._host.exists("/dev/dxg"),
        }

    def _secure_boot(self) -> bool | None:
        try:
            return self._host.read_bytes(_SECURE_BOOT)[-1:] == b"\x01"
        except OSError:
            return None

    def _pci(self) -> list[dict[str, t.Any]] | None:
        if not self._host.exists(_PCI):
            self._reader.error(_PCI, "not there: this kernel or container shows no PCI bus")
            return None
        return [self._function(address) for address in self._host.listdir(_PCI) if self._host.read_line(f"{_PCI}/{address}/vendor") == _NVIDIA]

    def _function(self, address: str) -> dict[str, t.Any]:
        folder = f"{_PCI}/{address}"
        return {
            "address": address,
            "vendor": _NVIDIA,
            "device": self._host.read_line(f"{folder}/device"),
            "class": self._host.read_line(f"{folder}/class"),
            "driver": self._host.readlink(f"{folder}/driver"),
        }

    def _module_files(self) -> list[str]:
        """The files of NVIDIA's module that the running kernel would load, relative to its module directory."""
        listing = f"/lib/modules/{self._host.read_line('/proc/sys/kernel/osrelease')}/modules.dep"
        try:
            text = self._host.read_bytes(listing, 8 * 1024 * 1024).decode("utf-8", "replace")
        except OSError:
            return []
        return re.findall(r"^(\S*/nvidia\.ko\S*):", text, re.MULTILINE)

    def _libraries(self) -> list[dict[str, str]]:
        """Where NVML's library is and the versioned file that it leads to."""
        found = [path for folder in _LIBRARY_FOLDERS for path in self._host.glob(f"{folder}/{_LIBRARY}")]
        return [{"path": path, "target": self._host.readlink(path) or ""} for path in found]
