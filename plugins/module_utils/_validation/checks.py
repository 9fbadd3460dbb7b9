# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. How far one check of one node has come, and what to do next."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import ContainerState, bound_node, container_states, is_live, is_stuck, phase

Object = t.Dict[str, t.Any]

# Findings that no waiting cures while the node stays as it is; the kubelet repeats the attempt for ever.
HOPELESS = frozenset(
    (
        "AffinityMismatch",
        "CdiDeviceUnresolvable",
        "DriverLibraryMismatch",
        "ImagePullFailed",
        "RuntimeHandlerMissing",
        "ToolkitNotInjecting",
        "ToolkitNotInstalled",
        "UntoleratedTaint",
    )
)
# They are given this time to prove it: a registry may hiccup, a runtime may be about to restart.
HOPELESS_AFTER_S = 20.0


@dataclasses.dataclass
class Check:
    """One pod or job on one node.

    :ivar name: ``inspect`` or ``cuda``.
    :ivar object_name: the pod's or the job's name.
    :ivar launched_s: when it was created, on the run's clock.
    :ivar finished_s: when its end was seen; ``None`` while it is under way.
    :ivar pod: the pod as last seen.
    :ivar log: its log; ``None`` where it has none or it couldn't be read, for which ``log_error`` says why.
    :ivar refusal: the API server's words where it refused to create the object.
    :ivar skipped: why nothing was created.
    :ivar gave_up: why it is no longer waited for.
    """

    name: str
    object_name: str
    launched_s: float = 0.0
    finished_s: t.Optional[float] = None
    pod: t.Optional[Object] = None
    log: t.Optional[str] = None
    log_error: t.Optional[str] = None
    refusal: t.Optional[str] = None
    skipped: t.Optional[str] = None
    gave_up: t.Optional[str] = None

    @property
    def over(self) -> bool:
        return self.finished_s is not None or any((self.refusal, self.skipped, self.gave_up))

    @property
    def kind(self) -> str:
        return "Pod" if self.name == "inspect" else "Job"

    @property
    def waits(self) -> bool:
        """Whether the check has no running container yet, for a reason that events may tell."""
        return not self.over and (self.pod is None or bound_node(self.pod) is None or is_stuck(self.pod))


def is_finished(pod: Object) -> bool:
    """Whether the pod's container has ended, or the pod never will have one."""
    return not is_live(pod)


def ran(check: Check) -> bool:
    """Whether the check's container was started at all: only then does another check on the node make sense."""
    state = main_state(check)
    return state is not None and state.state == "terminated" and state.reason not in ("StartError", "ContainerCannotRun")


def main_state(check: Check) -> t.Optional[ContainerState]:
    """State of the check's container, which bears the check's name."""
    states = container_states(check.pod) if check.pod else []
    return next((state for state in states if state.name == check.name), None)


def exit_code(check: Check) -> t.Optional[int]:
    """The container's exit code. It decides, not the pod's phase: a kubelet's restart may rewrite that."""
    state = main_state(check)
    return state.exit_code if state and state.state == "terminated" else None


def is_hopeless(check: Check, findings: t.Iterable[Object], now_s: float) -> bool:
    """Whether to stop waiting for a check before its deadline."""
    return now_s - check.launched_s >= HOPELESS_AFTER_S and any(item["code"] in HOPELESS for item in findings)


def describe(check: Check) -> str:
    """Where a check stands, in a few words."""
    if check.pod is None:
        return "no pod was made"
    state = main_state(check)
    detail = f", container {state.state} {state.reason}".rstrip() if state else ""
    place = f"on {bound_node(check.pod)}" if bound_node(check.pod) else "without a node"
    return f"pod {phase(check.pod)} {place}{detail}"
