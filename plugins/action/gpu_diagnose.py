# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_diagnose: explains what the module read from a cluster, what a folder holds, or both together."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.report import SEVERITIES, subject_name
from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.writer import save_cluster, save_node, save_report
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.options import DIAGNOSE_ALTERNATIVES, DIAGNOSE_OPTIONS, cluster_argument_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import hints
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import merged, snapshot_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.recognise import CONTAINER_LOG
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.snapshot import Snapshot
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, text

Object = t.Dict[str, t.Any]

_SELECTORS = ("pod", "job", "namespace", "node", "operator")
_NEVER = "never"


class ActionModule(ActionBase):
    """Runs the module where the cluster is to be asked; never changes anything in it."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            argument_spec=cluster_argument_spec(**DIAGNOSE_OPTIONS), mutually_exclusive=[list(group) for group in DIAGNOSE_ALTERNATIVES]
        )
        live: Object = {}
        if _is_live(options):
            # A copy: the core adds to what it is given, and a retry would then meet options that the module doesn't have.
            live = self._execute_module(module_name="gpufleet.k8s.gpu_diagnose", module_args=dict(self._task.args), task_vars=task_vars)
            if live.get("failed") or "objects" not in live:
                return live
        try:
            return self._result(live, options)
        except GpuFleetError as error:
            return {"failed": True, "msg": str(error), "failure": error.as_failure()}

    def _result(self, live: Object, options: Object) -> Object:
        if not live and options["evidence"] is None:
            raise GpuFleetError(
                "Expected something to explain; live is false and no evidence is given. Name a folder or a file with `evidence`.", code="NothingToExplain"
            )
        mailed = Snapshot({}, [], [], []) if options["evidence"] is None else snapshot_of(self._loader.path_dwim(options["evidence"]))
        snapshot = merged(mailed, live)
        findings = explain(snapshot)
        result: Object = {
            "changed": False,
            "findings": findings,
            "summary": [_line(finding) for finding in findings],
            "nodes": _nodes(snapshot),
            "unused": snapshot.unused,
        }
        if options["save"] is not None and not self._task.check_mode:
            logs = [*live.get("logs", []), *_mailed_logs(mailed)]
            result["bundle"] = _save(self._loader.path_dwim(options["save"]), snapshot, logs, result, options["mask"])
        return {**{key: live[key] for key in ("invocation", "warnings", "deprecations") if key in live}, **result, **_verdict(findings, options["fail_on"])}


def _is_live(options: Object) -> bool:
    """Whether the cluster is asked: as the option ``live`` says, else unless only a folder is to be explained."""
    if options["live"] is not None:
        return bool(options["live"])
    return options["evidence"] is None or any(options[name] for name in _SELECTORS)


def _nodes(snapshot: Snapshot) -> t.List[str]:
    """Names of the nodes that were looked at, by their evidence or their objects."""
    objects = {text(mapping(obj.get("metadata")).get("name")) for obj in snapshot.objects if obj.get("kind") == "Node"}
    return sorted((objects | set(snapshot.nodes)) - {""})


def _line(finding: Object) -> str:
    """A finding in one line: ``ERROR RuntimeHandlerMissing on pod research/train-1: ...``."""
    return f"{finding['severity'].upper()} {finding['code']} on {subject_name(finding['subject'])}: {finding['summary']}"


def _mailed_logs(mailed: Snapshot) -> t.List[Object]:
    """Logs of pods that a folder held, in the form of the module's."""
    found = []
    for number, known in enumerate(known for known in mailed.texts if known.kind == CONTAINER_LOG and known.pod):
        parts = hints.log_parts(known.source)
        found.append({
            "namespace": known.namespace,
            "pod": known.pod,
            "container": parts[2] if parts else f"log-{number}",
            "previous": known.source.endswith(".previous.log"),
            "text": known.content,
        })
    return found


def _save(directory: str, snapshot: Snapshot, logs: t.Sequence[Object], result: Object, mask: bool) -> t.List[str]:
    """Write a bundle of what was read, in so far as a bundle has a place for it, and say which files there are."""
    paths = [path for name, evidence in sorted(snapshot.nodes.items()) for path in save_node(directory, name, evidence, mask=mask)]
    if snapshot.objects or logs:
        paths += save_cluster(directory, snapshot.objects, logs, mask=mask)
    return paths + save_report(directory, {key: result[key] for key in ("findings", "summary", "nodes", "unused")}, mask=mask)


def _verdict(findings: t.Sequence[Object], fail_on: str) -> Object:
    """The failure that the option ``fail_on`` makes of findings."""
    failing = () if fail_on == _NEVER else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    counted = [finding for finding in findings if finding["severity"] in failing]
    if not counted:
        return {}
    limit = "an error" if fail_on == SEVERITIES[0] else "an error or a warning"
    return {
        "failed": True,
        "msg": f"Expected no finding that is {limit}, found {len(counted)}; the first: {_line(counted[0])} Next: {counted[0]['next_step']}",
        "failure": {"code": "FindingsReported", "details": {"count": len(counted), "first": counted[0]["code"], "fail_on": fail_on}},
    }
