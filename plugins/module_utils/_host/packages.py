# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Debian package versions and what apt says about them."""

from __future__ import annotations

import typing as t

Package = t.Dict[str, t.Any]

INSTALLED = "ii"


def upstream(version: str) -> str:
    """A package version without its epoch and its revision: ``580.159.04`` of ``1:580.159.04-1``."""
    without_epoch = version.split(":", 1)[-1]
    return without_epoch.rpartition("-")[0] or without_epoch


def matches(version: str, wanted: str) -> bool:
    """Whether a package version is the wanted one, given in full or as its upstream part alone."""
    return wanted in (version, upstream(version))


def choose(available: t.Iterable[str], wanted: str) -> str | None:
    """The first of the available versions (newest first) that is the wanted one."""
    return next((version for version in available if matches(version, wanted)), None)


def settled(package: Package) -> bool:
    """Whether dpkg is done with an installed package."""
    return package["status"].strip() == INSTALLED


def held_names(packages: t.Iterable[Package], held: bool) -> list[str]:
    """Names of the packages whose hold is as given, sorted."""
    return sorted(package["name"] for package in packages if bool(package["held"]) is held)


def parse_madison(text: str) -> dict[str, list[str]]:
    """Versions by package name, newest first, each once.

    :param text: output of ``apt-cache madison``: ``name | version | repository suite Packages``.
    """
    versions: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and fields[1] not in versions.setdefault(fields[0], []):
            versions[fields[0]].append(fields[1])
    return versions


def apt_errors(stderr: str) -> list[str]:
    """The errors among what apt wrote (``E: ...``, from apt 3 on also ``Error: ...``), or all of it where none is marked."""
    lines = stderr.splitlines()
    errors = [line.partition(":")[2].strip() for line in lines if line.startswith(("E:", "Error:"))]
    return errors or [line for line in lines if line.strip()]
