# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What runs a node's containers and what configures it."""

from __future__ import annotations

import re
import time
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cri, kubelet
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.processes import arguments_of, option
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

Object = t.Dict[str, t.Any]


class _Place(t.NamedTuple):
    """Where a runtime is found.

    :param socket: that it listens on.
    :param config: its main configuration file.
    :param program: its daemon, as a command.
    :param distribution: that brings and configures it, ``None`` for the host's own.
    :param more: patterns of further files that configure it, relative to the configuration's folder.
    """

    name: str
    socket: str
    config: str
    program: str
    distribution: t.Optional[str]
    more: t.Tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return self.config.rpartition("/")[0]


_TEMPLATES = ("config.toml.tmpl", "config-v3.toml.tmpl", "config.toml.d/*.toml", "config-v3.toml.d/*.toml")
# The kubelet's own before the host's: a node that has both runs pods on the former. RKE2 shares the socket's path with k3s.
_PLACES = (
    _Place("containerd", "/run/k3s/containerd/containerd.sock", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "", "k3s", _TEMPLATES),
    _Place("containerd", "/run/k3s/containerd/containerd.sock", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "", "rke2", _TEMPLATES),
    _Place(
        "containerd", "/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/current/args/containerd.toml", "", "microk8s",
        ("containerd-template.toml", "kubelet"),
    ),
    _Place("containerd", "/run/k0s/containerd.sock", "/etc/k0s/containerd.toml", "", "k0s", ("containerd.d/*.toml",)),
    # What was there before someone replaced it is told from the copies beside it.
    _Place("containerd", "/run/containerd/containerd.sock", "/etc/containerd/config.toml", "containerd", None, ("*/*.toml", "config.toml?*")),
    _Place("cri-o", "/run/crio/crio.sock", "/etc/crio/crio.conf", "crio", None, ("crio.conf.d/*", "conf.d/*")),
    _Place("docker", "/run/docker.sock", "/etc/docker/daemon.json", "dockerd", None, ("daemon.json?*",)),
)
_SETTINGS = ("/etc/rancher/k3s/config.yaml", "/etc/rancher/rke2/config.yaml", "/var/lib/gpufleet/toolkit/record")
_KUBEADM = "/var/lib/kubelet/kubeadm-flags.env"
_CONFIG_OPTIONS = {"containerd": ("-c", "--config"), "cri-o": ("-c", "--config"), "docker": ("--config-file",)}
_DOCKER_PID = "/run/docker.pid"

_IMPORTS = re.compile(r"^\s*imports\s*=\s*\[(.*?)\]", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r""""([^"\n\0]+)"|'([^'\n\0]+)'""")
_BINARIES = re.compile(r"""["']?(?:BinaryName|Runtime|runtime_path|path)["']?\s*[=:]\s*["'](/[^"'\n\0]+)["']""")
_BINARIES_LIMIT = 32


def observe(host: Host, reader: Reader, timeout: float) -> tuple[Object, dict[str, t.Sequence[str]]]:
    """What is known of the container runtimes without asking them, and their answers over the CRI; the files that may configure them are read.

    :param timeout: seconds for the daemons' answers, together.
    :return: the evidence's ``runtimes`` and ``kubelet``, and the commands that tell the rest.
    """
    deadline = time.monotonic() + timeout
    reader.read_all(_SETTINGS)
    places = _found(host)
    runtimes = [_runtime(host, reader, place, max(deadline - time.monotonic(), 0.5)) for place in places]
    commands: dict[str, t.Sequence[str]] = {}
    for runtime in reversed(runtimes):
        commands.update(_commands(host, runtime))
    return {"runtimes": runtimes, "kubelet": kubelet.observe(host, reader)}, commands


def _found(host: Host) -> list[_Place]:
    """The places at which something is: a configuration, else a daemon that listens, or could."""
    by_socket: dict[str, _Place] = {}
    for place in _PLACES:
        there = host.exists(place.config) or (place.socket not in by_socket and (host.exists(place.socket) or _which(host, place.program)))
        if there and (place.socket not in by_socket or host.exists(place.config)):
            by_socket[place.socket] = place
    return list(by_socket.values())


def _which(host: Host, program: str) -> str | None:
    return host.which(program) if program else None


def _runtime(host: Host, reader: Reader, place: _Place, timeout: float) -> Object:
    answer = cri.ask(host.path(place.socket), timeout) if place.name != "docker" and host.exists(place.socket) else None
    if answer and answer["denied"]:
        reader.error(place.socket, answer["error"])
    pid = _pid(host, place, answer)
    arguments = arguments_of(host, pid) if pid else []
    config = option(arguments, _CONFIG_OPTIONS[place.name]) or place.config
    folder = config.rpartition("/")[0]
    patterns = [f"{folder}/{pattern}" for pattern in place.more] + _imports(reader.read(config), folder)
    reader.read_all([path for pattern in patterns for path in host.glob(pattern)])
    return {
        "name": place.name,
        "distribution": place.distribution or ("kubeadm" if host.exists(_KUBEADM) else None),
        "socket": place.socket if host.exists(place.socket) else None,
        "config": config,
        "program": _which(host, place.program) or _own_program(host, pid),
        "arguments": arguments,
        "binaries": _binaries(host, reader, folder),
        "cri": answer,
    }


def _pid(host: Host, place: _Place, answer: Object | None) -> int | None:
    if answer:
        return answer["pid"]
    recorded = host.read_line(_DOCKER_PID) if place.name == "docker" else None
    return int(recorded) if recorded and recorded.isdecimal() else None


def _own_program(host: Host, pid: int | None) -> str | None:
    """The daemon's own file, where it is containerd's: k3s may be one program for everything, which doesn't know containerd's commands."""
    return f"/proc/{pid}/exe" if pid and host.readlink(f"/proc/{pid}/exe") == "containerd" else None


def _commands(host: Host, runtime: Object) -> dict[str, t.Sequence[str]]:
    """What tells a runtime's effective configuration."""
    program = runtime["program"]
    if runtime["name"] == "containerd" and program:
        return {"containerd_config_dump": (program, "--config", runtime["config"], "config", "dump")}
    if runtime["name"] == "cri-o" and program:
        return {"crio_config": (program, "--config", runtime["config"], "config")}
    if runtime["name"] == "docker" and runtime["socket"] and host.which("docker"):
        return {"docker_info": ("docker", "info", "--format", "{{json .}}")}
    return {}


def _binaries(host: Host, reader: Reader, folder: str) -> dict[str, bool]:
    """The programs that the files below a folder name for handlers, and whether they are there."""
    paths = {path for name, record in reader.files.items() if name.startswith(folder + "/") for path in _BINARIES.findall(record["text"])}
    return {path: host.exists(path) for path in sorted(paths)[:_BINARIES_LIMIT]}


def _imports(text: str, folder: str) -> list[str]:
    """The patterns of the ``imports`` in a file. Which of them count is decided where TOML can be parsed."""
    quoted = [first or second for array in _IMPORTS.findall(text) for first, second in _QUOTED.findall(array)]
    return [path if path.startswith("/") else f"{folder}/{path}" for path in quoted]
