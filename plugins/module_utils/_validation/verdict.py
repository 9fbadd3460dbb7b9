# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. From what the checks left behind to a verdict per node."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.isolation import isolation_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange, subject_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import owner_findings, refusal_finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.checks import Check, describe, exit_code
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.inspection import Inspection, parse_inspection
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.manifests import CUDA, INSPECT
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.targets import Target

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

PASSED, FAILED, NOT_TESTED, SKIPPED = "passed", "failed", "not_tested", "skipped"

# The last line but one of NVIDIA's vectorAdd sample.
CUDA_MARKER = "Test PASSED"
_LAST_LINES = 3


class Surroundings(t.NamedTuple):
    """What the checks' fate is explained with.

    :param events: of the validation's namespace.
    :param nodes: facts on all nodes.
    :param objects: Node objects by name.
    """

    namespace: str
    events: t.Sequence[Object]
    nodes: t.Sequence[Object]
    objects: t.Mapping[str, Object]


def judge(target: Target, checks: t.Sequence[Check], around: Surroundings) -> Object:
    """The result entry of one node.

    A check passes by its exit code and its log. A node passes where each check does and nothing of severity error was found.
    """
    inspection = next((parse_inspection(check.log) for check in checks if check.name == INSPECT and check.log), None)
    results = [_check_result(check, target, inspection, around) for check in checks]
    found = _once(list(target.findings) + [item for result in results for item in result.pop("findings")])
    found = arrange(found, {subject_key(item): target.name for item in found})
    verdict = _verdict(results, found)
    gpus = inspection.gpus if inspection else []
    product = next((gpu["product"] for gpu in gpus if gpu["product"]), None)
    entry = {
        "node": target.name,
        "product": product or target.node["product"],
        "driver_version": (inspection.driver_version if inspection else None) or target.node["driver_version"],
        "resource": target.resource,
        "capacity": sum(item["capacity"] for item in target.node["resources"] if not item["stale"]),
        "allocatable": sum(item["allocatable"] for item in target.node["resources"]),
        "gpus_expected": target.gpus,
        "gpus_seen": gpus,
        "verdict": verdict,
        "checks": results,
        "findings": found,
    }
    return {**entry, "summary": _line(entry)}


def check_findings(check: Check, around: Surroundings) -> Findings:
    """Why a check didn't pass, as far as its objects and their events tell."""
    if check.refusal:
        known = refusal_finding(check.refusal, kind=check.kind.lower(), name=check.object_name, namespace=around.namespace)
        return [known] if known else []
    if check.pod is None:
        return owner_findings(check.kind, around.namespace, check.object_name, around.events)
    return pod_findings(check.pod, around.events, nodes=around.nodes, objects=around.objects, log=check.log)


def _check_result(check: Check, target: Target, inspection: t.Optional[Inspection], around: Surroundings) -> Object:
    status, message = _outcome(check, inspection)
    found: Findings = []
    if status == FAILED:
        found = check_findings(check, around)
        if not check.over:
            found = [*found, _deadline(check, around)]
    elif check.name == INSPECT and inspection and check.pod:
        found = isolation_findings(check.pod, len(inspection.gpus), target.gpus)
        status = FAILED if found else status
        message = found[0]["summary"] if found else message
    return {
        "name": check.name,
        "status": status,
        "message": message,
        "pod": check.pod["metadata"]["name"] if check.pod else None,
        "exit_code": exit_code(check),
        "seconds": None if check.finished_s is None else round(check.finished_s - check.launched_s, 1),
        "findings": found,
    }


def _outcome(check: Check, inspection: t.Optional[Inspection]) -> t.Tuple[str, str]:
    if check.skipped:
        return SKIPPED, check.skipped
    if check.refusal:
        return FAILED, check.refusal
    if check.gave_up:
        return FAILED, f"{check.gave_up}; {describe(check)}"
    if check.finished_s is None:
        return FAILED, f"not finished in time; {describe(check)}"
    code = exit_code(check)
    if code is None:
        return FAILED, f"the container never ran; {describe(check)}"
    if code != 0:
        return FAILED, f"exit code {code}: {_last_lines(check)}"
    if check.log is None:
        return FAILED, f"exit code 0, but the log can't be read: {check.log_error}"
    if check.name == CUDA and CUDA_MARKER not in check.log:
        return FAILED, f"exit code 0, but the log lacks {CUDA_MARKER!r}: {_last_lines(check)}"
    if check.name == INSPECT and inspection is None:
        return FAILED, f"exit code 0, but the log isn't nvidia-smi's report: {_last_lines(check)}"
    return PASSED, CUDA_MARKER if check.name == CUDA else f"{len(inspection.gpus) if inspection else 0} devices"


def _last_lines(check: Check) -> str:
    lines = [line.strip() for line in (check.log or "").splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:]) or "(empty log)"


def _deadline(check: Check, around: Surroundings) -> Object:
    summary = f"{check.kind} {check.object_name} didn't finish in time: {describe(check)}."
    evidence = [seen(f"{check.kind} {around.namespace}/{check.object_name}", describe(check))]
    return finding("DeadlineExceeded", kind=check.kind.lower(), name=check.object_name, namespace=around.namespace, summary=summary, evidence=evidence)


def _verdict(results: t.Sequence[Object], found: Findings) -> str:
    if any(result["status"] == FAILED for result in results) or any(item["severity"] == "error" for item in found):
        return FAILED
    if results and all(result["status"] == PASSED for result in results):
        return PASSED
    return NOT_TESTED


def _line(entry: Object) -> str:
    """One line for people."""
    device = f"{len(entry['gpus_seen'])} of {entry['gpus_expected']} {entry['resource']} seen" if entry["gpus_seen"] else f"{entry['allocatable']} allocatable"
    parts = [f"{entry['node']}: {entry['verdict']}", device]
    parts += [str(entry[key]) for key in ("product", "driver_version") if entry[key]]
    parts += [f"{check['name']} {check['status']}" + (f" in {check['seconds']} s" if check["seconds"] is not None else "") for check in entry["checks"]]
    return ", ".join(parts) + ("" if entry["verdict"] == PASSED else f" - {_reason(entry)}")


def _reason(entry: Object) -> str:
    """The gravest thing known: an error, else how a check failed, else any finding."""
    grave = [item["summary"] for item in entry["findings"] if item["severity"] == "error"]
    failed = [f"{check['name']}: {check['message']}" for check in entry["checks"] if check["status"] == FAILED]
    return (grave + failed + [item["summary"] for item in entry["findings"]] + ["nothing was launched"])[0]


def _once(found: Findings) -> Findings:
    """The first of each code and subject."""
    return list({(item["code"], *subject_key(item)): item for item in reversed(found)}.values())[::-1]
