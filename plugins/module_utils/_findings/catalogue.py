# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release.

Every finding code, once, and how a finding is made of it. A code is one cause with one remedy; it is never renamed.
"""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes import cluster, driver, pods, runtime
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes.entry import ERROR, INFO, WARNING, CatalogueEntry

__all__ = ["AREAS", "CATALOGUE", "ERROR", "INFO", "WARNING", "CatalogueEntry", "finding", "seen"]

# By what a code is about.
AREAS: t.Mapping[str, t.Mapping[str, CatalogueEntry]] = {
    "Driver and hardware of a node": driver.CODES,
    "Container runtime of a node": runtime.CODES,
    "Pods, jobs, scheduling and admission": pods.CODES,
    "Operator, sharing, upgrade and cleanup": cluster.CODES,
}

CATALOGUE: t.Mapping[str, CatalogueEntry] = {code: entry for codes in AREAS.values() for code, entry in codes.items()}


def finding(
    code: str,
    *,
    kind: str,
    name: str,
    summary: str,
    namespace: str | None = None,
    evidence: t.Sequence[dict[str, str]] = (),
    next_step: str | None = None,
    severity: str | None = None,
) -> dict[str, t.Any]:
    """One finding, in the shape that every module of the collection returns; ``_findings.order.arrange`` sets what it follows from.

    :param code: a code of the catalogue.
    :param kind: what it is about: ``node``, ``gpu``, ``pod``, ``job``, ``daemonset``, ``release`` or ``file``.
    :param name: that thing's name.
    :param summary: one sentence with the values found and expected.
    :param evidence: what shows it: ``{"where": ..., "text": ...}``, at most a handful.
    :param next_step: replaces the catalogue's where the values allow a more precise one.
    :param severity: replaces the catalogue's where the circumstances change it.
    :raises KeyError: the catalogue has no such code.
    """
    entry = CATALOGUE[code]
    return {
        "code": code,
        "severity": severity or entry.severity,
        "subject": {"kind": kind, "name": name, "namespace": namespace},
        "summary": summary,
        "cause": entry.cause,
        "next_step": next_step or entry.next_step,
        "evidence": list(evidence),
        "retryable": entry.retryable,
        "consequence_of": None,
    }


def seen(where: str, text: str) -> dict[str, str]:
    """One piece of evidence.

    :param where: file, command or field that it was read from.
    :param text: the line or value that shows it.
    """
    return {"where": where, "text": text}
