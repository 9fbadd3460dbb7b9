# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which version of the CDI specification a document needs.

The fields and the versions that brought them are those of the reference implementation (container-device-interface, specs-go/version.go).
"""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.versions import numbers

Object = t.Dict[str, t.Any]


class Fault(t.NamedTuple):
    """What is wrong with a specification.

    :param field: that it is about; empty where it is the whole.
    """

    field: str
    text: str


class _Feature(t.NamedTuple):
    """A field, the version that brought it, and whether a specification uses it."""

    field: str
    since: str
    is_used: t.Callable[[Object], bool]


def all_edits(spec: Object) -> list[Object]:
    """The ``containerEdits`` of a specification: its own, and its devices'."""
    return [mapping(part.get("containerEdits")) for part in (spec, *mappings(spec.get("devices")))]


def _edit(field: str) -> t.Callable[[Object], bool]:
    return lambda spec: any(edit.get(field) for edit in all_edits(spec))


def _within(part: str, field: str) -> t.Callable[[Object], bool]:
    return lambda spec: any(item.get(field) for edit in all_edits(spec) for item in mappings(edit.get(part)))


def _rdt(field: str) -> t.Callable[[Object], bool]:
    return lambda spec: any(mapping(edit.get("intelRdt")).get(field) for edit in all_edits(spec))


def _is_annotated(spec: Object) -> bool:
    return any(part.get("annotations") for part in (spec, *mappings(spec.get("devices"))))


def _has_numbered_device(spec: Object) -> bool:
    return any(text(device.get("name"))[:1].isdecimal() for device in mappings(spec.get("devices")))


def _has_dotted_class(spec: Object) -> bool:
    return "." in text(spec.get("kind")).partition("/")[2]


_FEATURES = (
    _Feature("netDevices", "1.1.0", _edit("netDevices")),
    _Feature("schemata", "1.1.0", _rdt("schemata")),
    _Feature("enableMonitoring", "1.1.0", _rdt("enableMonitoring")),
    _Feature("additionalGids", "0.7.0", _edit("additionalGids")),
    _Feature("intelRdt", "0.7.0", _edit("intelRdt")),
    _Feature("annotations", "0.6.0", _is_annotated),
    _Feature("kind", "0.6.0", _has_dotted_class),
    _Feature("hostPath", "0.5.0", _within("deviceNodes", "hostPath")),
    _Feature("name", "0.5.0", _has_numbered_device),
    _Feature("type", "0.4.0", _within("mounts", "type")),
)


def too_new(spec: Object) -> Fault | None:
    """The first field that is newer than the version which the specification gives itself."""
    declared = text(spec.get("cdiVersion"))
    if not numbers(declared):
        return Fault("cdiVersion", f"cdiVersion is {declared:.40}, expected a version")
    newer = next((feature for feature in _FEATURES if numbers(declared) < numbers(feature.since) and feature.is_used(spec)), None)
    return Fault(newer.field, f"it says version {declared}, but uses {newer.field}, which needs {newer.since}") if newer else None
