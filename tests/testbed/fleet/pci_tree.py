# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCI devices of a test machine and their drivers, as sysfs shows them: part of simulated_kernel.py. Standard library only."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

PCI = Path("/run/gpu-hardware/pci")
# Where the windows of PCI devices begin, and the flags of one: IORESOURCE_MEM, PREFETCH, SIZEALIGN and MEM_64, with the low bits of the register.
FIRST_WINDOW, MEMORY_FLAGS = 0x380000000000, 0x14220C


def config_space(device: dict) -> bytes:
    """The first 256 bytes of a device's PCI configuration, as far as lspci reads them."""
    space = bytearray(256)
    vendor, number, subvendor, subdevice, kind, revision = (
        int(device[key], 16) for key in ("vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision")
    )
    struct.pack_into("<HHHH", space, 0x00, vendor, number, 0x0006, 0x0010)
    struct.pack_into("<I", space, 0x08, kind << 8 | revision)
    struct.pack_into("<HH", space, 0x2C, subvendor, subdevice)
    return bytes(space)


def modalias(device: dict) -> str:
    vendor, number, subvendor, subdevice, kind = (int(device[key], 16) for key in ("vendor", "device", "subsystem_vendor", "subsystem_device", "class"))
    return f"pci:v{vendor:08X}d{number:08X}sv{subvendor:08X}sd{subdevice:08X}bc{kind >> 16:02X}sc{kind >> 8 & 0xFF:02X}i{kind & 0xFF:02X}"


def resource(sizes: list) -> str:
    """The file ``resource`` of a device: 64-bit prefetchable memory in every other of its base address registers, each aligned to its size.

    :param sizes: in MiB
    """
    lines = ["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13
    end = FIRST_WINDOW
    for position, size in enumerate(size << 20 for size in sizes):
        start = -(-end // size) * size
        end = start + size
        lines[2 * position] = f"{start:#018x} {end - 1:#018x} {MEMORY_FLAGS:#018x}"
    return "\n".join(lines) + "\n"


def write_device(device: dict) -> None:
    folder = PCI / "devices" / device["address"]
    folder.mkdir(parents=True)
    for name in ("vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision"):
        (folder / name).write_text(f"{device[name]}\n")
    for name in ("speed", "width") if "link" in device else ():
        for kind in ("current", "max"):
            (folder / f"{kind}_link_{name}").write_text(f"{device['link'][name]}\n")
    for name, value in {"irq": "0", "enable": "1", "numa_node": "-1", "driver_override": "(null)", "modalias": modalias(device)}.items():
        (folder / name).write_text(f"{value}\n")
    (folder / "resource").write_text(resource(device.get("bars_mib", [])))
    (folder / "config").write_bytes(config_space(device))


def bind(address: str, driver: str) -> None:
    """Give a device to a driver: both show it, as sysfs does."""
    folder = PCI / "drivers" / driver
    folder.mkdir(parents=True, exist_ok=True)
    (folder / address).symlink_to(Path("../../devices") / address)
    (PCI / "devices" / address / "driver").symlink_to(Path("../../drivers") / driver)


def bound_driver(address: str) -> str | None:
    link = PCI / "devices" / address / "driver"
    return Path(os.readlink(link)).name if link.is_symlink() else None


def unbind(driver: str) -> None:
    folder = PCI / "drivers" / driver
    if folder.is_dir():
        for link in folder.iterdir():
            (PCI / "devices" / link.name / "driver").unlink(missing_ok=True)
        shutil.rmtree(folder)
