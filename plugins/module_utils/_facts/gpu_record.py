# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One GPU's facts, whatever told them: their names, their types, and what follows from others."""

from __future__ import annotations

import re
import typing as t

Gpu = t.Dict[str, t.Any]

# Name of each fact to the type of its value. Every fact but those with a type of BLANKS may be None: unknown, or not applicable.
KINDS = {
    "index": "int",
    "uuid": "text",
    "serial": "text",
    "pci_address": "text",
    "minor_number": "int",
    "product": "text",
    "product_known": "flag",
    "brand": "text",
    "architecture": "text",
    "compute_capability": "text",
    "vbios_version": "text",
    "memory_total_mib": "int",
    "unified_memory": "flag",
    "memory_used_mib": "int",
    "bar1_total_mib": "int",
    "mig_mode": "text",
    "mig_mode_pending": "text",
    "mig_devices": "mappings",
    "ecc_mode": "text",
    "ecc_mode_pending": "text",
    "ecc_uncorrected_volatile": "int",
    "ecc_uncorrected_aggregate": "int",
    "row_remapping": "mapping",
    "recovery_action": "text",
    "fault": "text",
    "temperature_c": "int",
    "temperature_slowdown_c": "int",
    "temperature_shutdown_c": "int",
    "temperature_memory_c": "int",
    "tlimit_c": "int",
    "power_draw_w": "float",
    "power_limit_w": "float",
    "power_limit_default_w": "float",
    "power_limit_max_w": "float",
    "clock_sm_mhz": "int",
    "clock_memory_mhz": "int",
    "clock_sm_max_mhz": "int",
    "clock_memory_max_mhz": "int",
    "throttle_reasons": "texts",
    "performance_state": "text",
    "persistence_mode": "text",
    "compute_mode": "text",
    "virtualization_mode": "text",
    "vgpu": "mapping",
    "nvlink": "mapping",
    "fabric": "mapping",
    "processes": "mappings",
}
BLANKS: t.Dict[str, t.Callable[[], t.Any]] = {"flag": bool, "mappings": list, "texts": list}
# The same for the facts that are mappings, or lists of them.
PARTS = {
    "mig_devices": {
        "index": "int", "gpu_instance_id": "int", "compute_instance_id": "int", "profile": "text", "uuid": "text", "memory_total_mib": "int",
    },
    "row_remapping": {"correctable": "int", "uncorrectable": "int", "pending": "flag", "failed": "flag"},
    "vgpu": {"profile": "text", "license_status": "text", "licensed": "flag"},
    "nvlink": {"links": "int", "active": "int", "speed_gbs": "float"},
    "fabric": {"state": "text", "status": "text", "clique_id": "int", "cluster_uuid": "text"},
    "processes": {"pid": "int", "type": "text", "name": "text", "memory_mib": "int"},
}
MIG_FIELDS = tuple(PARTS["mig_devices"])

# The product name that a driver gives to a card which is newer than itself.
_UNKNOWN_PRODUCT = re.compile(r"^(?:NVIDIA )?Graphics Device$")
# Superchips whose GPU has no memory of its own. GH200 and GB200 have their own and are not among them.
_UNIFIED_MEMORY = re.compile(r"\b(?:GB10|Thor|Orin|Xavier|Tegra)\b")
# The name of a vGPU ends with its profile: board, for a MIG-backed one the number of slices, memory in GB, series A, B, C or Q.
_VGPU_PROFILE = re.compile(r"(?:^|\s)(\S+-\d+(?:[ABCQ]|CME))$")
# Compute capability where generation and product leave no doubt (CUDA C++ Programming Guide, "Compute Capabilities").
_CAPABILITIES = (
    ("Volta", "V100", "7.0"),
    ("Turing", "", "7.5"),
    ("Ampere", r"\b(?:A100|A800|A30)\b", "8.0"),
    ("Ampere", r"\b(?:A2|A10|A10G|A16|A40|A[2456]000|A4500|A5500)\b|\bRTX 30\d\d\b", "8.6"),
    ("Ada Lovelace", "", "8.9"),
    ("Hopper", "", "9.0"),
    ("Blackwell", r"\bG?B200\b", "10.0"),
    ("Blackwell", r"\bG?B300\b", "10.3"),
    ("Blackwell", r"\bRTX\b", "12.0"),
    ("Blackwell", r"\bGB10\b", "12.1"),
)


def blank(index: int | None = None) -> Gpu:
    """A GPU of which nothing is known but its position."""
    return {**{name: BLANKS[kind]() if kind in BLANKS else None for name, kind in KINDS.items()}, "index": index}


def is_blank(record: Gpu) -> bool:
    """Whether a record says nothing."""
    return all(value in (None, False, []) for name, value in record.items() if name != "index")


def complete(record: Gpu) -> Gpu:
    """The record with the facts that follow from others, so that every source gives the same.

    Where a GPU states its distance from the limit (``tlimit_c``), nvidia-smi doesn't list the limits as temperatures although NVML may have them.
    """
    product = record["product"] or ""
    unified = record["unified_memory"] or bool(_UNIFIED_MEMORY.search(product))
    by_margin = record["tlimit_c"] is not None
    return {
        **record,
        "product_known": bool(product) and not _UNKNOWN_PRODUCT.match(product),
        "compute_capability": record["compute_capability"] or _capability(record["architecture"], product),
        "unified_memory": unified,
        "memory_total_mib": None if unified else record["memory_total_mib"],
        "temperature_slowdown_c": None if by_margin else record["temperature_slowdown_c"],
        "temperature_shutdown_c": None if by_margin else record["temperature_shutdown_c"],
        "vgpu": _vgpu(record, product),
    }


def merged(first: Gpu, second: Gpu) -> Gpu:
    """The first record, with what only the second one knows."""
    both = {name: second[name] if value in (None, []) else value for name, value in first.items()}
    both["mig_devices"] = _merged_mig(first["mig_devices"], second["mig_devices"])
    return both


def _merged_mig(first: list[Gpu], second: list[Gpu]) -> list[Gpu]:
    others = {device["index"]: device for device in second}
    return [
        {name: others.get(device["index"], {}).get(name) if value is None else value for name, value in device.items()} for device in first
    ] or second


def _capability(architecture: str | None, product: str) -> str | None:
    return next((capability for name, pattern, capability in _CAPABILITIES if name == architecture and re.search(pattern, product)), None)


def _vgpu(record: Gpu, product: str) -> Gpu | None:
    """What is known of a vGPU; ``None`` on a GPU that is a whole one, although some of these name a licensed product, too."""
    profile = _VGPU_PROFILE.search(product)
    told = record["vgpu"] or {}
    status = told.get("license_status")
    is_one = record["virtualization_mode"] == "VGPU" or profile is not None
    if not is_one and (record["virtualization_mode"] is not None or status is None):
        return None
    licensed = told.get("licensed")
    return {
        "profile": profile.group(1) if profile else told.get("profile"),
        # nvidia-smi adds when it ends, or what is restricted; NVML doesn't.
        "license_status": status.partition(" (")[0] if isinstance(status, str) else None,
        "licensed": licensed if isinstance(licensed, bool) else _licensed(status),
    }


def _licensed(status: t.Any) -> bool | None:
    """``Licensed (Expiry: ...)`` and ``Unlicensed (Restricted)`` go on behind the word."""
    text = status.lower() if isinstance(status, str) else ""
    return True if text.startswith("licensed") else False if text.startswith("unlicensed") else None
