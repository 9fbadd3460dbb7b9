# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One pass over a node: raw evidence, nothing judged, nothing changed."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cri
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import FILE_LIMIT, Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask

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
# Only the flags of the first processor are of interest; the file has them once for each.
_FILE_LIMITS = {"/proc/cpuinfo": 8 * 1024}
_FILES_LIMIT = 64

# Where containerd listens and what configures it, the kubelet's own before the host's: a node that has both runs pods on the former.
_CONTAINERD = (
    ("/run/k3s/containerd/containerd.sock", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"),
    ("/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/current/args/containerd.toml"),
    ("/run/k0s/containerd.sock", "/etc/k0s/containerd.toml"),
    ("/run/containerd/containerd.sock", "/etc/containerd/config.toml"),
)
_IMPORTS = re.compile(r"^\s*imports\s*=\s*\[(.*?)\]", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r""""([^"\n]+)"|'([^'\n]+)'""")

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
        self._files: dict[str, dict[str, t.Any]] = {}
        self._errors: list[dict[str, str]] = []
        self._left_out: str | None = None

    def evidence(self) -> dict[str, t.Any]:
        self._read_all(_PLATFORM_FILES + _DRIVER_FILES)
        runtime, answer = self._runtime()
        # The commands run while the rest is read.
        running = {name: self._host.start(argv) for name, argv in self._commands(runtime).items()}
        evidence = {
            "schema": SCHEMA,
            "host": self._about(),
            "pci": self._pci(),
            "modules": self._module_files(),
            "libraries": self._libraries(),
            "runtime": runtime,
            "cri": answer,
        }
        commands = self._host.finish(running, self._timeout)
        if self._left_out:
            self._error(self._left_out, f"left out, and maybe others: more than {_FILES_LIMIT} files")
        return {**evidence, "files": self._files, "commands": commands, "collector_errors": self._errors}

    def _commands(self, runtime: dict[str, t.Any] | None) -> dict[str, t.Sequence[str]]:
        """What to run: no program twice, and none that would load the driver."""
        wanted = self._gather
        commands: dict[str, t.Sequence[str]] = {}
        if wanted & {"driver", "gpus"} and any(self._host.exists(path) for path in _DRIVER_PRESENT):
            commands["nvidia_smi_xml"] = ("nvidia-smi", "-q", "-x")
        if wanted & {"driver", "toolkit", "runtimes"}:
            commands["packages"] = _DPKG + _PATTERNS if self._host.which("dpkg-query") else _RPM + _PATTERNS
        if "toolkit" in wanted and self._host.which("nvidia-ctk"):
            commands["nvidia_ctk_version"] = ("nvidia-ctk", "--version")
        if runtime and runtime["program"]:
            commands["containerd_config_dump"] = (runtime["program"], "--config", runtime["config"], "config", "dump")
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
            self._error(_PCI, "not there: this kernel or container shows no PCI bus")
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

    def _runtime(self) -> tuple[dict[str, t.Any] | None, dict[str, t.Any] | None]:
        """What is known of containerd without asking it, and its answer over the CRI; the files that may configure it are read."""
        if "runtimes" not in self._gather:
            return None, None
        socket, config = next((pair for pair in _CONTAINERD if self._host.exists(pair[0])), ("", _CONTAINERD[-1][1]))
        answer = cri.ask(self._host.path(socket), self._timeout) if socket else None
        if answer and answer["denied"]:
            self._error(socket, answer["error"])
        pid = answer["pid"] if answer else None
        arguments = self._arguments(pid) if pid else []
        config = _option(arguments, ("-c", "--config")) or config
        program = self._host.which("containerd") or (f"/proc/{pid}/exe" if pid else None)
        self._read(config)
        folder = config.rpartition("/")[0]
        patterns = [f"{folder}/*/*.toml", *self._imports(config, folder)]
        self._read_all([path for pattern in patterns for path in self._host.glob(pattern)])
        return {"config": config, "program": program, "arguments": arguments}, answer

    def _arguments(self, pid: int) -> list[str]:
        try:
            return self._host.read_bytes(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
        except OSError:
            return []

    def _imports(self, config: str, folder: str) -> list[str]:
        """The patterns of the ``imports`` in a file. Which of them count is decided where TOML can be parsed."""
        text = self._files.get(config, {}).get("text", "")
        quoted = [first or second for array in _IMPORTS.findall(text) for first, second in _QUOTED.findall(array)]
        return [path if path.startswith("/") else f"{folder}/{path}" for path in quoted]

    def _read_all(self, paths: t.Iterable[str]) -> None:
        for path in paths:
            self._read(path)

    def _read(self, path: str) -> None:
        """Keep a file's text. A file that isn't there is no error: its absence is the evidence."""
        if path in self._files or not self._host.exists(path):
            return
        if len(self._files) >= _FILES_LIMIT:
            self._left_out = path
            return
        limit = _FILE_LIMITS.get(path, FILE_LIMIT)
        try:
            data = self._host.read_bytes(path, limit + 1)
        except OSError as error:
            self._error(path, str(error))
            return
        self._files[path] = {"text": mask(data[:limit].decode("utf-8", "replace")), "truncated": len(data) > limit}

    def _error(self, what: str, error: str) -> None:
        self._errors.append({"what": what, "error": error})


def _option(arguments: t.Sequence[str], names: t.Collection[str]) -> str | None:
    """The value of an option of a command line, given as ``--name value`` or ``--name=value``."""
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[position + 1:]), None)
    return None
