# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_node_info: facts and findings from the evidence that the module, or a file, gives."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import saved
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings


class ActionModule(ActionBase):
    """Runs the module unless the evidence is there already; never changes anything."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=NODE_INFO_OPTIONS)
        name = (task_vars or {}).get("inventory_hostname", "node")
        if options["evidence"] is None:
            # A copy: the core adds to what it is given, and a retry would then meet options that the module doesn't have.
            arguments = dict(self._task.args)
            result = self._execute_module(module_name="gpufleet.k8s.gpu_node_info", module_args=arguments, task_vars=task_vars)
            if result.get("failed") or "evidence" not in result:
                return result
            return _interpret(result, result.pop("evidence"), name, options)
        try:
            evidence = saved.load(self._loader.path_dwim(options["evidence"]))
        except GpuFleetError as error:
            return {"failed": True, "msg": str(error), "failure": error.as_failure()}
        return _interpret({"changed": False}, evidence, text(mapping(evidence.get("host")).get("hostname")) or name, options)


def _interpret(result: dict[str, t.Any], evidence: dict[str, t.Any], name: str, options: dict[str, t.Any]) -> dict[str, t.Any]:
    facts = node_facts(evidence, options["gather"])
    raw = {"evidence": evidence} if options["raw"] else {}
    errors = mappings(evidence.get("collector_errors"))
    return {**result, "gpu_node": facts, "findings": node_findings(facts, name), "collector_errors": errors, **raw}
