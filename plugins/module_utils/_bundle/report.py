# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings as lines for people; no I/O."""

from __future__ import annotations

import textwrap
import typing as t

Object = t.Dict[str, t.Any]
Findings = t.Sequence[Object]

SEVERITIES = ("error", "warning", "info")
# What is most likely behind the rest comes first.
_KINDS = ("node", "gpu", "release", "daemonset", "job", "pod", "file")
_INDENT = "  "
# Characters; Ansible's YAML output folds longer ones anywhere.
_WIDTH = 72
# Subjects of one kind in the same plight are told one by one up to this number.
_MOST_ALIKE = 3
_MOST_NAMES = 10


def report_lines(result: t.Mapping[str, t.Any]) -> t.List[str]:
    """A summary, the findings by what they are about, and what could not be read.

    :param result: with ``findings``, and where they are there ``nodes`` (those looked at) and ``unused`` (``what`` and ``reason`` of each).
    """
    findings = result["findings"]
    lines = [summary_line(findings)]
    for group in _alike(_by_subject(findings)):
        lines += ["", *_group_lines(group, findings)]
    well = sorted(set(result.get("nodes") or ()) - {finding["subject"]["name"] for finding in findings if finding["subject"]["kind"] == "node"})
    if well:
        lines += ["", f"Nothing wrong with the nodes: {', '.join(well)}"]
    unused = result.get("unused") or []
    if unused:
        lines += ["", "Not read:", *(f"{_INDENT}{item['what']}: {item['reason']}" for item in unused)]
    return [part for line in lines for part in _wrapped(line)]


def _wrapped(line: str) -> t.List[str]:
    """The line in several where it is long, the later ones indented below it."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent + _INDENT * 2, break_long_words=False, break_on_hyphens=False) or [""]


def summary_line(findings: Findings) -> str:
    """How much of each severity, in one line."""
    counts = {severity: sum(finding["severity"] == severity for finding in findings) for severity in SEVERITIES}
    if not findings:
        return "Nothing found that is wrong."
    told = ", ".join(_count(number, severity) for severity, number in counts.items() if number)
    first = findings[0]
    return f"{told[0].upper()}{told[1:]}. First: {first['code']} on {subject_name(first['subject'])}."


def subject_name(subject: Object) -> str:
    """What a finding is about: ``node gpu-1``, ``pod research/train-1``."""
    namespace = subject.get("namespace")
    return f"{subject['kind']} {namespace + '/' if namespace else ''}{subject['name']}"


def _count(number: int, severity: str) -> str:
    return f"{number} {severity if number == 1 else {'info': 'infos'}.get(severity, severity + 's')}"


def _by_subject(findings: Findings) -> t.List[t.List[Object]]:
    groups: t.Dict[str, t.List[Object]] = {}
    for finding in findings:
        groups.setdefault(subject_name(finding["subject"]), []).append(finding)
    return sorted(groups.values(), key=_rank)


def _rank(group: Findings) -> t.Tuple[int, int]:
    """The worst first, and causes before what they bring about; the findings' own order otherwise."""
    kind = group[0]["subject"]["kind"]
    severities = [SEVERITIES.index(finding["severity"]) for finding in group]
    return min(severities), _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _alike(groups: t.Iterable[t.List[Object]]) -> t.List[t.List[t.List[Object]]]:
    """The groups with those together, if there are many, that have the same findings on things of the same kind."""
    together: t.Dict[t.Tuple[str, ...], t.List[t.List[Object]]] = {}
    for group in groups:
        plight = (group[0]["subject"]["kind"], *(finding["code"] for finding in group), *(finding["next_step"] for finding in group))
        together.setdefault(plight, []).append(group)
    found: t.List[t.List[t.List[Object]]] = []
    for members in together.values():
        found += [members] if len(members) > _MOST_ALIKE else [[group] for group in members]
    return found


def _group_lines(members: t.Sequence[Findings], everything: Findings) -> t.List[str]:
    group = members[0]
    head = subject_name(group[0]["subject"])
    if len(members) > 1:
        others = [subject_name(other[0]["subject"]).split(" ", 1)[1] for other in members[1 : _MOST_NAMES + 1]]
        more = len(members) - 1 - len(others)
        head += f", and in the same way {len(members) - 1} more: {', '.join(others)}{f' and {more} others' if more else ''}"
    return [head, *_tree(None, group, everything, 1)]


def _tree(cause: t.Optional[int], group: Findings, everything: Findings, depth: int) -> t.List[str]:
    """What follows from one finding of the group, each with what follows from it below.

    :param cause: its position; ``None`` for what follows from none of them.
    """
    indent = _INDENT * depth
    lines: t.List[str] = []
    for position, finding in enumerate(group):
        if _cause(position, group) == cause:
            elsewhere = _elsewhere(finding, everything) if cause is None else ""
            lines.append(f"{indent}{finding['severity'].upper()} {finding['code']}: {finding['summary']}{elsewhere}")
            lines.append(f"{indent}{_INDENT}Next: {finding['next_step']}")
            lines += _tree(position, group, everything, depth + 1)
    return lines


def _cause(position: int, group: Findings) -> t.Optional[int]:
    """Position of the finding that explains another one of the group: an earlier one."""
    code = group[position].get("consequence_of")
    return next((earlier for earlier in range(position) if group[earlier]["code"] == code), None)


def _elsewhere(finding: Object, everything: Findings) -> str:
    """Where the cause is that isn't told of beside the finding."""
    cause = finding.get("consequence_of")
    names = {subject_name(other["subject"]) for other in everything if cause and other is not finding and other["code"] == cause}
    return f" (follows from {cause}{' on ' + next(iter(names)) if len(names) == 1 else ''})" if names else ""
