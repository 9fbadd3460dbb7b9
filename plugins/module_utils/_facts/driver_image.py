# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the name of a driver container's image says."""

from __future__ import annotations

import re
import typing as t

# <registry>/driver:<version or branch>[-<kernel>][-<operating system>]: a kernel is named in images with modules built before.
# Read from public reports (tests/unit/cases/V32).
_IMAGE = re.compile(
    r"(?:.*/)?(?:nvidia-)?driver:(?P<version>\d+(?:\.\d+)*)(?:-(?P<kernel>\d+\.\d+\.\d+[\w.+-]*?))?"
    r"(?:-(?P<os>(?:ubuntu|debian|rhel|rhcos|rocky|centos|fedora|sles|sl-micro|ol|amzn|flatcar|cos)[\d.]*))?"
)


class DriverImage(t.NamedTuple):
    """Parts of the tag.

    :param version: the driver's version, or its branch where the modules were built before.
    :param kernel: the kernel that its modules were built for, ``None`` where they are built on the node.
    :param os: operating system and version, as in ``ubuntu22.04``; ``None`` where the tag lacks it, so that no image has it.
    """

    version: str
    kernel: t.Optional[str]
    os: t.Optional[str]

    @property
    def precompiled(self) -> bool:
        return self.kernel is not None


def parse_driver_image(image: str) -> t.Optional[DriverImage]:
    """Take an image name apart; ``None`` for other images than NVIDIA's driver container."""
    match = _IMAGE.fullmatch(image)
    return DriverImage(match.group("version"), match.group("kernel"), match.group("os")) if match else None
