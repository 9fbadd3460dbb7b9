# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Docker's configuration, on the disk and in the running daemon."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.handlers import handler
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import line_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.yaml_text import parse_json

INFO = "docker_info"
RUN = "docker_run"
DEFAULT_HANDLER = "runc"

_BOM = "\ufeff"
# What `nvidia-ctk runtime configure` writes itself.
_WRITTEN_BY_TOOLKIT = ("runtimes",)
_TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*)"(\s*:)?|[{}\[\]]')
_DEFAULT_NAMED = re.compile(r'"default-runtime"\s*:\s*"([^"\n]*)"')
_POSITION = re.compile(r"\(char (\d+)\)")
_UNKNOWN = re.compile(r"unknown or invalid runtime name: ([\w.-]*\w)|Unknown runtime specified:? ([\w.-]*\w)")


class Reading(t.NamedTuple):
    """A daemon.json.

    :param value: what it says; empty where it is none.
    :param error: what is wrong with it.
    :param line: where that is.
    :param keys_at_risk: keys behind the fault, which a reader that stops there would lose.
    """

    value: dict[str, t.Any]
    error: str | None
    line: int | None
    keys_at_risk: list[str]


def parse(content: str) -> Reading:
    """A daemon.json by the rules of JSON, without mercy: dockerd doesn't start with a file that breaks them.

    dockerd before 23.0 and nvidia-ctk refuse a byte order mark, too; newer daemons skip it (moby, daemon/config/config.go).
    """
    if content.startswith(_BOM):
        return Reading({}, "it starts with a byte order mark (at line 1)", 1, [])
    if not content.strip():
        return Reading({}, None, None, [])
    value, error = parse_json(content)
    if error is None:
        return Reading(mapping(value), None if isinstance(value, dict) else "it is no JSON object", None if isinstance(value, dict) else 1, [])
    position = _POSITION.search(error)
    return Reading({}, error, line_of(error), _keys_behind(content, int(position.group(1)) if position else len(content)))


def facts(seen: Evidence, config_path: str) -> dict[str, t.Any]:
    """What the next start of dockerd would use, and what the running one says.

    :return: the same keys as ``containerd.facts``, and ``daemon``, which is ``None`` where the daemon didn't answer.
    """
    content = seen.files.get(config_path)
    reading = Reading({}, None, None, []) if content is None or config_path in seen.cut else parse(content)
    named = text(reading.value.get("default-runtime")) or _named_in_broken(content or "", reading)
    handlers = [_handler(name, mapping(entry)) for name, entry in mapping(reading.value.get("runtimes")).items()]
    return {
        "config_path": config_path if content is not None else None,
        "config_valid": reading.error is None,
        "config_error": reading.error,
        "config_error_path": config_path if reading.error else None,
        "config_error_line": reading.line,
        "keys_at_risk": reading.keys_at_risk,
        "handlers": handlers,
        "sources": {entry["name"]: config_path for entry in handlers},
        "default_handler": named or DEFAULT_HANDLER,
        "default_explicit": bool(named),
        "cdi_enabled": mapping(reading.value.get("features")).get("cdi") is True,
        "cdi_asked": mapping(reading.value.get("features")).get("cdi") is True,
        "daemon": _daemon(seen),
    }


def _daemon(seen: Evidence) -> dict[str, t.Any] | None:
    """What ``docker info`` says, or else what a ``docker run`` that failed lets know."""
    command = seen.commands.get(INFO)
    info = mapping(parse_json(command.stdout)[0]) if command and command.rc == 0 else {}
    attempt = seen.commands.get(RUN)
    unknown = [one or other for one, other in _UNKNOWN.findall(attempt.stderr + attempt.stdout)] if attempt else []
    if not info and not unknown:
        return None
    handlers = sorted(name for name in mapping(info.get("Runtimes")))
    return {
        "version": text(info.get("ServerVersion")) or None,
        "handlers": handlers or None,
        "unknown_handlers": sorted(set(unknown)),
        "default_handler": text(info.get("DefaultRuntime")) or None,
        "cgroup_driver": text(info.get("CgroupDriver")) or None,
    }


def _handler(name: str, entry: dict[str, t.Any]) -> dict[str, t.Any]:
    return handler(name, runtime_type=text(entry.get("runtimeType")), binary=text(entry.get("path")))


def _named_in_broken(content: str, reading: Reading) -> str:
    """The default runtime that a file names which can't be parsed: it must not be replaced unasked."""
    found = _DEFAULT_NAMED.search(content) if reading.error else None
    return found.group(1) if found else ""


def _keys_behind(content: str, position: int) -> list[str]:
    """The outermost keys behind a position, without those that the toolkit writes itself."""
    depth = 0
    found = []
    for token in _TOKEN.finditer(content, position):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token.group(), 0)
        if depth == 0 and token.group(2):
            found.append(token.group(1))
    return [key for key in found if key not in _WRITTEN_BY_TOOLKIT]
