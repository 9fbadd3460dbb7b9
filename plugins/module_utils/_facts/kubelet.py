# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the kubelet expects of the container runtime."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, text, texts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.yaml_text import parse_yaml

DEFAULT_CONFIG = "/var/lib/kubelet/config.yaml"


class Kubelet(t.NamedTuple):
    """What is known of the kubelet.

    :param present: whether there is a trace of one.
    :param cgroup_driver: ``systemd`` or ``cgroupfs``; ``None`` where neither its command line nor its configuration says. Then it depends on its
        version: the default is ``cgroupfs``, and from 1.28 on it may follow the container runtime (Kubernetes, feature KubeletCgroupDriverFromCRI).
    :param endpoint: the path of the runtime's socket.
    """

    present: bool
    cgroup_driver: str | None
    endpoint: str | None


def read(seen: Evidence) -> Kubelet:
    """The kubelet from its command line, which wins, and its configuration."""
    found = mapping(seen.kubelet)
    path = text(found.get("config")) or DEFAULT_CONFIG
    config = parse(seen.files.get(path, ""))
    flags = dict(argument.partition("=")[::2] for argument in texts(found.get("arguments")))
    driver = flags.get("--cgroup-driver") or text(config.get("cgroupDriver"))
    endpoint = flags.get("--container-runtime-endpoint") or text(config.get("containerRuntimeEndpoint"))
    return Kubelet(bool(found) or path in seen.files, driver if driver in ("systemd", "cgroupfs") else None, endpoint.rpartition("://")[2] or None)


def parse(content: str) -> dict[str, t.Any]:
    """A KubeletConfiguration, as YAML or JSON; empty where it is none."""
    return mapping(parse_yaml(content)[0])


def same_socket(one: str, other: str) -> bool:
    """Whether two paths are of one socket: ``/var/run`` is a link to ``/run``."""
    return _short(one) == _short(other)


def _short(path: str) -> str:
    return path[len("/var"):] if path.startswith("/var/run/") else path
