# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated hardware of a test machine, seen from the host: what is plugged in, and which faults it has.

A machine's folder ``hardware`` is bound into it as /srv/gpu-hardware. It holds hardware.json, the capture that the GPUs answer from, and
simulated_kernel.py, which turns both into /sys and /proc, with what it imports.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

CAPTURE = Path(__file__).parent / "captures" / "h200x2" / "nvidia-smi-q-x.xml"
# Where each of the programs lies in the machine: what is imported keeps its path below the folder.
PROGRAMS = {
    "simulated_kernel.py": "simulated_kernel.py",
    **{f"tests/testbed/fleet/{name}": name for name in ("kernel_log.py", "pci_tree.py")},
}
# A fault lasts until it is cleared, over reboots too.
FAULTS = {
    "nouveau": "nouveau holds the GPUs, unless it is blacklisted when the machine boots",
    "no-gpu": "the bus shows no GPU",
    "gpu-gone": "the last GPU is gone from the bus",
    "no-headers": "the running kernel's headers are not installed",
}
# Red Hat's subsystem ids, which QEMU gives its devices.
_QEMU = {"subsystem_vendor": "0x1af4", "subsystem_device": "0x1100"}
OTHER_DEVICES = (
    # Intel host bridge (440FX) and a virtio network card, as the machine of the capture would show.
    {"address": "0000:00:00.0", "vendor": "0x8086", "device": "0x1237", "class": "0x060000", "revision": "0x02", **_QEMU},
    {"address": "0000:00:03.0", "vendor": "0x1af4", "device": "0x1041", "class": "0x020000", "revision": "0x01", **_QEMU},
)
# sysfs' words for a link, by PCI Express generation.
_LINK_SPEEDS = {3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
# MiB: registers, and notifications; the window onto the memory (BAR 1 of the driver's count) is in the capture.
_REGISTERS_MIB, _NOTIFICATIONS_MIB = 16, 32
_GPU_NAMESPACE = uuid.UUID("6c0d7a52-6f0c-4c0f-9d0e-6a3c0f0b7e11")


def _field(block: str, name: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", block)
    if found is None:
        raise ValueError(f"{CAPTURE}: no <{name}> in a <gpu>")
    return found.group(1)


def _memory_window(block: str) -> int:
    """The size of BAR 1 in MiB."""
    return int(_field(block[block.index("<bar1_memory_usage>") :], "total").removesuffix(" MiB"))


def captured_gpus(node: str) -> tuple[list[dict], list[dict]]:
    """Return the PCI devices and the GPUs of the capture, with identities that only ``node`` has.

    :param node: name of the machine; the same name always gets the same UUIDs and serials
    """
    devices, gpus = [], []
    for index, block in enumerate(re.findall(r"<gpu id=.*?</gpu>", CAPTURE.read_text(), re.DOTALL)):
        address = _field(block, "pci_bus_id").lower().removeprefix("0000")
        ids, subsystem = _field(block, "pci_device_id"), _field(block, "pci_sub_system_id")
        identity = uuid.uuid5(_GPU_NAMESPACE, f"{node}/{index}")
        devices.append(
            {
                "address": address,
                "vendor": f"0x{ids[4:].lower()}",
                "device": f"0x{ids[:4].lower()}",
                "class": "0x030200",
                "subsystem_vendor": f"0x{subsystem[4:].lower()}",
                "subsystem_device": f"0x{subsystem[:4].lower()}",
                "revision": "0xa1",
                "bars_mib": [_REGISTERS_MIB, _memory_window(block), _NOTIFICATIONS_MIB],
                "link": {"speed": _LINK_SPEEDS[int(_field(block, "current_link_gen"))], "width": _field(block, "current_link_width").removesuffix("x")},
            }
        )
        gpus.append(
            {
                "pci_address": address,
                "uuid": f"GPU-{identity}",
                "serial": f"165{identity.int % 10**10:010d}",
                "minor": int(_field(block, "minor_number")),
                "product": _field(block, "product_name"),
                "vbios": _field(block, "vbios_version"),
            }
        )
    return devices, gpus


def describe(node: str, faults: Iterable[str] = ()) -> dict:
    """Return the content of hardware.json for ``node``.

    :param faults: names out of :data:`FAULTS`
    :raises ValueError: there is no such fault
    """
    faults = sorted(faults)
    unknown = [fault for fault in faults if fault not in FAULTS]
    if unknown:
        raise ValueError(f"fault {', '.join(unknown)}: expected one of {', '.join(FAULTS)}")
    devices, gpus = captured_gpus(node)
    return {"pci": [*OTHER_DEVICES, *devices], "gpus": gpus, "faults": faults}


def _write(folder: Path, description: dict) -> None:
    unfinished = folder / ".hardware.json"
    unfinished.write_text(json.dumps(description, indent=2) + "\n")
    unfinished.rename(folder / "hardware.json")


def install(folder: Path, node: str) -> None:
    """Fill a machine's hardware folder, without faults."""
    folder.mkdir(parents=True, exist_ok=True)
    for target, source in PROGRAMS.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(__file__).parent / source, folder / target)
    shutil.copyfile(CAPTURE, folder / "capture.xml")
    _write(folder, describe(node))


def faults(folder: Path) -> list[str]:
    """Return the names of the faults that the machine with this hardware folder has now."""
    return json.loads((folder / "hardware.json").read_text())["faults"]


def change_faults(folder: Path, node: str, wanted: Iterable[str]) -> None:
    """Give a machine exactly these faults; it notices when its bus is scanned again, or at its next boot.

    :param folder: the machine's hardware folder
    :param wanted: names out of :data:`FAULTS`; none of them clears all
    :raises ValueError: there is no such fault
    """
    _write(folder, describe(node, wanted))
