# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings in the order of causes: the root cause first, and what follows from it marked so."""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, INFO, WARNING
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes import driver, runtime
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.consequences import CONSEQUENCES

Object = t.Dict[str, t.Any]
Findings = t.List[Object]
# Kind, namespace and name of what a finding is about.
Subject = t.Tuple[str, t.Optional[str], str]
Anchor = t.Tuple[t.Optional[str], ...]

_SEVERITIES = (ERROR, WARNING, INFO)
_POD, _JOB, _NODE = "pod", "job", "node"
_WORK = frozenset((_POD, _JOB))
_ON_A_NODE = frozenset((_NODE, "gpu", "file"))
# True of the whole node, though it was a pod that showed it. A container without devices is most often the fault of its own pod.
_TRUE_OF_THE_NODE = frozenset((*driver.CODES, *runtime.CODES, "DevicePluginNvmlBroken", "DriverImageNotFound", "MpsRootMissing", "MigManagerWedged")) - {
    "ToolkitNotInjecting"
}
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_ANY_NODE: Anchor = ("any node",)
_WHOLE_CLUSTER: Anchor = ("whole cluster",)


def subject_key(item: Object) -> Subject:
    """What a finding is about, as a key."""
    subject = item["subject"]
    return subject["kind"], subject["namespace"], subject["name"]


def arrange(findings: t.Iterable[Object], nodes: t.Optional[t.Mapping[Subject, str]] = None) -> Findings:
    """The findings, the root cause first: errors, then warnings, then infos, but a cause always before what it leads to.

    ``consequence_of`` of each becomes the code of the nearest cause in the list, or ``None``. A cause counts where it concerns the same thing, a pod's
    Job or a Job's pods, or the same node; what concerns the whole cluster goes with any node. An info explains nothing graver than itself.
    Depends on which findings there are and not on their order, which only decides between equals.

    :param findings: in the shape of ``catalogue.finding``.
    :param nodes: which node something belongs to, where the caller knows; else it is told by the node's name in the finding's summary or evidence.
    """
    found = list(findings)
    placed = nodes or {}
    names = {item["subject"]["name"] for item in found if item["subject"]["kind"] == _NODE} | set(placed.values())
    where = [_places(item, names, placed) for item in found]
    given: t.Dict[t.Tuple[str, Anchor], t.List[int]] = {}
    for number, item in enumerate(found):
        for anchor in _offers(item, where[number]):
            given.setdefault((item["code"], anchor), []).append(number)
    causes = [_causes(number, found, where[number], given) for number in range(len(found))]
    depths = _depths(found, causes)
    ranks = _ranks(found, causes, depths)
    order = sorted(range(len(found)), key=lambda number: (ranks[number], depths[number], number))
    return [{**found[number], "consequence_of": found[causes[number][0]]["code"] if causes[number] else None} for number in order]


@functools.lru_cache(maxsize=None)
def levels() -> t.Mapping[str, int]:
    """How many steps a code is at most away from one that follows from nothing. Of two causes the one that is more of them away is the nearer one."""
    found: t.Dict[str, int] = {}

    def level(code: str) -> int:
        if code not in found:
            found[code] = max((level(cause) + 1 for cause, effects in CONSEQUENCES.items() if code in effects), default=0)
        return found[code]

    for code in {*CONSEQUENCES, *(effect for effects in CONSEQUENCES.values() for effect in effects)}:
        level(code)
    return found


@functools.lru_cache(maxsize=None)
def causes_of(code: str) -> t.Tuple[str, ...]:
    """Every code that a code may follow from, by however many steps, the nearest first."""
    known: t.Set[str] = set()
    open_codes = {code}
    while open_codes:
        open_codes = {cause for cause, effects in CONSEQUENCES.items() if open_codes.intersection(effects)} - known
        known |= open_codes
    return tuple(sorted(known, key=lambda cause: (-levels()[cause], cause)))


def _places(item: Object, names: t.AbstractSet[str], placed: t.Mapping[Subject, str]) -> t.FrozenSet[str]:
    """The nodes that a finding concerns."""
    key = subject_key(item)
    if key[0] == _NODE:
        return frozenset((key[2],))
    if key in placed:
        return frozenset((placed[key],))
    texts = [item["summary"], *(part for shown in item["evidence"] for part in (shown["where"], shown["text"]))]
    return frozenset(word for text in texts for word in _NAME.findall(text) if word in names)


def _offers(item: Object, places: t.AbstractSet[str]) -> t.Iterator[Anchor]:
    """By what a finding may be the cause of another one."""
    kind, namespace, name = subject_key(item)
    yield kind, namespace, name
    if kind == _POD:
        yield "pod of", namespace, name.rpartition("-")[0]
    if kind not in _WORK or item["code"] in _TRUE_OF_THE_NODE:
        yield _ANY_NODE
        for place in places:
            yield _NODE, None, place
    if kind not in _WORK | _ON_A_NODE:
        yield _WHOLE_CLUSTER


def _asks(item: Object, places: t.AbstractSet[str]) -> t.Iterator[t.List[Anchor]]:
    """By what the cause of a finding may be found: what is near, then what is far."""
    kind, namespace, name = subject_key(item)
    near: t.List[Anchor] = [(kind, namespace, name), *((_NODE, None, place) for place in places)]
    if kind == _JOB:
        near.append(("pod of", namespace, name))
    if kind == _POD:
        near.append((_JOB, namespace, name.rpartition("-")[0]))
    yield near
    if kind not in _WORK:
        yield [_WHOLE_CLUSTER] if kind in _ON_A_NODE else [_WHOLE_CLUSTER, _ANY_NODE]


def _causes(number: int, found: Findings, places: t.AbstractSet[str], given: t.Mapping[t.Tuple[str, Anchor], t.List[int]]) -> t.List[int]:
    """Positions of the findings of one code that explain a finding, the gravest and nearest code; empty where nothing does."""
    item = found[number]
    severities = _SEVERITIES if item["severity"] == INFO else (ERROR, WARNING)
    for anchors in _asks(item, places):
        known = {code: {other for anchor in anchors for other in given.get((code, anchor), ())} for code in causes_of(item["code"])}
        for severity in severities:
            for others in known.values():
                alike = sorted(other for other in others if found[other]["severity"] == severity)
                if alike:
                    return alike
    return []


def _depths(found: Findings, causes: t.Sequence[t.List[int]]) -> t.List[int]:
    """How many causes stand one behind another before each finding."""
    depths = [0] * len(found)
    for number in sorted(range(len(found)), key=lambda number: levels().get(found[number]["code"], 0)):
        depths[number] = max((depths[cause] + 1 for cause in causes[number]), default=0)
    return depths


def _ranks(found: Findings, causes: t.Sequence[t.List[int]], depths: t.Sequence[int]) -> t.List[int]:
    """The severity that each finding has or leads to, the gravest first."""
    ranks = [_SEVERITIES.index(item["severity"]) for item in found]
    for number in sorted(range(len(found)), key=lambda number: -depths[number]):
        for cause in causes[number]:
            ranks[cause] = min(ranks[cause], ranks[number])
    return ranks
