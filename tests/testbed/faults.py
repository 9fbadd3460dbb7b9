# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that a machine can be given and cured of: what happens to GPU nodes, done with the node's own means wherever it has them.

Faults of the hardware are in ``hardware.FAULTS`` and work on every machine. The others need a machine that our playbooks made ready.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.testbed import nodes
from tests.testbed.fleet import hardware

# In the machine: a folder per fault that it has, with what the cure needs.
_RECORDS = "var/lib/testbed-faults"
_SAVE_CONTAINERD = "cp --archive /etc/containerd .\n"
_RESTORE_CONTAINERD = "rm --recursive /etc/containerd\ncp --archive containerd /etc/\nsystemctl restart containerd\n"
# Another version of one package, as somebody leaves it who installs a file by hand; dpkg doesn't ask about relations then.
_REPLACE_PACKAGE = """
dpkg-query --show --showformat '${{Version}}' {package} > version
dpkg --get-selections {package} > selection
other=$(apt-cache madison {package} | cut --delimiter='|' --fields=2 | tr --delete ' ' | grep -vxF "$(cat version)" | tail --lines=1)
apt-get download --quiet=2 "{package}=$other"
dpkg --force-depends --force-downgrade --install ./*.deb
"""
_RESTORE_PACKAGE = """
rm ./*.deb
apt-get download --quiet=2 "{package}=$(cat version)"
dpkg --force-downgrade --install ./*.deb
dpkg --set-selections < selection
"""


class Fault(NamedTuple):
    """:param text: what is wrong with a machine that has it
    :param inject: shell script, run in the machine in an empty folder that stays until the cure
    :param cure: shell script, run in the same folder
    :param reboot: whether it takes a reboot, after the cure's script if there is one
    """

    text: str
    inject: str = ""
    cure: str = ""
    reboot: bool = False


def _package(name: str, text: str) -> Fault:
    return Fault(text, _REPLACE_PACKAGE.format(package=name), _RESTORE_PACKAGE.format(package=name))


def _xid(number: int, text: str) -> Fault:
    return Fault(text, f"/usr/bin/python3 /srv/gpu-hardware/simulated_kernel.py xid {number}", reboot=True)


FAULTS = {
    # What the log says of a lost GPU is there until the boot ends.
    **{name: Fault(text, reboot=name == "gpu-gone") for name, text in hardware.FAULTS.items()},
    "module-unloaded": Fault("the driver is installed and not loaded", "systemctl stop nvidia-persistenced\nmodprobe --remove nvidia", "modprobe nvidia"),
    "library-replaced": _package("libnvidia-ml1", "NVML is of another version than the loaded driver"),
    "drop-in-orphaned": Fault(
        "containerd's configuration no longer imports the drop-in with NVIDIA's handler",
        _SAVE_CONTAINERD + "sed --in-place '/^imports/d' /etc/containerd/config.toml\nsystemctl restart containerd",
        _RESTORE_CONTAINERD,
    ),
    "handler-removed": Fault(
        "containerd's configuration has lost NVIDIA's handler",
        _SAVE_CONTAINERD + "rm /etc/containerd/conf.d/99-nvidia.toml\nsystemctl restart containerd",
        _RESTORE_CONTAINERD,
    ),
    "cri-disabled": Fault(
        "containerd runs without its CRI plugin",
        _SAVE_CONTAINERD + "sed --in-place '1i disabled_plugins = [\"io.containerd.grpc.v1.cri\"]' /etc/containerd/config.toml\nsystemctl restart containerd",
        _RESTORE_CONTAINERD,
    ),
    "containerd-stopped": Fault("containerd doesn't run", "systemctl stop containerd", "systemctl start containerd"),
    "xid-79": _xid(79, "a GPU has fallen off the bus: Xid 79 in the kernel log, and nvidia-smi has lost it"),
    "xid-62": _xid(62, "a GPU halted: Xid 62 in the kernel log, and the driver asks for a reset"),
    "cdi-stale": Fault(
        "the CDI specification is that of an older driver",
        "sed --in-place \"s/$(cat /sys/module/nvidia/version)/570.172.08/\" /var/run/cdi/nvidia.yaml",
        "systemctl restart nvidia-cdi-refresh",
    ),
    "toolkit-mixed": _package("libnvidia-container1", "the container toolkit's packages are of two versions"),
}


def names(instance: Path, node: str) -> list[str]:
    """Return the names of the faults that a machine has now."""
    machine = nodes.Machine(instance, node)
    records = machine.root / _RECORDS
    return [*hardware.faults(machine.hardware), *(sorted(path.name for path in records.iterdir()) if records.exists() else [])]


def inject(instance: Path, node: str, name: str) -> None:
    """Give a machine a fault, beside those that it has.

    :param name: out of ``FAULTS``
    :raises ValueError: the machine has it already
    :raises RuntimeError: the machine is not running, or is not in a state to have this fault
    """
    present = names(instance, node)
    if name in present:
        raise ValueError(f"{node}: has {name} already")
    if name in hardware.FAULTS:
        nodes.set_faults(instance, node, {name, *_hardware(present)})
    else:
        _run(instance, node, name, f"mkdir --parents /{_RECORDS}\nmkdir /{_RECORDS}/{name}", FAULTS[name].inject)


def cure(instance: Path, node: str, *cured: str) -> None:
    """Take faults from a machine, the last one first.

    :param cured: names out of ``FAULTS``
    :raises ValueError: the machine doesn't have one of them
    :raises RuntimeError: the machine is not running, or a cure failed
    """
    present = names(instance, node)
    for name in reversed(cured):
        if name not in present:
            raise ValueError(f"{node}: doesn't have {name}; it has {', '.join(present) or 'none'}")
        if name not in hardware.FAULTS:
            _run(instance, node, name, "", FAULTS[name].cure)
            forget(instance, node, name)
    if set(cured) & set(hardware.FAULTS):
        nodes.set_faults(instance, node, set(_hardware(present)) - set(cured))
    if any(FAULTS[name].reboot for name in cured):
        nodes.reboot(instance, node)


def forget(instance: Path, node: str, name: str) -> None:
    """Drop the record of a fault that is not of the hardware: somebody else has cured it."""
    _run(instance, node, name, "", f"cd /\nrm --recursive /{_RECORDS}/{name}")


def _hardware(present: list[str]) -> list[str]:
    return [name for name in present if name in hardware.FAULTS]


def _run(instance: Path, node: str, name: str, prepare: str, script: str) -> None:
    command = f"{prepare}\ncd /{_RECORDS}/{name}\n{script}"
    done = nodes.node_exec(instance, node, ["sh", "-euc", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{node}: {name}: exit code {done.returncode}: {done.stdout.strip()}")
