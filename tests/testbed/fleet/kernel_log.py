# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of a test machine: a file of the records that /dev/kmsg gives, ``priority,sequence,microseconds,flags;message``.

It lies beside simulated_kernel.py in /srv/gpu-hardware and is its part; the file ends with the boot. The messages are those of NVIDIA's open kernel module
(branch 580) in public logs. Standard library only: it runs with the machine's own Python.
"""

from __future__ import annotations

import platform
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

LOG = Path("/run/gpu-hardware/kmsg")
DEVICE = Path("/dev/kmsg")
# Priorities of printk.
ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6
_NOBODY = "pid='<unknown>', name=<unknown>"


class Fault(NamedTuple):
    """What an Xid says of itself, and what the driver asks for after it.

    :ivar text: of the message
    :ivar action: the recovery action by number and name, as Xid 154 reports it
    :ivar told: the same as nvidia-smi's gpu_recovery_action
    :ivar is_lost: whether the driver has no handle for the GPU any more
    """

    text: str
    action: str
    told: str
    is_lost: bool


FAULTS = {
    62: Fault("20e6(3040) 00000000 00000000", "0x1 (GPU Reset Required)", "Reset", is_lost=False),
    79: Fault("GPU has fallen off the bus.", "0x2 (Node Reboot Required)", "Reboot", is_lost=True),
}


def start() -> None:
    """Begin the log of this boot, and show it to the machine, which can't write to it."""
    LOG.write_text("")
    say(NOTICE, f"Linux version {platform.release()} (simulated@gpufleet)")
    say(INFO, "pci_bus 0000:00: root bus resource [bus 00-ff]")
    DEVICE.touch()
    subprocess.run(["/bin/mount", "--bind", str(LOG), str(DEVICE)], check=True)
    subprocess.run(["/bin/mount", "-o", "remount,bind,ro", str(DEVICE)], check=True)


def say(priority: int, message: str) -> None:
    """Append a record."""
    number = LOG.read_text().count("\n")
    with LOG.open("a") as log:
        log.write(f"{priority},{number},{time.monotonic_ns() // 1000},-;{message}\n")


def loading(version: str) -> None:
    """NVIDIA's module comes in."""
    say(WARNING, "nvidia: loading out-of-tree module taints kernel.")
    say(WARNING, f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (simulated@gpufleet)")


def fault(address: str, number: int, uuid: str) -> Fault:
    """The driver reports an Xid of a GPU, and what it asks for."""
    found = FAULTS[number]
    place = address.rpartition(".")[0]
    say(ERROR, f"NVRM: GPU at PCI:{place}: {uuid}")
    say(ERROR, f"NVRM: Xid (PCI:{place}): {number}, {_NOBODY}, {found.text}")
    say(ERROR, f"NVRM: Xid (PCI:{place}): 154, {_NOBODY}, GPU recovery action changed from 0x0 (None) to {found.action}")
    return found


def fell_off(address: str) -> None:
    """The driver notices that a GPU doesn't answer on the bus any more."""
    say(ERROR, f"NVRM: Xid (PCI:{address.rpartition('.')[0]}): 79, {_NOBODY}, GPU has fallen off the bus.")
    say(ERROR, f"NVRM: GPU {address}: GPU has fallen off the bus.")
