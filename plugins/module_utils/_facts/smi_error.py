# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What nvidia-smi says instead of an answer, and the warnings that it appends to one."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import smi_values

# Exit codes of nvidia-smi are those of NVML's nvmlReturn_t (nvidia-smi(1), RETURN VALUE, and nvml.h); 127 is the shell's.
NO_DEVICE, NOT_LOADED, INFOROM, LOST, RESET_REQUIRED, MISMATCH, UNKNOWN = 6, 9, 14, 15, 16, 18, 255

# For a text that came without its exit code: (pattern, exit code).
_TEXTS = (
    (re.compile(r"Driver/library version mismatch"), MISMATCH),
    (re.compile(r"couldn't communicate with the NVIDIA driver|Failed to initialize NVML: Driver Not Loaded", re.IGNORECASE), NOT_LOADED),
    (re.compile(r"^No devices were found", re.MULTILINE), NO_DEVICE),
    (re.compile(r"GPU is lost\b.*Reboot the system|Unable to determine the device handle for .*GPU is lost"), LOST),
    (re.compile(r"GPU requires reset", re.IGNORECASE), RESET_REQUIRED),
    (re.compile(r"Unable to determine the device handle"), UNKNOWN),
    (re.compile(r"^Failed to initialize NVML: Insufficient Permissions", re.MULTILINE), 4),
    (re.compile(r"couldn't find libnvidia-ml\.so", re.IGNORECASE), 12),
    (re.compile(r"Failed to initialize NVML: GPU access blocked by the operating system"), 17),
    (re.compile(r"^Failed to initialize NVML", re.MULTILINE), UNKNOWN),
    (re.compile(r"nvidia-smi(?:: | )(?:command )?not found|No such file or directory.*nvidia-smi|nvidia-smi.*No such file or directory"), 127),
    (re.compile(r"NVIDIA-SMI has failed"), UNKNOWN),
)
_HANDLE = re.compile(r"Unable to determine the device handle for (?:gpu|GPU)\s*(\d*):?\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
_WARNING = re.compile(r"^WARNING: .+$", re.MULTILINE)
_TEXT_LIMIT = 65536
_WARNING_LIMIT = 16


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``: no GPU, and the text as ``error``."""
    return {"driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": [], "error": text.strip()[: smi_values.TEXT_LIMIT]}


def exit_code(text: str) -> int | None:
    """The exit code that goes with a text, ``None`` where the text isn't known as an error."""
    return next((code for pattern, code in _TEXTS if pattern.search(text[:_TEXT_LIMIT])), None)


def handle(text: str) -> str | None:
    """The bus id of a GPU that has no handle, as nvidia-smi writes it; ``None`` where the text is about none."""
    match = _HANDLE.search(text[:_TEXT_LIMIT])
    return match.group(2) if match else None


def warnings(text: str) -> list[str]:
    """Lines that nvidia-smi appends to a complete answer: ``WARNING: infoROM is corrupted at gpu 0000:B3:00.0``."""
    return [line[: smi_values.TEXT_LIMIT] for line in _WARNING.findall(text)[:_WARNING_LIMIT]]
