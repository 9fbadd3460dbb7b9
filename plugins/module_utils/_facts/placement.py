# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Whether a pod may run on a node: taints, selectors, affinity."""

from __future__ import annotations

import typing as t

Object = t.Dict[str, t.Any]


def tolerates(pod: Object, taint: Object) -> bool:
    """Whether one of the pod's tolerations matches a taint (k8s.io/component-helpers v0.36, Toleration.ToleratesTaint)."""
    return any(_toleration_matches(toleration, taint) for toleration in (pod.get("spec") or {}).get("tolerations") or [])


def _toleration_matches(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def matches_affinity(pod: Object, node: Object) -> bool:
    """Whether a node satisfies the pod's node selector and its required node affinity."""
    spec, labels = pod.get("spec") or {}, node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_matches(term, labels, node["metadata"]["name"]) for term in required.get("nodeSelectorTerms") or [])


def _term_matches(term: Object, labels: t.Mapping[str, str], name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_requirement_matches(item, labels) for item in expressions) and all(_requirement_matches(item, {"metadata.name": name}) for item in fields)


def _requirement_matches(requirement: Object, values: t.Mapping[str, str]) -> bool:
    found, wanted = values.get(requirement["key"]), requirement.get("values") or []
    return _OPERATORS[requirement["operator"]](found, wanted)


def _compare(found: t.Optional[str], wanted: t.Sequence[str], larger: bool) -> bool:
    """Gt and Lt take integers on both sides; anything else doesn't match."""
    try:
        left, right = int(found or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return left > right if larger else left < right


_OPERATORS: t.Dict[str, t.Callable[[t.Optional[str], t.Sequence[str]], bool]] = {
    "In": lambda found, wanted: found in wanted,
    "NotIn": lambda found, wanted: found not in wanted,
    "Exists": lambda found, wanted: found is not None,
    "DoesNotExist": lambda found, wanted: found is None,
    "Gt": lambda found, wanted: _compare(found, wanted, True),
    "Lt": lambda found, wanted: _compare(found, wanted, False),
}
