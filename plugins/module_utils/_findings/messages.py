# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What texts of other programs mean.

Texts are the last resort: a field or an exit code goes first where one exists. The known wordings are data, by speaker (said_by_*.py).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_api import SAID_BY_API
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_cuda import SAID_BY_CUDA, SAID_BY_DRIVER
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_kubelet import SAID_BY_KUBELET
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_runtime import SAID_BY_RUNTIME

# A line of evidence that is longer is cut: some runtimes repeat themselves for pages.
LONGEST = 600


class Recognised(t.NamedTuple):
    """A text whose meaning is known.

    :param summary: what it says, with the values found in it, without naming whom it concerns.
    """

    code: str
    summary: str
    values: t.Dict[str, str]
    text: str


# From the outermost speaker to the innermost: the outer ones repeat what the inner ones said.
WORDINGS = SAID_BY_API + SAID_BY_KUBELET + SAID_BY_RUNTIME + SAID_BY_DRIVER + SAID_BY_CUDA
_RULES = tuple((wording, re.compile(wording.pattern)) for wording in WORDINGS)


def recognise(text: t.Optional[str]) -> t.Optional[Recognised]:
    """What a text means.

    :param text: an error, an event's message or a whole log.
    :return: ``None`` where no known wording occurs.
    """
    if not text:
        return None
    for wording, pattern in _RULES:
        match = pattern.search(text)
        if match:
            values = {name: value.strip() for name, value in match.groupdict().items() if value is not None}
            return Recognised(wording.code, wording.summary.format(**values), values, _line_around(text, match.start(), match.end()))
    return None


def text_finding(
    text: t.Optional[str], *, where: str, kind: str, name: str, namespace: t.Optional[str] = None, node: t.Optional[str] = None
) -> t.Optional[t.Dict[str, t.Any]]:
    """The finding that a text stands for, ``None`` where it means nothing known.

    :param where: where the text was read.
    :param node: the node that it happened on.
    """
    known = recognise(text)
    if known is None:
        return None
    summary = f"{kind.capitalize()} {name}{f' on node {node}' if node else ''}: {known.summary}."
    evidence = [seen(where, known.text)]
    return finding(known.code, kind=kind, name=name, namespace=namespace, summary=summary, evidence=evidence, severity="error")


def _line_around(text: str, start: int, end: int) -> str:
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[first : len(text) if last < 0 else last].strip()[:LONGEST]
