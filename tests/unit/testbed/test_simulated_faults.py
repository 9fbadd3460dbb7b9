# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated hardware's faults, as far as they need no machine."""

from __future__ import annotations

import itertools
import json

import pytest
import yaml

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import kernel_log as collected
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import kernel_log as facts
from tests.testbed.fleet import hardware, kernel_log, pci_tree, simulated, simulated_kernel
from tests.testbed.fleet.packages.toolkit import cdi_refresh

GPUS = ["0000:00:06.0", "0000:00:07.0"]


@pytest.mark.parametrize(("faults", "left"), [([], GPUS), (["gpu-gone"], GPUS[:1]), (["no-gpu"], []), (["gpu-gone", "no-gpu"], [])])
def test_the_bus_shows_what_the_faults_leave(faults, left):
    shown = [device["address"] for device in simulated_kernel.visible_devices(hardware.describe("gpu-1", faults))]
    assert shown == [device["address"] for device in hardware.OTHER_DEVICES] + left


def test_memory_windows_lie_side_by_side_at_their_own_sizes():
    lines = [[int(number, 16) for number in line.split()] for line in pci_tree.resource([16, 262144, 32]).splitlines()]
    windows = [(start, end) for start, end, _flags in lines if end]
    assert [(end + 1 - start) >> 20 for start, end in windows] == [16, 262144, 32]
    assert all(start % (end + 1 - start) == 0 for start, end in windows)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(windows))


@pytest.mark.parametrize("number", kernel_log.FAULTS)
def test_the_collector_reads_the_log(tmp_path, monkeypatch, number):
    monkeypatch.setattr(kernel_log, "LOG", tmp_path / "kmsg")
    kernel_log.LOG.touch()
    kernel_log.loading("580.159.04")
    kernel_log.fault(GPUS[0], number, "GPU-1")
    evidence = collected.from_kmsg(kernel_log.LOG.read_text(), GPUS)
    assert evidence["complete"]
    found = facts.parse(evidence["lines"])
    assert (found["driver_version"], found["kernel_module"]) == ("580.159.04", "open")
    assert [(event["kind"], event["code"], event["pci_address"]) for event in found["events"]] == [("xid", number, GPUS[0]), ("xid", 154, GPUS[0])]


def test_nvidia_smi_loses_a_lost_gpu_and_tells_of_a_stuck_one(tmp_path):
    machine = simulated.SimulatedMachine(tmp_path / "node", "node", 2)
    assert machine.nvidia_smi(["-q", "-x"]).output.count("<gpu_recovery_action>None<") == 2
    sick = tmp_path / "node" / "sick.json"
    sick.write_text(json.dumps({GPUS[1]: {"gpu_recovery_action": "Reset", "is_lost": False}}))
    assert machine.nvidia_smi(["-q", "-x"]).output.count("<gpu_recovery_action>Reset<") == 1
    sick.write_text(json.dumps({GPUS[1]: {"gpu_recovery_action": "Reboot", "is_lost": True}}))
    lost = machine.nvidia_smi(["-L"])
    assert lost.exit_code == 15
    assert lost.output.startswith(f"Unable to determine the device handle for GPU1: {GPUS[1]}: GPU is lost.")


def test_the_cdi_specification_is_yaml():
    specification = cdi_refresh.specification("GPU 0: NVIDIA H200 (UUID: GPU-a)\nGPU 1: NVIDIA H200 (UUID: GPU-b)\n", ["/usr/lib/libcuda.so.580.159.04"])
    assert yaml.safe_load(cdi_refresh.yaml(specification)) == specification
    assert [device["name"] for device in specification["devices"]] == ["0", "GPU-a", "1", "GPU-b", "all"]
