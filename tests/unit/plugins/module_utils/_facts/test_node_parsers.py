# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables for the small parsers of a node's facts."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, cri, driver, evidence, gpus, packages, pci, platform, smi_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:01:00.0", "0000:01:00.0"),
        ("000F:01:00.0", "000f:01:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("3b:00", "0000:3b:00.0"),
        ("N/A", None),
        ("", None),
    ],
)
def test_pci_address(value: str, expected: str | None) -> None:
    assert pci.address(value) == expected


@pytest.mark.parametrize(
    ("pci_class", "kind"),
    [("0x030000", "gpu"), ("0x030200", "gpu"), ("0x068000", "nvswitch"), ("0x040300", "audio"), ("0x0c0330", "other"), (None, "other")],
)
def test_pci_kind(pci_class: str | None, kind: str) -> None:
    assert pci.functions([{"address": "0000:01:00.0", "vendor": "0x10de", "device": "0x2335", "class": pci_class}])[0]["kind"] == kind


@pytest.mark.parametrize(
    ("line", "status", "held", "installed", "interrupted"),
    [
        ("ii \tnvidia-open\t580.159.04-1\tamd64", "ii", False, True, False),
        ("hi \tnvidia-open\t580.159.04-1\tamd64", "ii", True, True, False),
        ("iU \tnvidia-open\t580.159.04-1\tamd64", "iU", False, False, True),
        ("iF \tnvidia-open\t580.159.04-1\tamd64", "iF", False, False, True),
        ("iHR\tnvidia-open\t580.159.04-1\tamd64", "iHR", False, False, True),
        ("it \tnvidia-open\t580.159.04-1\tamd64", "it", False, False, True),
        ("iiR\tnvidia-open\t580.159.04-1\tamd64", "iiR", False, True, True),
    ],
)
def test_package_states(line: str, status: str, held: bool, installed: bool, interrupted: bool) -> None:
    (package,) = packages.parse(line + "\n")
    assert (package.status, package.held, package.installed, package.interrupted) == (status, held, installed, interrupted)


def test_packages_that_are_gone_are_left_out() -> None:
    assert packages.parse("un \tnvidia-smi\t\t\nrc \tnvidia-driver\t550.163.01-2\tamd64\n\nnonsense\n") == []


@pytest.mark.parametrize(
    ("names", "driver_names"),
    [
        (["nvidia-container-toolkit", "libnvidia-container1"], []),
        (["nvidia-open", "libnvidia-ml1", "nvidia-kernel-open-dkms"], ["libnvidia-ml1", "nvidia-kernel-open-dkms", "nvidia-open"]),
        (["containerd", "linux-modules-nvidia-580-server-open-6.8.0-40-generic"], ["linux-modules-nvidia-580-server-open-6.8.0-40-generic"]),
    ],
)
def test_which_packages_are_the_driver(names: list[str], driver_names: list[str]) -> None:
    known = packages.parse("".join(f"ii \t{name}\t1-1\tamd64\n" for name in names))
    assert [package.name for package in packages.driver(known)] == driver_names


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("nvidia-open", "580.159.04-1", "580.159.04"),
        ("nvidia-kernel-open-dkms", "1:580.159.04-0ubuntu1", "580.159.04"),
        ("linux-modules-nvidia-580-server-6.8.0-40-generic", "6.8.0-40.40+1", None),
    ],
)
def test_module_version(name: str, version: str, expected: str | None) -> None:
    assert packages.module_version(packages.parse(f"ii \t{name}\t{version}\tamd64\n")) == expected


def test_a_kernel_package_speaks_before_a_meta_package() -> None:
    lines = "ii \tcuda-drivers\t590.1-1\tamd64\nii \tnvidia-kernel-open-dkms\t580.159.04-1\tamd64\n"
    assert packages.module_version(packages.parse(lines)) == "580.159.04"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("580.159.04", "580.159.04", True),
        ("580.159.04", "580.159", True),
        ("580.159.04", "580.178.04", False),
        ("580.159.04", None, True),
        (None, None, True),
    ],
)
def test_same_version(left: str | None, right: str | None, same: bool) -> None:
    assert driver.same_version(left, right) is same


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"libraries": [{"path": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "target": "libnvidia-ml.so.580.178.04"}]}, "580.178.04"),
        ({"commands": {"nvidia_smi_xml": {"rc": 18, "stdout": "Failed to initialize NVML\nNVML library version: 580.178"}}}, "580.178"),
        ({}, None),
    ],
)
def test_userspace_version(raw: dict[str, object], expected: str | None) -> None:
    assert driver.userspace_version(evidence.read(raw), [], gpus.read(evidence.read(raw))) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n', ("debian", "13", "trixie", [])),
        ("ID='rocky'\nVERSION_ID='9.4'\nID_LIKE=\"rhel centos fedora\"\n", ("rocky", "9.4", None, ["rhel", "centos", "fedora"])),
        ("", (None, None, None, [])),
    ],
)
def test_os_release(content: str, expected: tuple[object, ...]) -> None:
    found = platform.os_release(content)
    assert (found["id"], found["version_id"], found["codename"], found["like"]) == expected


@pytest.mark.parametrize(("value", "expected"), [("143771 MiB", 143771), ("-5 C", -5), (" 66.84 W ", 66), ("16x", 16), ("N/A", None)])
def test_integer(value: str, expected: int | None) -> None:
    assert smi_values.integer(value) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, False),
        ({"version": 2}, False),
        ({"version": 2, "plugins": {"io.containerd.grpc.v1.cri": {"enable_cdi": True}}}, True),
        ({"version": 3}, True),
        ({"version": 3, "plugins": {"io.containerd.cri.v1.runtime": {"enable_cdi": False}}}, False),
        ({"version": 4}, True),
    ],
)
def test_cdi(config: dict[str, object], expected: bool) -> None:
    assert containerd.cri_section(config)["cdi_enabled"] is expected


def test_a_relative_import_starts_at_its_file() -> None:
    files = {
        "/etc/containerd/config.toml": {"text": 'version = 2\nimports = ["conf.d/*.toml"]\n'},
        "/etc/containerd/conf.d/10-a.toml": {"text": 'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\ndefault_runtime_name = "crun"\n'},
    }
    facts = containerd.facts(evidence.read({"files": files}), "/etc/containerd/config.toml", None)
    assert (facts["drop_ins"], facts["default_handler"]) == (["/etc/containerd/conf.d/10-a.toml"], "crun")


def test_what_containerd_refuses_though_it_is_toml() -> None:
    raw = {
        "files": {"/etc/containerd/config.toml": {"text": "version = 2\n"}},
        "commands": {containerd.DUMP: {"rc": 1, "stderr": 'time="..." level=warning msg="x"\ncontainerd: invalid plugin config\n'}},
    }
    seen = evidence.read(raw)
    facts = containerd.facts(seen, "/etc/containerd/config.toml", seen.commands[containerd.DUMP])
    assert (facts["config_valid"], facts["config_error"], facts["config_error_path"]) == (False, "invalid plugin config", "/etc/containerd/config.toml")


def test_the_daemons_own_configuration() -> None:
    runc = {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
    answer = {
        "conditions": [{"type": "RuntimeReady", "status": True}],
        "info": {"config": json.dumps({"containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc": runc}}})},
        "runtime_handlers": [],
    }
    facts = cri.facts(answer)
    assert facts is not None
    assert (facts["ready"], facts["handlers"], facts["default_handler"]) == (True, ["runc"], "runc")
    assert facts["runtimes"] == [{"name": "runc", "runtime_type": "io.containerd.runc.v2", "binary": None, "systemd_cgroup": True}]
