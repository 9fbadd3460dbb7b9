# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Events of GPUs in the kernel's log, whoever printed it.

The lines may come from ``/dev/kmsg``, ``dmesg`` (with or without ``-T``), a journal or ``kern.log`` in any language: only the message is looked at.
The messages are those of NVIDIA's kernel modules, of the kernel's module loader and of its PCI code.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci, xid
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, number, text, texts

Event = t.Dict[str, t.Any]

LINE_LIMIT = 50_000
EVENT_LIMIT = 200
_LINE_WIDTH = 2000
TEXT_LIMIT = 300

_ADDRESS = r"(?:PCI:)?(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)"
# Where a message begins, behind whatever the log puts before it.
_MESSAGE = re.compile(
    r"(?:NVRM: |nvidia-nvswitch\d*: |nvidia[\w-]*: |nouveau |NovaCore |nova_core|pci(?:eport)? [0-9a-f]{4}:|(?:modprobe|insmod|rmmod): |modprobe: |"
    r"Loading of |PKCS#7 signature |Lockdown: )"
)
_CODE = r"(?P<code>\d{1,6})"
_LOADING = re.compile(r"NVRM: loading NVIDIA UNIX (?P<open>Open )?(?:\S+ )?Kernel Module\b(?: for \S+)?\s+(?P<version>\d+(?:\.\d+)+)")
_GSP = re.compile(r"NVRM: .*\b(?:GSP|gsp|kgsp\w*)\b")
_RECOVERY = re.compile(r"recovery action changed from \S+ \([^)]*\) to \S+ \((?P<action>[^)]*)\)")
# Messages that go on in the next lines, each of which begins with NVRM again.
_GOES_ON = re.compile(r"^NVRM: (?:The NVIDIA GPU \S+(?: \(PCI ID: \S+\))?$|The NVIDIA probe routine was not called|This PCI I/O region|This is a 64-bit BAR)")
_STARTS = re.compile(r"^NVRM: (?:Xid |GPU |The NVIDIA |loading |No NVIDIA|This |None of |Try )")
_CONTINUATION_LIMIT = 5


class Pattern(t.NamedTuple):
    """A message: ``address`` (PCI), ``code``, ``process`` and the names in ``DETAILS`` are taken from the groups of its expression."""

    kind: str
    severity: str
    expression: t.Pattern[str]


DETAILS = ("devices", "minor_number", "driver", "pci_id", "bar")
_NUMBERS = frozenset(("devices", "minor_number", "bar"))
_PCI_ID = r"(?:.*\(PCI ID: (?P<pci_id>[0-9a-f]{4}:[0-9a-f]{4})\))?"

# The first that matches counts.
PATTERNS = tuple(Pattern(kind, severity, re.compile(expression)) for kind, severity, expression in (
    ("xid", xid.UNKNOWN,
     r"NVRM: Xid \(" + _ADDRESS + r"\): " + _CODE + r"(?!\d)(?:, pid='?(?P<pid><unknown>|\d+)'?)?(?:, name=(?P<process>[^,]*))?"),
    ("sxid", xid.UNKNOWN, r"SXid \(" + _ADDRESS + r"\): " + _CODE + r"(?!\d)"),
    ("fallen_off_bus", xid.FATAL, r"NVRM: The NVIDIA GPU " + _ADDRESS + _PCI_ID + r".*fallen off the bus"),
    ("fallen_off_bus", xid.FATAL, r"NVRM: GPU " + _ADDRESS + r":? (?:GPU )?has fallen off the bus"),
    ("unsupported", xid.FATAL, r"NVRM: The NVIDIA GPU " + _ADDRESS + _PCI_ID
     + r".*(?:requires use of the NVIDIA open kernel modules|not supported by (?:the )?(?:open nvidia\.ko|NVIDIA \S+ driver|proprietary)|Legacy drivers)"),
    ("rm_init_failed", xid.FATAL, r"NVRM: GPU " + _ADDRESS + r": RmInitAdapter failed! \((?P<code>[0-9a-fx]+:[0-9a-fx]+:\d+)\)"),
    ("rm_init_failed", xid.FATAL, r"NVRM: RmInitAdapter failed! \((?P<code>[0-9a-fx]+:[0-9a-fx]+:\d+)\)"),
    ("rm_init_minor", xid.INFO, r"NVRM: GPU " + _ADDRESS + r": rm_init_adapter failed, device minor number (?P<minor_number>\d{1,6})"),
    ("already_bound", xid.FATAL, r"NVRM: GPU " + _ADDRESS + r" is already bound to (?P<driver>\w+)"),
    ("probe_failed", xid.FATAL, r"NVRM: The NVIDIA probe routine failed for (?P<devices>\d{1,6}) device"),
    ("not_probed", xid.FATAL, r"NVRM: The NVIDIA probe routine was not called for (?P<devices>\d{1,6}) device"),
    ("none_probed", xid.FATAL, r"NVRM: (?:No NVIDIA (?:graphics adapter|GPU|devices?) (?:probed|found)|None of the NVIDIA (?:devices|graphics adapters) )"),
    ("bar_not_assigned", xid.FATAL, r"NVRM: (?:.* )?BAR(?P<bar>\d) is 0M @ 0x0 \(" + _ADDRESS + r"\)"),
    ("bar_unassigned", xid.INFO, r"pci " + _ADDRESS + r": BAR (?P<bar>\d).*(?:no space for|failed to assign|can't assign)"),
    ("bar_assigned", xid.INFO, r"pci " + _ADDRESS + r": BAR (?P<bar>\d).*: assigned"),
    ("signature_rejected", xid.FATAL, r"could not insert '?nvidia[\w-]*'?: (?:Key was rejected by service|Required key not available)"),
    ("signature_rejected", xid.FATAL, r"(?:Loading of (?:unsigned )?module (?:with unavailable key )?is rejected|unsigned module loading is restricted)"),
    ("module_unsigned", xid.INFO, r"nvidia[\w-]*: module verification failed"),
    ("module_in_use", xid.WARNING, r"Module nvidia[\w-]* is in use"),
))
_PLAIN_PREFIX = re.compile(r"^\s*(?:\[[^\]]*\]\s*|\d+,\d+,\d+,[^;]*;|.*?\bkernel: (?:\[[^\]]*\]\s*)?)?")
# What is said of the same GPU in other lines and belongs to an event that is already there.
_FOLDED = {"rm_init_minor": ("rm_init_failed", "minor_number")}


def facts(evidence: Evidence) -> dict[str, t.Any] | None:
    """The kernel log's facts, ``None`` where the log was not looked at."""
    log = evidence.kernel_log
    if log is None:
        return None
    return {
        "source": text(log.get("source")) or None,
        "complete": log["complete"] if isinstance(log.get("complete"), bool) else None,
        "dropped": number(log.get("dropped")) or 0,
        **parse(texts(log.get("lines"))),
    }


def parse(lines: t.Sequence[str]) -> dict[str, t.Any]:
    """What a kernel log says.

    :return: ``driver_version`` and ``kernel_module`` (``open``, ``proprietary``) as the driver named itself when it was last loaded, and ``events``,
        at most ``EVENT_LIMIT``: one per kind, GPU and code, in the order in which they first happened, with how often. ``recovered``: that the driver
        has told since then (Xid 154) that the GPU needs no action.
    """
    messages = _messages(lines[-LINE_LIMIT:])
    loading = [match for match in map(_LOADING.search, messages) if match]
    return {
        "driver_version": loading[-1].group("version") if loading else None,
        "kernel_module": ("open" if loading[-1].group("open") else "proprietary") if loading else None,
        "events": _collect(messages),
    }


def _messages(lines: t.Sequence[str]) -> list[str]:
    """The messages without their prefixes; those that the driver printed over several lines in one."""
    messages: list[str] = []
    more = 0
    for line in lines:
        for part in line[:_LINE_WIDTH].replace("\\x0a", "\n").splitlines():
            message = _message(part)
            if more and message.startswith("NVRM: ") and not _STARTS.match(message):
                messages[-1] += message[len("NVRM:") :]
                more -= 1
                continue
            messages.append(message)
            more = _CONTINUATION_LIMIT if _GOES_ON.match(message) else 0
    return messages


def _message(line: str) -> str:
    found = _MESSAGE.search(line)
    message = line[found.start() :] if found else _PLAIN_PREFIX.sub("", line, count=1)
    return " ".join(message.split()) if message.startswith("NVRM:") else message.strip()


def _collect(messages: t.Sequence[str]) -> list[Event]:
    events: dict[tuple[t.Any, ...], Event] = {}
    gsp = False
    for message in messages:
        event = _event(message)
        if event is None:
            gsp = gsp or _GSP.search(message) is not None
            continue
        if event["kind"] == "rm_init_failed":
            event["details"].update({"gsp_firmware": True} if gsp else {})
        gsp = False
        if event["kind"] in _FOLDED:
            _fold(events, event)
        elif event["kind"] == "bar_assigned":
            _drop(events, "bar_unassigned", event)
        else:
            _count(events, event)
    return list(events.values())


def _event(message: str) -> Event | None:
    for pattern in PATTERNS:
        match = pattern.expression.search(message)
        if match:
            return _read(pattern, match, message)
    return None


def _read(pattern: Pattern, match: t.Match[str], message: str) -> Event:
    groups = match.groupdict()
    details = {name: int(groups[name]) if name in _NUMBERS else groups[name] for name in DETAILS if groups.get(name) is not None}
    event: Event = {
        "kind": pattern.kind,
        "pci_address": pci.address(groups["address"]) if groups.get("address") else None,
        "code": groups.get("code"),
        "class": pattern.severity,
        "process": _process(groups.get("process")),
        "count": 1,
        "text": message[:TEXT_LIMIT],
        "recovered": False,
        "details": details,
    }
    if pattern.kind in ("xid", "sxid"):
        event["code"] = int(groups["code"])
        event["class"] = xid.severity(event["code"], message) if pattern.kind == "xid" else xid.switch_severity(message)
        action = _RECOVERY.search(message)
        details.update({"recovery_action": action.group("action")} if action else {})
    if pattern.kind == "fallen_off_bus":
        event["code"] = xid.FALLEN_OFF
    if groups.get("driver"):
        details["driver"] = pci.module_name(groups["driver"])
    return event


def _process(name: str | None) -> str | None:
    name = (name or "").strip("' ")
    return None if name in ("", "<unknown>") else name[:100]


def _count(events: dict[tuple[t.Any, ...], Event], event: Event) -> None:
    """Take an event in. A recovery action replaces the one before; that none is needed is said of all that happened to the GPU before."""
    key = (event["kind"], event["pci_address"], event["code"])
    known = events.get(key)
    if known is not None:
        known["count"] += 1
        known["recovered"] = False
        known["details"].update(event["details"])
        if "recovery_action" in event["details"]:
            known["text"] = event["text"]
    elif len(events) < EVENT_LIMIT:
        events[key] = event
    if event["details"].get("recovery_action") == "None":
        for other in events.values():
            other["recovered"] = other["recovered"] or other["pci_address"] == event["pci_address"]


def _fold(events: dict[tuple[t.Any, ...], Event], event: Event) -> None:
    kind, name = _FOLDED[event["kind"]]
    for known in events.values():
        if known["kind"] == kind and known["pci_address"] == event["pci_address"]:
            known["details"][name] = event["details"][name]


def _drop(events: dict[tuple[t.Any, ...], Event], kind: str, event: Event) -> None:
    """Forget a BAR without an address that got one at the kernel's next attempt."""
    for key, known in list(events.items()):
        if known["kind"] == kind and known["pci_address"] == event["pci_address"] and known["details"].get("bar") == event["details"]["bar"]:
            del events[key]
