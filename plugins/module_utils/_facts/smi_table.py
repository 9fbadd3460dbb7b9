# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs from the table that plain ``nvidia-smi`` prints, whole or some of its rows."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, pci, smi_values

LINE_LIMIT = 20_000

_HEADER = re.compile(r"NVIDIA-SMI\s+\S+\s+(?:KMD Version|Driver Version):\s*(?P<driver>\d+(?:\.\d+)+)(?:\s+CUDA (?:UMD )?Version:\s*(?P<cuda>\d+\.\d+))?")
_BUS_ID = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
# |   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
_FIRST = re.compile(
    r"^\|\s*(?P<index>\d+)\s+(?P<product>\S.*?)\s+(?:(?P<persistence>On|Off)\s*)?"
    r"\|\s*(?P<bus>" + _BUS_ID + r")\s+\S+\s*\|\s*(?P<ecc>\S.*?)\s*\|$"
)
# | N/A   40C    P8              4W /  N/A  | Not Supported          |      0%      Default |
_SECOND = re.compile(
    r"^\|\s*(?P<fan>\S+?)\s+(?P<temperature>\S+)\s+(?P<state>P\d+|N/A|ERR!|Unknown)\s+(?P<draw>.*?)\s*/\s*(?P<limit>\S.*?)\s*"
    r"\|\s*(?P<memory>\S.*?)\s*\|\s*\S+\s+(?P<compute>\S.*?)\s*\|$"
)
# |                                         |                        |             Disabled |
_THIRD = re.compile(r"^\|\s+\|\s+\|\s*(?P<mig>Enabled|Disabled)(?P<pending>\*?)\s*\|$")
# |  0    1   0   0  |     19MiB / 20096MiB | 42      0 |  3   0    2    0    0 |
_MIG_DEVICE = re.compile(r"^\|\s*(?P<gpu>\d+)\s+(?P<gi>\d+)\s+(?P<ci>\d+)\s+(?P<index>\d+)\s*\|\s*\d+MiB\s*/\s*(?P<total>\d+)MiB\s*\|")
# |    0   N/A  N/A      1234      C   python      100MiB |   and, before MIG,   |    0      1234      C   python      100MiB |
_PROCESS = re.compile(
    r"^\|\s*(?P<gpu>\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?P<type>[MCG+]+)\s+(?P<name>\S.*?)\s+(?P<memory>\d+MiB|N/A)\s*\|$"
)
_COMPUTE_MODES = {"default": "Default", "e. process": "Exclusive_Process", "e. thread": "Exclusive_Thread", "prohibited": "Prohibited"}
_ON_OFF = {"On": "Enabled", "Off": "Disabled"}


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``. A long product's name is cut by the table itself and ends with dots."""
    header = _HEADER.search(text)
    gpus: list[gpu_record.Gpu] = []
    for line in text.splitlines()[:LINE_LIMIT]:
        _read(smi_values.line_of(line), gpus)
    return {
        "driver_version": header.group("driver") if header else None,
        "cuda_version": header.group("cuda") if header else None,
        "attached_gpus": None,
        "gpus": [gpu_record.complete(gpu) for gpu in gpus],
        "error": None,
    }


def is_row(line: str) -> bool:
    """Whether a line is the first one of a GPU."""
    return _FIRST.match(smi_values.line_of(line)) is not None


def _read(line: str, gpus: list[gpu_record.Gpu]) -> None:
    """Take a line into the GPUs: rows of the first table belong to the last GPU, rows of the others name theirs."""
    first = _FIRST.match(line)
    if first:
        gpus.append(_first(first))
        return
    if not gpus:
        return
    for pattern, reader in _ROWS:
        match = pattern.match(line)
        if match:
            reader(match, gpus)
            return


def _first(row: t.Match[str]) -> gpu_record.Gpu:
    ecc = row.group("ecc")
    count = smi_values.integer(ecc)
    return {
        **gpu_record.blank(int(row.group("index")[:9])),
        "product": smi_values.word(row.group("product")),
        "pci_address": pci.address(row.group("bus")),
        "persistence_mode": _ON_OFF.get(row.group("persistence")),
        "ecc_uncorrected_volatile": count,
        "ecc_mode": "Enabled" if count is not None else "Disabled" if ecc == "Off" else None,
        "fault": smi_values.fault(ecc),
    }


def _second(row: t.Match[str], gpus: list[gpu_record.Gpu]) -> None:
    used, _slash, total = row.group("memory").partition("/")
    cells = [smi_values.fault(row.group(name)) for name in ("fan", "temperature", "state", "draw", "memory")]
    compute = row.group("compute")
    gpu = gpus[-1]
    gpu.update({
        "temperature_c": smi_values.integer(row.group("temperature")),
        "performance_state": smi_values.word(row.group("state")),
        "power_draw_w": smi_values.decimal(row.group("draw")),
        "power_limit_w": smi_values.decimal(row.group("limit")),
        "memory_used_mib": smi_values.integer(used),
        "memory_total_mib": smi_values.integer(total.strip()),
        "compute_mode": _COMPUTE_MODES.get(compute.lower(), smi_values.word(compute)),
        "fault": next((cell for cell in cells if cell), gpu["fault"]),
    })


def _third(row: t.Match[str], gpus: list[gpu_record.Gpu]) -> None:
    """A star behind the MIG mode says that another one is pending."""
    mode = row.group("mig")
    other = "Disabled" if mode == "Enabled" else "Enabled"
    gpus[-1].update(mig_mode=mode, mig_mode_pending=other if row.group("pending") else mode)


def _mig_device(row: t.Match[str], gpus: list[gpu_record.Gpu]) -> None:
    values = {"index": row.group("index"), "gpu_instance_id": row.group("gi"), "compute_instance_id": row.group("ci"), "memory_total_mib": row.group("total")}
    numbers = {name: smi_values.integer(value) for name, value in values.items()}
    for gpu in _of(gpus, row.group("gpu")):
        gpu["mig_devices"].append({name: numbers.get(name) for name in gpu_record.MIG_FIELDS})


def _process(row: t.Match[str], gpus: list[gpu_record.Gpu]) -> None:
    if "C" not in row.group("type"):
        return
    for gpu in _of(gpus, row.group("gpu")):
        gpu["processes"].append({
            "pid": smi_values.integer(row.group("pid")),
            "type": row.group("type"),
            "name": smi_values.word(row.group("name")),
            "memory_mib": smi_values.integer(row.group("memory")),
        })


def _of(gpus: list[gpu_record.Gpu], index: str) -> list[gpu_record.Gpu]:
    return [gpu for gpu in gpus if str(gpu["index"]) == index]


_ROWS: tuple[tuple[t.Pattern[str], t.Callable[[t.Match[str], t.List[gpu_record.Gpu]], None]], ...] = (
    (_THIRD, _third),
    (_PROCESS, _process),
    (_MIG_DEVICE, _mig_device),
    (_SECOND, _second),
)
