# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs from ``nvidia-smi --query-gpu=... --format=csv``, with any columns.

Without a header (``noheader``) a column is known by what it holds: only those facts are taken that cannot be mistaken.
"""

from __future__ import annotations

import csv
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, pci, smi_values

ROW_LIMIT = 4096
COLUMN_LIMIT = 400

# Column of nvidia-smi --help-query-gpu to fact and kind. Of several columns for one fact the first that has a value counts.
_COLUMNS = {
    "index": ("index", "int"),
    "name": ("product", "text"),
    "gpu_name": ("product", "text"),
    "uuid": ("uuid", "text"),
    "gpu_uuid": ("uuid", "text"),
    "serial": ("serial", "text"),
    "gpu_serial": ("serial", "text"),
    "vbios_version": ("vbios_version", "text"),
    "compute_cap": ("compute_capability", "text"),
    "memory.total": ("memory_total_mib", "int"),
    "memory.used": ("memory_used_mib", "int"),
    "mig.mode.current": ("mig_mode", "text"),
    "mig.mode.pending": ("mig_mode_pending", "text"),
    "ecc.mode.current": ("ecc_mode", "text"),
    "ecc.mode.pending": ("ecc_mode_pending", "text"),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected_volatile", "int"),
    "ecc.errors.uncorrected.aggregate.total": ("ecc_uncorrected_aggregate", "int"),
    "gpu_recovery_action": ("recovery_action", "text"),
    "temperature.gpu": ("temperature_c", "int"),
    "temperature.memory": ("temperature_memory_c", "int"),
    "temperature.gpu.tlimit": ("tlimit_c", "int"),
    "power.draw.average": ("power_draw_w", "float"),
    "power.draw": ("power_draw_w", "float"),
    "power.draw.instant": ("power_draw_w", "float"),
    "enforced.power.limit": ("power_limit_w", "float"),
    "power.limit": ("power_limit_w", "float"),
    "power.default_limit": ("power_limit_default_w", "float"),
    "power.max_limit": ("power_limit_max_w", "float"),
    "clocks.current.sm": ("clock_sm_mhz", "int"),
    "clocks.sm": ("clock_sm_mhz", "int"),
    "clocks.current.memory": ("clock_memory_mhz", "int"),
    "clocks.mem": ("clock_memory_mhz", "int"),
    "clocks.max.sm": ("clock_sm_max_mhz", "int"),
    "clocks.max.memory": ("clock_memory_max_mhz", "int"),
    "clocks.max.mem": ("clock_memory_max_mhz", "int"),
    "pstate": ("performance_state", "text"),
    "persistence_mode": ("persistence_mode", "text"),
    "compute_mode": ("compute_mode", "text"),
}
_BUS_IDS = ("pci.bus_id", "gpu_bus_id")
_ROW_REMAPPING = {
    "correctable": ("remapped_rows.correctable", "int"),
    "uncorrectable": ("remapped_rows.uncorrectable", "int"),
    "pending": ("remapped_rows.pending", "bool"),
    "failed": ("remapped_rows.failure", "bool"),
}
_FABRIC = {
    "state": ("fabric.state", "state"),
    "status": ("fabric.status", "state"),
    "clique_id": ("fabric.cliqueid", "int"),
    "cluster_uuid": ("fabric.clusteruuid", "text"),
}
_REASON = re.compile(r"^clocks_(?:event|throttle)_reasons\.(?!supported|active|counters)(.+)$")
_UNIT = re.compile(r"\s*\[[^\]]*\]$")
# Columns that no other program's table has.
_TELLING = frozenset(_COLUMNS) - {"index", "name", "serial"} | frozenset(("driver_version", *_BUS_IDS, "fabric.state"))
_GUESSES = (
    ("uuid", re.compile(r"^GPU-[0-9A-Fa-f-]+$")),
    ("pci.bus_id", re.compile(r"^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")),
    ("name", re.compile(r"^(?:NVIDIA|Tesla|Quadro|GeForce|GRID)(?: [\w.+/-]{1,40}){1,8}$")),
    ("driver_version", re.compile(r"^\d{3}\.\d{1,3}(?:\.\d{2})?$")),
    ("memory.total", re.compile(r"^\d{4,7}(?: MiB)?$")),
)

Row = t.Dict[str, str]


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``. ``attached_gpus`` is the column ``count``."""
    rows = _rows(text)
    return {
        "driver_version": _first(rows, "driver_version"),
        "cuda_version": None,
        "attached_gpus": smi_values.integer(_first(rows, "count") or ""),
        "gpus": [_gpu(index, row) for index, row in enumerate(rows)],
        "error": None,
    }


def is_table(text: str) -> bool:
    """Whether the first line is such a header, or a row that can only be a GPU's."""
    cells = _cells(text[:65536])
    if not cells:
        return False
    guessed = set(_guess(cells[0]))
    return _is_header(cells[0]) or (len(guessed) > 1 and bool(guessed & {"name", "uuid", "pci.bus_id"}))


def _cells(text: str) -> list[list[str]]:
    lines = [line[:65536] for line in text.splitlines()[: ROW_LIMIT + 1] if line.strip() and "\0" not in line]
    return [[cell.strip() for cell in row[:COLUMN_LIMIT]] for row in csv.reader(lines, quoting=csv.QUOTE_NONE, skipinitialspace=True)]


def _rows(text: str) -> list[Row]:
    cells = _cells(text)
    if not cells:
        return []
    if _is_header(cells[0]):
        header, *lines = cells
        return [dict(zip((_column(cell) for cell in header), line)) for line in lines if line != header]
    return [row for row in (_guess(line) for line in cells) if row]


def _column(cell: str) -> str:
    return _UNIT.sub("", cell).lower()


def _is_header(cells: t.Sequence[str]) -> bool:
    return any(_column(cell) in _TELLING for cell in cells)


def _guess(cells: t.Sequence[str]) -> Row:
    row: Row = {}
    for cell in cells:
        column = next((name for name, pattern in _GUESSES if name not in row and pattern.match(cell)), None)
        if column is not None:
            row[column] = cell
    return row


def _first(rows: t.Sequence[Row], column: str) -> str | None:
    return next((word for word in (smi_values.word(row.get(column, "")) for row in rows) if word), None)


def _gpu(index: int, row: Row) -> gpu_record.Gpu:
    record = gpu_record.blank(index)
    for column, (fact, kind) in _COLUMNS.items():
        value = smi_values.READERS[kind](row.get(column, ""))
        if value is not None and (record[fact] is None or fact == "index"):
            record[fact] = value
    record.update({
        "pci_address": next((address for address in (pci.address(row.get(name, "")) for name in _BUS_IDS) if address), None),
        "fault": next((fault for fault in (smi_values.fault(cell) for cell in row.values()) if fault), None),
        "row_remapping": _group(row, _ROW_REMAPPING, "pending"),
        "fabric": _group(row, _FABRIC, "state"),
        "throttle_reasons": [_REASON.sub(r"\1", column) for column, cell in row.items() if _REASON.match(column) and cell.lower() == "active"],
    })
    return gpu_record.complete(record)


def _group(row: Row, table: dict[str, tuple[str, str]], decisive: str) -> dict[str, t.Any] | None:
    values = {name: smi_values.READERS[kind](row.get(column, "")) for name, (column, kind) in table.items()}
    return values if values[decisive] is not None else None
