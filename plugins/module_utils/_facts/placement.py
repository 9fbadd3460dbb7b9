# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Whether a pod may run on a node: taints, selectors, affinity."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, text, text_values, texts

Object = t.Dict[str, t.Any]


def tolerates(pod: Object, taint: Object) -> bool:
    """Whether one of the pod's tolerations matches a taint (k8s.io/component-helpers v0.36, Toleration.ToleratesTaint)."""
    return any(_toleration_matches(toleration, taint) for toleration in mappings(mapping(pod.get("spec")).get("tolerations")))


def _toleration_matches(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def matches_affinity(pod: Object, node: Object) -> bool:
    """Whether a node satisfies the pod's node selector and its required node affinity."""
    spec, metadata = mapping(pod.get("spec")), mapping(node.get("metadata"))
    labels = text_values(metadata.get("labels"))
    if any(labels.get(key) != value for key, value in mapping(spec.get("nodeSelector")).items()):
        return False
    required = mapping(mapping(spec.get("affinity")).get("nodeAffinity")).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_matches(term, labels, text(metadata.get("name"))) for term in mappings(mapping(required).get("nodeSelectorTerms")))


def _term_matches(term: Object, labels: t.Mapping[str, str], name: str) -> bool:
    expressions, fields = mappings(term.get("matchExpressions")), mappings(term.get("matchFields"))
    if not expressions and not fields:
        return False
    return all(_requirement_matches(item, labels) for item in expressions) and all(_requirement_matches(item, {"metadata.name": name}) for item in fields)


def _requirement_matches(requirement: Object, values: t.Mapping[str, str]) -> bool:
    """An operator that doesn't exist matches nothing."""
    compare = _OPERATORS.get(text(requirement.get("operator")))
    return compare is not None and compare(values.get(text(requirement.get("key"))), texts(requirement.get("values")))


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
