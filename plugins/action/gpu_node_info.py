# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_node_info: facts and findings from the evidence that the module, or a file, gives."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.writer import save_node
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import saved
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings

Result = t.Dict[str, t.Any]


class ActionModule(ActionBase):
    """Runs the module unless the evidence is there already; never changes anything on the node."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> Result:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=NODE_INFO_OPTIONS)
        name = options["name"] or (task_vars or {}).get("inventory_hostname", "node")
        try:
            if options["evidence"] is None:
                result, evidence = self._observe(task_vars)
            else:
                result, evidence = {"changed": False}, _load(self._loader.path_dwim(options["evidence"]), name)
                name = options["name"] or text(mapping(evidence.get("host")).get("hostname")) or name
            if evidence is None:
                return result
            return {**_interpret(result, evidence, name, options), **self._save(evidence, name, options)}
        except GpuFleetError as error:
            return {"failed": True, "msg": str(error), "failure": error.as_failure()}

    def _observe(self, task_vars: dict[str, t.Any] | None) -> tuple[Result, t.Any]:
        """The module's result, and the evidence in it."""
        # A copy: the core adds to what it is given, and a retry would then meet options that the module doesn't have.
        arguments = dict(self._task.args)
        result = self._execute_module(module_name="gpufleet.k8s.gpu_node_info", module_args=arguments, task_vars=task_vars)
        return (result, None) if result.get("failed") else (result, result.pop("evidence", None))

    def _save(self, evidence: dict[str, t.Any], name: str, options: dict[str, t.Any]) -> Result:
        if options["save"] is None:
            return {}
        if self._task.check_mode:
            return {"saved": []}
        return {"saved": save_node(self._loader.path_dwim(options["save"]), name, evidence, mask=options["mask"])}


def _load(path: str, name: str) -> dict[str, t.Any]:
    """Evidence that was saved, or that texts in a folder add up to.

    :param name: of the node that is meant where there are several.
    :raises GpuFleetError: there is none, or it isn't clear which is meant.
    """
    try:
        return saved.load(path)
    except GpuFleetError as error:
        if error.code != "EvidenceUnreadable":
            raise
        # Imported only here, since it takes longer than all the rest, and every worker of Ansible's would do so.
        from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import snapshot_of

        nodes = snapshot_of(path).nodes
        if not nodes:
            raise
    if len(nodes) > 1 and name not in nodes:
        raise GpuFleetError(
            f"Expected the evidence of one node in {path}, or of {name} among others; found that of {', '.join(sorted(nodes))}. "
            "Name the folder of one of them.",
            code="EvidenceAmbiguous",
            path=path,
            nodes=sorted(nodes),
        )
    return nodes.get(name) or next(iter(nodes.values()))


def _interpret(result: Result, evidence: dict[str, t.Any], name: str, options: dict[str, t.Any]) -> Result:
    facts = node_facts(evidence, options["gather"], options["toolkit_floor"])
    raw = {"evidence": evidence} if options["raw"] else {}
    errors = mappings(evidence.get("collector_errors"))
    return {**result, "gpu_node": facts, "findings": node_findings(facts, name), "collector_errors": errors, **raw}
