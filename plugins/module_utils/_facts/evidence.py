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
    :param cri: ``None`` where no runtime's socket was found.
    :param runtime: ``None`` where runtimes were not looked at.
    """

    files: dict[str, str]
    commands: dict[str, Command]
    pci: list[dict[str, t.Any]] | None
    host: dict[str, t.Any]
    modules: list[str]
    libraries: list[dict[str, t.Any]]
    cri: dict[str, t.Any] | None
    runtime: dict[str, t.Any] | None
    collector_errors: list[dict[str, t.Any]]


def read(raw: t.Any) -> Evidence:
    """Evidence from what the collector gave, or from a file that somebody may have cut or edited."""
    raw = mapping(raw)
    commands = {name: _command(record) for name, record in mapping(raw.get("commands")).items() if isinstance(record, dict)}
    return Evidence(
        files={path: text(record.get("text")) for path, record in mapping(raw.get("files")).items() if isinstance(record, dict)},
        commands=commands,
        pci=mappings(raw["pci"]) if isinstance(raw.get("pci"), list) else None,
        host=mapping(raw.get("host")),
        modules=texts(raw.get("modules")),
        libraries=mappings(raw.get("libraries")),
        cri=raw["cri"] if isinstance(raw.get("cri"), dict) else None,
        runtime=raw["runtime"] if isinstance(raw.get("runtime"), dict) else None,
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
