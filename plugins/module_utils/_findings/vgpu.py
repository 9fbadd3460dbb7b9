# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on virtual GPUs, in the guest."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import node_parts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_parts import Facts, Findings


def unlicensed(facts: Facts, node: str) -> Findings:
    """A vGPU says that it has no licence. One that doesn't say is left alone."""
    without = [gpu for gpu in node_parts.gpus(facts) if gpu["vgpu"] and gpu["vgpu"]["licensed"] is False]
    return [
        finding(
            "VgpuUnlicensed",
            kind="gpu",
            name=node_parts.gpu_name(gpu, node),
            summary=f"{node_parts.gpu_words(gpu, node)} is a virtual one with licence status {gpu['vgpu']['license_status']}; Licensed was expected.",
            evidence=[seen(f"{node_parts.source(facts)}: vgpu.license_status", str(gpu["vgpu"]["license_status"])), *_service(facts)],
        )
        for gpu in without
    ]


def _service(facts: Facts) -> list[dict[str, str]]:
    grid = (node_parts.part(facts, "driver").get("services") or {}).get("grid")
    return [seen("nvidia-gridd.service", str(grid["state"]))] if grid else []


RULES = (unlicensed,)
