# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. NVLinks of the GPUs from ``nvidia-smi nvlink --status``."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, smi_values

LINE_LIMIT = 20_000

_GPU = re.compile(r"^GPU (?P<index>\d+): (?P<product>.+?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]+)\)$")
_LINK = re.compile(r"^Link \d+: (?:(?P<speed>\d+(?:\.\d+)?) GB/s|<?inactive>?)", re.IGNORECASE)


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``; of each GPU the NVLinks are known: how many, how many of them active, and the speed of one in GB/s."""
    gpus: list[gpu_record.Gpu] = []
    speeds: list[list[float | None]] = []
    for line in text.splitlines()[:LINE_LIMIT]:
        gpu = _GPU.match(smi_values.line_of(line))
        if gpu:
            record = gpu_record.blank(int(gpu.group("index")[:9]))
            gpus.append({**record, "product": smi_values.word(gpu.group("product")), "uuid": gpu.group("uuid")})
            speeds.append([])
        link = _LINK.match(smi_values.line_of(line))
        if link and speeds:
            speeds[-1].append(smi_values.decimal(link.group("speed") or ""))
    known = [gpu_record.complete({**gpu, "nvlink": _nvlink(links)}) for gpu, links in zip(gpus, speeds)]
    return {"driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": known, "error": None}


def is_row(line: str) -> bool:
    """Whether a line tells of a link."""
    return _LINK.match(smi_values.line_of(line)) is not None


def _nvlink(speeds: t.Sequence[float | None]) -> dict[str, t.Any] | None:
    active = [speed for speed in speeds if speed is not None]
    return {"links": len(speeds), "active": len(active), "speed_gbs": active[0] if active else None} if speeds else None
