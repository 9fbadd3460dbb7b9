# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays, inside a test machine, the part of the kernel that the machine's host has no hardware for.

It lies in /srv/gpu-hardware beside hardware.json, which the host writes: PCI devices, GPUs and faults. At boot it lays a PCI tree over
/sys/bus/pci, a module list over /sys/module, a folder over /proc/driver and a log over /dev/kmsg; all of them live in /run and so end with the
boot. ``modprobe`` reaches it through the install and remove lines that the stand-in driver package brings. What it imports lies below
/srv/gpu-hardware at the path by which it is imported here too.

    simulated_kernel.py boot | rescan | load MODULE | unload MODULE | rmmod MODULE... | xid NUMBER

Standard library only: it runs with the machine's own Python.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.testbed.fleet import kernel_log
from tests.testbed.fleet.pci_tree import PCI, bind, bound_driver, unbind, write_device

HARDWARE = Path(__file__).parent / "hardware.json"
STATE = Path("/run/gpu-hardware")
MODULES = STATE / "module"
DRIVERS = STATE / "driver"
OVERLAYS = ((PCI, Path("/sys/bus/pci")), (MODULES, Path("/sys/module")), (DRIVERS, Path("/proc/driver")))
# What ails a GPU since an Xid, by its address; nvidia-smi reads it, and it ends with the boot.
SICK = STATE / "sick.json"
RUNTIME_CONFIG = Path("/run/modprobe.d/simulated-kernel.conf")
RELEASE = platform.release()
KERNEL_MODULES = Path("/lib/modules") / RELEASE
KERNEL_HEADERS = Path("/usr/src") / f"linux-headers-{RELEASE}"

NVIDIA_VENDOR = "0x10de"
# In the order in which they load; each needs those before it.
NVIDIA_MODULES = ("nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm")
NVIDIA_HOLDERS = NVIDIA_MODULES[1:]
# Modules that come in with nvidia itself, as the driver's soft dependency has it.
LOADED_WITH_NVIDIA = ("nvidia", "nvidia_uvm")
DEVICE_FILES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
# The device files take the numbers of /dev/null: they can be opened, and no real driver of the host can be reached through them.
NULL_DEVICE = os.makedev(1, 3)
SERVICE_ON_LOAD = "nvidia-persistenced.service"


class Refused(Exception):
    """What the kernel or kmod would refuse; the message is theirs."""


# --- hardware -----------------------------------------------------------------------------------------------------------------------


def hardware() -> dict:
    return json.loads(HARDWARE.read_text())


def visible_devices(description: dict) -> list:
    """The PCI devices that the bus shows: all of them, without the GPUs under the fault ``no-gpu``, without the last one under ``gpu-gone``."""
    ours = [device for device in description["pci"] if device["vendor"] == NVIDIA_VENDOR]
    hidden = ours if "no-gpu" in description["faults"] else ours[-1:] if "gpu-gone" in description["faults"] else []
    return [device for device in description["pci"] if device not in hidden]


def gpus(description: dict) -> list:
    """The GPUs whose PCI device is on the bus, in bus order."""
    present = {device["address"] for device in visible_devices(description)}
    return [gpu for gpu in description["gpus"] if gpu["pci_address"] in present]


# --- modules ------------------------------------------------------------------------------------------------------------------------


def is_loaded(module: str) -> bool:
    return (MODULES / module).is_dir()


def show_module(module: str, version: str | None) -> None:
    folder = MODULES / module
    (folder / "holders").mkdir(parents=True)
    (folder / "initstate").write_text("live\n")
    (folder / "refcnt").write_text("0\n")
    if version:
        (folder / "version").write_text(f"{version}\n")
        (folder / "taint").write_text("OE\n")


def hide_module(module: str) -> None:
    shutil.rmtree(MODULES / module, ignore_errors=True)
    for other in MODULES.iterdir():
        (other / "holders" / module).unlink(missing_ok=True)


def modinfo(module: str, field: str) -> str | None:
    """A field of the module file that is installed for the running kernel, or None where there is no such file."""
    done = subprocess.run(["/sbin/modinfo", "-F", field, module], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


def blacklisted(module: str) -> bool:
    lines = subprocess.run(["/sbin/modprobe", "--showconfig"], capture_output=True, text=True, check=True).stdout.splitlines()
    return f"blacklist {module}" in (line.strip() for line in lines)


def show_driver_files(version: str, found: list) -> None:
    folder = DRIVERS / "nvidia"
    folder.mkdir()
    (folder / "version").write_text(
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (simulated@gpufleet)\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )
    (folder / "params").write_text("ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nOpenRmEnableUnsupportedGpus: 1\n")
    for gpu in found:
        lines = [
            f"Model: \t\t {gpu['product']}",
            "IRQ:   \t\t 41",
            f"GPU UUID: \t {gpu['uuid']}",
            f"Video BIOS: \t {gpu['vbios'].lower()}",
            "Bus Type: \t PCIe",
            "DMA Size: \t 52 bits",
            "DMA Mask: \t 0xfffffffffffff",
            f"Bus Location: \t {gpu['pci_address']}",
            f"Device Minor: \t {gpu['minor']}",
            f"GPU Firmware: \t {version}",
            "GPU Excluded:\t No",
        ]
        target = folder / "gpus" / gpu["pci_address"] / "information"
        target.parent.mkdir(parents=True)
        target.write_text("\n".join(lines) + "\n")


def make_device_files(found: list) -> None:
    for name in (*DEVICE_FILES, *(f"nvidia{gpu['minor']}" for gpu in found)):
        path = Path("/dev") / name
        if not path.exists():
            os.mknod(path, 0o666 | stat.S_IFCHR, NULL_DEVICE)
            path.chmod(0o666)


def device_files() -> list:
    return [path for path in Path("/dev").glob("nvidia*") if path.is_char_device()]


def users_of_devices() -> list:
    """The ids of the processes that have an NVIDIA device file open."""
    wanted = {str(path) for path in device_files()}
    users = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            opened = {os.readlink(entry) for entry in folder.iterdir()}
        except OSError:  # the process has just ended
            continue
        if opened & wanted:
            users.append(int(folder.parent.name))
    return users


def service(*verb: str) -> None:
    """What the driver's udev rules do when the driver comes or goes: start or stop the daemon that keeps it initialised, where it is installed."""
    if any(Path(folder, SERVICE_ON_LOAD).exists() for folder in ("/lib/systemd/system", "/etc/systemd/system")):
        subprocess.run(["/bin/systemctl", *verb, SERVICE_ON_LOAD], check=True)


def load_nvidia(version: str) -> None:
    found = gpus(hardware())
    if not [gpu for gpu in found if bound_driver(gpu["pci_address"]) is None]:
        raise Refused("modprobe: ERROR: could not insert 'nvidia': No such device")
    kernel_log.loading(version)
    for module in LOADED_WITH_NVIDIA:
        show_module(module, version)
    (MODULES / "nvidia" / "holders" / "nvidia_uvm").symlink_to(Path("../../nvidia_uvm"))
    show_driver_files(version, found)
    make_device_files(found)
    for gpu in found:
        bind(gpu["pci_address"], "nvidia")
    service("--no-block", "start")


def load(module: str) -> None:
    """Insert a module that is installed for this kernel, and give it the devices that it drives.

    :raises Refused: no such module file, or no device that is free
    """
    if is_loaded(module):
        return
    version = modinfo(module, "version")
    if version is None:
        raise Refused(f"modprobe: FATAL: Module {module} not found in directory {KERNEL_MODULES}")
    if not is_loaded("nvidia"):
        load_nvidia(version)
    if not is_loaded(module):
        show_module(module, version)
        (MODULES / "nvidia" / "holders" / module).symlink_to(Path("../..") / module)


def unload(module: str, tool: str = "modprobe: FATAL:") -> None:
    """Take a module out again.

    :param tool: how the caller's program begins its complaints
    :raises Refused: not loaded, needed by another module, or in use by a process
    """
    if not is_loaded(module):
        raise Refused(f"{tool} Module {module} is not currently loaded" if tool.startswith("rmmod") else f"{tool} Module {module} is not in kernel.")
    holders = sorted(link.name for link in (MODULES / module / "holders").iterdir())
    if holders:
        raise Refused(f"{tool} Module {module} is in use by: {' '.join(holders)}")
    if module in NVIDIA_MODULES and users_of_devices():
        raise Refused(f"{tool} Module {module} is in use" + ("" if tool.startswith("rmmod") else "."))
    hide_module(module)
    unbind(module)
    if module == "nvidia":
        shutil.rmtree(DRIVERS / "nvidia")
        for path in device_files():
            path.unlink()


def unload_with_holders(module: str) -> None:
    """What the package's remove line asks for: the module, and before it those that need it."""
    if not is_loaded(module):
        return
    if module == "nvidia" and users_of_devices():
        raise Refused("modprobe: FATAL: Module nvidia is in use.")
    for holder in [name for name in NVIDIA_HOLDERS if module == "nvidia" and is_loaded(name)]:
        unload(holder)
    unload(module)


# --- boot ---------------------------------------------------------------------------------------------------------------------------


def probe() -> None:
    """Let the drivers that autoload claim what is free, as udev does when it finds a device."""
    description = hardware()
    free = [gpu["pci_address"] for gpu in gpus(description) if bound_driver(gpu["pci_address"]) is None]
    if "nouveau" in description["faults"] and free and not blacklisted("nouveau"):
        show_module("nouveau", None)
        for address in free:
            bind(address, "nouveau")
    elif free and modinfo("nvidia", "version") and not blacklisted("nvidia"):
        load("nvidia")


def prepare_kernel_folders(description: dict) -> None:
    """Make what a kernel's packages leave on a node: its module folder, and its headers unless the fault ``no-headers`` is set."""
    KERNEL_MODULES.mkdir(parents=True, exist_ok=True)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        (KERNEL_MODULES / name).touch()
    if not (KERNEL_MODULES / "modules.dep").exists():
        subprocess.run(["/sbin/depmod", RELEASE], check=True)
    build = KERNEL_MODULES / "build"
    build.unlink(missing_ok=True)
    shutil.rmtree(KERNEL_HEADERS, ignore_errors=True)
    if "no-headers" not in description["faults"]:
        KERNEL_HEADERS.mkdir(parents=True)
        (KERNEL_HEADERS / "Makefile").write_text("# stand-in for the headers of the running kernel\n")
        build.symlink_to(KERNEL_HEADERS)


def boot() -> None:
    RUNTIME_CONFIG.parent.mkdir()
    RUNTIME_CONFIG.write_text(f"# nouveau comes with the kernel, which is simulated here.\nremove nouveau {sys.executable} {__file__} unload nouveau\n")
    for folder in (PCI / "devices", PCI / "drivers", MODULES / "kernel", DRIVERS):
        folder.mkdir(parents=True)
    kernel_log.start()
    description = hardware()
    for device in visible_devices(description):
        write_device(device)
    for source, target in OVERLAYS:
        subprocess.run(["/bin/mount", "--bind", str(source), str(target)], check=True)
    prepare_kernel_folders(description)
    probe()


def rescan() -> None:
    """Follow a change of hardware.json as if the devices had been taken out and put in again, without a reboot."""
    service("stop")
    driven = {folder.name for folder in (PCI / "devices").iterdir() if bound_driver(folder.name) == "nvidia"}
    for module in ("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia", "nouveau"):
        hide_module(module)
        unbind(module)
    shutil.rmtree(DRIVERS / "nvidia", ignore_errors=True)
    for path in device_files():
        path.unlink()
    description = hardware()
    for folder in (PCI / "devices").iterdir():
        shutil.rmtree(folder)
    for device in visible_devices(description):
        write_device(device)
    for address in sorted(driven - {device["address"] for device in visible_devices(description)}):
        kernel_log.fell_off(address)
    prepare_kernel_folders(description)
    probe()


def xid(number: int) -> None:
    """Let the driver report an Xid of the first GPU that it has, which is sick from then on."""
    gpu = next((gpu for gpu in gpus(hardware()) if bound_driver(gpu["pci_address"]) == "nvidia"), None)
    if gpu is None:
        raise Refused("no GPU is bound to nvidia")
    fault = kernel_log.fault(gpu["pci_address"], number, gpu["uuid"])
    SICK.write_text(json.dumps({gpu["pci_address"]: {"gpu_recovery_action": fault.told, "is_lost": fault.is_lost}}))


def rmmod(*modules: str) -> None:
    for module in modules:
        if not module.startswith("-"):
            unload(module.replace("-", "_"), "rmmod: ERROR:")


ACTIONS: dict[str, Callable[..., None]] = {
    "boot": boot,
    "rescan": rescan,
    "load": lambda module: load(module.replace("-", "_")),
    "unload": lambda module: unload_with_holders(module.replace("-", "_")),
    "rmmod": rmmod,
    "xid": lambda number: xid(int(number)),
}


def main(arguments: list) -> int:
    try:
        ACTIONS[arguments[0]](*arguments[1:])
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
