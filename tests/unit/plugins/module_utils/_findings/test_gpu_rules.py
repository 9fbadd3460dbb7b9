# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about driver, GPUs, kernel log, fabric and vGPU: one fault made to a healthy node, and the finding that names it; and what is no fault."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import driver, fabric, gpus, hardware, kernel_log, vgpu
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, INFO, WARNING
from tests.unit import node_cases

Evidence = t.Dict[str, t.Any]
Change = t.Callable[[Evidence], None]

SUBSETS = ("platform", "pci", "driver", "gpus", "toolkit", "kernel_log")
RULES = (*hardware.RULES, *driver.RULES, *kernel_log.RULES, *gpus.RULES, *fabric.RULES, *vgpu.RULES)
GPU, OTHER = "0000:00:06.0", "0000:00:07.0"
PACKAGES = "ii \tnvidia-open\t580.159.04-1\tamd64\nii \tnvidia-driver-cuda\t580.159.04-1\tamd64\n"
XML = "nvidia_smi_xml"


def _healthy() -> Evidence:
    evidence = copy.deepcopy(next(check.evidence for check in node_cases.checks() if check.name == "h200 node"))
    evidence["commands"]["packages"] = {"rc": 0, "stdout": PACKAGES, "stderr": "", "timed_out": False}
    evidence["loaded_modules"] = [{"name": "nvidia", "refcount": 1, "used_by": ["nvidia_uvm"]}]
    for function in evidence["pci"]:
        function.update(is_virtual_function=False, bars=[16 * 2**20, 2**38, 32 * 2**20], current_link_speed="2.5 GT/s PCIe", max_link_speed="32.0 GT/s PCIe")
    return evidence


def _findings(evidence: Evidence) -> list[dict[str, t.Any]]:
    facts = node_facts(evidence, SUBSETS)
    return [found for rule in RULES for found in rule(facts, "gpu-1")]


def _log(*lines: str) -> Change:
    def change(evidence: Evidence) -> None:
        evidence["kernel_log"]["lines"] = list(lines)

    return change


def _xml(*replacements: tuple[str, str]) -> Change:
    def change(evidence: Evidence) -> None:
        for old, new in replacements:
            assert old in evidence["commands"][XML]["stdout"]
            evidence["commands"][XML]["stdout"] = evidence["commands"][XML]["stdout"].replace(old, new, 1)

    return change


def _all(old: str, new: str) -> Change:
    def change(evidence: Evidence) -> None:
        evidence["commands"][XML]["stdout"] = evidence["commands"][XML]["stdout"].replace(old, new)

    return change


def _only_first(evidence: Evidence) -> None:
    """The driver lists the first GPU alone."""
    text = evidence["commands"][XML]["stdout"]
    end = text.index("</gpu>") + len("</gpu>")
    evidence["commands"][XML]["stdout"] = text[:end].replace("<attached_gpus>2", "<attached_gpus>1") + "</nvidia_smi_log>"
    del evidence["commands"]["nvidia_smi_nvlink"]


def _none(evidence: Evidence) -> None:
    evidence["commands"][XML] = {"rc": 6, "stdout": "No devices were found\n", "stderr": "", "timed_out": False}
    del evidence["commands"]["nvidia_smi_nvlink"]


def _unloaded(evidence: Evidence) -> None:
    evidence["files"] = {}
    evidence["loaded_modules"] = []
    evidence["modules"] = ["updates/dkms/nvidia.ko"]
    evidence["commands"] = {"packages": evidence["commands"]["packages"]}
    for function in evidence["pci"]:
        function["driver"] = None


def _failed(rc: int, text: str) -> Change:
    def change(evidence: Evidence) -> None:
        evidence["commands"][XML] = {"rc": rc, "stdout": text, "stderr": "", "timed_out": False}
        del evidence["commands"]["nvidia_smi_nvlink"]

    return change


def _both(*changes: Change) -> Change:
    def change(evidence: Evidence) -> None:
        for one in changes:
            one(evidence)

    return change


def _device(device: str) -> Change:
    def change(evidence: Evidence) -> None:
        for function in evidence["pci"]:
            function["device"] = device

    return change


def _proprietary(evidence: Evidence) -> None:
    record = evidence["files"]["/proc/driver/nvidia/version"]
    record["text"] = record["text"].replace("Open Kernel Module for x86_64", "x86_64 Kernel Module")


def _version(version: str) -> Change:
    def change(evidence: Evidence) -> None:
        for record in evidence["files"].values():
            record["text"] = record["text"].replace("580.159.04", version)

    return change


def _driver(version: str) -> Change:
    """That version everywhere."""

    def change(evidence: Evidence) -> None:
        _version(version)(evidence)
        for record in evidence["commands"].values():
            record["stdout"] = record["stdout"].replace("580.159.04", version)

    return change


def _pending(evidence: Evidence) -> None:
    text = evidence["commands"]["packages"]["stdout"]
    evidence["commands"]["packages"]["stdout"] = text.replace("nvidia-open\t580.159.04", "nvidia-open\t580.178.04")


def _held_by(module: str) -> Change:
    def change(evidence: Evidence) -> None:
        evidence["loaded_modules"] = [{"name": module, "refcount": 3, "used_by": ["nvidia_uvm"]}]

    return change


def _small_bars(evidence: Evidence) -> None:
    _only_first(evidence)
    evidence["pci"][1]["bars"] = [16 * 2**20, 32 * 2**20]


def _switches(state: str | None, version: str = "580.159.04") -> Change:
    """NVSwitches on the bus, GPUs that don't report the fabric, and the manager's service."""

    def change(evidence: Evidence) -> None:
        _all("<state>Completed</state>", "<state>N/A</state>")(evidence)
        evidence["pci"].append({"address": "0000:05:00.0", "vendor": "0x10de", "device": "0x1af1", "class": "0x068000", "driver": "nvidia-nvswitch"})
        unit = f"LoadState=loaded\nActiveState={state}\n" if state else "LoadState=not-found\n"
        evidence["commands"]["services"] = {"rc": 0, "stdout": "Id=nvidia-fabricmanager.service\n" + unit, "stderr": "", "timed_out": False}
        evidence["commands"]["packages"]["stdout"] += f"ii \tnvidia-fabricmanager\t{version}-1\tamd64\n"

    return change


def _licence(status: str) -> Change:
    licence = f"<vgpu_software_licensed_product><license_status>{status}</license_status></vgpu_software_licensed_product>"
    return _xml(("<virtualization_mode>Pass-Through", "<virtualization_mode>VGPU"), ("<gpu_recovery_action>", licence + "<gpu_recovery_action>"))


def _without_links(evidence: Evidence) -> None:
    del evidence["commands"]["nvidia_smi_nvlink"]


def _lost(text: str) -> Change:
    return _xml(("<uuid>GPU-00000001-0000-4000-8000-000000000001", f"<uuid>{text}"))


XID = "NVRM: Xid (PCI:0000:00:07): {}, pid='<unknown>', name=<unknown>, text"
RESET = ("<gpu_recovery_action>None", "<gpu_recovery_action>Reset")
OLD_DRIVER = _all("<gpu_recovery_action>None", "<gpu_recovery_action>N/A")
MISSING = ["GpuCountMismatch"]
UNSUPPORTED = ["DriverUnsupported", "DriverUnsupported", "NoGpuBoundToDriver"]
NO_HANDLE = "Unable to determine the device handle for GPU"

FAULTS: list[tuple[str, Change, list[str], str]] = [
    ("signature refused", _both(_unloaded, _log("Loading of unsigned module is rejected")), ["ModuleSignatureRejected", "DriverNotLoaded"], ERROR),
    ("proprietary modules on Blackwell", _both(_none, _device("0x2901"), _proprietary), UNSUPPORTED, ERROR),
    ("590 on Volta", _both(_driver("590.48.01"), _none, _device("0x1db6"), _proprietary), UNSUPPORTED, ERROR),
    ("the driver refuses a GPU", _both(_only_first, _log(
        "NVRM: The NVIDIA GPU 0000:00:07.0 (PCI ID: 10de:2901)", "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    )), ["DriverUnsupported", *MISSING], ERROR),
    ("another driver waits for a reboot", _pending, ["NodeRebootRequired"], WARNING),
    ("and clients hold the old one", _both(_pending, _held_by("nvidia")), ["NodeRebootRequired", "DriverInUse"], WARNING),
    ("GPU lost, by nvidia-smi's text", _failed(15, f"{NO_HANDLE} 0000:00:06.0: GPU is lost.  Reboot the system to recover this GPU\n"), ["GpuLost"], ERROR),
    ("no handle", _failed(255, f"{NO_HANDLE}0000:00:06.0: Unknown Error\n"), ["GpuHandleError"], ERROR),
    ("GPU lost, in place of its values", _lost("GPU is lost"), ["GpuLost"], ERROR),
    ("reset required, in place of its values", _lost("[GPU requires reset]"), ["GpuResetRequired"], ERROR),
    ("no values", _both(_lost("Unknown Error"), _without_links), ["GpuHandleError"], ERROR),
    ("BAR without an address", _small_bars, ["PciBarNotAssigned", *MISSING], ERROR),
    ("BAR without an address, by the log", _both(_only_first, _log(
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:", "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:00:07.0)",
    )), ["PciBarNotAssigned", *MISSING], ERROR),
    (
        "fallen off the bus, said twice",
        _both(_only_first, _log(XID.format(79), "NVRM: GPU 0000:00:07.0: GPU has fallen off the bus.")), ["GpuFallenOffBus", *MISSING], ERROR,
    ),
    ("fallen off the bus", _both(_only_first, _log(XID.format(79))), ["GpuFallenOffBus", *MISSING], ERROR),
    ("not started", _both(_only_first, _log("NVRM: GPU 0000:00:07.0: RmInitAdapter failed! (0x62:0x65:1792)")), ["GpuInitFailed", *MISSING], ERROR),
    ("probe failed", _both(_only_first, _log("NVRM: The NVIDIA probe routine failed for 1 device(s).")), ["GpuInitFailed", *MISSING], ERROR),
    ("no device, by the log", _both(_none, _log("NVRM: No NVIDIA GPU found.")), ["NoGpuBoundToDriver", "NoGpuBoundToDriver"], ERROR),
    ("Xid on a GPU that asks for a reset", _both(_all(*RESET), _log(XID.format(119))), ["NvidiaSmiTimeout", "GpuResetRequired", "GpuResetRequired"], ERROR),
    ("Xid on a GPU that works, with a driver that has no recovery action", _both(OLD_DRIVER, _log(XID.format(48))), ["EccUncorrectable"], WARNING),
    ("unknown Xid on such a GPU", _both(OLD_DRIVER, _log(XID.format(999))), ["XidCritical"], WARNING),
    ("recovery action, by the log", _both(OLD_DRIVER, _log(
        "NVRM: Xid (PCI:0000:00:07): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    )), ["NodeRebootRequired"], WARNING),
    ("fatal SXid", _log("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009, Fatal, Link 32"), ["FabricError"], ERROR),
    ("row to remap", _xml(("<remapped_row_pending>No", "<remapped_row_pending>Yes")), ["EccUncorrectable"], ERROR),
    ("row not remapped", _xml(("<remapped_row_failure>No", "<remapped_row_failure>Yes")), ["EccUncorrectable"], ERROR),
    ("errors since the driver was loaded", _xml(("<dram_uncorrectable>0", "<dram_uncorrectable>2")), ["EccUncorrectable"], WARNING),
    ("MIG mode pending", _xml(("<pending_mig>Disabled", "<pending_mig>Enabled")), ["NodeRebootRequired"], WARNING),
    ("fabric under way", _all("<state>Completed", "<state>In Progress"), ["FabricManagerNotReady"], ERROR),
    ("fabric failed", _xml(("<status>Success", "<status>Insufficient Resources")), ["FabricError"], ERROR),
    ("no fabric on GB200", _both(_all("<state>Completed", "<state>Not Supported"), _all("NVIDIA H200", "NVIDIA GB200")), ["FabricNotReady"], ERROR),
    ("fabric manager missing", _switches(None), ["FabricManagerNotReady"], ERROR),
    ("fabric manager stopped", _switches("failed"), ["FabricManagerNotReady"], ERROR),
    ("fabric manager of another version", _switches("active", "570.86.15"), ["FabricManagerNotReady"], ERROR),
    ("vGPU without a licence", _licence("Unlicensed (Restricted)"), ["VgpuUnlicensed"], ERROR),
    ("a driver with a published fault", _both(_driver("570.133.20"), _xml(
        ("<current_mig>Disabled", "<current_mig>Enabled"), ("<pending_mig>Disabled", "<pending_mig>Enabled"),
    )), ["KnownDriverIssue"], WARNING),
]
NO_FAULTS: list[tuple[str, Change]] = [
    ("nothing, with a slow link since the GPU is idle", lambda evidence: None),
    ("no persistence mode", _all("<persistence_mode>Enabled", "<persistence_mode>Disabled")),
    ("Xids of programs", _log(XID.format(13), XID.format(31), XID.format(43), XID.format(45), XID.format(109))),
    ("a GPU that fell off and is back", _log(XID.format(79))),
    ("a GPU that was started at the second attempt", _log("NVRM: GPU 0000:00:07.0: RmInitAdapter failed! (0x62:0x65:1792)")),
    ("a reset that was done", _log(XID.format(95), "NVRM: Xid (PCI:0000:00:07): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")),
    ("a module that was unsigned once", _log("Loading of unsigned module is rejected")),
    ("nouveau before", _log("NVRM: The NVIDIA probe routine was not called for 2 device(s).")),
    ("an NVSwitch's complaint of a program's end", _log("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32")),
    ("aggregate errors of the past", _xml(("<aggregate>", "<aggregate><sram_uncorrectable>5</sram_uncorrectable>"))),
    ("no fabric on cards", _all("<state>Completed", "<state>Not Supported")),
    ("fabric manager at work", _switches("active")),
    ("licensed vGPU", _licence("Licensed (Expiry: 2030-1-1 0:0:0 GMT)")),
    ("clients of a driver that stays", _held_by("nvidia")),
    ("a fan that can't be read", _xml(("<fan_speed>N/A", "<fan_speed>Unknown Error"))),
]


@pytest.mark.parametrize(("fault", "codes", "severity"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_fault(fault: Change, codes: list[str], severity: str) -> None:
    evidence = _healthy()
    fault(evidence)
    findings = [found for found in _findings(evidence) if found["severity"] != INFO]
    assert [found["code"] for found in findings] == codes
    assert findings[0]["severity"] == severity
    assert all(found["evidence"] and found["summary"].endswith(".") for found in findings)


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in NO_FAULTS])
def test_no_fault(change: Change) -> None:
    evidence = _healthy()
    change(evidence)
    assert [found for found in _findings(evidence) if found["severity"] != INFO] == []


def test_the_same_faults_through_nvml() -> None:
    evidence = _healthy()
    _xml(RESET, ("<remapped_row_failure>No", "<remapped_row_failure>Yes"))(evidence)
    records = node_facts(evidence, SUBSETS)["gpus"]
    evidence["commands"] = {"packages": evidence["commands"]["packages"]}
    evidence["nvml"] = {"library": "/usr/lib/libnvidia-ml.so.1", "error": None, "driver_version": "580.159.04", "cuda_version": "13.0", "gpus": records}
    findings = _findings(evidence)
    assert [(found["code"], found["subject"]["name"]) for found in findings] == [
        ("EccUncorrectable", records[0]["uuid"]), ("GpuResetRequired", records[0]["uuid"]),
    ]
    assert findings[0]["evidence"][0]["where"] == "nvml: row_remapping.failed"


def test_an_old_event_is_a_note() -> None:
    evidence = _healthy()
    _log(XID.format(79))(evidence)
    (found,) = _findings(evidence)
    assert (found["code"], found["severity"], found["subject"]["name"]) == ("GpuFallenOffBus", INFO, "GPU-00000002-0000-4000-8000-000000000002")


def test_a_bus_listing_without_drivers_says_nothing_of_the_driver() -> None:
    listed = [{"address": GPU, "vendor": "0x10de", "device": "0x2335", "class": "0x030200"}]
    assert _findings({"schema": 1, "pci": listed}) == []
    assert [found["code"] for found in _findings({"schema": 1, "pci": listed, "modules": []})] == ["DriverNotInstalled"]


def test_virtual_functions_of_a_host_are_no_missing_gpus() -> None:
    evidence = _healthy()
    evidence["pci"].append({**evidence["pci"][0], "address": "0000:00:06.4", "is_virtual_function": True})
    assert _findings(evidence) == []
