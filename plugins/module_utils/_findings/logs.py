# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings from logs and other texts: those of NVIDIA's components, of a drain, of anybody."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import messages
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import LONGEST, Recognised
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.said_by_components import (
    RECOVERED,
    SAID_BY_DRIVER_MANAGER,
    SAID_BY_MIG_MANAGER,
    SAID_BY_OPERANDS,
    SAID_BY_PLUGIN,
    SIGNATURES,
)

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

# One text has one cause; this many lines show it.
EVIDENCE_LIMIT = 5
_WORDINGS = SAID_BY_OPERANDS + SAID_BY_PLUGIN + SAID_BY_MIG_MANAGER + SAID_BY_DRIVER_MANAGER
_RULES = tuple((wording, re.compile(wording.pattern)) for wording in _WORDINGS)
_RECOVERED = re.compile(RECOVERED)
_SIGNATURES = re.compile(SIGNATURES)
# Platform, code by the words alone, code on that platform, and what it means there.
_MEANS_ELSEWHERE = (
    (
        "tegra",
        "ToolkitNotInjecting",
        "DevicePluginNvmlBroken",
        "it doesn't recognise this Tegra system and looks for NVML's library, which isn't there; a plugin that knows the system is needed",
    ),
)
# kubectl drain, and drain controllers that are built on its library.
_NOT_EVICTED = re.compile(
    r"error when evicting pods?(?:/| )\"(?P<pod>[^\"\n]+)\"(?: -n \"(?P<namespace>[^\"\n]+)\")?[^\n]*violate the pod's disruption budget"
)
_BUDGET = "DrainBlockedByPdb"


def is_component_log(text: str) -> bool:
    """Whether a text is the log of one of NVIDIA's components."""
    return _SIGNATURES.search(text) is not None


def recognise(text: str) -> t.Optional[Recognised]:
    """What a text of a component means; ``None`` where nothing known is in it, or what it complained of is over."""
    for wording, pattern in _RULES:
        found = list(_last(pattern, text))
        if found:
            match = found[0]
            values = {name: value.strip() for name, value in match.groupdict().items() if value is not None}
            return Recognised(wording.code, wording.summary.format(**values), values, _line(text, match))
    return None


class Context(t.NamedTuple):
    """Facts beside which a text is read.

    :param platforms: kinds of the nodes of which there are facts (``gpu_node.platform.kind``).
    :param handlers: runtime handlers that the nodes' configuration files define.
    """

    platforms: t.FrozenSet[t.Optional[str]] = frozenset()
    handlers: t.FrozenSet[str] = frozenset()


NO_CONTEXT = Context()


def text_findings(
    text: str, *, source: str, kind: str = "file", name: str = "", namespace: t.Optional[str] = None, context: Context = NO_CONTEXT
) -> Findings:
    """What a text means: what components say of themselves first, then anything known.

    :param source: where it was read, for people.
    :param kind: of what it is about: ``file`` where nobody knows.
    :param name: of that; the source if omitted.
    """
    blocked = _blocked(text, source)
    if blocked:
        return blocked
    known = recognise(text) or messages.recognise(_still_true(text))
    if known is None:
        return []
    known = _in_context(known, context)
    about = name or source
    lines = _lines_like(text, known)
    evidence = [seen(source, line) for line in lines]
    summary = f"{kind.capitalize()} {about}: {known.summary}{_more(text, known)}."
    return [finding(known.code, kind=kind, name=about, namespace=namespace, summary=summary, evidence=evidence)]


def _in_context(known: Recognised, context: Context) -> Recognised:
    """The same words mean another cause beside some facts."""
    handler = known.values.get("handler")
    if known.code == "RuntimeHandlerMissing" and handler in context.handlers:
        return known._replace(code="DaemonNotUsingConfig", summary=f"the runtime doesn't know the handler {handler}, which its configuration file defines")
    for platform, code, other, summary in _MEANS_ELSEWHERE:
        if platform in context.platforms and known.code == code:
            return known._replace(code=other, summary=summary)
    return known


def _last(pattern: t.Pattern[str], text: str) -> t.Iterator[t.Match[str]]:
    """The first match behind the last sign that the component works."""
    match = pattern.search(text, _recovered_at(text))
    if match:
        yield match


def _recovered_at(text: str) -> int:
    return max((match.end() for match in _RECOVERED.finditer(text)), default=0)


def _still_true(text: str) -> str:
    return text[_recovered_at(text) :]


def _blocked(text: str, source: str) -> Findings:
    """Pods that a drain could not evict, each once."""
    pods = {(match.group("namespace"), match.group("pod")): _line(text, match) for match in _NOT_EVICTED.finditer(text)}
    return [
        finding(
            _BUDGET,
            kind="pod",
            name=pod,
            namespace=namespace,
            summary=f"Pod {pod} can't be evicted: a disruption budget forbids it.",
            evidence=[seen(source, line)],
        )
        for (namespace, pod), line in list(pods.items())[:50]
    ]


def _lines_like(text: str, known: Recognised) -> t.List[str]:
    """The line, and others that say the same of other things."""
    if known.code != "GpuInUse" or "gpu" not in known.values:
        return [known.text]
    return [line.strip()[:LONGEST] for line in text.splitlines() if "In use by another client" in line][:EVIDENCE_LIMIT]


def _more(text: str, known: Recognised) -> str:
    others = text.count("In use by another client") - 1 if "gpu" in known.values else 0
    return f", and {others} more GPUs" if others > 0 else ""


def _line(text: str, match: t.Match[str]) -> str:
    first = text.rfind("\n", 0, match.start()) + 1
    last = text.find("\n", match.end())
    return text[first : len(text) if last < 0 else last].strip()[:LONGEST]
