# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the scheduler says of a pod that it can't place."""

from __future__ import annotations

import re
import typing as t

_TOTAL = re.compile(r"(\d+)/(\d+) nodes are available:?\s*")
# What follows the list of reasons: the scheduler's thoughts on preemption and on claims.
_TAIL = re.compile(r"[.,]\s+(?:preemption:|no new claims)|\.+\s*\Z")
_CLAUSE = re.compile(r"(\d+) (.+)", re.DOTALL)
_AUTOSCALER = re.compile(r"pod didn't trigger scale-up[^:]*:\s*")

_KINDS: t.Tuple[t.Tuple[str, t.Pattern[str]], ...] = (
    ("insufficient", re.compile(r"Insufficient (?P<resource>\S+)")),
    ("taint", re.compile(r"node\(s\) had (?:untolerated )?taint(?:s|\(s\))?(?: \{(?P<key>[^:}]*): ?(?P<value>[^}]*)\})?.*")),
    ("cordoned", re.compile(r"node\(s\) were unschedulable")),
    ("not_ready", re.compile(r"node\(s\) were not ready")),
    ("affinity", re.compile(r"node\(s\) didn't match (?:Pod's )?node (?:affinity/selector|affinity|selector)")),
)


class Clause(t.NamedTuple):
    """One reason out of a scheduling message.

    :param kind: ``insufficient``, ``taint``, ``cordoned``, ``not_ready``, ``affinity`` or ``other``.
    :param nodes: number of nodes that it holds for.
    :param values: ``resource``, or ``key`` and ``value`` of a taint.
    """

    kind: str
    nodes: int
    text: str
    values: t.Dict[str, str]


class Refusal(t.NamedTuple):
    """A scheduling message, taken apart. Old schedulers give several reasons per node, so counts may exceed ``nodes_total``."""

    nodes_total: t.Optional[int]
    clauses: t.Tuple[Clause, ...]

    def blocked_by(self) -> t.Dict[str, int]:
        return {clause.text: clause.nodes for clause in self.clauses}


def parse_refusal(message: str) -> t.Optional[Refusal]:
    """Take a FailedScheduling message, or the autoscaler's NotTriggerScaleUp, apart.

    :return: ``None`` for a text of another form. Reasons of unknown wording are kept as ``other``.
    """
    start = _TOTAL.search(message) or _AUTOSCALER.search(message)
    if start is None:
        return None
    total = int(start.group(2)) if start.re is _TOTAL else None
    reasons = _TAIL.split(message[start.end() :], maxsplit=1)[0]
    return Refusal(total, tuple(_clause(text) for text in re.split(r",\s+(?=\d+ )", reasons.strip()) if text))


def _clause(text: str) -> Clause:
    counted = _CLAUSE.fullmatch(text)
    nodes, reason = (int(counted.group(1)), counted.group(2)) if counted else (0, text)
    for kind, pattern in _KINDS:
        match = pattern.fullmatch(reason)
        if match:
            return Clause(kind, nodes, reason, {name: value.strip() for name, value in match.groupdict().items() if value is not None})
    return Clause("other", nodes, reason, {})
