# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. MIG layouts as mig-parted's configuration names them, and what nodes offer with them.

Source of the counts: the ConfigMap default-mig-parted-config of the GPU Operator 26.7. The GPU's own list (``nvidia-smi mig -lgip``) is what counts.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, number, text

Object = t.Dict[str, t.Any]

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
ALL_DISABLED, ALL_PREFIX = "all-disabled", "all-"
_PROFILE = re.compile(r"[1-7]g\.\d+gb(?:[.+-]\w+)*")

# Most devices of a profile on one GPU, the lowest first where GPUs of different memory have a profile of that name.
MOST_DEVICES: t.Dict[str, t.Tuple[int, ...]] = {
    "1g.5gb": (7,), "1g.6gb": (4,), "1g.10gb": (4, 7), "1g.12gb": (7,), "1g.18gb": (7,), "1g.20gb": (4,), "1g.23gb": (7,), "1g.24gb": (4,), "1g.34gb": (7,),
    "1g.35gb": (4, 7), "1g.36gb": (4,), "1g.45gb": (4,), "1g.47gb": (4,), "1g.67gb": (4,), "1g.70gb": (4,),
    "2g.10gb": (3,), "2g.12gb": (2,), "2g.20gb": (3,), "2g.24gb": (3,), "2g.35gb": (3,), "2g.36gb": (3,), "2g.45gb": (3,), "2g.47gb": (3,), "2g.48gb": (2,),
    "2g.67gb": (3,), "2g.70gb": (3,),
    "3g.20gb": (2,), "3g.40gb": (2,), "3g.47gb": (2,), "3g.48gb": (2,), "3g.71gb": (2,), "3g.72gb": (2,), "3g.90gb": (2,), "3g.93gb": (2,), "3g.95gb": (2,),
    "3g.135gb": (2,), "3g.139gb": (2,),
}  # fmt: skip


def uniform_profile(layout: str) -> t.Optional[str]:
    """The profile of a layout that is named after it (``all-1g.10gb``), ``None`` for others."""
    name = layout[len(ALL_PREFIX) :] if layout.startswith(ALL_PREFIX) else ""
    return name if _PROFILE.fullmatch(name) else None


def resource_name(profile: str) -> str:
    """The resource of a profile under the strategy ``mixed``."""
    return MIG + profile.replace("+", ".")


def layouts(config: Object) -> t.Dict[str, t.List[Object]]:
    """The layouts of a mig-parted configuration, by name."""
    return {name: mappings(entries) for name, entries in mapping(config.get("mig-configs")).items()}


def uncovered(entries: t.Sequence[Object], gpus: int) -> t.List[int]:
    """Indexes of GPUs that a layout says nothing about; none where it chooses by product, which only the node can tell."""
    if any(entry.get("devices") == "all" or entry.get("device-filter") for entry in entries):
        return []
    covered = {index for entry in entries for index in (entry["devices"] if isinstance(entry.get("devices"), list) else ()) if number(index) is not None}
    return [index for index in range(gpus) if index not in covered]


def expected(entries: t.Sequence[Object], strategy: str, gpus: int) -> t.Dict[str, int]:
    """What a node offers with a layout, in devices, by resource.

    :param strategy: ``none``, ``single`` or ``mixed``; with ``single`` all devices have to be of one profile.
    :param gpus: of the node.
    """
    found: t.Dict[str, int] = {}
    for entry in entries:
        devices = entry.get("devices")
        count = gpus if devices == "all" else len(devices) if isinstance(devices, list) else 0
        profiles = mapping(entry.get("mig-devices")) if entry.get("mig-enabled") is True else {GPU: 1}
        for profile, each in profiles.items():
            name = GPU if profile == GPU or strategy != "mixed" else resource_name(text(profile))
            found[name] = found.get(name, 0) + count * (number(each) or 0)
    return found
