# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a node's container runtime and NVIDIA's container toolkit."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, cri, pci
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen

Facts = t.Dict[str, t.Any]
Findings = t.List[t.Dict[str, t.Any]]

HANDLER = "nvidia"
_DUMP = "containerd config dump"
_CRI_STATUS = "CRI Status"
_NVIDIA_BINARY = "nvidia-container-runtime"
# What a handler is compared by, between the configuration on the disk and the daemon.
_COMPARED = ("runtime_type", "binary", "systemd_cgroup")


def config_invalid(runtime: Facts, node: str) -> Findings:
    """A file that containerd reads doesn't parse, or containerd refuses what it says."""
    if runtime["config_valid"]:
        return []
    path = runtime["config_error_path"] or runtime["name"]
    return [
        finding(
            "ConfigInvalid",
            kind="file",
            name=path,
            summary=f"{path} on {node} is not a configuration that {runtime['name']} accepts: {runtime['config_error']}.",
            evidence=[seen(path, runtime["config_error"])],
        )
    ]


def cri_disabled(runtime: Facts, node: str) -> Findings:
    """The configuration turns the CRI plugin off."""
    if not containerd.cri_is_disabled(runtime["disabled_plugins"]):
        return []
    shown = seen(_config_source(runtime), f"disabled_plugins = {runtime['disabled_plugins']}")
    return [finding("CriPluginDisabled", kind="node", name=node, summary="disabled_plugins names containerd's CRI plugin.", evidence=[shown])]


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
    summary = "containerd runs, but its CRI plugin is not loaded."
    return [finding("CriPluginDisabled", kind="node", name=node, summary=summary, evidence=[seen(answer["endpoint"], answer["message"] or "unimplemented")])]


def default_undefined(runtime: Facts, node: str) -> Findings:
    """The default handler isn't among the handlers."""
    names = [handler["name"] for handler in runtime["handlers"]]
    asked = runtime["default_explicit"] and (names or runtime["dumped"])
    if not asked or runtime["default_handler"] in names:
        return []
    return [
        finding(
            "DefaultRuntimeUndefined",
            kind="node",
            name=node,
            summary=f"default_runtime_name is {runtime['default_handler']}, but the handlers are: {', '.join(names) or 'none'}.",
            evidence=[seen(_config_source(runtime), f"default_runtime_name = {runtime['default_handler']}")],
        )
    ]


def runtime_type_missing(runtime: Facts, node: str) -> Findings:
    """A handler says nothing of which shim starts it."""
    return [
        finding(
            "RuntimeTypeMissing",
            kind="node",
            name=node,
            summary=f"The handler {handler['name']} has no runtime_type.",
            evidence=[seen(_config_source(runtime), f"runtimes.{handler['name']}: runtime_type missing")],
        )
        for handler in runtime["handlers"]
        if handler["runtime_type"] is None
    ]


def drop_in_not_imported(runtime: Facts, node: str) -> Findings:
    """A file beside the configuration defines handlers and nothing reads it."""
    return [
        finding(
            "DropInNotImported",
            kind="file",
            name=path,
            summary=f"{path} on {node} defines a runtime handler, but {runtime['config_path'] or 'no configuration'} doesn't import it.",
            evidence=[seen(runtime["config_path"] or "imports", f"imports lead to: {', '.join(runtime['drop_ins']) or 'nothing'}")],
        )
        for path in runtime["orphan_drop_ins"]
    ]


def daemon_not_using_config(runtime: Facts, node: str) -> Findings:
    """A restart would change what the daemon does: it knows other handlers than the files now give."""
    answer = runtime["cri"]
    if not (runtime["dumped"] and runtime["config_valid"] and answer and answer["handlers"] is not None):
        return []
    differences = _differences(runtime, answer)
    if not differences:
        return []
    return [
        finding(
            "DaemonNotUsingConfig",
            kind="node",
            name=node,
            summary=f"The running {runtime['name']} differs from its configuration on disk: {'; '.join(differences)}.",
            evidence=[seen(_DUMP, ", ".join(handler["name"] for handler in runtime["handlers"])), seen(_CRI_STATUS, ", ".join(answer["handlers"]))],
        )
    ]


def cgroup_mismatch(runtime: Facts, node: str) -> Findings:
    """NVIDIA's handler doesn't follow the others, which use systemd's cgroups."""
    systemd = [handler["name"] for handler in runtime["handlers"] if handler["systemd_cgroup"] is True]
    apart = [handler["name"] for handler in runtime["handlers"] if _is_nvidia(handler) and handler["systemd_cgroup"] is not True]
    if not systemd or not apart:
        return []
    return [
        finding(
            "CgroupDriverMismatch",
            kind="node",
            name=node,
            summary=f"SystemdCgroup is true for {', '.join(systemd)}, but not for {', '.join(apart)}.",
            evidence=[seen(_config_source(runtime), f"runtimes.{name}.options: SystemdCgroup is not true") for name in apart],
        )
    ]


RUNTIME_RULES = (
    config_invalid,
    cri_disabled,
    not_running,
    default_undefined,
    runtime_type_missing,
    # Behind those that may be why the plugin failed to load.
    cri_missing,
    drop_in_not_imported,
    daemon_not_using_config,
    cgroup_mismatch,
)


def runtimes(facts: Facts, node: str) -> Findings:
    """The findings on every runtime."""
    return [item for runtime in facts["runtimes"] or [] for rule in RUNTIME_RULES for item in rule(runtime, node)]


def toolkit_mixed(facts: Facts, node: str) -> Findings:
    """The toolkit's packages are of several versions."""
    installed = [package for package in (facts["toolkit"] or {}).get("packages", []) if package["status"].endswith("i")]
    versions = sorted({package["version"] for package in installed})
    if len(versions) < 2:
        return []
    return [
        finding(
            "ToolkitVersionMixed",
            kind="node",
            name=node,
            summary=f"The container toolkit's packages have {len(versions)} versions: {', '.join(versions)}.",
            evidence=[seen("dpkg-query", f"{package['status']} {package['name']} {package['version']}") for package in installed],
        )
    ]


def toolkit_not_installed(facts: Facts, node: str) -> Findings:
    """A node with GPUs and a runtime has no toolkit, neither as a package nor brought by a handler."""
    toolkit = facts["toolkit"]
    if toolkit is None or not facts["runtimes"] or not _has_gpu(facts):
        return []
    brought = any(_is_nvidia(handler) for runtime in facts["runtimes"] for handler in runtime["handlers"])
    if toolkit["version"] or toolkit["ctk_version"] or brought:
        return []
    shown = seen("dpkg-query", "no nvidia-container-toolkit")
    return [finding("ToolkitNotInstalled", kind="node", name=node, summary="No package of NVIDIA's container toolkit is installed.", evidence=[shown])]


def handler_missing(facts: Facts, node: str) -> Findings:
    """The toolkit is there, but neither the configuration nor the daemon has NVIDIA's handler; a drop-in nobody reads explains that by itself."""
    packages = [package["name"] for package in (facts["toolkit"] or {}).get("packages", []) if package["status"].endswith("i")]
    if "nvidia-container-toolkit" not in packages:
        return []
    return [
        finding(
            "RuntimeHandlerMissing",
            kind="node",
            name=node,
            summary=f"The container toolkit is installed, but {runtime['name']} has no handler {HANDLER}, only: {', '.join(runtime['cri']['handlers'])}.",
            evidence=[seen(_CRI_STATUS, ", ".join(runtime["cri"]["handlers"]))],
        )
        for runtime in facts["runtimes"] or []
        if _lacks_handler(runtime)
    ]


RULES = (runtimes, toolkit_mixed, toolkit_not_installed, handler_missing)


def _lacks_handler(runtime: Facts) -> bool:
    known = (runtime["cri"] or {}).get("handlers")
    if known is None or not runtime["config_valid"] or runtime["orphan_drop_ins"]:
        return False
    return HANDLER not in known and HANDLER not in [handler["name"] for handler in runtime["handlers"]]


def _config_source(runtime: Facts) -> str:
    """Where the facts on the configuration were read."""
    return _DUMP if runtime["dumped"] else runtime["config_path"] or "the configuration"


def _is_nvidia(handler: Facts) -> bool:
    return _NVIDIA_BINARY in (handler["binary"] or "")


def _has_gpu(facts: Facts) -> bool:
    return bool(pci.gpus(facts["pci"] or []) or facts["gpus"])


def _differences(runtime: Facts, answer: Facts) -> list[str]:
    on_disk = {handler["name"]: handler for handler in runtime["handlers"]}
    running = {handler["name"]: handler for handler in answer["runtimes"]}
    unread = sorted(set(on_disk) - set(answer["handlers"]))
    gone = sorted(set(answer["handlers"]) - set(on_disk))
    other = sorted(name for name in set(on_disk) & set(running) if not _same(on_disk[name], running[name]))
    default = answer["default_handler"] not in (None, runtime["default_handler"])
    return [
        *(f"handler {name} is not loaded" for name in unread),
        *(f"handler {name} is no longer configured" for name in gone),
        *(f"handler {name} has other settings" for name in other),
        *([f"default is {answer['default_handler']} instead of {runtime['default_handler']}"] if default else []),
    ]


def _same(configured: Facts, running: Facts) -> bool:
    """Whether two views of a handler agree; an option that isn't set is false or empty."""
    return all((configured[key] or None) == (running[key] or None) for key in _COMPARED)
