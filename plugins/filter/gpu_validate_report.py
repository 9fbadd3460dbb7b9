# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A validation's result as a table, a report and a list of failures. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_validate_report
short_description: Table, report and failures of a validation
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Turns what P(gpufleet.k8s.gpu_validate#module) returned into what the role C(gpu_validate) prints, writes and fails with.
  - Made for that role; its result may change in any release.
positional: toolkit_versions, node_findings
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_validate#module:nodes) value.
    type: list
    elements: dict
    required: true
  toolkit_versions:
    description: Version of the container toolkit by Node name, where it is known.
    type: dict
    default: {}
  node_findings:
    description:
      - The RV(gpufleet.k8s.gpu_node_info#module:findings) values by Node name, where they are known.
      - Those of a Node with a bad verdict are put in order with the verdict's own findings, so that what is wrong on the node comes before what the
        cluster shows of it.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Print the table
  ansible.builtin.debug:
    msg: "{{ (validation.nodes | gpufleet.k8s.gpu_validate_report({'gpu-1': '1.20.2'})).table }}"
"""

RETURN = r"""
_value:
  description: The result in three forms.
  type: dict
  contains:
    table:
      description: Aligned lines, the first one with the columns' names.
      type: list
      elements: str
    report:
      description: The verdicts and all that is behind them, without times and generated names, so that equal results give equal reports.
      type: dict
    failures:
      description: One entry for each Node with a bad verdict, with C(code), C(message) and C(details).
      type: list
      elements: dict
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange, subject_key

Object = t.Dict[str, t.Any]

UNKNOWN = "-"
FAILED = "failed"
COLUMNS = ("node", "product", "GPUs", "driver", "toolkit", "allocatable", "verdict")
# What differs between two validations of the same state.
PASSING_KEYS = ("pod", "seconds")


def report(
    nodes: t.Sequence[Object],
    toolkit_versions: t.Optional[t.Mapping[str, str]] = None,
    node_findings: t.Optional[t.Mapping[str, t.List[Object]]] = None,
) -> Object:
    """Table, report and failures; options and result as documented above."""
    toolkits, own = toolkit_versions or {}, node_findings or {}
    ordered = [_explained(node, own.get(node["node"]) or []) for node in sorted(nodes, key=lambda node: node["node"])]
    return {
        "table": _aligned([COLUMNS] + [_row(node, toolkits.get(node["node"])) for node in ordered]),
        "report": {
            "passed": all(node["verdict"] != FAILED for node in ordered),
            "nodes": [_lasting(node, toolkits.get(node["node"])) for node in ordered],
        },
        "failures": [_failure(node) for node in ordered if node["verdict"] == FAILED],
    }


def _explained(node: Object, own: t.List[Object]) -> Object:
    """A result with what the node tells of itself, where its verdict needs an explanation."""
    if node["verdict"] != FAILED or not own:
        return node
    found = [*own, *node["findings"]]
    return {**node, "findings": arrange(found, {subject_key(item): node["node"] for item in found})}


def _row(node: Object, toolkit: t.Optional[str]) -> t.Tuple[str, ...]:
    values = (node["node"], node["product"], len(node["gpus_seen"]), node["driver_version"], toolkit, node["allocatable"], node["verdict"])
    return tuple(UNKNOWN if value is None or value == "" else str(value) for value in values)


def _aligned(rows: t.Sequence[t.Sequence[str]]) -> t.List[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _lasting(node: Object, toolkit: t.Optional[str]) -> Object:
    checks = [{key: value for key, value in check.items() if key not in PASSING_KEYS} for check in node["checks"]]
    kept = {key: value for key, value in node.items() if key != "summary"}
    return {**kept, "toolkit_version": toolkit, "checks": checks}


def _failure(node: Object) -> Object:
    findings = [finding for finding in node["findings"] if finding["severity"] == "error"]
    reasons = [f"{finding['code']}: {finding['summary']} {_step(finding)}" for finding in findings]
    reasons = reasons or [f"{check['name']}: {check['message']}" for check in node["checks"] if check["status"] == FAILED]
    return {
        "code": "ValidationFailed",
        "message": f"Expected Node {node['node']} to give pods its GPUs, found that it doesn't. " + " ".join(reasons),
        "details": {"node": node["node"], "findings": node["findings"]},
    }


def _step(finding: Object) -> str:
    """What to do; what follows from another finding goes with that one."""
    cause = finding.get("consequence_of")
    return f"Follows from {cause}." if cause else str(finding["next_step"])


class FilterModule:
    """Makes the forms usable in the role's tasks."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gpu_validate_report": report}
