# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. containerd's effective configuration, of the versions 1 to 4."""

from __future__ import annotations

import fnmatch
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Command, Evidence, mapping, text, texts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.handlers import handler
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.merging import merge
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import is_template, line_of, parse_toml

DUMP = "containerd_config_dump"

# Where the runtime handlers are, by the version of the configuration (containerd, docs/cri/config.md); 4 keeps what 3 has.
_CRI_PLUGINS = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri")
_DEFAULT_HANDLER = "runc"
_CDI_ALWAYS_ON = 3
_CYCLE_LIMIT = 64
_DAEMON_LINE = re.compile(r"^containerd: (.+)$", re.MULTILINE)
# Somebody may have saved what it logged together with what it printed.
_LOG_LINE = re.compile(r'^time="[^"\n]*" level=[^\n]*\n?', re.MULTILINE)
_DAEMON_FILE = re.compile(r"\bfile=(\S+)")
# k0s reads them itself and writes what they say to a file of its own (k0s: containerd drop-ins).
_READ_BY_K0S = "/etc/k0s/containerd.d/"
# k3s and RKE2; MicroK8s.
_TEMPLATE_NAMES = (".toml.tmpl", "/containerd-template.toml")

# (key, type, its name for people): what a start of containerd refuses when it has another type.
_TOP_TYPES: tuple[tuple[str, type, str], ...] = (
    ("version", int, "a number"),
    ("imports", list, "a list"),
    ("disabled_plugins", list, "a list"),
    ("required_plugins", list, "a list"),
    ("plugins", dict, "a table"),
)
_PLUGIN_TYPES: tuple[tuple[str, type, str], ...] = (("enable_cdi", bool, "true or false"), ("containerd", dict, "a table"))
_HANDLER_TYPES: tuple[tuple[str, type, str], ...] = (("runtime_type", str, "text"), ("options", dict, "a table"))
_OPTION_TYPES: tuple[tuple[str, type, str], ...] = (("BinaryName", str, "text"), ("Runtime", str, "text"), ("SystemdCgroup", bool, "true or false"))


class _File(t.NamedTuple):
    """A file of the configuration; ``error`` is ``None`` where its text isn't whole, since nothing can be said then."""

    document: dict[str, t.Any]
    error: str | None


_NOTHING = _File({}, None)


def facts(evidence: Evidence, config_path: str, dump: Command | None) -> dict[str, t.Any]:
    """The configuration that a start of containerd would use now, and the files that it comes from.

    :param config_path: the main file.
    :param dump: ``containerd config dump`` of that file, where there is one.
    :return: handlers, default, CDI and plugins as the dump gives them, else merged from the files.
    """
    folder = config_path.rpartition("/")[0] + "/"
    templates = _templates(evidence, folder)
    files = {path: _file(path, evidence) for path in evidence.files if path.endswith(".toml") and path not in templates}
    read, cycle = _imported(config_path, files)
    merged: dict[str, t.Any] = {}
    for path in [config_path, *read]:
        merged = merge(merged, files.get(path, _NOTHING).document)
    dumped = parse_toml(_LOG_LINE.sub("", dump.stdout))[0] if dump and dump.rc == 0 else {}
    effective = dumped or merged
    error, where = _fault(config_path, read, files, dump)
    plugin = cri_plugin(effective)
    return {
        "config_path": config_path if config_path in evidence.files else None,
        "config_version": _version(files.get(config_path, _NOTHING).document, evidence.files.get(config_path, ""), dumped),
        "config_valid": None if config_path in templates else error is None,
        "config_error": error,
        "config_error_path": where,
        "config_error_line": line_of(error),
        "dumped": bool(dumped),
        "import_cycle": cycle,
        "drop_ins": read,
        "orphan_drop_ins": [path for path in sorted(files) if _is_orphan(path, folder) and path not in (config_path, *read) and handlers(files[path].document)],
        "templates": templates,
        "disabled_plugins": texts(effective.get("disabled_plugins")),
        "deprecated_default_runtime": bool(mapping(mapping(plugin.get("containerd")).get("default_runtime")).get("runtime_type")),
        "cdi_asked": any(cri_plugin(files[path].document).get("enable_cdi") is True for path in [config_path, *read] if path in files),
        "cdi_spec_dirs": texts(plugin.get("cdi_spec_dirs")),
        **cri_section(effective),
        "sources": {entry["name"]: path for path in [config_path, *read] if path in files for entry in handlers(files[path].document)},
    }


def cri_section(config: dict[str, t.Any]) -> dict[str, t.Any]:
    """What the CRI plugin is told: ``handlers``, ``default_handler`` (containerd's own where none is named) and ``cdi_enabled``."""
    plugin = cri_plugin(config)
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
    runtimes = mapping(mapping(cri_plugin(config).get("containerd")).get("runtimes"))
    return [_handler(name, mapping(entry)) for name, entry in runtimes.items()]


def cri_is_disabled(disabled_plugins: t.Sequence[str]) -> bool:
    """Whether the list names the CRI plugin, by any of its names."""
    return any(name in _CRI_PLUGINS for name in disabled_plugins)


def cri_plugin(config: dict[str, t.Any]) -> dict[str, t.Any]:
    """The section of the CRI plugin, under whatever of its names."""
    plugins = mapping(config.get("plugins"))
    return next((mapping(plugins[name]) for name in _CRI_PLUGINS if name in plugins), {})


def _handler(name: str, entry: dict[str, t.Any]) -> dict[str, t.Any]:
    options = mapping(entry.get("options"))
    cgroup = options.get("SystemdCgroup")
    return handler(
        name,
        runtime_type=text(entry.get("runtime_type")),
        # Version 1 calls it Runtime.
        binary=text(options.get("BinaryName")) or text(options.get("Runtime")),
        systemd_cgroup=cgroup if isinstance(cgroup, bool) else None,
    )


def _templates(evidence: Evidence, folder: str) -> list[str]:
    """The files below a folder that a distribution makes a configuration of."""
    return sorted(path for path, content in evidence.files.items() if path.startswith(folder) and _is_template(path, content))


def _is_template(path: str, content: str) -> bool:
    return path.endswith(_TEMPLATE_NAMES) or (path.endswith(".toml") and is_template(content))


def _file(path: str, evidence: Evidence) -> _File:
    document, error = parse_toml(evidence.files[path])
    return _File(document, None if path in evidence.cut else error or type_error(document))


def type_error(document: dict[str, t.Any]) -> str | None:
    """The first value of another type than containerd reads there."""
    plugin = cri_plugin(document)
    runtimes = mapping(mapping(plugin.get("containerd")).get("runtimes"))
    tables: list[tuple[str, dict[str, t.Any], tuple[tuple[str, type, str], ...]]] = [("", document, _TOP_TYPES), ("", plugin, _PLUGIN_TYPES)]
    for name, entry in runtimes.items():
        tables += [(f"runtimes.{name}.", mapping(entry), _HANDLER_TYPES), (f"runtimes.{name}.options.", mapping(mapping(entry).get("options")), _OPTION_TYPES)]
    return next(
        (f"{prefix}{key} is {value!r:.60}, expected {wanted}" for prefix, table, types in tables for key, kind, wanted in types
         if (value := table.get(key)) is not None and not _is_of(value, kind)),
        None,
    )


def _is_of(value: t.Any, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _fault(config_path: str, read: t.Sequence[str], files: t.Mapping[str, _File], dump: Command | None) -> tuple[str | None, str | None]:
    """What a start would refuse, and in which file. containerd's own word counts for more than ours."""
    if dump and dump.rc == 0:
        return None, None
    broken = next((path for path in [config_path, *read] if files.get(path, _NOTHING).error), None)
    if broken:
        return files[broken].error, broken
    refusal = _refusal(dump)
    named = _DAEMON_FILE.search(dump.stderr) if dump else None
    return refusal, (named.group(1) if named else config_path) if refusal else None


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


def _is_orphan(path: str, folder: str) -> bool:
    return path.startswith(folder) and not path.startswith(_READ_BY_K0S)


def _imported(config_path: str, files: t.Mapping[str, _File]) -> tuple[list[str], bool]:
    """The files that ``imports`` bring in, in containerd's order, and whether a file imports one that is already being read."""
    read: list[str] = []
    cycle = False
    waiting = [config_path]
    while waiting and len(read) < _CYCLE_LIMIT:
        current = waiting.pop(0)
        folder = current.rpartition("/")[0]
        for pattern in texts(files.get(current, _NOTHING).document.get("imports")):
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
