# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Runtime handlers, whichever runtime defines them."""

from __future__ import annotations

import typing as t

NVIDIA_BINARY = "nvidia-container-runtime"


def handler(name: str, *, runtime_type: str = "", binary: str = "", systemd_cgroup: bool | None = None) -> dict[str, t.Any]:
    """The fact on one handler.

    :param name: what a RuntimeClass gives as its handler.
    :param systemd_cgroup: ``None`` where the option isn't set.
    """
    return {"name": name, "runtime_type": runtime_type or None, "binary": binary or None, "systemd_cgroup": systemd_cgroup}


def is_nvidia(entry: dict[str, t.Any]) -> bool:
    """Whether a handler runs NVIDIA's runtime, under whatever name."""
    return NVIDIA_BINARY in (entry["binary"] or "")


def names(entries: t.Iterable[dict[str, t.Any]]) -> list[str]:
    return [entry["name"] for entry in entries]
