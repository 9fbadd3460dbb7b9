# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pass over a machine that is a folder."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import node, reader
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import SCHEMA

MAIN = """version = 2
imports = ["/opt/containerd/*.toml",
  'own.d/*.toml']
[plugins."io.containerd.grpc.v1.cri".registry.configs."example.org".auth]
  username = "me"
  password = "s3cret"
"""

RESOURCE = """0x0000104002000000 0x0000104002ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000003fffffffff 0x000000002014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000104000000000 0x0000104001ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x00000000fea00000 0x00000000fea7ffff 0x0000000000046200
"""
MODULES = """nvidia_uvm 1830912 0 - Live 0xffffffffc080c000 (O)
nvidia 14299136 33 nvidia_uvm,nvidia_modeset, Live 0xffffffffc0400000 (O)
ext4 1 1 - Live 0x0
vfio_pci 16384 - - Live 0x0
"""
KMSG = """6,0,0,-;Linux version 6.12.38
6,2,503106,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04
 SUBSYSTEM=pci
6,3,600000,-;usb 1-1: new device
"""


class Machine(Host):
    """A folder as root, and commands whose answers are given."""

    def __init__(self, root: Path, programs: dict[str, str]) -> None:
        with patch_module_args({}):
            super().__init__(AnsibleModule({}).run_command, str(root))
        self.programs = programs
        self.started: list[list[str]] = []

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None

    def start(self, argv: t.Sequence[str]) -> t.Any:
        self.started.append(list(argv))
        return super().start(("/bin/echo", self.programs.get(argv[0].rpartition("/")[2], "")))


def _write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    _write(tmp_path, {
        "/etc/os-release": "ID=debian\n",
        "/proc/sys/kernel/osrelease": "6.12.38-amd64\n",
        "/proc/sys/kernel/random/boot_id": "b007\n",
        "/proc/uptime": "1234.56 1.0\n",
        "/proc/cpuinfo": "flags\t: fpu hypervisor\n" * 2000,
        "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n",
        "/lib/modules/6.12.38-amd64/modules.dep": "updates/dkms/nvidia.ko.xz: kernel/drm.ko\nupdates/dkms/nvidia-uvm.ko.xz: updates/dkms/nvidia.ko.xz\n",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.159.04": "",
        "/etc/containerd/config.toml": MAIN,
        "/etc/containerd/conf.d/99-nvidia.toml": "version = 2\n",
        "/etc/containerd/own.d/1.toml": "version = 2\n",
        "/opt/containerd/2.toml": "version = 2\n",
        "/sys/bus/pci/devices/0000:00:06.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:00:06.0/device": "0x2335\n",
        "/sys/bus/pci/devices/0000:00:06.0/class": "0x030200\n",
        "/sys/bus/pci/devices/0000:00:06.0/current_link_speed": "32.0 GT/s PCIe\n",
        "/sys/bus/pci/devices/0000:00:06.0/max_link_width": "16\n",
        "/sys/bus/pci/devices/0000:00:06.0/numa_node": "-1\n",
        "/sys/bus/pci/devices/0000:00:06.0/resource": RESOURCE,
        "/sys/bus/pci/devices/0000:00:01.0/vendor": "0x8086\n",
        "/sys/class/dmi/id/sys_vendor": "QEMU\n",
        "/proc/cmdline": "quiet ks.password=hunter2 modprobe.blacklist=nouveau\n",
        "/proc/modules": MODULES,
        "/lib/modules/6.1.0-old/kernel/x.ko": "",
        "/lib/modules/6.1.0-old/modules.dep": "kernel/drm.ko: updates/dkms/nvidia.ko\n",
        "/lib/modules/6.12.40-new/kernel/x.ko": "",
        "/lib/modules/6.12.40-new/modules.dep": "kernel/nvidia.ko:\nkernel/nvidia-uvm.ko: kernel/nvidia.ko\n",
        "/lib/modules/6.0.0-gone/updates/dkms/nvidia.ko": "",
        "/dev/kmsg": KMSG,
        "/run/reboot-required": "",
    })
    (tmp_path / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.159.04")
    (tmp_path / "sys/bus/pci/devices/0000:00:06.0/driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    programs = {"nvidia-smi": "<nvidia_smi_log/>", "dpkg-query": "ii", "nvidia-ctk": "NVIDIA Container Toolkit CLI version 1.20.2", "containerd": ""}
    return Machine(tmp_path, programs)


def test_one_pass(machine: Machine) -> None:
    evidence = node.collect(machine, SUBSETS, 5)
    assert json.loads(json.dumps(evidence)) == evidence
    assert evidence["schema"] == SCHEMA
    assert evidence["pci"] == [{
        "address": "0000:00:06.0",
        "vendor": "0x10de",
        "device": "0x2335",
        "class": "0x030200",
        "subsystem_vendor": None,
        "subsystem_device": None,
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": None,
        "current_link_width": None,
        "max_link_width": "16",
        "numa_node": "-1",
        "enable": None,
        "driver": "nvidia",
        "iommu_group": None,
        "is_virtual_function": False,
        "bars": [16 << 20, 32 << 20],
    }]
    assert evidence["modules"] == ["updates/dkms/nvidia.ko.xz"]
    assert evidence["host"]["kernels"] == [
        {"release": "6.1.0-old", "module_files": []},
        {"release": "6.12.40-new", "module_files": ["kernel/nvidia.ko"]},
    ]
    assert evidence["host"]["kernel_command_line"] == "quiet ks.password=*** modprobe.blacklist=nouveau"
    assert (evidence["host"]["dmi"], evidence["host"]["euid"]) == ({"sys_vendor": "QEMU", "product_name": None}, os.geteuid())
    assert evidence["loaded_modules"] == [
        {"name": "nvidia_uvm", "refcount": 0, "used_by": []},
        {"name": "nvidia", "refcount": 33, "used_by": ["nvidia_uvm", "nvidia_modeset"]},
        {"name": "vfio_pci", "refcount": None, "used_by": []},
    ]
    assert evidence["kernel_log"] == {
        "source": "kmsg",
        "complete": True,
        "dropped": 0,
        "lines": ["[    0.503106] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04"],
    }
    assert evidence["libraries"] == [{"path": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "target": "libnvidia-ml.so.580.159.04"}]
    about = {name: evidence["host"][name] for name in ("kernel", "boot_id", "uptime_s", "secure_boot", "reboot_required", "wsl")}
    assert about == {"kernel": "6.12.38-amd64", "boot_id": "b007", "uptime_s": 1234, "secure_boot": None, "reboot_required": True, "wsl": False}
    assert [path for path in evidence["files"] if path.endswith(".toml")] == [
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/99-nvidia.toml",
        "/etc/containerd/own.d/1.toml",
        "/opt/containerd/2.toml",
    ]
    assert [runtime["cri"] for runtime in evidence["runtimes"]] == [None]
    # The library is an empty file.
    assert evidence["nvml"]["error"]["function"] == "dlopen"
    assert evidence["collector_errors"] == []


def test_no_more_programs_than_needed(machine: Machine) -> None:
    node.collect(machine, SUBSETS, 5)
    assert sorted(argv[0] for argv in machine.started) == ["/usr/bin/containerd", "dpkg-query", "nvidia-ctk", "nvidia-smi", "nvidia-smi"]


@pytest.mark.parametrize(
    ("gather", "programs"),
    [
        (["platform", "pci"], []),
        (["driver"], ["dpkg-query", "nvidia-smi", "nvidia-smi"]),
        (["gpus"], ["nvidia-smi", "nvidia-smi"]),
        (["kernel_log", "cdi"], []),
        (["toolkit"], ["dpkg-query", "nvidia-ctk"]),
        (["runtimes"], ["/usr/bin/containerd", "dpkg-query"]),
    ],
)
def test_a_subset_runs_only_what_it_needs(machine: Machine, gather: list[str], programs: list[str]) -> None:
    node.collect(machine, gather, 5)
    assert sorted(argv[0] for argv in machine.started) == programs


@pytest.mark.parametrize(
    ("paths", "argv"),
    [
        (["/run/systemd/system/x"], "systemctl"),
        (["/var/lib/dkms/nvidia-open/580.159.04/x"], "dkms"),
    ],
)
def test_a_command_for_what_is_there(machine: Machine, paths: list[str], argv: str) -> None:
    _write(Path(machine.path("/")), dict.fromkeys(paths, ""))
    machine.programs |= {"systemctl": "", "dkms": ""}
    node.collect(machine, ["driver"], 5)
    assert sorted({started[0] for started in machine.started} & {"systemctl", "dkms"}) == [argv]


def test_the_log_of_a_machine_without_kmsg(machine: Machine) -> None:
    Path(machine.path("/dev/kmsg")).unlink()
    machine.programs["dmesg"] = "[    0.000000] Linux\n[   12.000000] NVRM: Xid (PCI:0000:00:06): 79, pid=1"
    evidence = node.collect(machine, ["kernel_log"], 5)
    assert evidence["kernel_log"]["source"] == "dmesg"
    assert evidence["kernel_log"]["lines"] == ["[   12.000000] NVRM: Xid (PCI:0000:00:06): 79, pid=1"]
    assert (evidence["commands"], evidence["collector_errors"]) == ({}, [])


def test_nothing_gives_the_log(machine: Machine) -> None:
    Path(machine.path("/dev/kmsg")).unlink()
    evidence = node.collect(machine, ["kernel_log"], 5)
    assert evidence["kernel_log"] == {"source": None, "complete": False, "dropped": 0, "lines": []}
    assert [(error["what"], "nothing either" in error["error"]) for error in evidence["collector_errors"]] == [("/dev/kmsg", True)]


def test_nvidia_smi_is_not_run_while_the_driver_is_not_loaded(machine: Machine) -> None:
    Path(machine.path("/proc/driver/nvidia/version")).unlink()
    evidence = node.collect(machine, SUBSETS, 5)
    assert "nvidia_smi_xml" not in evidence["commands"]
    assert evidence["nvml"] is None


def test_credentials_stay_on_the_node(machine: Machine) -> None:
    evidence = node.collect(machine, SUBSETS, 5)
    assert "s3cret" not in json.dumps(evidence)
    assert 'password = "***"' in evidence["files"]["/etc/containerd/config.toml"]["text"]


def test_big_files_are_cut_and_say_so(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FILE_LIMIT", 64)
    evidence = node.collect(machine, SUBSETS, 5)
    assert evidence["files"]["/etc/containerd/config.toml"] == {"text": MAIN[:64], "truncated": True}
    assert len(evidence["files"]["/proc/cpuinfo"]["text"]) == 8 * 1024


def test_too_many_files_and_files_that_cannot_be_read(machine: Machine) -> None:
    root = Path(machine.path("/etc/containerd/conf.d"))
    (root / "00-folder.toml").mkdir()
    for number in range(200):
        (root / f"{number:03}.toml").write_text("")
    evidence = node.collect(machine, SUBSETS, 5)
    errors = {error["what"]: error["error"] for error in evidence["collector_errors"]}
    assert "directory" in errors["/etc/containerd/conf.d/00-folder.toml"].lower()
    assert len(errors) == 2
    assert len(evidence["files"]) == 128


def test_an_empty_machine(tmp_path: Path) -> None:
    evidence = node.collect(Machine(tmp_path, {}), SUBSETS, 5)
    assert evidence["pci"] is None
    assert [error["what"] for error in evidence["collector_errors"]] == ["/sys/bus/pci/devices", "/dev/kmsg"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('  password = "a\\"b"  # note', '  password = "***"  # note'),
        ("auth = 'YWJj'", 'auth = "***"'),
        ('{"identitytoken":"x","auth":null}', '{"identitytoken":"***","auth":null}'),
        ('default_runtime_name = "nvidia"', 'default_runtime_name = "nvidia"'),
    ],
)
def test_mask(text: str, masked: str) -> None:
    assert mask(text) == masked
