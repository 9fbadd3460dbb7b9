# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A GPU's facts from a tree of nvidia-smi's fields.

``nvidia-smi -q -x`` and ``nvidia-smi -q`` have the same tree under different names. A path that has an underscore, or is one word, is of the XML, in any
of its schemas from 6 to 13; one with blanks is of the text, in small letters. Of several paths the first that has a value counts.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, pci, smi_values, xml

Paths = t.Tuple[str, ...]

_FIELDS: tuple[tuple[str, str, Paths], ...] = (
    ("uuid", "text", ("uuid", "gpu uuid")),
    ("serial", "text", ("serial", "serial number")),
    ("minor_number", "int", ("minor_number", "minor number")),
    ("product", "text", ("product_name", "product name")),
    ("brand", "text", ("product_brand", "product brand")),
    ("architecture", "text", ("product_architecture", "product architecture")),
    ("vbios_version", "text", ("vbios_version", "vbios version")),
    ("memory_total_mib", "int", ("fb_memory_usage/total", "fb memory usage/total")),
    ("memory_used_mib", "int", ("fb_memory_usage/used", "fb memory usage/used")),
    ("bar1_total_mib", "int", ("bar1_memory_usage/total", "bar1 memory usage/total")),
    ("mig_mode", "text", ("mig_mode/current_mig", "mig mode/current")),
    ("mig_mode_pending", "text", ("mig_mode/pending_mig", "mig mode/pending")),
    ("ecc_mode", "text", ("ecc_mode/current_ecc", "ecc mode/current")),
    ("ecc_mode_pending", "text", ("ecc_mode/pending_ecc", "ecc mode/pending")),
    ("recovery_action", "text", ("gpu_recovery_action", "gpu recovery action")),
    ("temperature_c", "int", ("temperature/gpu_temp", "temperature/gpu current temp")),
    ("temperature_slowdown_c", "int", ("temperature/gpu_temp_slow_threshold", "temperature/gpu slowdown temp")),
    ("temperature_shutdown_c", "int", ("temperature/gpu_temp_max_threshold", "temperature/gpu shutdown temp")),
    ("temperature_memory_c", "int", ("temperature/memory_temp", "temperature/memory current temp")),
    ("tlimit_c", "int", ("temperature/gpu_temp_tlimit", "temperature/gpu t.limit temp")),
    ("power_draw_w", "float", (
        "gpu_power_readings/average_power_draw", "gpu_power_readings/power_draw", "power_readings/power_draw", "gpu_power_readings/instant_power_draw",
        "gpu power readings/average power draw", "gpu power readings/power draw", "power readings/power draw", "gpu power readings/instantaneous power draw",
    )),
    ("power_limit_w", "float", (
        "gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit", "power_readings/power_limit",
        "gpu power readings/current power limit", "power readings/enforced power limit", "power readings/power limit",
    )),
    ("power_limit_default_w", "float", (
        "gpu_power_readings/default_power_limit", "power_readings/default_power_limit",
        "gpu power readings/default power limit", "power readings/default power limit",
    )),
    ("power_limit_max_w", "float", (
        "gpu_power_readings/max_power_limit", "power_readings/max_power_limit", "gpu power readings/max power limit", "power readings/max power limit",
    )),
    ("clock_sm_mhz", "int", ("clocks/sm_clock", "clocks/sm")),
    ("clock_memory_mhz", "int", ("clocks/mem_clock", "clocks/memory")),
    ("clock_sm_max_mhz", "int", ("max_clocks/sm_clock", "max clocks/sm")),
    ("clock_memory_max_mhz", "int", ("max_clocks/mem_clock", "max clocks/memory")),
    ("performance_state", "text", ("performance_state", "performance state")),
    ("persistence_mode", "text", ("persistence_mode", "persistence mode")),
    ("compute_mode", "text", ("compute_mode", "compute mode")),
    ("virtualization_mode", "text", ("gpu_virtualization_mode/virtualization_mode", "gpu virtualization mode/virtualization mode")),
)
_MIG_FIELDS: tuple[tuple[str, str, Paths], ...] = (
    ("index", "int", ("index",)),
    ("gpu_instance_id", "int", ("gpu_instance_id", "gpu instance id")),
    ("compute_instance_id", "int", ("compute_instance_id", "compute instance id")),
    ("memory_total_mib", "int", ("fb_memory_usage/total", "fb memory usage/total")),
)
_ROW_REMAPPING: tuple[tuple[str, str, Paths], ...] = (
    ("correctable", "int", ("remapped_rows/remapped_row_corr", "remapped rows/correctable error")),
    ("uncorrectable", "int", ("remapped_rows/remapped_row_unc", "remapped rows/uncorrectable error")),
    ("pending", "bool", ("remapped_rows/remapped_row_pending", "remapped rows/pending")),
    ("failed", "bool", ("remapped_rows/remapped_row_failure", "remapped rows/remapping failure occurred")),
)
_FABRIC: tuple[tuple[str, str, Paths], ...] = (
    ("state", "state", ("fabric/state",)),
    ("status", "state", ("fabric/status",)),
    ("clique_id", "int", ("fabric/cliqueId", "fabric/cliqueid")),
    ("cluster_uuid", "text", ("fabric/clusterUuid", "fabric/clusteruuid")),
)
_LICENSE: tuple[tuple[str, str, Paths], ...] = (
    ("license_status", "text", (
        "vgpu_software_licensed_product/license_status", "grid_licensed_product/license_status",
        "vgpu software licensed product/license status", "grid licensed product/license status",
    )),
)
_PROCESS: tuple[tuple[str, str, Paths], ...] = (
    ("type", "text", ("type",)),
    ("name", "text", ("process_name", "name")),
    ("memory_mib", "int", ("used_memory", "used gpu memory")),
)
# Counters of errors that ECC did not correct, one of each kind of memory: since Turing, and before.
_UNCORRECTED = ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable",
                "sram uncorrectable", "sram uncorrectable parity", "sram uncorrectable sec-ded", "dram uncorrectable")
_DOUBLE_BIT = ("double_bit/total", "double bit/total")
_REASON_GROUPS = ("clocks_event_reasons", "clocks_throttle_reasons", "clocks event reasons", "clocks throttle reasons")
_REASON_PREFIX = re.compile(r"^clocks_(?:event|throttle)_reasons?_")
_REASON_NAMES = {"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}


def gpu(element: xml.Element, index: int | None, bus_id: str) -> gpu_record.Gpu:
    """A GPU's facts from the tree below it.

    :param bus_id: as nvidia-smi writes it, or empty.
    """
    record = gpu_record.blank(index)
    record.update(_values(element, _FIELDS))
    record.update({
        "pci_address": pci.address(bus_id),
        "fault": _fault(element),
        "mig_devices": [_mig_device(device) for device in _mig_elements(element)],
        "ecc_uncorrected_volatile": _uncorrected(element, "volatile"),
        "ecc_uncorrected_aggregate": _uncorrected(element, "aggregate"),
        "row_remapping": _group(element, _ROW_REMAPPING),
        "fabric": _group(element, _FABRIC),
        "vgpu": _group(element, _LICENSE),
        "throttle_reasons": _throttle_reasons(element),
        "processes": _processes(element),
    })
    return gpu_record.complete(record)


def value(element: xml.Element, kind: str, paths: Paths) -> t.Any:
    """The first value among paths; ``None`` where there is none."""
    for path in paths:
        found = element.child(*path.split("/"))
        result = smi_values.READERS[kind](found.text) if found else None
        if result is not None:
            return result
    return None


def _values(element: xml.Element, table: tuple[tuple[str, str, Paths], ...]) -> dict[str, t.Any]:
    return {name: value(element, kind, paths) for name, kind, paths in table}


def _group(element: xml.Element, table: tuple[tuple[str, str, Paths], ...]) -> dict[str, t.Any] | None:
    """Values that belong together, ``None`` where the first of them, which says whether there are any, is missing."""
    values = _values(element, table)
    return values if next(iter(values.values())) is not None else None


def _fault(element: xml.Element) -> str | None:
    """What stands in place of values: a lost GPU first, since single values fail on healthy ones, too."""
    found = {smi_values.fault(item.text) for item in element.walk()}
    return next((text for text in smi_values.FAULTS.values() if text in found), None)


def _mig_elements(element: xml.Element) -> list[xml.Element]:
    listed = element.child("mig_devices")
    return (listed.all("mig_device") if listed else []) + element.all("mig device")


def _mig_device(element: xml.Element) -> dict[str, t.Any]:
    values = _values(element, _MIG_FIELDS)
    return {name: values.get(name) for name in gpu_record.MIG_FIELDS}


def _uncorrected(element: xml.Element, period: str) -> int | None:
    """Errors that were not corrected: since the driver was loaded (``volatile``), or ever."""
    counters = element.child("ecc_errors", period) or element.child("ecc errors", period)
    if counters is None:
        return None
    counts = [value(counters, "int", (name,)) for name in _UNCORRECTED]
    known = [count for count in counts if count is not None]
    return sum(known) if known else value(counters, "int", _DOUBLE_BIT)


def _throttle_reasons(element: xml.Element) -> list[str]:
    group = next((found for found in (element.child(name) for name in _REASON_GROUPS) if found), None)
    active = [item.name for item in group.walk() if item.text.lower() == "active"] if group else []
    names = [_REASON_PREFIX.sub("", name).replace(" ", "_") for name in active]
    return [_REASON_NAMES.get(name, name) for name in names]


def _processes(element: xml.Element) -> list[dict[str, t.Any]]:
    """Processes that compute; those that only draw (type G) don't count."""
    listed = element.child("processes")
    if listed is None:
        return []
    found = [(value(item, "int", ("pid",)), item) for item in listed.all("process_info")]
    found += [(smi_values.integer(item.text), item) for item in listed.all("process id")]
    return [process for process in ({"pid": pid, **_values(item, _PROCESS)} for pid, item in found) if "C" in (process["type"] or "")]
