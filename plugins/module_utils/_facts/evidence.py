# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Evidence as the facts layer reads it, whatever wrote it."""

from __future__ import annotations

import typing as t

SCHEMA = 1


class Command(t.NamedTuple):
    """What a command said. ``rc`` is ``None`` where it didn't run to its end."""

    rc: int | None
    stdout: str
    stderr: str
    timed_out: bool


class Evidence(t.NamedTuple):
    """A node's evidence with every type as promised; what had another type is left out.

    :param files: absolute path to text.
    :param pci: ``None`` where the bus could not be read, which is not the same as an empty one.
    :param runtimes: ``None`` where they were not looked at; then they are told from the files.
    :param kubelet: ``None`` where none was found; else ``config``, the path of its configuration, and ``arguments``.
    :param cut: paths of files whose text isn't whole.
    :param modules: files of NVIDIA's module for the running kernel; ``None`` where nobody looked.
    :param loaded_modules: kernel modules that matter for the GPU: ``name``, ``refcount`` and ``used_by``; ``None`` where they were not looked at.
    :param kernel_log: ``None`` where it was not looked at; else ``source``, ``complete``, ``dropped`` (lines) and ``lines``.
    :param nvml: ``None`` where no library was found; else ``library``, ``error``, ``driver_version``, ``cuda_version`` and ``gpus``.
    """

    files: dict[str, str]
    commands: dict[str, Command]
    pci: list[dict[str, t.Any]] | None
    host: dict[str, t.Any]
    modules: list[str] | None
    libraries: list[dict[str, t.Any]]
    loaded_modules: list[dict[str, t.Any]] | None
    kernel_log: dict[str, t.Any] | None
    nvml: dict[str, t.Any] | None
    runtimes: list[dict[str, t.Any]] | None
    kubelet: dict[str, t.Any] | None
    cut: frozenset[str]
    collector_errors: list[dict[str, t.Any]]

    def stdout(self, name: str) -> str:
        """What a command wrote; empty where it wasn't run."""
        command = self.commands.get(name)
        return command.stdout if command else ""


def read(raw: t.Any) -> Evidence:
    """Evidence from what the collector gave, or from a file that somebody may have cut or edited."""
    raw = mapping(raw)
    commands = {name: _command(record) for name, record in mapping(raw.get("commands")).items() if isinstance(record, dict)}
    return Evidence(
        files={path: text(record.get("text")) for path, record in mapping(raw.get("files")).items() if isinstance(record, dict)},
        commands=commands,
        pci=mappings(raw["pci"]) if isinstance(raw.get("pci"), list) else None,
        host=mapping(raw.get("host")),
        modules=texts(raw["modules"]) if isinstance(raw.get("modules"), list) else None,
        libraries=mappings(raw.get("libraries")),
        loaded_modules=mappings(raw["loaded_modules"]) if isinstance(raw.get("loaded_modules"), list) else None,
        kernel_log=raw["kernel_log"] if isinstance(raw.get("kernel_log"), dict) else None,
        nvml=raw["nvml"] if isinstance(raw.get("nvml"), dict) else None,
        runtimes=mappings(raw["runtimes"]) if isinstance(raw.get("runtimes"), list) else None,
        kubelet=raw["kubelet"] if isinstance(raw.get("kubelet"), dict) else None,
        cut=frozenset(path for path, record in mapping(raw.get("files")).items() if mapping(record).get("truncated") is True),
        collector_errors=mappings(raw.get("collector_errors")),
    )


def _command(record: dict[str, t.Any]) -> Command:
    rc = record.get("rc")
    return Command(
        rc=rc if isinstance(rc, int) else None,
        stdout=text(record.get("stdout")),
        stderr=text(record.get("stderr")),
        timed_out=record.get("timed_out") is True,
    )


def text(value: t.Any) -> str:
    """The value where it is text, else the empty one."""
    return value if isinstance(value, str) else ""


def number(value: t.Any) -> int | None:
    """The value where it is a whole number, else ``None``."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(value: t.Any) -> dict[str, t.Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: t.Any) -> list[t.Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: t.Any) -> list[dict[str, t.Any]]:
    """The mappings in a list."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def texts(value: t.Any) -> list[str]:
    """The texts in a list."""
    return [item for item in sequence(value) if isinstance(item, str)]
