# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on NVIDIA's container toolkit."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import handlers, pci, versions
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, INFO, WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.runtime_config import Facts, Findings, source

HANDLER = "nvidia"
_PACKAGE = "nvidia-container-toolkit"
_CRI_STATUS = "CRI Status"
_PACKAGE_LIST = "packages"
# Where the packages put the runtime, which reads the host's own configuration.
_HOST_FOLDER = "/usr/bin/"
_HARDENED = "accept-nvidia-visible-devices-envvar-when-unprivileged = false"
_WITHOUT_CDI = "Let the device plugin use the strategy volume-mounts and set accept-nvidia-visible-devices-as-volume-mounts, or turn CDI on in the runtime."


def toolkit_mixed(facts: Facts, node: str) -> Findings:
    """The toolkit's packages are of several versions."""
    found = sorted({package["version"] for package in _installed(facts)})
    if len(found) < 2:
        return []
    return [
        finding(
            "ToolkitVersionMixed",
            kind="node",
            name=node,
            summary=f"The container toolkit's packages have {len(found)} versions: {', '.join(found)}.",
            evidence=[seen(_PACKAGE_LIST, f"{package['status']} {package['name']} {package['version']}") for package in _installed(facts)],
        )
    ]


def toolkit_not_installed(facts: Facts, node: str) -> Findings:
    """A node with GPUs and a runtime has no toolkit, neither as a package nor brought by a handler."""
    toolkit = facts["toolkit"]
    if toolkit is None or not facts["runtimes"] or not (pci.gpus(facts["pci"] or []) or facts["gpus"]):
        return []
    brought = any(handlers.is_nvidia(handler) for runtime in facts["runtimes"] for handler in runtime["handlers"])
    if toolkit["version"] or toolkit["ctk_version"] or brought:
        return []
    shown = seen(_PACKAGE_LIST, f"no {_PACKAGE}")
    return [finding("ToolkitNotInstalled", kind="node", name=node, summary="No package of NVIDIA's container toolkit is installed.", evidence=[shown])]


def binary_missing(facts: Facts, node: str) -> Findings:
    """A handler runs NVIDIA's runtime from a file that isn't there."""
    return [
        finding(
            "ToolkitNotInstalled",
            kind="node",
            name=node,
            summary=f"The handler of {runtime['name']} runs {path}, which isn't there.",
            evidence=[seen(source(runtime), path)],
            severity=ERROR,
        )
        for runtime in _relevant(facts)
        for path in runtime["missing_binaries"]
        if handlers.NVIDIA_BINARY in path
    ]


def toolkit_vulnerable(facts: Facts, node: str) -> Findings:
    """The toolkit is older than the version that closes the published vulnerabilities."""
    toolkit = facts["toolkit"] or {}
    version = toolkit.get("version") or toolkit.get("ctk_version")
    if not version or not versions.is_below(version, toolkit["vulnerable_below"]):
        return []
    summary = f"The container toolkit is of version {version}; {toolkit['vulnerable_below']} is the first without a published vulnerability."
    return [finding("ToolkitVulnerable", kind="node", name=node, summary=summary, evidence=[seen(_PACKAGE, version)])]


def config_invalid(facts: Facts, node: str) -> Findings:
    """The toolkit's own configuration doesn't parse, so that no container with NVIDIA's runtime starts."""
    toolkit = facts["toolkit"] or {}
    if toolkit.get("config_valid") is not False:
        return []
    path, foreign = toolkit["config_path"], toolkit["foreign_section"]
    hint = f" Its table {foreign} belongs into another program's configuration." if foreign else ""
    summary = f"{path} on {node} is not a configuration of the container toolkit: {toolkit['config_error']}.{hint}"
    return [finding("ConfigInvalid", kind="file", name=path, summary=summary, evidence=[seen(path, toolkit["config_error"])])]


def handler_missing(facts: Facts, node: str) -> Findings:
    """The toolkit is there, but neither the configuration nor the daemon has NVIDIA's handler; a drop-in nobody reads explains that by itself."""
    if _PACKAGE not in [package["name"] for package in _installed(facts)]:
        return []
    return [
        finding(
            "RuntimeHandlerMissing",
            kind="node",
            name=node,
            summary=f"The container toolkit is installed, but {runtime['name']} has no handler {HANDLER}, only: {', '.join(runtime['cri']['handlers'])}.",
            evidence=[seen(_CRI_STATUS, ", ".join(runtime["cri"]["handlers"]))],
        )
        for runtime in _relevant(facts)
        if _lacks_handler(runtime)
    ]


def not_injecting(facts: Facts, node: str) -> Findings:
    """A handler is called NVIDIA's and runs another program."""
    return [
        finding(
            "ToolkitNotInjecting",
            kind="node",
            name=node,
            summary=f"The handler {handler['name']} of {runtime['name']} runs {handler['binary'] or 'the default runtime'} instead of NVIDIA's.",
            evidence=[seen(source(runtime), f"{handler['name']}: {handler['binary'] or 'no program named'}")],
            next_step="Run the role gpu_toolkit, or set the handler's program to /usr/bin/nvidia-container-runtime.",
        )
        for runtime in _relevant(facts)
        for handler in runtime["handlers"]
        if handler["name"] == HANDLER and not handlers.is_nvidia(handler)
    ]


def envvar_not_allowed(facts: Facts, node: str) -> Findings:
    """Unprivileged containers can't be given devices by a variable, nor by volume mounts. That is right where CDI does it, and only there."""
    toolkit = facts["toolkit"] or {}
    if toolkit.get("accept_envvar_unprivileged") is not False or toolkit["accept_volume_mounts"]:
        return []
    by_cdi = any(runtime["cdi_enabled"] for runtime in facts["runtimes"] or [])
    return [
        finding(
            "EnvVarDevicesNotAllowed",
            kind="file",
            name=toolkit["config_path"],
            summary=f"{toolkit['config_path']} on {node} forbids unprivileged containers to name devices by a variable; only CDI gives them any.",
            evidence=[seen(toolkit["config_path"], _HARDENED)],
            next_step=None if by_cdi else _WITHOUT_CDI,
            severity=INFO if by_cdi else WARNING,
        )
    ]


def driver_root_mismatch(facts: Facts, node: str) -> Findings:
    """The toolkit looks for the driver's libraries below another root than where they are."""
    toolkit = facts["toolkit"] or {}
    asked, found = toolkit.get("driver_root"), toolkit.get("driver_roots")
    if not asked or not found or asked.rstrip("/") in [root.rstrip("/") for root in found] or not _reads_config(facts, toolkit["config_path"]):
        return []
    summary = f"{toolkit['config_path']} on {node} has the driver below {asked}, but its libraries are below {', '.join(found)}."
    shown = [seen(toolkit["config_path"], f"root = {asked}"), seen("libnvidia-ml.so.1", f"below {', '.join(found)}")]
    return [finding("DriverRootMismatch", kind="file", name=toolkit["config_path"], summary=summary, evidence=shown)]


def _installed(facts: Facts) -> list[Facts]:
    return [package for package in (facts["toolkit"] or {}).get("packages", []) if package["status"].endswith("i")]


def _relevant(facts: Facts) -> t.Iterator[Facts]:
    """The runtimes that may be the kubelet's."""
    return (runtime for runtime in facts["runtimes"] or [] if runtime["used_by_kubelet"] is not False)


def _reads_config(facts: Facts, config_path: str) -> bool:
    """Whether a handler's program reads that configuration; the GPU Operator installs a program of its own, which reads another one."""
    programs = [handler["binary"] for runtime in _relevant(facts) for handler in runtime["handlers"] if handlers.is_nvidia(handler)]
    return not programs or any(program.startswith(_HOST_FOLDER) is config_path.startswith("/etc/") for program in programs)


def _lacks_handler(runtime: Facts) -> bool:
    known = (runtime["cri"] or {}).get("handlers")
    if known is None or runtime["config_valid"] is False or runtime["orphan_drop_ins"]:
        return False
    return HANDLER not in known and HANDLER not in handlers.names(runtime["handlers"])
