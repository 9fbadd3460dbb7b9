# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs and MIG devices from ``nvidia-smi -L``."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, smi_values

LINE_LIMIT = 20_000

_GPU = re.compile(r"^GPU (?P<index>\d+): (?P<product>.+?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]+)\)$")
# The profile may be 1g.10gb+me or 1c.3g.40gb. Drivers before 470 wrote the id as MIG-GPU-<GPU's UUID>/<GPU instance>/<compute instance>.
_MIG = re.compile(r"^MIG (?P<profile>\S+)\s+Device\s+(?P<index>\d+): \(UUID: (?P<uuid>MIG-[0-9A-Za-z/-]+)\)$")
_OLD_ID = re.compile(r"^MIG-(?P<gpu>GPU-[0-9A-Fa-f-]+)/(?P<gi>\d+)/(?P<ci>\d+)$")


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``. A MIG device's old id alone gives its GPU, too."""
    gpus: list[gpu_record.Gpu] = []
    for line in text.splitlines()[:LINE_LIMIT]:
        _read(smi_values.line_of(line), gpus)
    return {"driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": [gpu_record.complete(gpu) for gpu in gpus], "error": None}


def is_row(line: str) -> bool:
    """Whether a line names a GPU or a MIG device."""
    line = smi_values.line_of(line)
    return any(pattern.match(line) for pattern in (_GPU, _MIG, _OLD_ID))


def _read(line: str, gpus: list[gpu_record.Gpu]) -> None:
    gpu = _GPU.match(line)
    if gpu:
        gpus.append({**gpu_record.blank(int(gpu.group("index")[:9])), "product": smi_values.word(gpu.group("product")), "uuid": gpu.group("uuid")})
        return
    mig = _MIG.match(line)
    if mig and gpus:
        gpus[-1]["mig_devices"].append(_mig_device(mig.group("uuid"), index=int(mig.group("index")[:9]), profile=mig.group("profile")))
        return
    old = _OLD_ID.match(line)
    if old:
        owner = next((known for known in gpus if known["uuid"] == old.group("gpu")), None)
        if owner is None:
            owner = {**gpu_record.blank(), "uuid": old.group("gpu")}
            gpus.append(owner)
        owner["mig_devices"].append(_mig_device(line))


def _mig_device(uuid: str, index: int | None = None, profile: str | None = None) -> dict[str, t.Any]:
    old = _OLD_ID.match(uuid)
    return {
        **dict.fromkeys(gpu_record.MIG_FIELDS),
        "index": index,
        "gpu_instance_id": int(old.group("gi")[:9]) if old else None,
        "compute_instance_id": int(old.group("ci")[:9]) if old else None,
        "profile": profile,
        "uuid": uuid,
    }
