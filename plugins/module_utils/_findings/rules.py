# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. All rules that apply to a node, in the order of causes."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import driver, fabric, gpus, hardware, kernel_log, runtime, vgpu
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange

_RULES = (*hardware.RULES, *driver.RULES, *kernel_log.RULES, *gpus.RULES, *fabric.RULES, *vgpu.RULES, *runtime.RULES)


def node_findings(facts: dict[str, t.Any], name: str) -> list[dict[str, t.Any]]:
    """What is to be said about a node; the first finding is the root cause.

    :param facts: of ``_facts.node.node_facts``.
    :param name: of the node, for the findings' subject.
    """
    return arrange(found for rule in _RULES for found in rule(facts, name))
