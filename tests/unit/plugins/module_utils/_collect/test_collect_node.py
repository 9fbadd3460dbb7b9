# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pass over a machine that is a folder."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import node, reader
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask

MAIN = """version = 2
imports = ["/opt/containerd/*.toml",
  'own.d/*.toml']
[plugins."io.containerd.grpc.v1.cri".registry.configs."example.org".auth]
  username = "me"
  password = "s3cret"
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
        "/sys/bus/pci/devices/0000:00:01.0/vendor": "0x8086\n",
        "/run/reboot-required": "",
    })
    (tmp_path / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.159.04")
    (tmp_path / "sys/bus/pci/devices/0000:00:06.0/driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    programs = {"nvidia-smi": "<nvidia_smi_log/>", "dpkg-query": "ii", "nvidia-ctk": "NVIDIA Container Toolkit CLI version 1.20.2", "containerd": ""}
    return Machine(tmp_path, programs)


def test_one_pass(machine: Machine) -> None:
    evidence = node.collect(machine, node.SUBSETS, 5)
    assert json.loads(json.dumps(evidence)) == evidence
    assert evidence["schema"] == node.SCHEMA
    assert evidence["pci"] == [{"address": "0000:00:06.0", "vendor": "0x10de", "device": "0x2335", "class": "0x030200", "driver": "nvidia"}]
    assert evidence["modules"] == ["updates/dkms/nvidia.ko.xz"]
    assert evidence["libraries"] == [{"path": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "target": "libnvidia-ml.so.580.159.04"}]
    about = {name: evidence["host"][name] for name in ("kernel", "boot_id", "uptime_s", "secure_boot", "reboot_required", "wsl")}
    assert about == {"kernel": "6.12.38-amd64", "boot_id": "b007", "uptime_s": 1234, "secure_boot": None, "reboot_required": True, "wsl": False}
    assert [path for path in evidence["files"] if path.endswith(".toml")] == [
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/99-nvidia.toml",
        "/etc/containerd/own.d/1.toml",
        "/opt/containerd/2.toml",
    ]
    assert evidence["cri"] is None
    assert evidence["collector_errors"] == []


def test_no_more_programs_than_needed(machine: Machine) -> None:
    node.collect(machine, node.SUBSETS, 5)
    assert sorted(argv[0] for argv in machine.started) == ["/usr/bin/containerd", "dpkg-query", "nvidia-ctk", "nvidia-smi"]


@pytest.mark.parametrize(
    ("gather", "programs"),
    [
        (["platform", "pci"], []),
        (["driver"], ["dpkg-query", "nvidia-smi"]),
        (["gpus"], ["nvidia-smi"]),
        (["toolkit"], ["dpkg-query", "nvidia-ctk"]),
        (["runtimes"], ["/usr/bin/containerd", "dpkg-query"]),
    ],
)
def test_a_subset_runs_only_what_it_needs(machine: Machine, gather: list[str], programs: list[str]) -> None:
    node.collect(machine, gather, 5)
    assert sorted(argv[0] for argv in machine.started) == programs


def test_nvidia_smi_is_not_run_while_the_driver_is_not_loaded(machine: Machine) -> None:
    Path(machine.path("/proc/driver/nvidia/version")).unlink()
    evidence = node.collect(machine, node.SUBSETS, 5)
    assert "nvidia_smi_xml" not in evidence["commands"]


def test_credentials_stay_on_the_node(machine: Machine) -> None:
    evidence = node.collect(machine, node.SUBSETS, 5)
    assert "s3cret" not in json.dumps(evidence)
    assert 'password = "***"' in evidence["files"]["/etc/containerd/config.toml"]["text"]


def test_big_files_are_cut_and_say_so(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FILE_LIMIT", 64)
    evidence = node.collect(machine, node.SUBSETS, 5)
    assert evidence["files"]["/etc/containerd/config.toml"] == {"text": MAIN[:64], "truncated": True}
    assert len(evidence["files"]["/proc/cpuinfo"]["text"]) == 8 * 1024


def test_too_many_files_and_files_that_cannot_be_read(machine: Machine) -> None:
    root = Path(machine.path("/etc/containerd/conf.d"))
    (root / "00-folder.toml").mkdir()
    for number in range(100):
        (root / f"{number:03}.toml").write_text("")
    evidence = node.collect(machine, node.SUBSETS, 5)
    errors = {error["what"]: error["error"] for error in evidence["collector_errors"]}
    assert "directory" in errors["/etc/containerd/conf.d/00-folder.toml"].lower()
    assert len(errors) == 2
    assert len(evidence["files"]) == 64


def test_an_empty_machine(tmp_path: Path) -> None:
    evidence = node.collect(Machine(tmp_path, {}), node.SUBSETS, 5)
    assert evidence["pci"] is None
    assert [error["what"] for error in evidence["collector_errors"]] == ["/sys/bus/pci/devices"]


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
