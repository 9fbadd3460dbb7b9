# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Tables that ``kubectl get`` prints, as objects that lack what no column has."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import describe

Object = t.Dict[str, t.Any]

LINE_LIMIT = 50_000
_READY = re.compile(r"\d{1,4}/\d{1,4}$")
_AGE = re.compile(r"(?:\d{1,6}[smhdy]){1,3}$|<(?:unknown|invalid)>$")
_CRD = re.compile(r"^(?P<name>[a-z0-9-]+\.[a-z0-9.-]+\.[a-z]{2,})\s+(?P<created>\d{4}-\d\d-\d\d(?:T[\d:]+Z)?)(?:\s+\(chart (?P<chart>v?[\w.-]+)\))?\s*$")
_EVENT_KINDS = {"pod": "Pod", "node": "Node", "job": "Job", "daemonset": "DaemonSet", "replicaset": "ReplicaSet", "statefulset": "StatefulSet"}
_PHASES = {"Running": "Running", "Completed": "Succeeded", "Succeeded": "Succeeded", "Failed": "Failed", "Error": "Failed", "Terminating": "Running"}
# Reasons of the kubelet that stand in the column STATUS in the place of a phase.
_ENDED = ("UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity", "Evicted", "NodeLost", "NodeShutdown", "Terminated")
_PHASE_WORDS = (*_PHASES, "Pending", "Unknown")


def parse(content: str) -> t.List[Object]:
    """The objects in a table's rows; none where it is no table that is known.

    Pods, nodes, events and CustomResourceDefinitions, with or without the line of titles, and with the namespace in front or not.
    """
    lines = [line for line in content.splitlines()[:LINE_LIMIT] if line.strip()]
    titles = lines[0].split() if lines else []
    if "TYPE" in titles and "OBJECT" in titles and "MESSAGE" in titles:
        return _events(lines)
    rows = [line for line in lines if not line.split()[0].isupper()]
    for read in (_crd, _pod, _node):
        found = [obj for obj in map(read, rows) if obj]
        if found and len(found) >= len(rows) / 2:
            return found
    return []


def _crd(line: str) -> t.Optional[Object]:
    match = _CRD.match(line)
    if match is None:
        return None
    metadata: Object = {"name": match.group("name"), "creationTimestamp": match.group("created")}
    if match.group("chart"):
        metadata["labels"] = {"helm.sh/chart": match.group("chart")}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata}


def _pod(line: str) -> t.Optional[Object]:
    words = line.split()
    position = next((position for position, word in enumerate(words[:3]) if _READY.match(word)), 0)
    if position == 0 or len(words) < position + 2 or not any(_AGE.match(word) for word in words[position + 2 :]):
        return None
    namespace, name, status = words[0] if position == 2 else "", words[position - 1], words[position + 1]
    init, _colon, reason = status.rpartition(":")
    ready, _slash, wanted = words[position].partition("/")
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    if status == "Terminating":
        metadata["deletionTimestamp"] = "unknown"
    restarts = words[position + 2] if len(words) > position + 2 and words[position + 2].isdecimal() else "0"
    state = {"name": "", "restartCount": int(restarts[:9]), "state": _state(reason, ready == wanted), "lastState": {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [], **_bound(words[position + 2 :], status)},
        "status": {
            "phase": "Failed" if status in _ENDED else _PHASES.get(status, "Pending"),
            "reason": status if status in _ENDED else "",
            ("initContainerStatuses" if init else "containerStatuses"): [] if status in (*_PHASE_WORDS, *_ENDED) or not reason else [state],
        },
    }


def _state(reason: str, ready: bool) -> Object:
    return {"running": {}} if ready else {"waiting": {"reason": "" if _READY.match(reason) else reason}}


def _bound(words: t.Sequence[str], status: str) -> Object:
    """The column NODE of the wide form stands behind the one with the pod's address; without it, only one that waits has no node."""
    age = next((position for position, word in enumerate(words) if _AGE.match(word) and position), None)
    wide = words[age + 1 :] if age is not None else ()
    if len(wide) >= 2 and wide[1] != "<none>":
        return {"nodeName": wide[1]}
    return {} if status == "Pending" else {"nodeName": "unknown"}


def _node(line: str) -> t.Optional[Object]:
    words = line.split()
    if len(words) < 5 or words[1].split(",")[0] not in ("Ready", "NotReady", "Unknown") or not re.match(r"v\d+\.\d+", words[4]):
        return None
    ready = {"Ready": "True", "NotReady": "False"}.get(words[1].split(",")[0], "Unknown")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": words[0]},
        "spec": {"unschedulable": "SchedulingDisabled" in words[1]},
        "status": {"conditions": [{"type": "Ready", "status": ready}], "nodeInfo": {"kubeletVersion": words[4]}},
    }


def _events(lines: t.Sequence[str]) -> t.List[Object]:
    """Columns begin where their titles do; a namespace may stand in front."""
    starts = [(match.start(), match.group()) for match in re.finditer(r"LAST SEEN|\S+", lines[0])]
    found = []
    for line in lines[1:]:
        ends = [start for start, _title in starts[1:]] + [len(line)]
        row = {title: line[start:end].strip() for (start, title), end in zip(starts, ends)}
        kind, _slash, name = row.get("OBJECT", "").partition("/")
        if name and row.get("REASON"):
            involved = {"kind": _EVENT_KINDS.get(kind, kind), "name": name, "namespace": row.get("NAMESPACE", "")}
            found.append(describe.event(row.get("TYPE", ""), row["REASON"], row.get("MESSAGE", ""), row.get("LAST SEEN", ""), involved))
    return found
