# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diagnosis as lines for people and as a report for programs. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_diagnose_report
short_description: A diagnosis for people and for programs
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Turns what P(gpufleet.k8s.gpu_diagnose#module) returned into what the playbook C(diagnose) prints, writes and fails with.
  - Made for that playbook; its result may change in any release.
positional: unread, fail_on
options:
  _input:
    description: The result of P(gpufleet.k8s.gpu_diagnose#module).
    type: dict
    required: true
  unread:
    description: What else could not be read, and for each why.
    type: dict
    default: {}
  fail_on:
    description: Severity from which on a finding is a failure.
    type: str
    choices: [never, error, warning]
    default: never
"""

EXAMPLES = r"""
- name: Print the findings
  ansible.builtin.debug:
    msg: "{{ (diagnosis | gpufleet.k8s.gpu_diagnose_report).lines }}"
"""

RETURN = r"""
_value:
  description: The result in three forms.
  type: dict
  contains:
    lines:
      description: The first is a summary. The findings follow by what they are about, with what follows from a finding indented below it.
      type: list
      elements: str
    report:
      description: The findings and all that is behind them.
      type: dict
    failed:
      description: Whether there is a finding of that severity or a worse one.
      type: bool
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.report import SEVERITIES, report_lines, summary_line

Object = t.Dict[str, t.Any]

NEVER = "never"


def report(diagnosis: Object, unread: t.Optional[t.Mapping[str, str]] = None, fail_on: str = NEVER) -> Object:
    """Lines, report and verdict; options and result as documented above."""
    told = {
        "summary": summary_line(diagnosis["findings"]),
        "findings": diagnosis["findings"],
        "nodes": diagnosis.get("nodes") or [],
        "unused": [*({"what": what, "reason": reason} for what, reason in (unread or {}).items()), *(diagnosis.get("unused") or [])],
    }
    failing = () if fail_on == NEVER else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return {"lines": report_lines(told), "report": told, "failed": any(finding["severity"] in failing for finding in told["findings"])}


class FilterModule:
    """Makes the forms usable in the playbook's tasks."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gpu_diagnose_report": report}
