# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs from ``nvidia-smi -q -x``, of every schema from version 6 to 13."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import pci, xml

# What nvidia-smi writes where it has no value. "None" is not among them: as a recovery action it means that none is needed.
_NO_VALUE = frozenset((
    "", "n/a", "[n/a]", "not supported", "[not supported]", "unknown error", "[unknown error]", "err!", "requested functionality has been deprecated",
))
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?")
# The product name that a driver gives to a card which is newer than itself.
_UNKNOWN_PRODUCT = "Graphics Device"

# fact, path of names below <gpu>, kind of value
_FIELDS = (
    ("uuid", ("uuid",), "text"),
    ("serial", ("serial",), "text"),
    ("minor_number", ("minor_number",), "int"),
    ("product", ("product_name",), "text"),
    ("architecture", ("product_architecture",), "text"),
    ("memory_total_mib", ("fb_memory_usage", "total"), "int"),
    ("memory_used_mib", ("fb_memory_usage", "used"), "int"),
    ("bar1_total_mib", ("bar1_memory_usage", "total"), "int"),
    ("mig_mode", ("mig_mode", "current_mig"), "text"),
    ("mig_mode_pending", ("mig_mode", "pending_mig"), "text"),
    ("ecc_mode", ("ecc_mode", "current_ecc"), "text"),
    ("ecc_mode_pending", ("ecc_mode", "pending_ecc"), "text"),
    ("recovery_action", ("gpu_recovery_action",), "text"),
    ("virtualization_mode", ("gpu_virtualization_mode", "virtualization_mode"), "text"),
    ("persistence_mode", ("persistence_mode",), "text"),
    ("compute_mode", ("compute_mode",), "text"),
    ("temperature_c", ("temperature", "gpu_temp"), "int"),
)
_MIG_FIELDS = (
    ("index", ("index",), "int"),
    ("gpu_instance_id", ("gpu_instance_id",), "int"),
    ("compute_instance_id", ("compute_instance_id",), "int"),
    ("memory_total_mib", ("fb_memory_usage", "total"), "int"),
)


def parse(text: str) -> dict[str, t.Any]:
    """What nvidia-smi says.

    :return: ``driver_version``, ``cuda_version``, ``attached_gpus`` (count that the driver names), ``gpus`` (those listed; memory in MiB,
        temperature in degrees Celsius) and ``error``, ``None`` where the document is whole.
    """
    document, error = xml.parse(text)
    log = document.child("nvidia_smi_log") or xml.Element("", {}, [], [])
    if error is None and not log.name:
        error = "not the XML of nvidia-smi"
    return {
        "driver_version": _value(log, ("driver_version",), "text"),
        "cuda_version": _value(log, ("cuda_version",), "text"),
        "attached_gpus": _value(log, ("attached_gpus",), "int"),
        "gpus": [_gpu(index, element) for index, element in enumerate(log.all("gpu"))],
        "error": error,
    }


def _gpu(index: int, element: xml.Element) -> dict[str, t.Any]:
    fields = _fields(element, _FIELDS)
    bus_id = element.attributes.get("id", "")
    mig_devices = element.child("mig_devices")
    return {
        "index": index,
        "pci_address": pci.address(bus_id),
        **fields,
        "product_known": fields["product"] not in (None, _UNKNOWN_PRODUCT),
        "mig_devices": [_fields(device, _MIG_FIELDS) for device in mig_devices.all("mig_device")] if mig_devices else [],
    }


def _fields(element: xml.Element, table: t.Sequence[tuple[str, tuple[str, ...], str]]) -> dict[str, t.Any]:
    return {name: _value(element, path, kind) for name, path, kind in table}


def _value(element: xml.Element, path: tuple[str, ...], kind: str) -> t.Any:
    found = element.child(*path)
    text = found.text if found else ""
    if text.lower() in _NO_VALUE:
        return None
    return text if kind == "text" else integer(text)


def integer(text: str) -> int | None:
    """The number at the beginning of a value with a unit: ``143771 MiB``, ``-5 C``."""
    match = _NUMBER.match(text.strip())
    return int(float(match.group())) if match else None
