# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on what a container runtime is configured with."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, distribution, handlers, versions
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import INFO, WARNING, finding, seen

Facts = t.Dict[str, t.Any]
Findings = t.List[t.Dict[str, t.Any]]

_DUMP = "containerd config dump"
_SYSTEMD = "systemd"
# (end of a template's path, end of what is made of it): k3s and RKE2; MicroK8s.
_TEMPLATES = (("/config-v3.toml.tmpl", "/config.toml"), ("/config.toml.tmpl", "/config.toml"), ("/containerd-template.toml", "/containerd.toml"))
# The handlers that a runtime has without being told.
_BUILT_IN = {distribution.DOCKER: ("runc", "io.containerd.runc.v2"), distribution.CRIO: ("runc", "crun")}
# The first containerd that resolves CDI devices; an older one drops the setting without a word (seen with 1.6.20).
_CDI_SINCE = "1.7"


def config_invalid(runtime: Facts, node: str) -> Findings:
    """A file that the runtime reads doesn't parse, or the runtime refuses what it says."""
    if runtime["config_valid"] is not False:
        return []
    path = runtime["config_error_path"] or runtime["name"]
    lost = f" Keys behind the fault: {', '.join(runtime['keys_at_risk'])}." if runtime["keys_at_risk"] else ""
    return [
        finding(
            "ConfigInvalid",
            kind="file",
            name=path,
            summary=f"{path} on {node} is not a configuration that {runtime['name']} accepts: {runtime['config_error']}.{lost}",
            evidence=[seen(path, runtime["config_error"])],
            severity=WARNING if runtime["used_by_kubelet"] is False else None,
        )
    ]


def template(runtime: Facts, node: str) -> Findings:
    """A distribution makes the configuration of a template, whose text says little about what runs."""
    judged = runtime["dumped"] or runtime["config_path"] not in (None, *runtime["templates"])
    return [
        finding(
            "TemplateNotToml",
            kind="file",
            name=path,
            summary=f"{path} on {node} is a template, not the configuration that runs; that is {_made_of(path)}.",
            evidence=[seen(path, "template directives instead of TOML")],
            severity=INFO if judged else WARNING,
        )
        for path in runtime["templates"]
    ]


def cri_disabled(runtime: Facts, node: str) -> Findings:
    """The configuration turns the CRI plugin off."""
    if not containerd.cri_is_disabled(runtime["disabled_plugins"]):
        return []
    shown = seen(source(runtime), f"disabled_plugins = {runtime['disabled_plugins']}")
    return [finding("CriPluginDisabled", kind="node", name=node, summary="disabled_plugins names containerd's CRI plugin.", evidence=[shown])]


def default_undefined(runtime: Facts, node: str) -> Findings:
    """The default handler isn't among the handlers."""
    known = handlers.names(runtime["handlers"])
    asked = runtime["default_explicit"] and runtime["config_valid"] is not False and (known or runtime["dumped"] or runtime["name"] == distribution.DOCKER)
    if not asked or runtime["default_handler"] in (*known, *_BUILT_IN.get(runtime["name"], ())):
        return []
    return [
        finding(
            "DefaultRuntimeUndefined",
            kind="node",
            name=node,
            summary=f"The default runtime is {runtime['default_handler']}, but the handlers are: {', '.join(known) or 'none'}.",
            evidence=[seen(source(runtime), f"default runtime: {runtime['default_handler']}")],
        )
    ]


def runtime_type_missing(runtime: Facts, node: str) -> Findings:
    """A handler of containerd says nothing of which shim starts it."""
    return [
        finding(
            "RuntimeTypeMissing",
            kind="node",
            name=node,
            summary=f"The handler {handler['name']} has no runtime_type.",
            evidence=[seen(source(runtime), f"runtimes.{handler['name']}: runtime_type missing")],
        )
        for handler in runtime["handlers"]
        if runtime["name"] == distribution.CONTAINERD and handler["runtime_type"] is None
    ]


def drop_in_not_imported(runtime: Facts, node: str) -> Findings:
    """A file beside the configuration defines handlers and nothing reads it. It is a mere leftover where NVIDIA's handler is there all the same."""
    is_leftover = any(handlers.is_nvidia(handler) for handler in runtime["handlers"])
    return [
        finding(
            "DropInNotImported",
            kind="file",
            name=path,
            summary=f"{path} on {node} defines a runtime handler, but {runtime['config_path'] or 'no configuration'} doesn't import it.",
            evidence=[seen(runtime["config_path"] or "imports", f"imports lead to: {', '.join(runtime['drop_ins']) or 'nothing'}")],
            severity=INFO if is_leftover else None,
        )
        for path in runtime["orphan_drop_ins"]
    ]


def overwritten(runtime: Facts, node: str) -> Findings:
    """A handler that was configured is gone: a copy of the file, the role's record or the running daemon still knows it."""
    return [
        finding(
            "RuntimeConfigOverwritten",
            kind="node",
            name=node,
            summary=f"{runtime['name']} on {node} had the handler {lost['name']}, but its configuration no longer defines it.",
            evidence=[seen(lost["seen_in"], f"handler {lost['name']}"), seen(source(runtime), f"handlers: {', '.join(handlers.names(runtime['handlers']))}")],
        )
        for lost in runtime["lost_handlers"]
    ]


def cgroup_mismatch(runtime: Facts, node: str) -> Findings:
    """NVIDIA's handler doesn't let systemd manage its cgroups, although the other handlers or the kubelet do."""
    apart = [handler for handler in runtime["handlers"] if handlers.is_nvidia(handler) and handler["systemd_cgroup"] is not True]
    reason = _why_systemd(runtime, apart)
    if runtime["name"] != distribution.CONTAINERD or not apart or not reason:
        return []
    return [
        finding(
            "CgroupDriverMismatch",
            kind="node",
            name=node,
            summary=f"{reason}, but SystemdCgroup is not true for {', '.join(handlers.names(apart))}.",
            evidence=[seen(source(runtime), f"runtimes.{name}.options: SystemdCgroup is not true") for name in handlers.names(apart)],
        )
    ]


def cdi_too_old(runtime: Facts, node: str) -> Findings:
    """The configuration asks for CDI, which this containerd doesn't have."""
    if not (runtime["name"] == distribution.CONTAINERD and runtime["cdi_asked"] and versions.is_below(runtime["version"], _CDI_SINCE)):
        return []
    return [
        finding(
            "RuntimeTooOld",
            kind="node",
            name=node,
            summary=f"enable_cdi is set, but containerd {runtime['version']} doesn't know CDI; {_CDI_SINCE} and newer do.",
            evidence=[seen(runtime["config_path"] or "configuration", "enable_cdi = true"), seen("version", runtime["version"])],
            severity=WARNING,
        )
    ]


def source(runtime: Facts) -> str:
    """Where the facts on the configuration were read."""
    return _DUMP if runtime["dumped"] and runtime["name"] == distribution.CONTAINERD else runtime["config_path"] or "the configuration"


def _made_of(path: str) -> str:
    """The configuration that a distribution makes of a template."""
    return next((path[: -len(end)] + made for end, made in _TEMPLATES if path.endswith(end)), "written by the distribution")


def _why_systemd(runtime: Facts, apart: t.Sequence[Facts]) -> str | None:
    """What tells that containers are expected in systemd's cgroups; ``None`` where nothing does."""
    systemd = [handler["name"] for handler in runtime["handlers"] if handler["systemd_cgroup"] is True]
    if systemd:
        return f"SystemdCgroup is true for {', '.join(systemd)}"
    if runtime["kubelet_cgroup_driver"]:
        return "The kubelet's cgroup driver is systemd" if runtime["kubelet_cgroup_driver"] == _SYSTEMD else None
    # nvidia-ctk takes the option over from another handler; where it found none, nobody ever chose the driver, and kubeadm's default is systemd.
    alone = [handler["systemd_cgroup"] for handler in runtime["handlers"]] == [None] and runtime["default_handler"] in handlers.names(apart)
    return "The kubelet's usual cgroup driver is systemd and no other handler is defined" if alone else None
