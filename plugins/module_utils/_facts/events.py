# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What events say, of either API. Any field may be missing."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, text

Object = t.Dict[str, t.Any]


def events_of(events: t.Iterable[Object], kind: str, namespace: str, name: str) -> t.List[Object]:
    """Events about one object, oldest first as far as they carry a time."""
    return sorted((event for event in events if about(event) == (kind, namespace, name)), key=event_time)


def about(event: Object) -> t.Tuple[str, str, str]:
    """Kind, namespace and name of the object that an event is about."""
    reference = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
    return text(reference.get("kind")), text(reference.get("namespace")) or "default", text(reference.get("name"))


def event_reason(event: Object) -> str:
    return text(event.get("reason"))


def event_message(event: Object) -> str:
    return text(event.get("message")) or text(event.get("note"))


def event_time(event: Object) -> str:
    """When it was last seen (RFC 3339, so that texts compare as times do); empty where unknown."""
    return next((text(event[key]) for key in ("lastTimestamp", "eventTime", "firstTimestamp") if text(event.get(key))), "")
