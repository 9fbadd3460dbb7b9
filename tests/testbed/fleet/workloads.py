# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the containers of GPU pods do: which of a few plays a container asks for, and how it is performed on a machine."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Sequence
from typing import Any

from tests.testbed.fleet import ownership
from tests.testbed.fleet.machines import Machine, Outcome, only

Json = dict[str, Any]

_SHELLS = ("sh", "bash")
_VECTORADD_BEGINS = "[Vector addition of 50000 elements]\n"


class Play(enum.Enum):
    """What a container of an agent's pod does."""

    PLUGIN = "plugin"
    NVIDIA_SMI = "nvidia-smi"
    VECTORADD = "vectoradd"
    HOLD = "hold"  # runs until it is deleted


COMMANDS = (Play.NVIDIA_SMI, Play.VECTORADD)


def command(container: Json) -> list[str]:
    """What the container was told to run: command and arguments, out of a ``sh -c`` where that wraps a single command."""
    words = [*container.get("command", []), *container.get("args", [])]
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] == "-c" and not set(words[2]) & set("|&;<>$`\n"):
        return shlex.split(words[2])
    return words


def play(container: Json) -> Play:
    """What the container does in the testbed."""
    if ownership.PLUGIN_IMAGE in container.get("image", ""):
        return Play.PLUGIN
    words = command(container)
    program = words[0].rpartition("/")[2].lower() if words else "vectoradd"  # the sample image's own command
    return {"vectoradd": Play.VECTORADD, "nvidia-smi": Play.NVIDIA_SMI}.get(program, Play.HOLD)


def _nvidia_smi(machine: Machine, arguments: Sequence[str], gpus: Sequence[str] | None) -> Outcome:
    if gpus is None:
        return machine.nvidia_smi(arguments)
    answer = machine.nvidia_smi([*arguments, f"--id={','.join(gpus)}"])
    return Outcome(only(gpus, answer.output), answer.exit_code)  # the XML report lists all GPUs whatever --id says


def perform(machine: Machine, container: Json, gpus: Sequence[str] | None, *, injected: bool) -> Outcome:
    """Runs the container's command on the machine.

    ``gpus``: UUIDs of the only ones that the container may see, None for all. ``injected``: whether the runtime brings the
    driver into it.
    """
    if play(container) is Play.NVIDIA_SMI:
        if not injected:
            return Outcome('exec: "nvidia-smi": executable file not found in $PATH\n', 128)
        return _nvidia_smi(machine, command(container)[1:], gpus)
    if injected and _nvidia_smi(machine, ["-L"], gpus).exit_code == 0:
        return Outcome(f"{_VECTORADD_BEGINS}Test PASSED\nDone\n", 0)
    return Outcome(f"{_VECTORADD_BEGINS}Failed to allocate device vector A (error code no CUDA-capable device is detected)!\n", 1)
