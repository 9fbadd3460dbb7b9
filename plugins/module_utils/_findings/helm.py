# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings from what Helm printed."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import LONGEST
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_components import HELM_STATUSES, SAID_BY_HELM

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_RULES = tuple((wording, re.compile(wording.pattern)) for wording in SAID_BY_HELM)
_RELEASE = re.compile(
    r"release-name\": must be set to \"(?P<release>[^\"\n]+)\"|^\s*Error: (?:UPGRADE|INSTALLATION) FAILED: \"(?P<named>[^\"\n]+)\"", re.MULTILINE
)
_LIST = re.compile(r"^NAME\s+NAMESPACE\s+REVISION\s")
_HISTORY = re.compile(r"^REVISION\s+UPDATED\s+STATUS\s")


def helm_findings(text: str, source: str) -> Findings:
    """Why Helm refused, or what it says of its releases.

    :param source: where it was read.
    """
    for wording, pattern in _RULES:
        match = pattern.search(text)
        if match:
            values = {name: value or "" for name, value in match.groupdict().items()}
            release = values.get("release") or _release(text) or "(unknown)"
            return [_about(wording.code, release, f"Helm release {release}: {wording.summary.format(**values)}.", source, _line(text, match))]
    return _statuses(text, source)


def _statuses(text: str, source: str) -> Findings:
    """Releases whose last attempt failed or never ended, by ``helm list`` or ``helm history``."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = next((position for position, line in enumerate(lines) if _LIST.match(line) or _HISTORY.match(line)), None)
    if head is None:
        return []
    rows = [(line, status) for line in lines[head + 1 :] for status in line.split() if status in HELM_STATUSES]
    if _HISTORY.match(lines[head]):
        rows = [(line, status) for line, status in rows if line == lines[-1]]
    found = []
    for line, status in rows[:20]:
        release = line.split()[0] if _LIST.match(lines[head]) else "(unknown)"
        found.append(_about("HelmReleaseNotFoundOrFailed", release, f"Helm release {release} has the status {status}.", source, line.strip()))
    return found


def _about(code: str, release: str, summary: str, source: str, line: str) -> Object:
    return finding(code, kind="release", name=release, summary=summary, evidence=[seen(source, line[:LONGEST])])


def _release(text: str) -> t.Optional[str]:
    match = _RELEASE.search(text)
    return match.group("release") or match.group("named") if match else None


def _line(text: str, match: t.Match[str]) -> str:
    first = text.rfind("\n", 0, match.start()) + 1
    last = text.find("\n", match.end())
    return text[first : len(text) if last < 0 else last].strip()
