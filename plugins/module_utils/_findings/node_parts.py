# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the rules about a node share: parts of its facts, and evidence made of them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import seen

Facts = t.Dict[str, t.Any]
Findings = t.List[t.Dict[str, t.Any]]
Rule = t.Callable[[Facts, str], Findings]

EVIDENCE_LIMIT = 8

# What a GPU's recovery action asks for, as the GPU says it and as the kernel log does; "None" asks for nothing.
RECOVERY = {
    "Reset": "GpuResetRequired",
    "GPU Reset Required": "GpuResetRequired",
    "Drain and Reset": "GpuResetRequired",
    "Drain P2P": "GpuResetRequired",
    "Reboot": "NodeRebootRequired",
    "Node Reboot Required": "NodeRebootRequired",
}
NO_ACTION = "None"


def part(facts: Facts, subset: str) -> Facts:
    """A subset that is a mapping; empty where it was left out."""
    return facts.get(subset) or {}


def gpus(facts: Facts) -> list[Facts]:
    """The GPUs that the driver lists."""
    return facts["gpus"] or []


def pci_gpus(facts: Facts) -> list[Facts]:
    """The GPUs on the bus, without the virtual functions that a host cuts them into."""
    return [gpu for gpu in pci.gpus(facts["pci"] or []) if not gpu["is_virtual_function"]]


def events(facts: Facts, *kinds: str) -> list[Facts]:
    """The kernel log's events of some kinds."""
    return [event for event in part(facts, "kernel_log").get("events", []) if event["kind"] in kinds]


def answers(facts: Facts) -> bool:
    """Whether the driver told which GPUs it has."""
    return part(facts, "driver").get("attached_gpus") is not None and facts["gpus"] is not None


def listed(facts: Facts) -> dict[str, Facts]:
    """The GPUs that the driver lists, by their address on the bus."""
    return {gpu["pci_address"]: gpu for gpu in gpus(facts) if gpu["pci_address"] is not None}


def gpu_name(gpu: Facts, node: str) -> str:
    """A GPU's name for a finding's subject: the surest that is known."""
    return str(gpu["uuid"] or gpu["pci_address"] or (node if gpu["index"] is None else gpu["index"]))


def gpu_words(gpu: Facts, node: str) -> str:
    """A GPU in words."""
    number = "A GPU" if gpu["index"] is None else f"GPU {gpu['index']}"
    place = f" at {gpu['pci_address']}" if gpu["pci_address"] else ""
    return f"{number}{place} on {node}"


def source(facts: Facts) -> str:
    """Who told of the GPUs."""
    return part(facts, "driver").get("source") or "nvidia-smi"


def bound(functions: t.Sequence[Facts]) -> list[dict[str, str]]:
    """Evidence of what drives PCI functions."""
    return [seen(f"/sys/bus/pci/devices/{item['address']}/driver", item["driver"]) for item in functions[:EVIDENCE_LIMIT]]


def logged(found: t.Sequence[Facts]) -> list[dict[str, str]]:
    """Evidence from the kernel log."""
    return [seen("kernel log", event["text"] + (f" ({event['count']} times)" if event["count"] > 1 else "")) for event in found[:EVIDENCE_LIMIT]]


def packages(found: t.Sequence[Facts]) -> list[dict[str, str]]:
    """Evidence of installed packages."""
    return [seen("package manager", f"{package['status']} {package['name']} {package['version']}") for package in found[:3]]


def failed(driver: Facts) -> list[dict[str, str]]:
    """Evidence of why the driver's user space gives no answer."""
    failure = driver.get("failure")
    return [seen(failure["where"], f"exit code {failure['code']}: {failure['text'] or 'no message'}")] if failure else []
