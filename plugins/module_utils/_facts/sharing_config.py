# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The device plugin's configuration file: what it shares, and what the plugin refuses or passes over.

Source: NVIDIA k8s-device-plugin v0.20.0, api/config/v1.
"""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import structured
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, number, text

Object = t.Dict[str, t.Any]

TIME_SLICING, MPS = "timeSlicing", "mps"
MIG_PREFIX = "nvidia.com/mig-"
_PREFIX = "nvidia.com/"
_SHARED = ".shared"
LEAST_REPLICAS = 2

_FLAGS = frozenset((
    "migStrategy", "failOnInitError", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI",
    "deviceDiscoveryStrategy", "plugin", "gfd",
))
_METHOD = frozenset(("renameByDefault", "failRequestsGreaterThanOne", "resources"))
# Known fields by the place where they belong.
_FIELDS = {
    "": frozenset(("version", "flags", "resources", "sharing", "imex")),
    "sharing": frozenset((TIME_SLICING, MPS)),
    f"sharing.{TIME_SLICING}": _METHOD,
    f"sharing.{MPS}": _METHOD,
    "flags": _FLAGS,
}
_STRATEGIES = ("none", "single", "mixed")


class Problem(t.NamedTuple):
    """Something about a configuration that isn't as its author meant it.

    :param ignored: whether the plugin merely passes over it, and doesn't refuse the file.
    """

    field: str
    reason: str
    ignored: bool


class Share(t.NamedTuple):
    """A shared resource: its name in the configuration and the name that nodes offer, and how many replicas each device gets."""

    method: str
    resource: str
    offered: str
    replicas: int


def parse(content: str) -> t.Tuple[t.Optional[Object], t.Optional[str]]:
    """A configuration from the text of its file and what is wrong with that as YAML; neither where the text is about something else."""
    try:
        found = structured.load_yaml(content)
    except ValueError as error:
        return None, str(error) if "sharing:" in content and "replicas:" in content else None
    config = mapping(found[0]) if len(found) == 1 else {}
    return (config if is_config(config) else None), None


def is_config(config: Object) -> bool:
    """Whether a mapping is a configuration of the plugin, be it one that shares nothing."""
    return (config.get("version") == "v1" and not set(config) - _FIELDS[""]) or isinstance(config.get("sharing"), dict)


def shares(config: Object) -> t.List[Share]:
    """What the plugin would share. Of both methods MPS counts; a device's replicas are those of its resource."""
    sharing = mapping(config.get("sharing"))
    method = MPS if mapping(sharing.get(MPS)) else TIME_SLICING
    chosen = mapping(sharing.get(method))
    found = []
    for entry in mappings(chosen.get("resources")):
        name, replicas = _resource(entry), number(entry.get("replicas"))
        if name and replicas is not None and replicas >= LEAST_REPLICAS:
            found.append(Share(method, name, name + _SHARED if chosen.get("renameByDefault") is True else name, replicas))
    return found


def problems(config: Object) -> t.List[Problem]:
    """What the plugin refuses, and what it silently ignores, the former first."""
    sharing = mapping(config.get("sharing"))
    found = [problem for method in (TIME_SLICING, MPS) if method in sharing for problem in _method_problems(method, sharing[method], config)]
    found += _strategy_problems(config, sharing)
    found += [problem for place in _FIELDS for problem in _unknown_fields(config, place)]
    return sorted(found, key=lambda problem: problem.ignored)


def _method_problems(method: str, given: t.Any, config: Object) -> t.Iterator[Problem]:
    place = f"sharing.{method}"
    resources = mapping(given).get("resources")
    if not isinstance(resources, list) or not resources:
        yield Problem(f"{place}.resources", "is missing or empty", False)
        return
    for position, entry in enumerate(resources):
        field = f"{place}.resources[{position}]"
        replicas = mapping(entry).get("replicas")
        if number(replicas) is None or (number(replicas) or 0) < LEAST_REPLICAS:
            yield Problem(f"{field}.replicas", f"is {_shown(replicas)} and must be a number >= {LEAST_REPLICAS}", False)
        if not text(mapping(entry).get("name")):
            yield Problem(f"{field}.name", "is missing", False)
        elif method == MPS and _resource(mapping(entry)).startswith(MIG_PREFIX):
            yield Problem(f"{field}.name", f"is {_resource(mapping(entry))}: MPS sharing is not supported for MIG devices", False)
    if method == MPS and mapping(config.get("flags")).get("migStrategy") == "mixed":
        yield Problem("flags.migStrategy", "is mixed, which MPS doesn't support", False)


def _strategy_problems(config: Object, sharing: Object) -> t.Iterator[Problem]:
    strategy = mapping(config.get("flags")).get("migStrategy")
    if strategy is not None and strategy not in _STRATEGIES:
        yield Problem("flags.migStrategy", f"is {_shown(strategy)} and must be one of {', '.join(_STRATEGIES)}", False)
    if config.get("version", "v1") != "v1":
        yield Problem("version", f"is {_shown(config.get('version'))} and must be v1", False)
    if mapping(sharing.get(MPS)) and mapping(sharing.get(TIME_SLICING)):
        yield Problem(f"sharing.{TIME_SLICING}", "is ignored, since MPS is configured, too", True)


def _unknown_fields(config: Object, place: str) -> t.Iterator[Problem]:
    """Fields that the plugin doesn't know where they stand; it passes over them without a word."""
    value: t.Any = config
    for step in place.split(".") if place else ():
        value = mapping(value).get(step)
    for name in sorted(set(mapping(value)) - _FIELDS[place]):
        field = f"{place}.{name}" if place else name
        home = next((other for other, known in _FIELDS.items() if name in known), None)
        known = "sharing.timeSlicing or sharing.mps" if home and home.startswith("sharing.") else home
        yield Problem(field, "unknown field" + (f" here: it belongs under {known}" if known else ""), True)


def _resource(entry: Object) -> str:
    """The plugin puts the prefix in front of a name that lacks it."""
    name = text(entry.get("name"))
    return name if not name or name.startswith(_PREFIX) else _PREFIX + name


def _shown(value: t.Any) -> str:
    return "missing" if value is None else str(value)[:40]
