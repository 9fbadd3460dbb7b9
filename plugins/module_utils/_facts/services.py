# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. NVIDIA's services and the builds of its module, from systemd, DKMS and the packages."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import packages as pkg
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence

# Fact to the unit, and to the package whose version is the service's.
_UNITS = {
    "persistence_daemon": ("nvidia-persistenced.service", re.compile(r"^nvidia-persistenced$|^nvidia-compute-utils")),
    "fabric_manager": ("nvidia-fabricmanager.service", re.compile(r"^nvidia-fabric-?manager")),
    "imex": ("nvidia-imex.service", re.compile(r"^nvidia-imex")),
    "grid": ("nvidia-gridd.service", None),
}
_FABRIC_MANAGER_SAID = re.compile(r"\b(\d{3}\.\d+(?:\.\d+)?)\b")
# "nvidia/580.159.04, 6.8.0-45-generic, x86_64: installed", before DKMS 3 "nvidia, 520.56.06, ..."; a module that was only added has no kernel.
_DKMS = re.compile(r"^(?P<module>nvidia[\w-]*)(?:/|, )(?P<version>[\w.~+-]+)(?:, (?P<kernel>[^,:]+), [^:]+)?: (?P<state>\w[\w -]*)")
_LINE_LIMIT = 1000


def facts(evidence: Evidence, packages: t.Sequence[pkg.Package]) -> dict[str, dict[str, t.Any] | None] | None:
    """The services: ``state`` (systemd's ActiveState), ``enabled``, and ``version`` of the package; ``None`` for one that isn't there.

    :return: ``None`` where systemd wasn't asked.
    """
    if "services" not in evidence.commands:
        return None
    units = _units(evidence.stdout("services"))
    return {name: _service(name, units.get(unit), pattern, evidence, packages) for name, (unit, pattern) in _UNITS.items()}


def dkms(text: str) -> list[dict[str, t.Any]]:
    """The builds that ``dkms status`` lists: ``module``, ``version``, ``kernel`` (``None`` where none is built for) and ``state``."""
    found = (_DKMS.match(line.strip()) for line in text.splitlines()[:_LINE_LIMIT])
    return [{**match.groupdict(), "state": match.group("state").strip()} for match in found if match]


def _units(text: str) -> dict[str, dict[str, str]]:
    """The properties of the units that ``systemctl show`` printed, by their Id."""
    units = {}
    for block in re.split(r"\n\s*\n", text):
        properties = {name: value for name, _equals, value in (line.strip().partition("=") for line in block.splitlines()[:_LINE_LIMIT])}
        if properties.get("Id"):
            units[properties["Id"]] = properties
    return units


def _service(
    name: str, unit: dict[str, str] | None, pattern: t.Pattern[str] | None, evidence: Evidence, packages: t.Sequence[pkg.Package]
) -> dict[str, t.Any] | None:
    if unit is None or unit.get("LoadState") in (None, "", "not-found"):
        return None
    versions = [pkg.upstream(package.version) for package in packages if pattern and package.installed and pattern.match(package.name)]
    said = _FABRIC_MANAGER_SAID.search(evidence.stdout("fabric_manager_version")) if name == "fabric_manager" else None
    return {
        "state": unit.get("ActiveState") or None,
        "enabled": {"enabled": True, "disabled": False, "masked": False}.get(unit.get("UnitFileState", "")),
        "version": next(iter(versions), None) or (said.group(1) if said else None),
    }
