# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What an Xid means.

Sources: NVIDIA's Xid catalogue in its edition of 2025-10-29 (immediate and investigatory action per number), and the numbers that the Kubernetes device
plugin leaves to the application (13, 31, 43, 45, 68, 109).
"""

from __future__ import annotations

import re
import typing as t

FATAL, APPLICATION, RECOVERY, WARNING, INFO, UNKNOWN = "fatal", "application", "recovery", "warning", "info", "unknown"

FALLEN_OFF, ROW_REMAPPED, RECOVERY_ACTION = 79, 63, 154


class Xid(t.NamedTuple):
    """:param severity: ``fatal`` (the GPU needs a reset or more), ``application`` (the program's own), ``recovery``, ``warning``, ``info``, ``unknown``.
    :param meaning: in a few words.
    :param code: of the finding that names the cause.
    """

    severity: str
    meaning: str
    code: str = "XidCritical"


TABLE = {
    13: Xid(APPLICATION, "graphics engine exception"),
    31: Xid(APPLICATION, "GPU memory page fault"),
    32: Xid(APPLICATION, "invalid or corrupted push buffer"),
    43: Xid(APPLICATION, "GPU stopped processing for one program"),
    45: Xid(APPLICATION, "preemptive cleanup after an earlier error"),
    46: Xid(FATAL, "GPU stopped processing"),
    48: Xid(FATAL, "double bit ECC error", "EccUncorrectable"),
    54: Xid(FATAL, "auxiliary power is not connected"),
    61: Xid(FATAL, "internal microcontroller breakpoint"),
    62: Xid(FATAL, "internal microcontroller halt"),
    63: Xid(WARNING, "row remapping or page retirement recorded", "EccUncorrectable"),
    64: Xid(FATAL, "row remapping or page retirement failed", "EccUncorrectable"),
    68: Xid(APPLICATION, "video processor exception"),
    69: Xid(APPLICATION, "graphics engine class error"),
    74: Xid(FATAL, "NVLink error"),
    79: Xid(FATAL, "GPU has fallen off the bus", "GpuFallenOffBus"),
    92: Xid(INFO, "high rate of single bit ECC errors"),
    93: Xid(INFO, "non-fatal violation of the infoROM's wear limit"),
    94: Xid(APPLICATION, "contained uncorrectable ECC error", "EccUncorrectable"),
    95: Xid(FATAL, "uncontained uncorrectable ECC error", "EccUncorrectable"),
    109: Xid(APPLICATION, "context switch timeout"),
    110: Xid(FATAL, "security fault"),
    119: Xid(FATAL, "GSP firmware does not answer", "NvidiaSmiTimeout"),
    120: Xid(FATAL, "GSP firmware error", "NvidiaSmiTimeout"),
    121: Xid(INFO, "corrected error on the chip-to-chip link"),
    136: Xid(FATAL, "link training failed"),
    137: Xid(INFO, "NVLink privilege error"),
    140: Xid(FATAL, "unrecovered ECC error", "EccUncorrectable"),
    143: Xid(FATAL, "GPU initialisation error", "GpuInitFailed"),
    144: Xid(UNKNOWN, "NVLink: SAW error"),
    145: Xid(UNKNOWN, "NVLink: RLW error"),
    146: Xid(UNKNOWN, "NVLink: TLW error"),
    147: Xid(UNKNOWN, "NVLink: TREX error"),
    148: Xid(UNKNOWN, "NVLink: NVLPW_CTRL error"),
    149: Xid(UNKNOWN, "NVLink: NETIR error"),
    150: Xid(UNKNOWN, "NVLink: MSE error"),
    154: Xid(RECOVERY, "GPU recovery action changed", "GpuResetRequired"),
    155: Xid(FATAL, "NVLink software-defined error"),
    156: Xid(FATAL, "resource retirement", "EccUncorrectable"),
    157: Xid(INFO, "resource retirement failed to be recorded"),
    158: Xid(FATAL, "GPU fatal timeout"),
    160: Xid(INFO, "channel retirement"),
    161: Xid(INFO, "channel retirement failed"),
}
_NVLINK5 = frozenset(range(144, 151))
_FATAL = re.compile(r"\b(Non-?fatal|Fatal)\b", re.IGNORECASE)


def look_up(number: int) -> Xid:
    """What is known of a number."""
    return TABLE.get(number, Xid(UNKNOWN, "not in the catalogue"))


def severity(number: int, text: str) -> str:
    """How bad an event is: of NVLink's numbers 144 to 150 the text says it."""
    return fatality(text) if number in _NVLINK5 else look_up(number).severity


def switch_severity(text: str) -> str:
    """How bad an event of an NVSwitch (SXid) is: what isn't fatal follows from programs that ended."""
    found = fatality(text)
    return INFO if found == WARNING else found


def fatality(text: str) -> str:
    """``fatal`` or ``warning`` by the word Fatal or Nonfatal in a text, ``unknown`` without one."""
    word = _FATAL.search(text)
    return UNKNOWN if word is None else FATAL if word.group(1).lower() == "fatal" else WARNING
