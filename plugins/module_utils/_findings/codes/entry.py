# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The form of a code's entry in the catalogue."""

from __future__ import annotations

import typing as t

ERROR = "error"
WARNING = "warning"
INFO = "info"


class CatalogueEntry(t.NamedTuple):
    """What is always true of a code; the values found go into the finding.

    :param severity: ``error`` (GPU work fails here), ``warning`` (it will, or partly does) or ``info``.
    :param cause: why this happens.
    :param see: a command to run and what to look for in its output.
    :param next_step: what to do now: a command or a role variable.
    :param variable: of a role: what cures or prevents it; empty where none does.
    :param by_hand: why no role does, where ``variable`` is empty.
    :param retryable: true where waiting may cure it.
    """

    severity: str
    cause: str
    see: str
    next_step: str
    variable: str = ""
    by_hand: str = ""
    retryable: bool = False


# Why no role cures something; completes "No role of this collection does that: ...".
HARDWARE = "the machine itself needs attention, which no setting gives it"
FIRMWARE = "the cure lies in the machine's firmware, which the roles leave alone"
NODE_IMAGE = "the roles start from a node with a supported system and a container runtime"
KERNEL = "the roles don't decide which other kernel modules a node may load"
PURPOSE = "whether a node serves virtual machines or containers is its owner's decision"
DRAIN = "it needs a drained node, and the roles never take a node from running work"
REASON = "it is a state with many reasons; cure the reason, which other findings or the log name"
FABRIC = "the fabric's switches and managers are outside the node, or the machine needs attention"
LICENCE = "licences are given by your licence server"
DISTRIBUTION = "k3s, RKE2 and MicroK8s write that file themselves"
NODE_CONFIG = "the roles add to the runtime's configuration and don't change what others put there"
CAPACITY = "more GPUs, or fewer requests, are a decision of those who use the cluster"
WORKLOAD = "it is in the workload's own specification or program"
CLUSTER = "it is in the hands of those who run the cluster"
NAMESPACE = "quotas and policies of a namespace belong to its owner"
SHARING = "no role of this collection configures sharing or MIG yet"
OPERATOR = "no role of this collection drives the GPU Operator yet"
HELM = "no role of this collection installs by Helm yet"
