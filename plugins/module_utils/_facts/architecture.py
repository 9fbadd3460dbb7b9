# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A GPU's generation by its PCI device id, and which kernel modules drive which generation.

Sources: the device ids of NVIDIA's chips in pci.ids; NVIDIA's driver installation guide, "Kernel Modules"; the release notes of R470, R580, R590 and R620.
"""

from __future__ import annotations

import re
import typing as t

OPEN, PROPRIETARY = "open", "proprietary"

# First and last device id of a generation's chips.
_DEVICES = (
    (0x0FC0, 0x12FF, "Kepler"),
    (0x1340, 0x143F, "Maxwell"),
    (0x15F0, 0x15FF, "Pascal"),
    (0x1600, 0x17FF, "Maxwell"),
    (0x1B00, 0x1D7F, "Pascal"),
    (0x1D80, 0x1DFF, "Volta"),
    (0x1E00, 0x1FFF, "Turing"),
    (0x20B0, 0x20FF, "Ampere"),
    (0x2180, 0x21FF, "Turing"),
    (0x2200, 0x22FF, "Ampere"),
    (0x2300, 0x23FF, "Hopper"),
    (0x2400, 0x25FF, "Ampere"),
    (0x2600, 0x28FF, "Ada Lovelace"),
    (0x2900, 0x29FF, "Blackwell"),
    (0x2B00, 0x2FFF, "Blackwell"),
    (0x3180, 0x31FF, "Blackwell"),
)
# Superchips with Hopper that, like Blackwell, are driven by the open modules only.
_GRACE_HOPPER = (0x2340, 0x234F)
_HEXADECIMAL = re.compile(r"^[0-9a-f]{4}$")


class Support(t.NamedTuple):
    """:param flavours: the module flavours that drive a generation.
    :param last_branch: the last driver branch for it; ``None`` where there is no last one yet.
    """

    flavours: t.Tuple[str, ...]
    last_branch: t.Optional[int]


# From this branch on there are no proprietary modules.
OPEN_ONLY_SINCE = 620
_SUPPORT = {
    "Kepler": Support((PROPRIETARY,), 470),
    "Maxwell": Support((PROPRIETARY,), 580),
    "Pascal": Support((PROPRIETARY,), 580),
    "Volta": Support((PROPRIETARY,), 580),
    "Blackwell": Support((OPEN,), None),
}
_BOTH = Support((OPEN, PROPRIETARY), None)


def of_device(device_id: str) -> str | None:
    """The generation of a PCI device id of four hexadecimal digits, as nvidia-smi names it; ``None`` where it isn't known."""
    number = int(device_id, 16) if _HEXADECIMAL.match(device_id) else -1
    return next((name for first, last, name in _DEVICES if first <= number <= last), None)


def support(device_id: str) -> Support | None:
    """Which modules drive a device, ``None`` where its generation isn't known."""
    generation = of_device(device_id)
    if generation is None:
        return None
    if _GRACE_HOPPER[0] <= int(device_id, 16) <= _GRACE_HOPPER[1]:
        return _SUPPORT["Blackwell"]
    return _SUPPORT.get(generation, _BOTH)
