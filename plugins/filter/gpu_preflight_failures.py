# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role gpu_preflight refuses, decided from what was observed. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_preflight_failures
short_description: Every reason not to make a node a GPU node
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Judges what P(gpufleet.k8s.gpu_node_info#module) observed, what the inventory expects and how repositories answered.
  - What the roles after it cure, such as a driver that isn't installed yet, is no reason.
  - Made for the role C(gpu_preflight); its result may change in any release.
positional: node, expected_gpus, platforms, answers
options:
  _input:
    description: The result of P(gpufleet.k8s.gpu_node_info#module).
    type: dict
    required: true
  node:
    description: The node's name in the inventory.
    type: str
    required: true
  expected_gpus:
    description: GPUs that must be on the PCI bus, C(none) for at least one.
    type: raw
  platforms:
    description: Supported platforms, each as C(id-version_id) of C(/etc/os-release).
    type: list
    elements: str
    default: []
  answers:
    description: Results of P(ansible.builtin.uri#module), one a URL, with the URL in C(item).
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: List the reasons
  ansible.builtin.debug:
    msg: "{{ observed | gpufleet.k8s.gpu_preflight_failures('gpu-1', expected_gpus=8, platforms=['debian-12', 'debian-13']) }}"
"""

RETURN = r"""
_value:
  description: Empty, or one failure with C(code) V(PreflightFailed), a C(message) that lists every reason, and the reasons in C(details.findings).
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange

Object = t.Dict[str, t.Any]

# Errors that gpu_driver and gpu_toolkit cure, so they are no reason to stop before them.
CURED_LATER = frozenset((
    "DriverNotInstalled",
    "DriverNotLoaded",
    "ToolkitNotInstalled",
    "ToolkitVersionMixed",
    "RuntimeNotRunning",
    "RuntimeHandlerMissing",
    "RuntimeTypeMissing",
    "RuntimeConfigOverwritten",
    "ToolkitNotInjecting",
    "DropInNotImported",
    "DefaultRuntimeUndefined",
    "DaemonNotUsingConfig",
    "CdiSpecStale",
    "CdiDeviceUnresolvable",
))
# Below an error in general, but no base for a GPU node.
REFUSED_TOO = frozenset(("BoundToVfio",))


def failures(
    observed: Object,
    node: str,
    expected_gpus: int | None = None,
    platforms: t.Sequence[str] = (),
    answers: t.Sequence[Object] = (),
) -> list[Object]:
    """One failure with every reason; options and result as documented above."""
    facts = observed["gpu_node"]
    reasons = arrange(
        [item for item in observed["findings"] if _blocks(item)]
        + _count(facts, node, expected_gpus)
        + _platform(facts, node, platforms)
        + _runtime(facts, node)
        + [_unreachable(answer, node) for answer in answers if not 200 <= answer["status"] < 400]
    )
    if not reasons:
        return []
    lines = [f"{number}. {item['code']}: {item['summary']} {item['next_step']}" for number, item in enumerate(reasons, 1)]
    message = "\n".join([f"Expected {node} to be fit for a GPU node; found against it ({len(reasons)}), and changed nothing:", *lines])
    return [{"code": "PreflightFailed", "message": message, "details": {"node": node, "findings": reasons}}]


def _blocks(item: Object) -> bool:
    return item["code"] in REFUSED_TOO or (item["severity"] == ERROR and item["code"] not in CURED_LATER)


def _count(facts: Object, node: str, expected: int | None) -> list[Object]:
    gpus = [device["address"] for device in facts["pci"] or () if device["kind"] == "gpu"]
    if expected is None or expected == len(gpus):
        return []
    return [
        finding(
            "GpuCountMismatch",
            kind="node",
            name=node,
            summary=f"Expected {expected} GPUs on the PCI bus of {node}, found {len(gpus)}.",
            evidence=[seen("/sys/bus/pci/devices", ", ".join(gpus) or "none")],
            next_step="Compare `lspci -d 10de:` with the order of the machine, or correct gpu_preflight_expected_gpus.",
        )
    ]


def _platform(facts: Object, node: str, platforms: t.Sequence[str]) -> list[Object]:
    system = facts["platform"]["os"]
    found = f"{system['id']}-{system['version_id']}"
    if found in platforms:
        return []
    return [
        finding(
            "PlatformUnsupported",
            kind="node",
            name=node,
            summary=f"Expected one of {', '.join(platforms)}, found {system['pretty_name']} ({found}) on {node}.",
            evidence=[seen("/etc/os-release", found)],
        )
    ]


def _runtime(facts: Object, node: str) -> list[Object]:
    if facts["runtimes"]:
        return []
    return [finding("RuntimeNotInstalled", kind="node", name=node, summary=f"Expected a container runtime on {node}, found none.")]


def _unreachable(answer: Object, node: str) -> Object:
    url, status = answer["item"], answer["status"]
    said = answer.get("msg", "")
    return finding(
        "RepositoryUnreachable",
        kind="node",
        name=node,
        summary=f"Expected {url} to answer {node}, found {'HTTP status ' + str(status) if status > 0 else 'no answer'} ({said}).",
        evidence=[seen(url, said)],
    )


class FilterModule:
    """Makes the decision usable in the role's tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_preflight_failures": failures}
