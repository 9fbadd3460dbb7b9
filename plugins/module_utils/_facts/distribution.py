# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which Kubernetes distribution brings a container runtime, and what of it may be edited."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence

CONTAINERD = "containerd"
DOCKER = "docker"
CRIO = "cri-o"
KUBEADM = "kubeadm"

# What is edited where the configuration itself is written anew at each start (k3s: advanced options; RKE2: the same; MicroK8s: its service's arguments).
_RANCHER = {False: "config.toml.tmpl", True: "config-v3.toml.tmpl"}
_EDIT = {"microk8s": "containerd-template.toml", "k0s": "containerd.d"}
_DUMP = "containerd_config_dump"


class _Known(t.NamedTuple):
    """A runtime's main configuration, and the distribution whose it is."""

    name: str
    config: str
    distribution: t.Optional[str]


# The kubelet's own before the host's: a node that has both runs pods on the former.
_KNOWN = (
    _Known(CONTAINERD, "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "k3s"),
    _Known(CONTAINERD, "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "rke2"),
    _Known(CONTAINERD, "/var/snap/microk8s/current/args/containerd.toml", "microk8s"),
    _Known(CONTAINERD, "/etc/k0s/containerd.toml", "k0s"),
    _Known(CONTAINERD, "/etc/containerd/config.toml", None),
    _Known(CRIO, "/etc/crio/crio.conf", None),
    _Known(DOCKER, "/etc/docker/daemon.json", None),
)
_COMMANDS = {CONTAINERD: _DUMP, CRIO: "crio_config", DOCKER: "docker_info"}


def of_config(path: str) -> str | None:
    """The distribution whose configuration has that path; ``None`` for the host's own."""
    return next((known.distribution for known in _KNOWN if known.config == path), None)


def default_config(name: str) -> str:
    """Where the host's own runtime of that name is configured."""
    return next((known.config for known in _KNOWN if known.name == name and known.distribution is None), "")


def owns_configuration(distribution: str | None) -> bool:
    """Whether the distribution writes the configuration anew at each start."""
    return distribution not in (None, KUBEADM)


def edit_path(distribution: str | None, config: str, config_version: int | None) -> str:
    """The file, or for k0s the folder, that a person edits to change the configuration."""
    folder = config.rpartition("/")[0]
    if distribution in ("k3s", "rke2"):
        return f"{folder}/{_RANCHER[(config_version or 0) >= 3]}"
    return f"{folder}/{_EDIT[distribution]}" if distribution in _EDIT else config


def told_from_files(seen: Evidence) -> list[dict[str, t.Any]]:
    """The evidence's ``runtimes`` where nobody looked: those whose files, or whose commands' output, are there."""
    return [{"name": known.name, "config": known.config} for known in _KNOWN if _is_there(seen, known)]


def _is_there(seen: Evidence, known: _Known) -> bool:
    folder = known.config.rpartition("/")[0] + "/"
    return any(path.startswith(folder) for path in seen.files) or (known.distribution is None and _COMMANDS[known.name] in seen.commands)
