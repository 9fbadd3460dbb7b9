# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. CRI-O's configuration."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.handlers import handler
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.merging import merge
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import line_of, parse_toml

CONFIG = "crio_config"
_DROP_INS = "crio.conf.d"
# Where nvidia-ctk 1.18.0 to 1.19.0 wrote, and CRI-O never reads.
_ORPHANS = "conf.d"
# The default of cgroup_manager (crio.conf(5)).
_SYSTEMD = "systemd"


def facts(seen: Evidence, config_path: str) -> dict[str, t.Any]:
    """The configuration that a start of CRI-O would use: the main file, then the drop-ins by name.

    :return: the same keys as ``containerd.facts``.
    """
    folder = config_path.rpartition("/")[0]
    drop_ins = _below(seen, f"{folder}/{_DROP_INS}/")
    documents = {path: parse_toml(seen.files[path]) for path in [config_path, *drop_ins, *_below(seen, f"{folder}/{_ORPHANS}/")] if path in seen.files}
    read = [path for path in [config_path, *drop_ins] if path in documents]
    merged: dict[str, t.Any] = {}
    for path in read:
        merged = merge(merged, documents[path][0])
    dumped, broken = _dump(seen), next((path for path in read if documents[path][1] and path not in seen.cut), None)
    error = documents[broken][1] if broken else None
    effective = dumped or merged
    named = text(_runtime(effective).get("default_runtime"))
    found = handlers(effective)
    return {
        "config_path": config_path if config_path in seen.files else None,
        "config_valid": error is None,
        "config_error": error,
        "config_error_path": broken,
        "config_error_line": line_of(error),
        "dumped": bool(dumped),
        "drop_ins": drop_ins,
        "orphan_drop_ins": [path for path in documents if path not in read and handlers(documents[path][0])],
        "handlers": found,
        "sources": {entry["name"]: path for path in read for entry in handlers(documents[path][0])},
        "default_handler": named or None,
        "default_explicit": bool(named),
        # It resolves CDI devices in every release that is still maintained.
        "cdi_enabled": True,
    }


def handlers(config: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """The runtime handlers that a configuration defines."""
    section = _runtime(config)
    systemd = (text(section.get("cgroup_manager")) or _SYSTEMD) == _SYSTEMD
    return [
        handler(name, runtime_type=text(mapping(entry).get("runtime_type")), binary=text(mapping(entry).get("runtime_path")), systemd_cgroup=systemd)
        for name, entry in mapping(section.get("runtimes")).items()
    ]


def _runtime(config: dict[str, t.Any]) -> dict[str, t.Any]:
    return mapping(mapping(config.get("crio")).get("runtime"))


def _dump(seen: Evidence) -> dict[str, t.Any]:
    command = seen.commands.get(CONFIG)
    return parse_toml(command.stdout)[0] if command and command.rc == 0 else {}


def _below(seen: Evidence, folder: str) -> list[str]:
    return sorted(path for path in seen.files if path.startswith(folder))
