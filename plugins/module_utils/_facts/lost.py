# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. NVIDIA's runtime handlers that were there and are gone from a configuration."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.handlers import is_nvidia, names
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import parse_toml

# What the role gpu_toolkit leaves once it has configured a runtime completely, and takes away when it is undone.
RECORD = "/var/lib/gpufleet/toolkit/record"
_CRI_STATUS = "CRI Status"


def handlers(seen: Evidence, config_path: str, runtime: dict[str, t.Any]) -> list[dict[str, str]]:
    """The handlers that something remembers and the configuration no longer defines, each with ``name`` and ``seen_in``.

    A copy of the configuration beside it, the role's record, and the running daemon remember. What an orphan drop-in defines isn't gone, and while the CRI
    plugin is disabled, containerd leaves its handlers out of the dump.
    """
    if not runtime["config_valid"] or containerd.cri_is_disabled(runtime["disabled_plugins"]):
        return []
    there = set(names(runtime["handlers"])) | {name for path in runtime["orphan_drop_ins"] for name in names(_defined(seen.files[path]))}
    remembered = [*_recorded(seen, config_path), *_running(runtime), *_copied(seen, config_path)]
    gone: dict[str, str] = {}
    for name, where in remembered:
        if name not in there:
            gone.setdefault(name, where)
    return [{"name": name, "seen_in": where} for name, where in gone.items()]


def _recorded(seen: Evidence, config_path: str) -> list[tuple[str, str]]:
    settings = dict(line.partition(": ")[::2] for line in seen.files.get(RECORD, "").splitlines())
    handler = settings.get("handler", "")
    return [(handler, RECORD)] if handler and settings.get("config") == config_path else []


def _running(runtime: dict[str, t.Any]) -> list[tuple[str, str]]:
    answer = runtime["cri"] or {}
    # What was only merged from files may lack what the daemon knows for good reasons.
    return [(handler["name"], _CRI_STATUS) for handler in answer.get("runtimes", []) if is_nvidia(handler)] if runtime["dumped"] else []


def _copied(seen: Evidence, config_path: str) -> list[tuple[str, str]]:
    copies = [path for path in seen.files if path.startswith(config_path + ".") and path not in seen.cut and path.count("/") == config_path.count("/")]
    return [(handler["name"], path) for path in sorted(copies) for handler in _defined(seen.files[path]) if is_nvidia(handler)]


def _defined(content: str) -> list[dict[str, t.Any]]:
    return containerd.handlers(parse_toml(content)[0])
