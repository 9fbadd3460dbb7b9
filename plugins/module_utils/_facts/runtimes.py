# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A node's container runtimes, the kubelet's own first."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, cri, crio, distribution, docker, kubelet, lost, packages
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, text

Object = t.Dict[str, t.Any]

# What a runtime's own reader need not say.
_UNSAID: Object = {
    "config_version": None,
    "keys_at_risk": [],
    "dumped": False,
    "import_cycle": False,
    "drop_ins": [],
    "orphan_drop_ins": [],
    "templates": [],
    "disabled_plugins": [],
    "deprecated_default_runtime": False,
    "cdi_asked": False,
    "cdi_spec_dirs": [],
    "daemon": None,
}
# The kubelet reaches Docker through another program: cri-dockerd.sock.
_CRI_OF_DOCKER = "dockerd"
_PACKAGES = {
    distribution.CONTAINERD: ("containerd", "containerd.io"),
    distribution.DOCKER: ("docker-ce", "docker.io", "moby-engine"),
    distribution.CRIO: ("cri-o", "cri-o-runc"),
}


def facts(seen: Evidence, known: t.Sequence[packages.Package]) -> list[Object]:
    """The runtimes of which there is a trace, in the order of the evidence, but the one that the kubelet uses first.

    :param known: the packages of the node.
    """
    entries = seen.runtimes if seen.runtimes is not None else distribution.told_from_files(seen)
    agent = kubelet.read(seen)
    found = [_runtime(seen, entry, known, agent) for entry in _dumps_told_apart(seen, entries) if text(entry.get("name")) in _PACKAGES]
    marked = [{**runtime, "used_by_kubelet": _used_by_kubelet(runtime, found, agent)} for runtime in found if _is_there(runtime)]
    facts_alone = [{key: value for key, value in runtime.items() if key != "trace"} for runtime in marked]
    return sorted(facts_alone, key=lambda runtime: runtime["used_by_kubelet"] is not True)


def _dumps_told_apart(seen: Evidence, entries: t.Sequence[Object]) -> list[Object]:
    """The entries, each with whether the dump of containerd's configuration is its own: that is asked of the first which has a program."""
    mine = [entry for entry in entries if entry.get("name") == distribution.CONTAINERD]
    owner = next((entry for entry in mine if text(entry.get("program"))), mine[0] if mine else None)
    return [{**entry, "dump": seen.commands.get(containerd.DUMP) if entry is owner else None} for entry in entries]


def _runtime(seen: Evidence, entry: Object, known: t.Sequence[packages.Package], agent: kubelet.Kubelet) -> Object:
    name = text(entry.get("name"))
    config_path = text(entry.get("config")) or distribution.default_config(name)
    brought_by = text(entry.get("distribution")) or distribution.of_config(config_path)
    answer = cri.facts(mapping(entry["cri"]) if isinstance(entry.get("cri"), dict) else None)
    runtime = {"name": name, "distribution": brought_by, **_UNSAID, **_configuration(seen, entry, name, config_path), "cri": answer}
    own = (answer or {}).get("version") or (runtime["daemon"] or {}).get("version")
    installed = None if distribution.owns_configuration(brought_by) else _installed(known, name)
    return {
        **runtime,
        "version": own or installed,
        "active": _active(answer, runtime["daemon"], seen.runtimes is not None and not (name == distribution.DOCKER and entry.get("socket"))),
        "edit_path": distribution.edit_path(brought_by, config_path, runtime["config_version"]),
        "kubelet_cgroup_driver": agent.cgroup_driver,
        "missing_binaries": sorted(path for path, there in mapping(entry.get("binaries")).items() if there is False and _is_run(path, runtime)),
        "lost_handlers": lost.handlers(seen, config_path, runtime),
        # Not a fact: whether there is more than a name and a path that nothing was found at.
        "trace": bool(text(entry.get("program")) or answer or runtime["daemon"] or runtime["config_path"] or runtime["templates"] or runtime["dumped"]),
        "socket": text(entry.get("socket")) or ((answer or {}).get("endpoint") or "").rpartition("://")[2] or None,
    }


def _configuration(seen: Evidence, entry: Object, name: str, config_path: str) -> Object:
    if name == distribution.DOCKER:
        return docker.facts(seen, config_path)
    if name == distribution.CRIO:
        return crio.facts(seen, config_path)
    return containerd.facts(seen, config_path, entry["dump"])


def _is_there(runtime: Object) -> bool:
    return runtime["trace"] or runtime["socket"] is not None or runtime["config_valid"] is False


def _is_run(path: str, runtime: Object) -> bool:
    return path in [handler["binary"] for handler in runtime["handlers"]]


def _installed(known: t.Sequence[packages.Package], name: str) -> str | None:
    return next((packages.upstream(package.version) for package in known if package.installed and package.name in _PACKAGES[name]), None)


def _active(answer: Object | None, daemon: Object | None, was_looked_at: bool) -> bool | None:
    """Whether the daemon answers, be it with an error; ``None`` where we may not ask, or have files alone."""
    if answer is None:
        return True if daemon else (False if was_looked_at else None)
    if answer["denied"]:
        return None
    return answer["ready"] or answer["grpc_status"] is not None or answer["version"] is not None


def _used_by_kubelet(runtime: Object, runtimes: t.Sequence[Object], agent: kubelet.Kubelet) -> bool | None:
    """Whether the kubelet's containers are this runtime's; ``None`` where nothing says so or otherwise.

    Told by the kubelet's endpoint, else by the distribution, which starts kubelet and runtime together. A machine with Docker and no trace of a kubelet
    runs no Kubernetes: its containerd is Docker's.
    """
    if agent.endpoint and runtime["name"] == distribution.DOCKER:
        return _CRI_OF_DOCKER in agent.endpoint
    if agent.endpoint and runtime["socket"]:
        return kubelet.same_socket(agent.endpoint, runtime["socket"])
    bundled = [other for other in runtimes if distribution.owns_configuration(other["distribution"])]
    if bundled:
        return runtime is bundled[0]
    if runtime["name"] == distribution.DOCKER:
        return None
    has_docker = any(other["name"] == distribution.DOCKER for other in runtimes)
    return False if has_docker and not agent.present and runtime["distribution"] is None else None
