# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on CDI specifications."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import versions
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.runtime_config import Facts, Findings

_NVIDIA_KIND = "nvidia.com/gpu"
_UUID = "GPU-"
_FOLDERS = "/etc/cdi, /var/run/cdi"
_ENABLED = "Enabled"
# (version of a specification, the first runtimes that read it): NVIDIA's container toolkit, installation guide.
_READERS = (("0.7.0", {"containerd": "1.7.16", "docker": "26.1.0", "cri-o": "1.30.0"}),)


def invalid(facts: Facts, node: str) -> Findings:
    """A specification that a reader refuses as a whole, so that none of its devices exists."""
    return [
        finding(
            "CdiSpecInvalid",
            kind="file",
            name=spec["path"],
            summary=f"{spec['path']} on {node} is not a CDI specification that can be read: {spec['error']}.",
            evidence=[seen(spec["path"], spec["error"])],
        )
        for spec in _specs(facts)
        if spec["valid"] is False
    ]


def stale(facts: Facts, node: str) -> Findings:
    """A specification that mounts another driver's files, or names other GPUs than the node has."""
    return [
        finding(
            "CdiSpecStale",
            kind="file",
            name=spec["path"],
            summary=f"{spec['path']} on {node} doesn't match the node: {'; '.join(differences)}.",
            evidence=[seen(spec["path"], difference) for difference in differences],
        )
        for spec in _specs(facts)
        if (differences := _differences(spec, facts))
    ]


def root_mismatch(facts: Facts, node: str) -> Findings:
    """A specification that mounts the driver's libraries from below another root than where they are."""
    roots = (facts["toolkit"] or {}).get("driver_roots") or []
    return [
        finding(
            "DriverRootMismatch",
            kind="file",
            name=spec["path"],
            summary=f"{spec['path']} on {node} mounts the driver from below {spec['driver_root']}, but its libraries are below {', '.join(roots)}.",
            evidence=[seen(spec["path"], f"mounts from below {spec['driver_root']}"), seen("libnvidia-ml.so.1", f"below {', '.join(roots)}")],
            next_step="Restart nvidia-cdi-refresh.service, or run `nvidia-ctk cdi generate --driver-root` with the driver's root.",
        )
        for spec in _specs(facts)
        if roots and spec["driver_root"] not in (None, *roots)
    ]


def unresolvable(facts: Facts, node: str) -> Findings:
    """A device was asked for that no specification on the node names."""
    known = {f"{spec['kind']}={name}" for spec in _specs(facts) if spec["valid"] for name in spec["devices"]}
    kinds = "; ".join(f"{spec['kind']}: {', '.join(spec['devices'])}" for spec in _specs(facts) if spec["valid"])
    return [
        finding(
            "CdiDeviceUnresolvable",
            kind="node",
            name=node,
            summary=f"No CDI specification on {node} names {name}; they have: {kinds or 'nothing'}.",
            evidence=[seen(spec["path"], f"{spec['kind']}: {', '.join(spec['devices'])}") for spec in _specs(facts)] or [seen(_FOLDERS, "no specification")],
        )
        for name in (facts["cdi"] or {}).get("unresolvable", [])
        if name not in known
    ]


def conflicting(facts: Facts, node: str) -> Findings:
    """Two specifications of one folder name the same device: a reader then drops it from both."""
    found: dict[tuple[str, str], list[str]] = {}
    for spec in _specs(facts):
        for name in spec["devices"] if spec["valid"] else []:
            found.setdefault((spec["path"].rpartition("/")[0], f"{spec['kind']}={name}"), []).append(spec["path"])
    names: dict[tuple[str, ...], list[str]] = {}
    for (_folder, name), paths in found.items():
        if len(paths) > 1:
            names.setdefault(tuple(paths), []).append(name)
    return [
        finding(
            "CdiDeviceUnresolvable",
            kind="node",
            name=node,
            summary=f"{' and '.join(paths)} on {node} both name {', '.join(devices)}, so that neither counts.",
            evidence=[seen(path, ", ".join(devices)) for path in paths],
            next_step="Remove the specification that is older.",
        )
        for paths, devices in names.items()
    ]


def too_new(facts: Facts, node: str) -> Findings:
    """A specification of a version that the runtime, which is to use it, doesn't read."""
    return [
        finding(
            "RuntimeTooOld",
            kind="node",
            name=node,
            summary=f"{spec['path']} is of CDI version {spec['cdi_version']}, which {runtime['name']} reads from {needed} on; {node} has {runtime['version']}.",
            evidence=[seen(spec["path"], f"cdiVersion: {spec['cdi_version']}"), seen("version", runtime["version"])],
            next_step="Upgrade the runtime, or run `nvidia-ctk cdi generate --feature-flag no-additional-gids-for-device-nodes`.",
        )
        for runtime in facts["runtimes"] or []
        for spec in _specs(facts)
        if runtime["cdi_enabled"] and runtime["used_by_kubelet"] is not False and (needed := _needed(spec, runtime))
    ]


RULES = (invalid, stale, root_mismatch, unresolvable, conflicting, too_new)


def _specs(facts: Facts) -> list[Facts]:
    """The specifications of NVIDIA's devices, and those that nobody can tell whose they are."""
    return [spec for spec in (facts["cdi"] or {}).get("specs", []) if spec["kind"] is None or spec["kind"].endswith(_NVIDIA_KIND)]


def _differences(spec: Facts, facts: Facts) -> list[str]:
    loaded = (facts["driver"] or {}).get("loaded_version")
    other = spec["driver_version"] and loaded and spec["driver_version"] != loaded
    driver = [f"it mounts driver {spec['driver_version']}, loaded is {loaded}"] if other else []
    return driver + (_gpu_differences(spec, facts["gpus"]) if spec["valid"] and facts["gpus"] else [])


def _gpu_differences(spec: Facts, gpus: t.Sequence[Facts]) -> list[str]:
    """The GPUs that only one side knows; a GPU that is partitioned is there by its MIG devices."""
    named = {name for name in spec["devices"] if name.startswith(_UUID)}
    known = {gpu["uuid"]: gpu["mig_mode"] == _ENABLED for gpu in gpus if gpu["uuid"]}
    if not named or not known:
        return []
    gone = sorted(named - set(known))
    # The device plugin's own specification may leave GPUs out.
    missing = sorted(uuid for uuid, partitioned in known.items() if not partitioned and uuid not in named) if spec["kind"] == _NVIDIA_KIND else []
    return [f"it names {name}, which isn't there" for name in gone] + [f"it lacks {name}" for name in missing]


def _needed(spec: Facts, runtime: Facts) -> str | None:
    """The first version of the runtime that reads a specification, where the runtime is older."""
    declared = versions.numbers(spec["cdi_version"])
    needs = (readers.get(runtime["name"]) for version, readers in _READERS if declared >= versions.numbers(version))
    return next((needed for needed in needs if needed and versions.is_below(runtime["version"], needed)), None)
