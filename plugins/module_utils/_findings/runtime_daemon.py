# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a running container runtime, beside what it is configured with."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, cri, handlers
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.runtime_config import Facts, Findings, source

_CRI_STATUS = "CRI Status"
# What a handler is compared by, between the configuration on the disk and the daemon.
_COMPARED = ("runtime_type", "binary", "systemd_cgroup")
_RESTART = "Restart the runtime: `systemctl restart {name}`."


def not_running(runtime: Facts, node: str) -> Findings:
    """Nothing answers on the socket of a runtime that is installed. Evidence that only has files says nothing about that."""
    answer = runtime["cri"]
    if runtime["active"] is not False or (answer is None and not runtime["dumped"]):
        return []
    where, what = (answer["endpoint"], answer["message"] or "no answer") if answer else ("/run", "no socket")
    summary = f"{runtime['name']} is installed, but doesn't run: {what}."
    return [finding("RuntimeNotRunning", kind="node", name=node, summary=summary, evidence=[seen(where, what)])]


def cri_missing(runtime: Facts, node: str) -> Findings:
    """The running daemon has no CRI plugin, for another reason than that it is turned off."""
    answer = runtime["cri"]
    if answer is None or answer["grpc_status"] != cri.UNIMPLEMENTED or containerd.cri_is_disabled(runtime["disabled_plugins"]):
        return []
    summary = f"{runtime['name']} runs, but its CRI plugin is not loaded."
    return [finding("CriPluginDisabled", kind="node", name=node, summary=summary, evidence=[seen(answer["endpoint"], answer["message"] or "unimplemented")])]


def daemon_not_using_config(runtime: Facts, node: str) -> Findings:
    """A restart would change what the daemon does: it knows other handlers than the files now give."""
    differences = _differences_over_cri(runtime) + _differences_from_docker(runtime) if runtime["config_valid"] else []
    if not differences:
        return []
    return [
        finding(
            "DaemonNotUsingConfig",
            kind="node",
            name=node,
            summary=f"The running {runtime['name']} differs from its configuration on disk: {'; '.join(differences)}.",
            evidence=[seen(source(runtime), f"handlers: {', '.join(handlers.names(runtime['handlers']))}"), _daemon_said(runtime)],
            next_step=_RESTART.format(name=runtime["name"]),
        )
    ]


def _differences_over_cri(runtime: Facts) -> list[str]:
    answer = runtime["cri"]
    if not (runtime["dumped"] and answer and answer["handlers"] is not None):
        return []
    on_disk = {handler["name"]: handler for handler in runtime["handlers"]}
    running = {handler["name"]: handler for handler in answer["runtimes"]}
    lost = [entry["name"] for entry in runtime["lost_handlers"]]
    return [
        *(f"handler {name} is not loaded" for name in sorted(set(on_disk) - set(answer["handlers"]))),
        *(f"handler {name} is no longer configured" for name in sorted(set(answer["handlers"]) - set(on_disk) - set(lost))),
        *(f"handler {name} has other settings" for name in sorted(set(on_disk) & set(running)) if not _same(on_disk[name], running[name])),
        *_default_difference(runtime, answer["default_handler"]),
    ]


def _differences_from_docker(runtime: Facts) -> list[str]:
    """Docker has handlers of its own, too, so only those count that the file names."""
    daemon = runtime["daemon"]
    if daemon is None:
        return []
    known = daemon["handlers"]
    unread = [name for name in handlers.names(runtime["handlers"]) if name in daemon["unknown_handlers"] or (known is not None and name not in known)]
    default = _default_difference(runtime, daemon["default_handler"]) if runtime["default_explicit"] else []
    return [*(f"handler {name} is not loaded" for name in unread), *default]


def _default_difference(runtime: Facts, running: str | None) -> list[str]:
    return [f"default is {running} instead of {runtime['default_handler']}"] if running not in (None, runtime["default_handler"]) else []


def _daemon_said(runtime: Facts) -> dict[str, str]:
    daemon = runtime["daemon"]
    if daemon is None:
        return seen(_CRI_STATUS, f"handlers: {', '.join(runtime['cri']['handlers'])}")
    if daemon["handlers"] is None:
        return seen("docker run", f"unknown runtime: {', '.join(daemon['unknown_handlers'])}")
    return seen("docker info", f"handlers: {', '.join(daemon['handlers'])}")


def _same(configured: Facts, running: Facts) -> bool:
    """Whether two views of a handler agree; an option that isn't set is false or empty."""
    return all((configured[key] or None) == (running[key] or None) for key in _COMPARED)
