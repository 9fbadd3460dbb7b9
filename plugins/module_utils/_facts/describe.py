# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What ``kubectl describe`` prints of a node or a pod, as objects that lack what it doesn't print."""

from __future__ import annotations

import re
import typing as t

Object = t.Dict[str, t.Any]
# Lines below a title, with their indentation taken off.
Section = t.List[str]

LINE_LIMIT = 50_000
_TITLE = re.compile(r"^(?P<title>[A-Z][A-Za-z -]{1,40}):(?:[ \t]+(?P<value>\S.*))?$")
_FIELD = re.compile(r"^(?P<indent> *)(?P<name>[A-Za-z][A-Za-z /-]{0,40}):(?: +(?P<value>\S.*))?$")
_LABEL = re.compile(r"^(?P<key>[\w./-]+)=(?P<value>[\w.:/-]*)$")
_AMOUNT = re.compile(r"^(?P<resource>[\w./-]+):\s+(?P<amount>\S+)$")
_TAINT = re.compile(r"^(?P<key>[\w./-]+?)(?:=(?P<value>[\w.-]*))?:(?P<effect>NoSchedule|NoExecute|PreferNoSchedule)$")
_CONDITION = re.compile(r"^(?P<type>[A-Z]\w+)\s+(?P<status>True|False|Unknown)\s*(?P<rest>.*)$")
_TIMES = re.compile(r"^(?:[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} [\d:]+ [+-]\d{4}\s+){1,2}")
_EVENT = re.compile(r"^(?P<type>Normal|Warning)\s+(?P<reason>\w+)\s+(?P<age>\S+(?: \(x\d+ over \S+\))?)\s+(?P<from>[\w,. -]+?)(?:\s{2,}(?P<message>.*))?$")
_COUNT = re.compile(r"\(x(\d{1,9}) over")
_AGE_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 31_536_000}
_AGE = re.compile(r"(\d{1,6})([smhdy])")
_NODE_TITLES = ("Capacity", "Allocatable")
_POD_TITLES = ("Containers", "Init Containers", "QoS Class")


def describes(content: str) -> t.Optional[str]:
    """``Node`` or ``Pod``, by the titles in a text; ``None`` where it describes neither."""
    titles = {match.group("title") for match in map(_TITLE.match, content[:200_000].splitlines()) if match}
    if titles & set(_NODE_TITLES):
        return "Node"
    return "Pod" if ("Containers" in titles and titles & {"Name", "Status", "Namespace", "Node"}) or titles >= {"Name", "QoS Class"} else None


def parse(content: str) -> t.List[Object]:
    """The objects that a text describes, each followed by its events; of a part of such a text an object without a name."""
    found: t.List[Object] = []
    for part in _parts(content):
        kind = describes("\n".join(part))
        if kind:
            sections = _sections(part)
            obj = _node(sections) if kind == "Node" else _pod(sections)
            found += [obj, *_events(sections, obj)]
    return found


def _parts(content: str) -> t.List[t.List[str]]:
    """Lines of each object: kubectl puts them one behind the other."""
    parts: t.List[t.List[str]] = [[]]
    for line in content.splitlines()[:LINE_LIMIT]:
        if line.startswith("Name:") and any(not earlier.startswith(" ") and earlier.strip() for earlier in parts[-1][:5]):
            parts.append([])
        parts[-1].append(line.rstrip())
    return parts


def _sections(lines: t.Iterable[str]) -> t.Dict[str, Section]:
    """By title; what stands behind the title is the section's first line."""
    found: t.Dict[str, Section] = {}
    current: Section = []
    for line in lines:
        match = _TITLE.match(line)
        if match:
            current = found.setdefault(match.group("title"), [])
            if match.group("value"):
                current.append(match.group("value"))
        elif line.startswith((" ", "\t")):
            current.append(line)
    return found


def _value(sections: t.Mapping[str, Section], title: str) -> str:
    value = next(iter(sections.get(title, [])), "").strip()
    return "" if value == "<none>" else value


def _metadata(sections: t.Mapping[str, Section]) -> Object:
    metadata: Object = {"name": _value(sections, "Name"), "labels": _labels(sections.get("Labels", []))}
    if _value(sections, "Namespace"):
        metadata["namespace"] = _value(sections, "Namespace")
    if _value(sections, "Status").startswith("Terminating"):
        metadata["deletionTimestamp"] = "unknown"
    controller = _value(sections, "Controlled By").partition("/")
    if controller[2]:
        metadata["ownerReferences"] = [{"kind": controller[0], "name": controller[2], "controller": True}]
    return metadata


def _labels(lines: Section) -> t.Dict[str, str]:
    matches = (_LABEL.match(line.strip()) for line in lines)
    return {match.group("key"): match.group("value") for match in matches if match}


def _amounts(lines: Section) -> t.Dict[str, str]:
    matches = (_AMOUNT.match(line.strip()) for line in lines)
    return {match.group("resource"): match.group("amount") for match in matches if match}


def _conditions(lines: Section) -> t.List[Object]:
    return [condition for condition in map(_condition, lines) if condition]


def _condition(line: str) -> t.Optional[Object]:
    match = _CONDITION.match(line.strip())
    if match is None:
        return None
    reason, _blank, message = _TIMES.sub("", match.group("rest")).partition(" ")
    return {"type": match.group("type"), "status": match.group("status"), "reason": reason, "message": message.strip()}


def _node(sections: t.Mapping[str, Section]) -> Object:
    info = {match.group("name"): match.group("value") or "" for match in (_FIELD.match(line) for line in sections.get("System Info", [])) if match}
    taints = [match.groupdict(default="") for match in (_TAINT.match(line.strip()) for line in sections.get("Taints", [])) if match]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(sections),
        "spec": {"taints": taints, "unschedulable": _value(sections, "Unschedulable") == "true"},
        "status": {
            "capacity": _amounts(sections.get("Capacity", [])),
            "allocatable": _amounts(sections.get("Allocatable", sections.get("Capacity", []))),
            "conditions": _conditions(sections.get("Conditions", [])),
            "nodeInfo": {
                "kernelVersion": info.get("Kernel Version", ""),
                "containerRuntimeVersion": info.get("Container Runtime Version", ""),
                "kubeletVersion": info.get("Kubelet Version", ""),
            },
        },
    }


def _pod(sections: t.Mapping[str, Section]) -> Object:
    phase = _value(sections, "Status").partition(" ")[0]
    node = _value(sections, "Node").partition("/")[0]
    specs, statuses = _containers(sections.get("Containers", []))
    init_specs, init_statuses = _containers(sections.get("Init Containers", []))
    spec: Object = {"containers": specs, "initContainers": init_specs}
    if node:
        spec["nodeName"] = node
    if _value(sections, "Runtime Class Name"):
        spec["runtimeClassName"] = _value(sections, "Runtime Class Name")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(sections),
        "spec": spec,
        "status": {
            "phase": "Running" if phase == "Terminating" else phase,
            "reason": _value(sections, "Reason"),
            "message": _value(sections, "Message"),
            "conditions": _conditions(sections.get("Conditions", [])),
            "containerStatuses": statuses,
            "initContainerStatuses": init_statuses,
        },
    }


def _containers(lines: Section) -> t.Tuple[t.List[Object], t.List[Object]]:
    """Specifications and states: a container's name is indented by two, its fields by four and their fields by six."""
    specs: t.List[Object] = []
    statuses: t.List[Object] = []
    outer = ""
    for line in lines:
        match = _FIELD.match(line)
        indent = len(line) - len(line.lstrip(" "))
        if indent <= 2 and line.strip().endswith(":"):
            name = line.strip()[:-1]
            specs.append({"name": name, "image": "", "resources": {"limits": {}, "requests": {}}})
            statuses.append({"name": name, "image": "", "restartCount": 0, "state": {}, "lastState": {}})
            continue
        if not specs:
            continue
        if match and indent <= 4:
            outer = match.group("name")
            _container_field(specs[-1], statuses[-1], outer, match.group("value") or "")
        elif outer in ("Limits", "Requests"):
            specs[-1]["resources"][outer.lower()].update(_amounts([line]))
        elif match and outer in ("State", "Last State"):
            _state_field(statuses[-1]["state" if outer == "State" else "lastState"], match.group("name"), match.group("value") or "")
    return specs, statuses


def _container_field(spec: Object, status: Object, name: str, value: str) -> None:
    if name == "Image":
        spec["image"] = status["image"] = value
    elif name == "Restart Count" and value.isdecimal() and len(value) < 10:
        status["restartCount"] = int(value)
    elif name in ("State", "Last State") and value:
        status["state" if name == "State" else "lastState"] = {value.lower(): {}}


def _state_field(state: Object, name: str, value: str) -> None:
    for values in state.values():
        if name in ("Reason", "Message"):
            values[name.lower()] = value
        elif name == "Exit Code" and value.lstrip("-").isdecimal() and len(value) < 6:
            values["exitCode"] = int(value)


def _events(sections: t.Mapping[str, Section], obj: Object) -> t.List[Object]:
    involved = {"kind": obj["kind"], "name": obj["metadata"]["name"], "namespace": obj["metadata"].get("namespace", "")}
    matches = (_EVENT.match(line.strip()) for line in sections.get("Events", []))
    return [event(match.group("type"), match.group("reason"), match.group("message") or "", match.group("age"), involved) for match in matches if match]


def event(kind: str, reason: str, message: str, age: str, involved: Object) -> Object:
    """An Event from a line that kubectl printed.

    :param age: as kubectl prints it: ``5m3s (x3 over 10m)``.
    """
    count = _COUNT.search(age)
    seconds = sum(int(number) * _AGE_UNITS[unit] for number, unit in _AGE.findall(age.partition(" ")[0]))
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "type": kind,
        "reason": reason,
        "message": message.strip(),
        "count": int(count.group(1)) if count else 1,
        # Texts of times compare as times do: of two events the one with the smaller age is the later.
        "lastTimestamp": f"{10**12 - seconds:013d}",
        "involvedObject": involved,
    }
