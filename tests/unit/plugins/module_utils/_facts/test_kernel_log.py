# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of the kernel log, by its messages."""

from __future__ import annotations

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import architecture, evidence, kernel_log, packages, pci, services, xid

GPU = "0000:3b:00.0"


@pytest.mark.parametrize(
    ("line", "kind", "address", "code", "severity"),
    [
        ("[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid", GPU, 79, "fatal"),
        ("NVRM: Xid (0000:3b:00): 13, Graphics Exception", "xid", GPU, 13, "application"),
        ("Dez  2 11:49:53 n kernel: [  1.2] NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=a, MMU Fault", "xid", GPU, 31, "application"),
        ("NVRM: Xid (PCI:0000:3b:00): 999, something new", "xid", GPU, 999, "unknown"),
        ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress", "sxid", "0000:05:00.0", 12028, "info"),
        ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009, Fatal, Link 32", "sxid", "0000:05:00.0", 20009, "fatal"),
        ("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x56:1463)", "rm_init_failed", GPU, "0x26:0x56:1463", "fatal"),
        ("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:3b:00.0)", "bar_not_assigned", GPU, None, "fatal"),
        ("pci 0000:3b:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: can't assign; no space", "bar_unassigned", GPU, None, "info"),
        ("modprobe: ERROR: could not insert 'nvidia': Required key not available", "signature_rejected", None, None, "fatal"),
        ("Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7", "signature_rejected", None, None, "fatal"),
        ("nvidia: module verification failed: signature and/or required key missing - tainting kernel", "module_unsigned", None, None, "info"),
        ("rmmod: ERROR: Module nvidia is in use by: nvidia_uvm", "module_in_use", None, None, "warning"),
    ],
)
def test_message(line: str, kind: str, address: str | None, code: object, severity: str) -> None:
    (event,) = kernel_log.parse([line])["events"]
    assert (event["kind"], event["pci_address"], event["code"], event["class"]) == (kind, address, code, severity)


@pytest.mark.parametrize("line", ["NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14", "usb 1-1: new device", "", "pid=1 caused by previous Xid 149"])
def test_what_is_no_event(line: str) -> None:
    assert kernel_log.parse([line])["events"] == []


def test_a_message_over_several_lines_of_any_prefix() -> None:
    parts = ["NVRM: The NVIDIA GPU 0000:01:00.0", "NVRM: (PCI ID: 10de:2b85) installed in this system requires use of the NVIDIA open kernel modules."]
    for lines in (parts, [f"[ 1.0] {part}" for part in parts], [f"host kernel: {part}" for part in parts], ["4,1,2,-;" + "\\x0a".join(parts)]):
        (event,) = kernel_log.parse(lines)["events"]
        assert (event["kind"], event["pci_address"], event["details"]) == ("unsupported", "0000:01:00.0", {"pci_id": "10de:2b85"})


def test_events_are_counted_and_bounded() -> None:
    lines = [f"NVRM: Xid (PCI:0000:{bus:02x}:00): {code}, x" for bus in range(100) for code in range(1, 9)]
    events = kernel_log.parse(lines * 2)["events"]
    assert len(events) == kernel_log.EVENT_LIMIT
    assert {event["count"] for event in events} == {2}
    assert len(kernel_log.parse(["NVRM: Xid (PCI:0000:3b:00): 13, " + "x" * 100_000])["events"][0]["text"]) == kernel_log.TEXT_LIMIT


def test_a_gpu_that_needs_no_action_any_more_has_recovered() -> None:
    lines = [
        "NVRM: Xid (PCI:0000:3b:00): 48, DBE",
        "NVRM: Xid (PCI:0000:5e:00): 48, DBE",
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
    ]
    events = kernel_log.parse(lines)["events"]
    assert [(event["pci_address"], event["code"], event["recovered"]) for event in events] == [(GPU, 48, True), ("0000:5e:00.0", 48, False), (GPU, 154, True)]
    assert kernel_log.parse([*lines, lines[0]])["events"][0]["recovered"] is False


def test_a_bar_that_got_its_address_later_is_forgotten() -> None:
    lines = ["pci 0000:3b:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]", "pci 0000:3b:00.0: BAR 1: assigned [mem 0x6000-0x6fff 64bit pref]"]
    assert kernel_log.parse(lines)["events"] == []


def test_a_log_that_nobody_looked_at_is_none() -> None:
    assert kernel_log.facts(evidence.read({})) is None
    assert kernel_log.facts(evidence.read({"kernel_log": {"source": 5, "complete": "x", "lines": None}})) == {
        "source": None, "complete": None, "dropped": 0, "driver_version": None, "kernel_module": None, "events": [],
    }


def test_xid_table_names_codes_and_classes() -> None:
    classes = {xid.FATAL, xid.APPLICATION, xid.RECOVERY, xid.WARNING, xid.INFO, xid.UNKNOWN}
    assert {entry.severity for entry in xid.TABLE.values()} <= classes
    assert all(xid.TABLE[number].severity == xid.APPLICATION for number in (13, 31, 43, 45, 68, 109))


@pytest.mark.parametrize(
    ("device", "generation", "flavours", "last"),
    [
        ("2335", "Hopper", ("open", "proprietary"), None),
        ("2342", "Hopper", ("open",), None),
        ("2901", "Blackwell", ("open",), None),
        ("1db6", "Volta", ("proprietary",), 580),
        ("15f8", "Pascal", ("proprietary",), 580),
        ("1eb8", "Turing", ("open", "proprietary"), None),
        ("26b5", "Ada Lovelace", ("open", "proprietary"), None),
        ("20b5", "Ampere", ("open", "proprietary"), None),
    ],
)
def test_architecture_of_a_device(device: str, generation: str, flavours: tuple[str, ...], last: int | None) -> None:
    assert architecture.of_device(device) == generation
    assert architecture.support(device) == architecture.Support(flavours, last)


@pytest.mark.parametrize("device", ["ffff", "", "10de2335", "xyz"])
def test_unknown_device(device: str) -> None:
    assert architecture.of_device(device) is None
    assert architecture.support(device) is None


def test_links_of_a_pci_function() -> None:
    (function,) = pci.functions([{
        "address": "0000:3b:00.0", "vendor": "0x10de", "device": "0x2335", "class": "0x030200", "driver": "nvidia", "subsystem_vendor": "0x10de",
        "subsystem_device": "0x18bf", "current_link_speed": "2.5 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
        "max_link_width": "16", "numa_node": "-1", "iommu_group": "12", "is_virtual_function": False, "bars": [16 * 2**20, 2**38, 32 * 2**20],
    }])
    assert (function["subsystem_id"], function["link_speed_gts"], function["max_link_speed_gts"]) == ("10de:18bf", 2.5, 32.0)
    assert (function["link_width"], function["numa_node"], function["iommu_group"]) == (16, None, 12)
    assert function["bars_mib"] == [16, 262144, 32]


def test_dkms() -> None:
    text = (
        "nvidia/580.159.04, 6.8.0-45-generic, x86_64: installed\nnvidia, 520.56.06, 5.15.0, x86_64: installed (WARNING! Diff)\n"
        "nvidia/580.95.05: added\nzfs/2.2, 6.8, x86_64: installed\n"
    )
    assert services.dkms(text) == [
        {"module": "nvidia", "version": "580.159.04", "kernel": "6.8.0-45-generic", "state": "installed"},
        {"module": "nvidia", "version": "520.56.06", "kernel": "5.15.0", "state": "installed"},
        {"module": "nvidia", "version": "580.95.05", "kernel": None, "state": "added"},
    ]


def test_services() -> None:
    text = (
        "Id=nvidia-persistenced.service\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\n\n"
        "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n\nId=nvidia-imex.service\nLoadState=not-found\n"
    )
    said = {"services": {"rc": 0, "stdout": text}, "fabric_manager_version": {"rc": 0, "stdout": "Fabric Manager version is : 580.159.04\n"}}
    known = packages.parse("ii \tnvidia-persistenced\t580.159.04-1\tamd64\n")
    assert services.facts(evidence.read({"commands": said}), known) == {
        "persistence_daemon": {"state": "active", "enabled": True, "version": "580.159.04"},
        "fabric_manager": {"state": "failed", "enabled": False, "version": "580.159.04"},
        "imex": None,
        "grid": None,
    }
    assert services.facts(evidence.read({}), known) is None


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("ii  nvidia-smi     525.85.12-1  amd64        NVIDIA System Management Interface", "nvidia-smi", "525.85.12-1"),
        ("hi  libnvidia-ml1:amd64  580.159.04-1 amd64  NVML", "libnvidia-ml1", "580.159.04-1"),
        ("kmod-nvidia-open-dkms-580.159.04-1.el9.x86_64", "kmod-nvidia-open-dkms", "580.159.04-1.el9"),
    ],
)
def test_pasted_package_lists(line: str, name: str, version: str) -> None:
    (package,) = packages.parse(line + "\n")
    assert (package.name, package.version, package.installed) == (name, version, True)
