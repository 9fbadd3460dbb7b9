# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What runs a node's containers and what configures it."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cri
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

# Where containerd listens and what configures it, the kubelet's own before the host's: a node that has both runs pods on the former.
_CONTAINERD = (
    ("/run/k3s/containerd/containerd.sock", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"),
    ("/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/current/args/containerd.toml"),
    ("/run/k0s/containerd.sock", "/etc/k0s/containerd.toml"),
    ("/run/containerd/containerd.sock", "/etc/containerd/config.toml"),
)
_IMPORTS = re.compile(r"^\s*imports\s*=\s*\[(.*?)\]", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r""""([^"\n]+)"|'([^'\n]+)'""")


def observe(host: Host, reader: Reader, timeout: float) -> tuple[dict[str, t.Any], dict[str, t.Sequence[str]]]:
    """What is known of containerd without asking it, and its answer over the CRI; the files that may configure it are read.

    :param timeout: seconds for the daemon's answer.
    :return: the evidence's ``runtime`` and ``cri``, and the commands that tell the rest.
    """
    socket, config = next((pair for pair in _CONTAINERD if host.exists(pair[0])), ("", _CONTAINERD[-1][1]))
    answer = cri.ask(host.path(socket), timeout) if socket else None
    if answer and answer["denied"]:
        reader.error(socket, answer["error"])
    pid = answer["pid"] if answer else None
    arguments = _arguments(host, pid) if pid else []
    config = _option(arguments, ("-c", "--config")) or config
    program = host.which("containerd") or (f"/proc/{pid}/exe" if pid else None)
    folder = config.rpartition("/")[0]
    patterns = [f"{folder}/*/*.toml", *_imports(reader.read(config), folder)]
    reader.read_all([path for pattern in patterns for path in host.glob(pattern)])
    commands = {"containerd_config_dump": (program, "--config", config, "config", "dump")} if program else {}
    return {"runtime": {"config": config, "program": program, "arguments": arguments}, "cri": answer}, commands


def _arguments(host: Host, pid: int) -> list[str]:
    try:
        return host.read_bytes(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


def _imports(text: str, folder: str) -> list[str]:
    """The patterns of the ``imports`` in a file. Which of them count is decided where TOML can be parsed."""
    quoted = [first or second for array in _IMPORTS.findall(text) for first, second in _QUOTED.findall(array)]
    return [path if path.startswith("/") else f"{folder}/{path}" for path in quoted]


def _option(arguments: t.Sequence[str], names: t.Collection[str]) -> str | None:
    """The value of an option of a command line, given as ``--name value`` or ``--name=value``."""
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[position + 1:]), None)
    return None
