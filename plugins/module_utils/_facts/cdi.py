# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. CDI specifications of a node."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import cdi_version
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.yaml_text import parse_yaml

DIRECTORIES = ("/etc/cdi", "/var/run/cdi")
# What a program said that reads the specifications: `nvidia-ctk cdi list`, a container runtime, an event of a pod.
CONSUMER = "cdi_consumer"

_KIND = re.compile(r"[A-Za-z][\w.-]*/[A-Za-z][\w.-]*")
_SPEC_NAME = re.compile(r"[^/]+\.(?:yaml|json)")
_LIBRARY = re.compile(r"lib(?:cuda|nvidia-ml)\.so\.(\d{2,}(?:\.\d+)+)")
_DRIVER_LIBRARY = re.compile(r"/lib(?:cuda|nvidia-ml)\.so\.")
_REFUSAL = re.compile(r'CDI [Ss]pec "?(?P<path>/[^":\s]+\.(?:yaml|json))"?: (?P<error>[^\n]*)')
_UNKNOWN_FIELD = re.compile(r'unknown field "([^"]+)"')
_UNRESOLVABLE = re.compile(r"unresolvable CDI devices ((?:[\w.-]+/[\w.-]+=[^\s,]+(?:, )?)+)")
_CUT = "it wasn't read to its end"


def facts(seen: Evidence) -> dict[str, t.Any]:
    """The specifications, and what their readers said of them.

    :return: ``specs``, ``directories``, and ``unresolvable``, names of devices that a reader could not find.
    """
    command = seen.commands.get(CONSUMER)
    said = command.stdout + command.stderr if command else ""
    refusals = {found["path"]: found["error"] for found in _REFUSAL.finditer(said)}
    read = [_spec(path, seen) for path in sorted(seen.files) if _is_spec(path)]
    unread = [_refused({"path": path, **_UNKNOWN}, error) for path, error in refusals.items() if path not in seen.files]
    return {
        "specs": [_refused(spec, refusals[spec["path"]]) if spec["path"] in refusals else spec for spec in read] + unread,
        "directories": list(DIRECTORIES),
        "unresolvable": sorted({name for names in _UNRESOLVABLE.findall(said) for name in names.split(", ") if name}),
    }


_UNKNOWN: dict[str, t.Any] = {
    "cdi_version": None,
    "kind": None,
    "devices": [],
    "driver_version": None,
    "driver_root": None,
    "device_nodes": [],
    "valid": None,
    "error": None,
    "error_field": None,
}


def parse_spec(content: str) -> dict[str, t.Any]:
    """One specification, as YAML or JSON, and what is wrong with it.

    :return: ``devices`` are their names; ``driver_version`` and ``driver_root`` are those of the driver's libraries that it mounts; ``error_field`` is the
        field that is missing, of the wrong form, or newer than the version that the specification gives itself.
    """
    document, error = parse_yaml(content)
    spec = mapping(document)
    edits = cdi_version.all_edits(spec)
    library = _LIBRARY.search(content)
    fault = cdi_version.Fault("", error or "") if error else _fault(document, spec)
    return {
        "cdi_version": text(spec.get("cdiVersion")) or None,
        "kind": text(spec.get("kind")) or None,
        "devices": [text(device.get("name")) for device in mappings(spec.get("devices"))],
        "driver_version": library.group(1) if library else None,
        "driver_root": next((root for edit in edits for root in _roots(edit)), None),
        "device_nodes": sorted({text(node.get("hostPath")) or text(node.get("path")) for edit in edits for node in mappings(edit.get("deviceNodes"))}),
        "valid": fault is None,
        "error": fault.text if fault else None,
        "error_field": (fault.field or None) if fault else None,
    }


def _spec(path: str, seen: Evidence) -> dict[str, t.Any]:
    if path in seen.cut:
        library = _LIBRARY.search(seen.files[path])
        return {"path": path, **_UNKNOWN, "driver_version": library.group(1) if library else None, "error": _CUT}
    return {"path": path, **parse_spec(seen.files[path])}


def _refused(spec: dict[str, t.Any], error: str) -> dict[str, t.Any]:
    field = _UNKNOWN_FIELD.search(error)
    return {**spec, "valid": False, "error": error, "error_field": field.group(1) if field else spec["error_field"]}


def _is_spec(path: str) -> bool:
    folder, _slash, name = path.rpartition("/")
    return folder in DIRECTORIES and bool(_SPEC_NAME.fullmatch(name))


def _fault(document: t.Any, spec: dict[str, t.Any]) -> cdi_version.Fault | None:
    """Why a reader refuses a specification (CDI, SPEC.md)."""
    names = [text(device.get("name")) for device in mappings(spec.get("devices"))]
    checks = (
        ("", "it is no mapping", isinstance(document, dict)),
        ("cdiVersion", "cdiVersion is missing", bool(text(spec.get("cdiVersion")))),
        ("kind", f"kind is {text(spec.get('kind')) or 'missing'}, expected vendor/class", bool(_KIND.fullmatch(text(spec.get("kind"))))),
        ("devices", "it has no devices", bool(names)),
        ("name", "a device has no name", all(names)),
        ("name", "two devices have the same name", len(set(names)) == len(names)),
    )
    wrong = next((cdi_version.Fault(field, said) for field, said, fine in checks if not fine), None)
    return wrong or cdi_version.too_new(spec)


def _roots(edit: dict[str, t.Any]) -> list[str]:
    """Below which root of the host the driver's libraries lie, by what a mount's two ends have in common."""
    mounts = [(text(mount.get("hostPath")), text(mount.get("containerPath"))) for mount in mappings(edit.get("mounts"))]
    ends = [(host, inside) for host, inside in mounts if _DRIVER_LIBRARY.search(host) and inside and host.endswith(inside)]
    return [host[: len(host) - len(inside)] or "/" for host, inside in ends]
