# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML against a library built from C, which answers what the H200's answered when nvidia-smi wrote the capture."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import node, nvml_session
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpus
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import read
from tests.e2e.collector import run_command
from tests.unit.nvml import stub

CASES = stub.SOURCE.parents[1] / "cases"
H200 = CASES / "h200" / "nvidia-smi.xml"
MIG = {
    "0.mig_mode": "1 1",
    "0.max_mig": "7",
    "0.mig.0.uuid": "MIG-00000000-0000-4000-8000-000000000000",
    "0.mig.0.name": "NVIDIA H200 MIG 1g.18gb",
    "0.mig.0.gpu_instance": "7",
    "0.mig.0.compute_instance": "0",
    "0.mig.0.memory": f"{16384 << 20} 0 0",
    "0.mig.3.uuid": "MIG-00000000-0000-4000-8000-000000000003",
    "0.mig.3.name": "NVIDIA H200 MIG 2g.35gb",
    "0.mig.3.gpu_instance": "3",
    "0.mig.3.compute_instance": "0",
    "0.mig.3.memory": f"{32768 << 20} 0 0",
}
# The one of a GPU that has gone.
LOST = "nvmlDeviceGetHandleByIndex_v2@1=15"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stub.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stub.build(tmp_path_factory.mktemp("old-nvml"), "-DOLD")


class Node:
    """A folder as a node with a driver, whose NVML is the stub and whose nvidia-smi prints the XML."""

    def __init__(self, root: Path, library: Path, xml: str, more: t.Mapping[str, str]) -> None:
        self.root = root
        folder = root / "usr" / "lib" / "x86_64-linux-gnu"
        folder.mkdir(parents=True)
        (folder / "libnvidia-ml.so.1").symlink_to(library)
        (root / "proc" / "driver" / "nvidia").mkdir(parents=True)
        (root / "proc" / "driver" / "nvidia" / "version").write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n")
        (root / "sys" / "bus" / "pci" / "devices").mkdir(parents=True)
        self.smi = root / "smi"
        self.xml = root / "smi.xml"
        self.xml.write_text(xml, encoding="utf-8")
        self.smi.write_text(f'#!/bin/sh\n[ "$1" = -q ] && cat {self.xml}\nexit 0\n')
        self.smi.chmod(0o755)
        self.table = stub.write(root / "table", {**stub.table(xml), **more})
        self.started: list[str] = []

    def collect(self, timeout: float = 10.0, driver_root: str | None = None) -> dict[str, t.Any]:
        evidence = node.collect(_Machine(self), ["pci", "driver", "gpus"], timeout, driver_root)
        assert json.loads(json.dumps(evidence)) == evidence
        return evidence


class _Machine(Host):
    def __init__(self, machine: Node) -> None:
        super().__init__(run_command, str(machine.root))
        self._machine = machine

    def which(self, name: str) -> str | None:
        return str(self._machine.smi) if name == "nvidia-smi" else None

    def start(self, argv: t.Sequence[str]) -> t.Any:
        self._machine.started.append(argv[0])
        return super().start(argv)


@pytest.fixture
def make_node(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Node]:
    def make(xml: Path = H200, more: t.Mapping[str, str] | None = None, use: Path = library, **environment: str) -> Node:
        made = Node(tmp_path / f"node{len(list(tmp_path.iterdir()))}", use, xml.read_text(encoding="utf-8"), more or {})
        monkeypatch.setenv("NVML_STUB_TABLE", str(made.table))
        for name, value in environment.items():
            monkeypatch.setenv(f"NVML_STUB_{name}", value)
        return made

    return make


@pytest.mark.parametrize("xml", [H200, CASES / "N13" / "rtx3080.xml", CASES / "N13" / "rtx4000.xml"], ids=lambda path: path.stem)
def test_nvml_and_the_xml_give_equal_facts(make_node: t.Callable[..., Node], xml: Path) -> None:
    made = make_node(xml)
    with_nvml = made.collect()
    assert "nvidia-smi" not in made.started
    without = made.collect(driver_root="/nowhere")
    assert (with_nvml["nvml"]["error"], without["nvml"]) == (None, None)
    one, other = gpus.read(read(with_nvml)), gpus.read(read(without))
    assert (one.source, other.source) == (gpus.NVML, gpus.SMI)
    assert len(one.gpus) > 0
    assert [_comparable(gpu) for gpu in one.gpus] == [_comparable(gpu) for gpu in other.gpus]
    assert one[1:4] == other[1:4]


def _comparable(gpu: dict[str, t.Any]) -> dict[str, t.Any]:
    return {name: value for name, value in gpu.items() if name not in gpus.NVML_ONLY}


def test_every_fact_has_an_answer(make_node: t.Callable[..., Node]) -> None:
    """Except what an H200 doesn't have; so that a row that names a wrong function is noticed."""
    facts = make_node().collect()["nvml"]["gpus"][0]
    absent = {"vgpu", "nvlink", "fault", "temperature_shutdown_c", "temperature_slowdown_c"}
    assert {name for name, value in facts.items() if value is None} == absent
    assert set(facts) | {"product_known", "unified_memory"} == set(gpus.GPU_FIELDS)


def test_values_that_the_capture_does_not_have(make_node: t.Callable[..., Node]) -> None:
    more = {
        "0.memory": f"{1000 << 20} 0 {(5 << 20) + 1}",
        "0.field.91": "4", "0.field.90": "26562", "0.nvlink.0": "1", "0.nvlink.1": "1", "0.nvlink.2": "0", "0.nvlink.3": "1",
        "0.compute_processes": f"7 {100 << 20};5 18446744073709551615", "0.graphics_processes": "5 0", "0.mps_processes": f"6 {1 << 20}",
        "system.process.7": "/usr/bin/train",
        "0.virtualization": "2", "0.license": "0",
        "0.throttle_reasons": "0x48", "0.remapped_rows": "1 2 1 0", "0.pstate": "32", "0.fabric": "3 23 5", "1.fabric": "2 0 0",
    }  # fmt: skip
    first, second = make_node(more=more).collect()["nvml"]["gpus"]
    assert (first["memory_total_mib"], first["memory_used_mib"]) == (1000, 6)
    assert first["nvlink"] == {"links": 4, "active": 3, "speed_gbs": 26.562}
    assert first["processes"] == [
        {"pid": 5, "type": "C+G", "name": None, "memory_mib": None},
        {"pid": 6, "type": "M+C", "name": None, "memory_mib": 1},
        {"pid": 7, "type": "C", "name": "/usr/bin/train", "memory_mib": 100},
    ]
    assert first["vgpu"] == {"profile": None, "license_status": "Unlicensed", "licensed": False}
    assert first["throttle_reasons"] == ["hw_slowdown", "hw_thermal_slowdown"]
    assert first["row_remapping"] == {"correctable": 1, "uncorrectable": 2, "pending": True, "failed": False}
    assert first["performance_state"] is None
    assert first["fabric"] == {
        "state": "Completed", "status": "Insufficient Resources", "clique_id": 5, "cluster_uuid": "00000000-0000-0000-0000-000000000000",
    }
    assert second["fabric"] == {"state": "In Progress", "status": None, "clique_id": None, "cluster_uuid": None}


def test_mig_devices(make_node: t.Callable[..., Node]) -> None:
    first, second = make_node(more=MIG).collect()["nvml"]["gpus"]
    assert (first["mig_mode"], second["mig_devices"]) == ("Enabled", [])
    assert first["mig_devices"] == [
        {
            "index": index,
            "gpu_instance_id": instance,
            "compute_instance_id": 0,
            "profile": profile,
            "uuid": f"MIG-00000000-0000-4000-8000-{index:012}",
            "memory_total_mib": memory,
        }
        for index, instance, profile, memory in ((0, 7, "1g.18gb", 16384), (3, 3, "2g.35gb", 32768))
    ]


def test_an_old_library(make_node: t.Callable[..., Node], old_library: Path) -> None:
    record = make_node(use=old_library).collect()["nvml"]
    assert (record["error"], record["driver_version"], record["cuda_version"]) == (None, "580.159.04", "13.0")
    facts = record["gpus"][0]
    assert (facts["product"], facts["pci_address"], facts["temperature_c"]) == ("NVIDIA H200", "0000:00:06.0", 40)
    # The reserved memory was counted as used.
    assert (facts["memory_total_mib"], facts["memory_used_mib"]) == (143771, 616)
    assert (facts["mig_mode"], facts["row_remapping"], facts["recovery_action"], facts["processes"]) == (None, None, None, [])


def test_a_gpu_that_supports_nothing(make_node: t.Callable[..., Node]) -> None:
    made = make_node(FAIL="*=0")
    stub.write(made.table, {"system.gpus": "1", "system.driver_version": "340.102"})
    evidence = made.collect()
    facts = evidence["nvml"]["gpus"][0]
    assert {name for name, value in facts.items() if value not in (None, [])} == {"index"}
    assert (evidence["nvml"]["error"], evidence["nvml"]["cuda_version"], evidence["collector_errors"]) == (None, None, [])


@pytest.mark.parametrize(
    ("code", "text"),
    [(9, "Driver Not Loaded"), (18, "Driver/library version mismatch"), (4, "Insufficient Permissions"), (999, "Unknown Error")],
)
def test_an_init_that_fails_lets_nvidia_smi_speak(make_node: t.Callable[..., Node], code: int, text: str) -> None:
    made = make_node(FAIL=f"nvmlInit_v2={code}")
    evidence = made.collect()
    assert evidence["nvml"]["error"] == {"function": "nvmlInit_v2", "code": code, "text": text}
    assert evidence["nvml"]["library"] == "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
    assert made.started[-2:] == ["nvidia-smi", "nvidia-smi"]
    assert gpus.read(read(evidence)).source == gpus.SMI


def test_a_gpu_that_is_lost_leaves_the_others(make_node: t.Callable[..., Node]) -> None:
    evidence = make_node(FAIL=LOST).collect()
    record = evidence["nvml"]
    assert record["error"] == {"function": "nvmlDeviceGetHandleByIndex_v2", "code": 15, "text": "GPU is lost"}
    assert (record["attached_gpus"], record["gpus"][0]["product"], record["gpus"][1]) == (2, "NVIDIA H200", {"index": 1, "fault": "GPU is lost"})
    assert evidence["commands"]["nvidia_smi_xml"]["rc"] == 0


def test_a_gpu_that_is_lost_on_the_way(make_node: t.Callable[..., Node]) -> None:
    evidence = make_node(FAIL="nvmlDeviceGetPowerUsage=16,nvmlDeviceGetFieldValues=15").collect()
    assert [gpu["fault"] for gpu in evidence["nvml"]["gpus"]] == ["GPU is lost", "GPU is lost"]
    assert evidence["nvml"]["error"]["code"] == 15
    assert len(evidence["collector_errors"]) == 4


def test_what_an_unprivileged_user_may_not_see(make_node: t.Callable[..., Node]) -> None:
    evidence = make_node(FAIL="nvmlDeviceGetComputeRunningProcesses_v3=4").collect()
    assert evidence["nvml"]["error"] is None
    assert evidence["collector_errors"] == [
        {"what": "nvml", "error": f"nvmlDeviceGetComputeRunningProcesses_v3 of GPU {index}: Insufficient Permissions"} for index in (0, 1)
    ]


@pytest.mark.parametrize("function", ["nvmlInit_v2", "nvmlDeviceGetTemperatureV"])
def test_a_hang_costs_one_timeout(make_node: t.Callable[..., Node], function: str) -> None:
    made = make_node(HANG=function)
    started = time.monotonic()
    evidence = made.collect(timeout=0.5)
    assert time.monotonic() - started < 2.5
    assert evidence["nvml"]["error"] == {"function": "", "code": 10, "text": "no answer within 0.5 s"}
    assert "nvidia-smi" not in made.started
    assert [error["what"] for error in evidence["collector_errors"]] == ["nvml"]
    assert "nvidia-smi was not run" in evidence["collector_errors"][0]["error"]


def test_a_library_that_crashes(make_node: t.Callable[..., Node], tmp_path: Path) -> None:
    source = tmp_path / "crash.c"
    source.write_text("int nvmlInit_v2(void) { *(volatile int *)0 = 0; return 0; }\n")
    made = make_node(use=stub.compiled(source, tmp_path / "crash"))
    evidence = made.collect()
    assert evidence["nvml"]["error"]["code"] == 999
    assert "status -11" in evidence["nvml"]["error"]["text"]
    assert gpus.read(read(evidence)).source == gpus.SMI


def test_of_several_libraries_the_first_that_answers(library: Path, make_node: t.Callable[..., Node], tmp_path: Path) -> None:
    make_node()
    source = tmp_path / "mismatch.c"
    source.write_text("int nvmlInit_v2(void) { return 18; }\n")
    mismatch = stub.compiled(source, tmp_path / "mismatch")
    candidates = [("/empty", "/dev/null"), ("/mismatch", str(mismatch)), ("/good", str(library))]
    assert nvml_session.ask(candidates)["nvml"]["library"] == "/good"
    failed = nvml_session.ask(candidates[:2])["nvml"]
    assert (failed["library"], failed["error"]["code"]) == ("/mismatch", 18)
    assert nvml_session.ask(candidates[:1])["nvml"]["error"]["function"] == "dlopen"


def test_the_driver_root(make_node: t.Callable[..., Node], library: Path) -> None:
    made = make_node()
    folder = made.root / "opt" / "driver" / "usr" / "lib64"
    folder.mkdir(parents=True)
    (folder / "libnvidia-ml.so.1").symlink_to(library)
    evidence = made.collect(driver_root="/opt/driver/")
    assert evidence["libraries"] == [{"path": "/opt/driver/usr/lib64/libnvidia-ml.so.1", "target": "libnvidia-ml.so.1"}]
    assert evidence["nvml"]["library"] == "/opt/driver/usr/lib64/libnvidia-ml.so.1"
