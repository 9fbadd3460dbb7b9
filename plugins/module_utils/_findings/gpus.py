# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on the GPUs themselves, as the driver reports them."""

from __future__ import annotations

import re

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci, smi_error
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.known_issues import Layout, known_issues
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings

# What stands in place of a GPU's values, to the code that it means. A single value that can't be read ("ERR!", "Unknown Error") is none by itself.
_FAULTS = {"GPU is lost": "GpuLost", "GPU requires reset": "GpuResetRequired"}
_INFOROM = re.compile(r"infoROM is corrupted at gpu (\S+)")


def lost_or_stuck(facts: Facts, node: str) -> Findings:
    """The driver lists a GPU and can't talk to it."""
    found = []
    for gpu in node_parts.gpus(facts):
        code = _FAULTS.get(gpu["fault"]) or ("GpuHandleError" if gpu["fault"] == "Unknown Error" and gpu["uuid"] is None else None)
        if code is not None:
            found.append(_about(gpu, facts, node, code, f"answers with {gpu['fault']!r}", "fault", gpu["fault"]))
    return found


def count_mismatch(facts: Facts, node: str) -> Findings:
    """The driver has fewer GPUs than the bus shows as its own."""
    driver = node_parts.part(facts, "driver")
    attached = driver.get("attached_gpus")
    expected = [gpu["address"] for gpu in node_parts.pci_gpus(facts) if gpu["driver"] in ("nvidia", None)]
    has_none = (driver.get("failure") or {}).get("code") == smi_error.NO_DEVICE
    if attached is None or attached >= len(expected) or has_none:
        return []
    known = node_parts.listed(facts)
    missing = [address for address in expected if address not in known]
    return [
        finding(
            "GpuCountMismatch",
            kind="node",
            name=node,
            summary=f"GPUs on the PCI bus: {len(expected)}, in the driver: {attached}; missing: {', '.join(missing) or 'unknown'}.",
            evidence=[seen(f"/sys/bus/pci/devices/{address}", "not listed by the driver") for address in missing[: node_parts.EVIDENCE_LIMIT]],
        )
    ]


def memory_errors(facts: Facts, node: str) -> Findings:
    """Rows that could not be remapped, or will be with the next reset; errors since the driver was loaded that the GPU got over."""
    found = []
    for gpu in node_parts.gpus(facts):
        rows = gpu["row_remapping"] or {}
        volatile = gpu["ecc_uncorrected_volatile"]
        if rows.get("failed"):
            found.append(_about(gpu, facts, node, "EccUncorrectable", "could not remap a row of its memory", "row_remapping.failed", "Yes"))
        elif rows.get("pending"):
            found.append(_about(gpu, facts, node, "EccUncorrectable", "has a row to remap, which happens at its next reset", "row_remapping.pending", "Yes"))
        elif volatile:
            words = f"had {volatile} errors that ECC did not correct since the driver was loaded"
            found.append(_about(gpu, facts, node, "EccUncorrectable", words, "ecc_uncorrected_volatile", str(volatile), severity=WARNING))
    return found


def recovery_action(facts: Facts, node: str) -> Findings:
    """A GPU asks to be reset, or for a reboot."""
    return [
        _about(gpu, facts, node, node_parts.RECOVERY[gpu["recovery_action"]], f"asks for: {gpu['recovery_action']}", "recovery_action", gpu["recovery_action"])
        for gpu in node_parts.gpus(facts)
        if gpu["recovery_action"] in node_parts.RECOVERY
    ]


def pending_modes(facts: Facts, node: str) -> Findings:
    """A MIG or ECC mode that was set waits for a reset or reboot."""
    found = []
    for gpu in node_parts.gpus(facts):
        for name in ("mig_mode", "ecc_mode"):
            current, pending = gpu[name], gpu[f"{name}_pending"]
            if current and pending and current != pending:
                words = f"has {name.replace('_mode', '').upper()} mode {current}, and {pending} from its next reset or the node's next reboot on"
                found.append(_about(gpu, facts, node, "NodeRebootRequired", words, f"{name}_pending", pending))
    return found


def inforom(facts: Facts, node: str) -> Findings:
    """nvidia-smi says that an infoROM is corrupted: by a line behind its answer, or by its exit code."""
    driver = node_parts.part(facts, "driver")
    said = driver.get("nvidia_smi")
    if said is None:
        return []
    known = node_parts.listed(facts)
    named = [(match.group(1), line) for match, line in ((_INFOROM.search(line), line) for line in said["warnings"]) if match]
    found = []
    for bus_id, line in named:
        address = pci.address(bus_id) or bus_id
        name = node_parts.gpu_name(known[address], node) if address in known else address
        summary = f"The infoROM of the GPU at {address} on {node} is corrupted."
        found.append(finding("InfoRomCorrupted", kind="gpu", name=name, summary=summary, evidence=[seen("nvidia-smi", line)]))
    if not found and said["exit_code"] == smi_error.INFOROM:
        shown = [seen("nvidia-smi", f"exit code {smi_error.INFOROM}")]
        return [finding("InfoRomCorrupted", kind="node", name=node, summary=f"nvidia-smi ends with exit code {smi_error.INFOROM}.", evidence=shown)]
    return found


def known_issue(facts: Facts, node: str) -> Findings:
    """The driver's version has a published fault, and the node is one that it shows on."""
    driver = node_parts.part(facts, "driver")
    text = driver.get("loaded_version") or driver.get("userspace_version") or ""
    return [
        finding(
            "KnownDriverIssue",
            kind="node",
            name=node,
            summary=f"The node has driver {text} and {issue.summary} ({issue.source}).",
            evidence=[seen("driver version", text), *(seen(f"GPU {gpu['index']}: mig_mode", str(gpu["mig_mode"])) for gpu in node_parts.gpus(facts)[:4])],
            next_step=issue.next_step,
        )
        for issue in known_issues(text, _layout(facts))
    ]


def _layout(facts: Facts) -> Layout:
    gpus = node_parts.gpus(facts)
    with_mig = [gpu for gpu in gpus if gpu["mig_mode"] == "Enabled"]
    return Layout(bool(with_mig), len(with_mig) < len(gpus), tuple(gpu["product"] or "" for gpu in with_mig))


def _about(gpu: Facts, facts: Facts, node: str, code: str, words: str, field: str, value: str, severity: str | None = None) -> Facts:
    return finding(
        code,
        kind="gpu",
        name=node_parts.gpu_name(gpu, node),
        summary=f"{node_parts.gpu_words(gpu, node)} {words}.",
        evidence=[seen(f"{node_parts.source(facts)}: {field}", value)],
        severity=severity,
    )


# In the order of causes: what stands first explains what follows.
RULES = (lost_or_stuck, count_mismatch, memory_errors, recovery_action, pending_modes, inforom, known_issue)
