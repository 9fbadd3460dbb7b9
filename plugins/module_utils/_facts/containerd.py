# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. containerd's effective configuration, of the versions 1 to 4."""

from __future__ import annotations

import fnmatch
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Command, Evidence, mapping, text, texts

DUMP = "containerd_config_dump"

# Where the runtime handlers are, by the version of the configuration (containerd, docs/cri/config.md); 4 keeps what 3 has.
_CRI_PLUGINS = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri")
_DEFAULT_HANDLER = "runc"
_CDI_ALWAYS_ON = 3
_CYCLE_LIMIT = 64
_DAEMON_LINE = re.compile(r"^containerd: (.+)$", re.MULTILINE)


def parse_toml(content: str) -> tuple[dict[str, t.Any], str | None]:
    """A TOML document and, where it isn't one, what is wrong at which line."""
    # Here and not at the top: tomllib is there from Python 3.11, which every controller has, while sanity tests import
    # this file with the Pythons of the nodes too.
    import tomllib

    try:
        return tomllib.loads(content), None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, str(error) or "nested too deep"


def facts(evidence: Evidence, config_path: str) -> dict[str, t.Any]:
    """The configuration that a start of containerd would use now, and the files that it comes from.

    :param config_path: the main file.
    :return: handlers, default, CDI and plugins as ``containerd config dump`` gives them, else merged from the files.
    """
    files = {path: parse_toml(content) for path, content in evidence.files.items() if path.endswith(".toml")}
    main = files.get(config_path, ({}, None))[0]
    read, cycle = _imported(config_path, files)
    merged: dict[str, t.Any] = {}
    for path in [config_path, *read]:
        merged = _merge(merged, files.get(path, ({}, None))[0])
    command = evidence.commands.get(DUMP)
    dumped = parse_toml(command.stdout)[0] if command and command.rc == 0 else {}
    effective = dumped or merged
    broken = next(((path, files[path][1]) for path in [config_path, *read] if path in files and files[path][1]), (None, None))
    error = broken[1] or _refusal(command)
    return {
        "config_path": config_path if config_path in evidence.files else None,
        "config_version": _version(main, evidence.files.get(config_path, ""), dumped),
        "config_valid": error is None,
        "config_error": error,
        "config_error_path": broken[0] or (config_path if error else None),
        "dumped": bool(dumped),
        "import_cycle": cycle,
        "drop_ins": read,
        "orphan_drop_ins": [path for path in sorted(files) if path not in (config_path, *read) and handlers(files[path][0])],
        "disabled_plugins": texts(effective.get("disabled_plugins")),
        **cri_section(effective),
    }


def cri_section(config: dict[str, t.Any]) -> dict[str, t.Any]:
    """What the CRI plugin is told: ``handlers``, ``default_handler`` (containerd's own where none is named) and ``cdi_enabled``."""
    plugin = _cri_plugin(config)
    named = text(mapping(plugin.get("containerd")).get("default_runtime_name"))
    version = config.get("version")
    cdi = plugin.get("enable_cdi")
    return {
        "handlers": handlers(config),
        "default_handler": named or _DEFAULT_HANDLER,
        "default_explicit": bool(named),
        "cdi_enabled": cdi if isinstance(cdi, bool) else isinstance(version, int) and version >= _CDI_ALWAYS_ON,
    }


def handlers(config: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """The runtime handlers that a configuration defines; ``systemd_cgroup`` is ``None`` where the option isn't set."""
    runtimes = mapping(mapping(_cri_plugin(config).get("containerd")).get("runtimes"))
    return [_handler(name, mapping(entry)) for name, entry in runtimes.items()]


def cri_is_disabled(disabled_plugins: t.Sequence[str]) -> bool:
    """Whether the list names the CRI plugin, by any of its names."""
    return any(name in _CRI_PLUGINS for name in disabled_plugins)


def _cri_plugin(config: dict[str, t.Any]) -> dict[str, t.Any]:
    plugins = mapping(config.get("plugins"))
    return next((mapping(plugins[name]) for name in _CRI_PLUGINS if name in plugins), {})


def _handler(name: str, entry: dict[str, t.Any]) -> dict[str, t.Any]:
    options = mapping(entry.get("options"))
    cgroup = options.get("SystemdCgroup")
    return {
        "name": name,
        "runtime_type": text(entry.get("runtime_type")) or None,
        # Version 1 calls it Runtime.
        "binary": text(options.get("BinaryName")) or text(options.get("Runtime")) or None,
        "systemd_cgroup": cgroup if isinstance(cgroup, bool) else None,
    }


def _version(main: dict[str, t.Any], content: str, dumped: dict[str, t.Any]) -> int | None:
    """The version of the main file, in which none means 1; without a file that of the defaults."""
    version = main.get("version", 1) if content.strip() else dumped.get("version")
    return version if isinstance(version, int) else None


def _refusal(command: Command | None) -> str | None:
    """What containerd says against its configuration."""
    if command is None or command.rc in (0, None):
        return None
    last = _DAEMON_LINE.findall(command.stderr)[-1:] or command.stderr.strip().splitlines()[-1:]
    return last[0] if last else f"containerd config dump: exit code {command.rc}"


def _imported(config_path: str, files: dict[str, tuple[dict[str, t.Any], str | None]]) -> tuple[list[str], bool]:
    """The files that ``imports`` bring in, in containerd's order, and whether a file imports one that is already being read."""
    read: list[str] = []
    cycle = False
    waiting = [config_path]
    while waiting and len(read) < _CYCLE_LIMIT:
        current = waiting.pop(0)
        folder = current.rpartition("/")[0]
        for pattern in texts(files.get(current, ({}, None))[0].get("imports")):
            absolute = pattern if pattern.startswith("/") else f"{folder}/{pattern}"
            found = sorted(path for path in files if _matches(path, absolute))
            cycle = cycle or any(path == config_path or path in read for path in found)
            new = [path for path in found if path != config_path and path not in read]
            read += new
            waiting += new
    return read, cycle


def _matches(path: str, pattern: str) -> bool:
    """Whether a shell pattern names a path; no wildcard crosses a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(fnmatch.fnmatchcase(part, want) for part, want in zip(parts, wanted))


def _merge(base: dict[str, t.Any], over: dict[str, t.Any]) -> dict[str, t.Any]:
    """Two configurations in one. containerd before 2.1 replaces whole plugin sections instead; its dump shows that, files alone don't."""
    merged = dict(base)
    for key, value in over.items():
        merged[key] = _merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
    return merged
