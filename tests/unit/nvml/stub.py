# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the stand-in for NVML's library and fills its table from a capture of ``nvidia-smi -q -x``, in NVML's units and numbers."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path
from xml.etree import ElementTree

SOURCE = Path(__file__).with_name("stub.c")

_MIB = 1 << 20
_WORDS = {
    "architecture": ("product_architecture", {"Turing": 6, "Ampere": 7, "Ada Lovelace": 8, "Hopper": 9}),
    "brand": ("product_brand", {"Tesla": 2, "GeForce": 5, "NVIDIA RTX": 13, "NVIDIA": 14}),
    "persistence": ("persistence_mode", {"Disabled": 0, "Enabled": 1}),
    "compute_mode": ("compute_mode", {"Default": 0, "Exclusive_Process": 3}),
    "virtualization": ("gpu_virtualization_mode/virtualization_mode", {"None": 0, "Pass-Through": 1, "VGPU": 2}),
    "field.230": ("gpu_recovery_action", {"None": 0, "Reset": 1}),
}
_TEXTS = {"uuid": "uuid", "serial": "serial", "name": "product_name", "vbios": "vbios_version", "minor": "minor_number"}
# Name in the table, path in the XML, factor from the XML's unit to NVML's.
_NUMBERS = (
    ("bar1", "bar1_memory_usage/total", _MIB),
    ("temperature.0", "temperature/gpu_temp", 1),
    ("threshold.0", "temperature/gpu_temp_max_threshold", 1),
    ("threshold.1", "temperature/gpu_temp_slow_threshold", 1),
    ("margin", "temperature/gpu_temp_tlimit", 1),
    ("field.82", "temperature/memory_temp", 1),
    ("power", "gpu_power_readings/instant_power_draw", 1000),
    ("power", "power_readings/power_draw", 1000),
    ("field.185", "gpu_power_readings/average_power_draw", 1000),
    ("power_limit", "gpu_power_readings/current_power_limit", 1000),
    ("power_limit", "power_readings/enforced_power_limit", 1000),
    ("power_default", "gpu_power_readings/default_power_limit", 1000),
    ("power_default", "power_readings/default_power_limit", 1000),
    ("clock.1", "clocks/sm_clock", 1),
    ("clock.2", "clocks/mem_clock", 1),
    ("max_clock.1", "max_clocks/sm_clock", 1),
    ("max_clock.2", "max_clocks/mem_clock", 1),
)
_REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
    "hw_power_brake_slowdown", "display_clocks_setting",
)
_FABRIC_STATES = {"Not Supported": 0, "Not Started": 1, "In Progress": 2, "Completed": 3}


def build(folder: Path, *flags: str) -> Path:
    """Compile the library."""
    return compiled(SOURCE, folder, *flags)


def compiled(source: Path, folder: Path, *flags: str) -> Path:
    """Compile a source to a library of NVML's name."""
    library = folder / "libnvidia-ml.so.1"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *flags, "-o", str(library), str(source)], check=True)
    return library


def table(xml: str) -> dict[str, str]:
    """What NVML would have answered where nvidia-smi wrote this."""
    log = ElementTree.fromstring(xml)
    gpus = log.findall("gpu")
    cuda = _text(log, "cuda_version")
    found = {"system.gpus": str(len(gpus)), "system.driver_version": _text(log, "driver_version") or ""}
    if cuda:
        major, minor = cuda.split(".")
        found["system.cuda_version"] = str(int(major) * 1000 + int(minor) * 10)
    for index, gpu in enumerate(gpus):
        found.update({f"{index}.{name}": value for name, value in _gpu(gpu).items()})
    return found


def write(path: Path, values: t.Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
    return path


def _text(element: ElementTree.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if text in ("", "N/A", "Requested functionality has been deprecated") else text


def _number(element: ElementTree.Element, path: str) -> float | None:
    text = _text(element, path)
    return float(text.split()[0]) if text else None


def _gpu(gpu: ElementTree.Element) -> dict[str, str]:
    values: dict[str, t.Any] = {name: _text(gpu, path) for name, path in _TEXTS.items()}
    values.update({name: words.get(_text(gpu, path) or "") for name, (path, words) in _WORDS.items()})
    for name, path, factor in _NUMBERS:
        number = _number(gpu, path)
        if number is not None:
            values[name] = round(number * factor)
    domain, bus, rest = gpu.attrib["id"].split(":")
    most = _number(gpu, "gpu_power_readings/max_power_limit") or _number(gpu, "power_readings/max_power_limit")
    values.update({
        "pci": f"{domain}:{bus}:{rest.partition('.')[0]}",
        "compute_capability": {"Ampere": "8 6", "Ada Lovelace": "8 9", "Hopper": "9 0"}.get(_text(gpu, "product_architecture") or ""),
        "memory": _memory(gpu),
        "mig_mode": _switches(gpu, "mig_mode/current_mig", "mig_mode/pending_mig"),
        "ecc": _switches(gpu, "ecc_mode/current_ecc", "ecc_mode/pending_ecc"),
        "power_limits": None if most is None else f"0 {round(most * 1000)}",
        "pstate": (_text(gpu, "performance_state") or "P32")[1:],
        "throttle_reasons": sum(1 << bit for bit, name in enumerate(_REASONS) if _text(gpu, f"clocks_event_reasons/clocks_event_reason_{name}") == "Active"),
        "remapped_rows": _remapped_rows(gpu),
        "fabric": _fabric(gpu),
        "ecc_errors.1.0": _uncorrected(gpu, "volatile"),
        "ecc_errors.1.1": _uncorrected(gpu, "aggregate"),
    })
    return {name: str(value) for name, value in values.items() if value is not None}


def _memory(gpu: ElementTree.Element) -> str | None:
    numbers = [_number(gpu, f"fb_memory_usage/{name}") for name in ("total", "reserved", "used")]
    return " ".join(str(round((number or 0) * _MIB)) for number in numbers) if numbers[0] is not None else None


def _switches(gpu: ElementTree.Element, *paths: str) -> str | None:
    words = [_text(gpu, path) for path in paths]
    return " ".join(str(int(word == "Enabled")) for word in words) if words[0] else None


def _remapped_rows(gpu: ElementTree.Element) -> str | None:
    counts = [_number(gpu, f"remapped_rows/remapped_row_{name}") for name in ("corr", "unc")]
    flags = [_text(gpu, f"remapped_rows/remapped_row_{name}") == "Yes" for name in ("pending", "failure")]
    return " ".join(str(int(number or 0)) for number in (*counts, *flags)) if counts[0] is not None else None


def _fabric(gpu: ElementTree.Element) -> str | None:
    state = _text(gpu, "fabric/state")
    return f"{_FABRIC_STATES[state]} 0 {int(_number(gpu, 'fabric/cliqueId') or 0)}" if state else None


def _uncorrected(gpu: ElementTree.Element, period: str) -> int | None:
    counters = gpu.find(f"ecc_errors/{period}")
    numbers = [_number(counters, child.tag) for child in counters if "uncorrectable" in child.tag] if counters is not None else []
    return round(sum(number for number in numbers if number is not None)) if any(number is not None for number in numbers) else None
