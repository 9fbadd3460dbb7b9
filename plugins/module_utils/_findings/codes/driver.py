# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Codes of a node's GPUs and driver."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes.entry import (
    DRAIN,
    ERROR,
    FABRIC,
    FIRMWARE,
    HARDWARE,
    KERNEL,
    LICENCE,
    NODE_IMAGE,
    PURPOSE,
    REASON,
    WARNING,
    CatalogueEntry,
)

# Causes stand before what they lead to: rules on the kernel log report them in this order.
CODES: t.Mapping[str, CatalogueEntry] = {
    "NoGpu": CatalogueEntry(
        ERROR,
        cause="No NVIDIA display controller answers on the PCI bus and the platform is none that hides one.",
        see="`lspci -nn -d 10de:`: no line with class 0300 or 0302. Lines with other classes are NVSwitches or a GPU's audio function.",
        next_step=(
            "Check the card's seating and power, the firmware's PCIe settings, or the virtual machine's pass-through; else take the node out of "
            "the GPU group."
        ),
        by_hand=HARDWARE,
    ),
    "PlatformUnsupported": CatalogueEntry(
        ERROR,
        cause="The roles know the packages and repositories of some distributions only.",
        see="`grep -E '^(ID|VERSION_ID)=' /etc/os-release`: compare with the releases that the failure lists.",
        next_step="Use a supported release on the node.",
        by_hand=NODE_IMAGE,
    ),
    "RepositoryUnreachable": CatalogueEntry(
        ERROR,
        cause="A package repository that the roles install from doesn't answer this node.",
        see="On the node: `curl -I URL` with the URL of the finding: anything but 200, or no answer before the timeout.",
        next_step="Check the URL, the network, and the proxy variables of the play.",
        variable="gpu_driver_repository_uri",
        retryable=True,
    ),
    "DriverNotInstalled": CatalogueEntry(
        ERROR,
        cause="There is a GPU, but neither a driver package nor a driver module on this node.",
        see="`dpkg -l | grep -i nvidia` and `find /lib/modules/$(uname -r) -name 'nvidia.ko*'`: no installed driver package (`ii`), and no module.",
        next_step="Run the role gpu_driver on the node.",
        variable="gpu_driver_version",
    ),
    "DriverNotLoaded": CatalogueEntry(
        ERROR,
        cause="The driver is installed, but its kernel module isn't loaded: not yet, or it could not be built or loaded for the running kernel.",
        see=(
            "`cat /sys/module/nvidia/version`: no such file. `nvidia-smi` ends with exit code 9. `dkms status` says for which kernels the "
            "module was built."
        ),
        next_step=(
            "Run `modprobe nvidia` and read its message and `dmesg | grep NVRM`; after a kernel update reboot or rebuild the module (`dkms "
            "status`)."
        ),
        variable="gpu_driver_version",
        retryable=True,
    ),
    "PackagesInterrupted": CatalogueEntry(
        WARNING,
        cause="Installing or removing driver or toolkit packages was interrupted half-way, or is going on right now.",
        see="`dpkg --audit` lists packages; in `dpkg -l` their line begins with something else than `ii` or `rc`, such as `iU` or `iF`.",
        next_step="Once no package manager runs any more: `dpkg --configure -a`, then run the role again.",
        variable="gpu_driver_version",
        retryable=True,
    ),
    "DriverConflict": CatalogueEntry(
        ERROR,
        cause="Another kernel driver owns the GPU, so that NVIDIA's can't bind to it.",
        see='`lspci -nnk -d 10de:`: "Kernel driver in use" names nouveau, nova_core or another driver instead of nvidia.',
        next_step="Blacklist that driver in /etc/modprobe.d, rebuild the initramfs and reboot.",
        by_hand=KERNEL,
    ),
    "BoundToVfio": CatalogueEntry(
        WARNING,
        cause="The GPU is bound to vfio-pci: it is reserved for virtual machines and no container can use it.",
        see='`lspci -nnk -d 10de:`: "Kernel driver in use: vfio-pci". The line "Kernel modules" says nothing about this.',
        next_step="Leave the node to the virtual machines, or unbind the GPU from vfio-pci and remove its ids from the vfio-pci options.",
        by_hand=PURPOSE,
    ),
    "DriverLibraryMismatch": CatalogueEntry(
        ERROR,
        cause="The user-space libraries were replaced while the kernel module of another version stayed loaded (or the module was never rebuilt).",
        see=(
            '`nvidia-smi` ends with exit code 18 and "Driver/library version mismatch". Compare `cat /sys/module/nvidia/version` with `dpkg -l '
            "'libnvidia-compute*' 'nvidia-driver-libs'`."
        ),
        next_step=(
            "Drain the node, then reboot it; if they still differ, reinstall the kernel module package. gpu_driver_hold: true prevents a "
            "repeat."
        ),
        variable="gpu_driver_hold",
    ),
    "ModuleSignatureRejected": CatalogueEntry(
        ERROR,
        cause="Secure Boot is on and the module isn't signed by a key that the firmware trusts.",
        see='`modprobe nvidia` says "Key was rejected by service"; `mokutil --sb-state` says whether Secure Boot is on.',
        next_step="Enrol the module's key with `mokutil --import`, use the distribution's signed modules, or turn Secure Boot off.",
        by_hand=FIRMWARE,
    ),
    "DriverInUse": CatalogueEntry(
        WARNING,
        cause="Processes or kernel modules hold the loaded driver, so it can't be unloaded or replaced.",
        see="`lsmod | grep '^nvidia'`: the third column isn't 0. `fuser -v /dev/nvidia*` names the processes.",
        next_step="Drain GPU pods, stop nvidia-persistenced and monitoring agents, or plan a reboot.",
        by_hand=DRAIN,
        retryable=True,
    ),
    "DriverUnsupported": CatalogueEntry(
        ERROR,
        cause="This driver branch or module flavour doesn't drive this GPU generation.",
        see=(
            "`dmesg | grep -A6 'NVRM:'` says that the GPU is not supported, or requires the open kernel modules. `cat "
            "/proc/driver/nvidia/version` has branch and flavour."
        ),
        next_step="Choose a branch and flavour that supports the GPU: gpu_driver_version and gpu_driver_packages.",
        variable="gpu_driver_packages",
    ),
    "NoGpuBoundToDriver": CatalogueEntry(
        ERROR,
        cause="The driver is loaded and answers, but drives no device.",
        see='`nvidia-smi` says "No devices were found" (exit code 6), and `ls /sys/bus/pci/drivers/nvidia` shows no PCI address.',
        next_step="Read `dmesg | grep NVRM` for the reason why the probe failed.",
        by_hand=REASON,
    ),
    "GpuCountMismatch": CatalogueEntry(
        ERROR,
        cause="Fewer GPUs work than the PCI bus shows or the inventory expects.",
        see=(
            "`lspci -d 10de: | grep -cE '3D|VGA'` and `nvidia-smi -L | grep -c '^GPU'` print two numbers that differ. In a pod: `nvidia-smi -L` "
            "beside its limit."
        ),
        next_step="Compare `lspci -d 10de:` with `nvidia-smi -L`, read `dmesg | grep NVRM` for the missing address, and reseat or replace that GPU.",
        variable="gpu_preflight_expected_gpus",
    ),
    "GpuLost": CatalogueEntry(
        ERROR,
        cause="The driver lost contact with a GPU that it drove before.",
        see='`nvidia-smi` says "GPU is lost. Reboot the system to recover this GPU" for one or for all.',
        next_step="Drain the node and reboot it; if it happens again, have the GPU checked.",
        by_hand=HARDWARE,
    ),
    "GpuFallenOffBus": CatalogueEntry(
        ERROR,
        cause="The GPU no longer answers on the PCI bus (Xid 79): power, cooling, cabling or the card.",
        see=(
            "`dmesg | grep -iE 'Xid.*: 79|fallen off the bus'`; `nvidia-smi` may end with exit code 15. Often there is no Xid line, only the "
            "sentence."
        ),
        next_step="Drain the node and power-cycle it; if it happens again, have the GPU replaced.",
        by_hand=HARDWARE,
    ),
    "GpuHandleError": CatalogueEntry(
        ERROR,
        cause="The driver can't give a handle for a GPU: the device is in a failed state.",
        see='`nvidia-smi` says "Unable to determine the device handle for GPU ...".',
        next_step="Drain the node and reset the GPU or reboot.",
        by_hand=HARDWARE,
    ),
    "GpuInitFailed": CatalogueEntry(
        ERROR,
        cause="The driver found the GPU, but its initialisation failed.",
        see=(
            "`dmesg | grep -E 'RmInitAdapter failed|probe failed'`: the address in the line is the GPU's, the three numbers are for NVIDIA's "
            "support."
        ),
        next_step="Read `dmesg | grep NVRM`, power-cycle the node, try the other module flavour; else have the GPU checked.",
        by_hand=HARDWARE,
    ),
    "PciBarNotAssigned": CatalogueEntry(
        ERROR,
        cause="The firmware gave a memory window (BAR) of the GPU no address.",
        see="`dmesg | grep -iE \"BAR.*(can't assign|no space)|BAR1 is 0M\"`; `lspci -vv -s ADDRESS` shows a region as unassigned or disabled.",
        next_step="Enable Above 4G Decoding and large BAR support in the firmware, or add `pci=realloc` to the kernel command line.",
        by_hand=FIRMWARE,
    ),
    "GpuResetRequired": CatalogueEntry(
        ERROR,
        cause="The GPU reports that it needs a reset before it works reliably again.",
        see="`nvidia-smi -q | grep -A1 'Recovery Action'`: Reset, or Drain and Reset.",
        next_step="Drain the node, then `nvidia-smi --gpu-reset -i INDEX`, or reboot.",
        by_hand=DRAIN,
    ),
    "NodeRebootRequired": CatalogueEntry(
        WARNING,
        cause="Something on the node takes effect, or heals, only with a reboot.",
        see=(
            "`nvidia-smi -q | grep -A2 -E 'MIG Mode|Recovery Action'`: Current and Pending differ, or Reboot. For a driver: `cat "
            "/sys/module/nvidia/version` differs from what `dpkg -l` has."
        ),
        next_step="Drain the node and reboot it.",
        by_hand=DRAIN,
    ),
    "InfoRomCorrupted": CatalogueEntry(
        WARNING,
        cause="The GPU's infoROM fails its checksum; the GPU may still compute.",
        see="`nvidia-smi; echo $?`: exit code 14, with a warning below the complete table that names the GPU.",
        next_step="Plan the GPU's replacement or a reflash with the vendor.",
        by_hand=HARDWARE,
    ),
    "EccUncorrectable": CatalogueEntry(
        ERROR,
        cause="The GPU's memory had errors that ECC could not correct, or row remapping is pending or has failed.",
        see="`nvidia-smi -q -d ECC,ROW_REMAPPER`: uncorrectable errors above 0, Pending: Yes, or Remapping Failure Occurred: Yes.",
        next_step="Drain the node and reset the GPU so that the rows are remapped; replace the GPU if remapping failed.",
        by_hand=HARDWARE,
    ),
    "XidCritical": CatalogueEntry(
        ERROR,
        cause="The driver reported a hardware or driver fault (Xid) that isn't the application's.",
        see="`dmesg | grep 'NVRM: Xid'`: the number behind the address is the Xid, its meaning is in NVIDIA's Xid catalogue.",
        next_step="Look the Xid up in NVIDIA's catalogue; drain the node and reset the GPU.",
        by_hand=HARDWARE,
    ),
    "NvidiaSmiTimeout": CatalogueEntry(
        ERROR,
        cause="nvidia-smi doesn't answer in time: the driver or the GPU's firmware hangs. Facts are partial.",
        see="`timeout 10 nvidia-smi; echo $?`: 124. `dmesg | grep -E 'Xid.*: (119|120)'` shows a firmware that no longer answers.",
        next_step="Read `dmesg | grep -E 'NVRM|Xid'`; drain and reboot the node. Raise the option timeout where a big node is merely slow.",
        by_hand=REASON,
        retryable=True,
    ),
    "FabricManagerNotReady": CatalogueEntry(
        ERROR,
        cause="The GPUs are joined by NVSwitches and the fabric isn't up: manager missing, stopped, of another version, or still at work.",
        see=(
            "`systemctl status nvidia-fabricmanager`, and `nvidia-smi -q | grep -A3 Fabric`: State is In Progress. Its version must equal the "
            "driver's."
        ),
        next_step="Install nvidia-fabricmanager of the driver's version and start it; `nvidia-smi -q | grep -A3 Fabric` must say Completed.",
        variable="gpu_driver_packages",
        retryable=True,
    ),
    "FabricNotReady": CatalogueEntry(
        ERROR,
        cause="NVLink fabric is not available on a system that needs it.",
        see="`nvidia-smi -q | grep -A3 Fabric`: Not Supported on several GPUs of a machine whose GPUs are joined.",
        next_step="Check the NVLink domain's manager (IMEX, NVLSM) and the switch trays.",
        by_hand=FABRIC,
        retryable=True,
    ),
    "FabricError": CatalogueEntry(
        ERROR,
        cause="The NVLink fabric reported a failure for this GPU.",
        see="`nvidia-smi -q | grep -A3 Fabric`: State Completed with another Status than Success; or `dmesg | grep SXid`.",
        next_step="Read the fabric manager's log; the GPU or its switch needs attention.",
        by_hand=FABRIC,
    ),
    "VgpuUnlicensed": CatalogueEntry(
        ERROR,
        cause="The vGPU guest has no licence, so its performance is throttled after some minutes.",
        see="`nvidia-smi -q | grep -i -A1 licen`: License Status is Unlicensed. `systemctl status nvidia-gridd` says why.",
        next_step="Configure the licence client (nvidia-gridd) with a valid token.",
        by_hand=LICENCE,
    ),
    "KnownDriverIssue": CatalogueEntry(
        WARNING,
        cause="The driver version has a published fault that matches this node.",
        see="`nvidia-smi --query-gpu=driver_version,mig.mode.current --format=csv`: compare with the versions that the finding names.",
        next_step="Set gpu_driver_version to a version without it.",
        variable="gpu_driver_version",
    ),
}
