# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A node's facts from its evidence."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, cri, driver, evidence, packages, pci, platform, smi_xml

_DEFAULT_CONFIG = "/etc/containerd/config.toml"
_CTK_VERSION = re.compile(r"\bversion\s+(\d+(?:\.\d+)+\S*)")


def node_facts(raw: t.Any, gather: t.Collection[str]) -> dict[str, t.Any]:
    """The facts of ``gpu_node_info``.

    :param raw: the collector's evidence.
    :param gather: the subsets that are wanted; the others are ``None``.
    """
    seen = evidence.read(raw)
    known = packages.parse(_stdout(seen, "packages"))
    functions = pci.functions(seen.pci or [])
    command = seen.commands.get(driver.SMI)
    smi = smi_xml.parse(command.stdout) if command else None
    gpus = smi["gpus"] if smi else []
    facts = {
        "platform": platform.facts(seen, gpus),
        "pci": None if seen.pci is None else functions,
        "driver": driver.facts(seen, known, functions, smi),
        "gpus": gpus,
        "runtimes": _runtimes(seen, known),
        "toolkit": _toolkit(known, _stdout(seen, "nvidia_ctk_version")),
    }
    return {name: value if name in gather else None for name, value in facts.items()}


def _stdout(seen: evidence.Evidence, name: str) -> str:
    command = seen.commands.get(name)
    return command.stdout if command else ""


def _runtimes(seen: evidence.Evidence, known: t.Sequence[packages.Package]) -> list[dict[str, t.Any]]:
    mine = packages.runtime(known)
    config_path = evidence.text(evidence.mapping(seen.runtime).get("config")) or _DEFAULT_CONFIG
    program = evidence.text(evidence.mapping(seen.runtime).get("program"))
    if not program and seen.cri is None and config_path not in seen.files:
        return []
    answer = cri.facts(seen.cri)
    installed = next((packages.upstream(package.version) for package in mine if package.installed and package.name in ("containerd", "containerd.io")), None)
    return [{
        "name": "containerd",
        "version": (answer or {}).get("version") or installed,
        "active": _active(answer),
        **containerd.facts(seen, config_path),
        "cri": answer,
    }]


def _active(answer: dict[str, t.Any] | None) -> bool | None:
    """Whether the daemon answers, be it with an error; ``None`` where we may not ask."""
    if answer is None:
        return False
    if answer["denied"]:
        return None
    return answer["ready"] or answer["grpc_status"] is not None or answer["version"] is not None


def _toolkit(known: t.Sequence[packages.Package], ctk: str) -> dict[str, t.Any]:
    mine = packages.toolkit(known)
    # The package that the others are there for first.
    installed = sorted((package for package in mine if package.installed), key=lambda package: not package.name.startswith("nvidia-container-toolkit"))
    version = _CTK_VERSION.search(ctk)
    return {
        "version": packages.upstream(installed[0].version) if installed else None,
        "packages": [package.as_fact() for package in mine],
        "interrupted_packages": [package.name for package in mine if package.interrupted],
        "ctk_version": version.group(1) if version else None,
    }
