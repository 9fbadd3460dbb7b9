# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every form of nvidia-smi's output is told by its content and gives the same facts."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import evidence, gpu_record, gpus, smi, smi_error, smi_values
from tests.unit.node_cases import CASES

UUID = "GPU-00000001-0000-4000-8000-000000000001"
Q = f"""
==============NVSMI LOG==============

Timestamp                                 : Mon Nov 30 19:49:22 2026
Driver Version                            : 580.159.04
CUDA Version                              : 13.0

Attached GPUs                             : 1
GPU 00000000:00:06.0
    Product Name                          : NVIDIA H200
    Product Brand                         : NVIDIA
    Product Architecture                  : Hopper
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Enabled
        Pending                           : Disabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 9
        Compute Instance ID               : 0
        FB Memory Usage
            Total                         : 16384 MiB
            Used                          : 11 MiB
    Serial Number                         : 1650000000001
    GPU UUID                              : {UUID}
    Minor Number                          : 0
    VBIOS Version                         : 96.00.A5.00.1A
    GPU Virtualization Mode
        Virtualization Mode               : Pass-Through
    GPU Recovery Action                   : None
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        Display Clock Setting             : Active
    FB Memory Usage
        Total                             : 143771 MiB
        Used                              : 5 MiB
    BAR1 Memory Usage
        Total                             : 262144 MiB
    Compute Mode                          : Default
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 2
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Uncorrectable            : 3
        Aggregate
            DRAM Uncorrectable            : 7
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 40 C
        GPU T.Limit Temp                  : 47 C
        Memory Current Temp               : 43 C
    GPU Power Readings
        Average Power Draw                : 123.44 W
        Current Power Limit               : 700.00 W
        Default Power Limit               : 700.00 W
        Max Power Limit                   : 700.00 W
    Clocks
        SM                                : 405 MHz
        Memory                            : 3201 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 3201 MHz
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 0
        ClusterUUID                       : 00000000-0000-0000-0000-000000000000
    Processes
        GPU instance ID                   : 9
        Compute instance ID               : 0
        Process ID                        : 1234
            Type                          : C
            Name                          : python
            Used GPU Memory               : 100 MiB
        Process ID                        : 99
            Type                          : G
            Name                          : Xorg
            Used GPU Memory               : 4 MiB
"""
TABLE = """
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:00:04.0 Off |                   On |
| N/A   31C    P0             44W /  400W |      38MiB /  40960MiB |     N/A   E. Process |
|                                         |                        |             Enabled* |
| MIG devices:                                                                            |
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|      Shared           |
|  0    1   0   0  |              19MiB / 20096MiB    | 42      0 |  3   0    2    0    0 |
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|    0    1    0            1234      C   /usr/bin/python3 train.py               100MiB |
|    0  N/A  N/A              99      G   /usr/lib/xorg/Xorg                        4MiB |
"""
CSV = f"""index, name, uuid, pci.bus_id, memory.total [MiB], power.draw [W], power.draw.instant [W], remapped_rows.pending, clocks_event_reasons.hw_slowdown
3, NVIDIA H200, {UUID}, 00000000:00:06.0, 143771 MiB, [N/A], 81.40 W, No, Active
"""


def _one(text: str) -> dict[str, t.Any]:
    (gpu,) = smi.parse(text)["gpus"]
    assert tuple(gpu) == gpus.GPU_FIELDS
    return gpu


def test_q_text() -> None:
    report = smi.parse(Q)
    assert (smi.form(Q), report["driver_version"], report["cuda_version"], report["attached_gpus"]) == ("q", "580.159.04", "13.0", 1)
    gpu = _one(Q)
    mig = dict.fromkeys(gpu_record.MIG_FIELDS)
    assert gpu["mig_devices"] == [{**mig, "index": 0, "gpu_instance_id": 9, "compute_instance_id": 0, "memory_total_mib": 16384}]
    assert (gpu["memory_total_mib"], gpu["memory_used_mib"], gpu["mig_mode"], gpu["mig_mode_pending"]) == (143771, 5, "Enabled", "Disabled")
    assert (gpu["ecc_uncorrected_volatile"], gpu["ecc_uncorrected_aggregate"]) == (5, 7)
    assert gpu["row_remapping"] == {"correctable": 0, "uncorrectable": 1, "pending": True, "failed": False}
    assert gpu["throttle_reasons"] == ["hw_slowdown", "hw_thermal_slowdown", "display_clocks_setting"]
    assert gpu["processes"] == [{"pid": 1234, "type": "C", "name": "python", "memory_mib": 100}]


def test_q_text_and_xml_agree() -> None:
    """On what the capture of the H200 and the text above have in common."""
    xml = smi.parse((CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8"))["gpus"][0]
    differing = {"mig_mode", "mig_mode_pending", "mig_devices", "memory_used_mib", "throttle_reasons", "row_remapping", "processes"}
    differing |= {"ecc_uncorrected_volatile", "ecc_uncorrected_aggregate"}
    text = _one(Q)
    assert {name: value for name, value in text.items() if name not in differing} == {name: value for name, value in xml.items() if name not in differing}


def test_table() -> None:
    assert smi.form(TABLE) == "table"
    gpu = _one(TABLE)
    assert (gpu["mig_mode"], gpu["mig_mode_pending"], gpu["compute_mode"]) == ("Enabled", "Disabled", "Exclusive_Process")
    assert gpu["processes"] == [{"pid": 1234, "type": "C", "name": "/usr/bin/python3 train.py", "memory_mib": 100}]
    assert [(device["gpu_instance_id"], device["memory_total_mib"]) for device in gpu["mig_devices"]] == [(1, 20096)]


def test_csv() -> None:
    assert smi.form(CSV) == "csv"
    gpu = _one(CSV)
    assert (gpu["index"], gpu["uuid"], gpu["power_draw_w"], gpu["throttle_reasons"]) == (3, UUID, 81.4, ["hw_slowdown"])
    assert gpu["row_remapping"] == {"correctable": None, "uncorrectable": None, "pending": False, "failed": None}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n", 18),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9),
        ("No devices were found\n", 6),
        ("Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU\n", 15),
        ("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n", 255),
        ("Failed to initialize NVML: Unknown Error\n", 255),
        ("bash: nvidia-smi: command not found\n", 127),
        ("GPU 0: NVIDIA H200\n", None),
    ],
)
def test_errors_without_their_exit_code(text: str, code: int | None) -> None:
    assert smi_error.exit_code(text) == code
    assert smi.form(text) == (None if code is None else "error")


def test_a_log_that_quotes_an_error_is_no_output_of_nvidia_smi() -> None:
    assert smi.form("line\n" * 30 + "Failed to initialize NVML: Unknown Error\n") is None
    assert smi.form("one, two, three\nfour, five, six\n") is None
    assert smi.form("") is None


@pytest.mark.parametrize(("value", "expected"), [("[N/A]", None), (" N/A ", None), ("[Not Supported]", None), ("None", "None"), ("[GPU is lost]", None)])
def test_words(value: str, expected: str | None) -> None:
    assert smi_values.word(value) == expected


def _read(**raw: t.Any) -> gpus.Reading:
    return gpus.read(evidence.read(raw))


def test_nvml_and_xml_give_equal_facts() -> None:
    xml = smi.parse((CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8"))
    derived = {"product_known", "compute_capability", "fault"}
    records = [{name: value for name, value in gpu.items() if name not in derived} for gpu in xml["gpus"]]
    reading = _read(nvml={"library": "/usr/lib/libnvidia-ml.so.1", "error": None, "driver_version": "580.159.04", "cuda_version": "13.0", "gpus": records})
    assert (reading.source, reading.driver_version, reading.attached_gpus, reading.failure) == ("nvml", "580.159.04", 2, None)
    assert reading.gpus == xml["gpus"]


def test_limits_that_nvml_alone_has_are_left_out_beside_a_margin() -> None:
    (gpu,) = _read(nvml={"gpus": [{"product": "NVIDIA H200", "tlimit_c": 47, "temperature_slowdown_c": 87, "temperature_shutdown_c": 92}]}).gpus
    assert (gpu["temperature_slowdown_c"], gpu["temperature_shutdown_c"]) == (None, None)


def test_values_of_a_wrong_type_from_nvml_are_unknown() -> None:
    (gpu,) = _read(nvml={"error": None, "gpus": [{"index": "0", "uuid": 5, "mig_devices": {}, "unified_memory": 1, "processes": [1], "power_draw_w": 5}]}).gpus
    assert gpu == gpu_record.complete({**gpu_record.blank(0), "power_draw_w": 5.0})


def test_nvml_that_fails_says_why() -> None:
    reading = _read(nvml={"library": "x", "error": {"function": "nvmlInit_v2", "code": 18, "text": "Driver/library version mismatch"}, "gpus": []})
    assert (reading.source, reading.attached_gpus) == (None, None)
    assert reading.failure == {"where": "nvmlInit_v2", "code": 18, "text": "Driver/library version mismatch"}


def test_outputs_of_one_node_complete_each_other() -> None:
    listed = f"GPU 0: NVIDIA H200 (UUID: {UUID})\n  MIG 1g.18gb     Device  0: (UUID: MIG-00000000-0000-0000-0000-000000000000)\n"
    said = {"nvidia_smi_xml": {"rc": 0, "stdout": Q}, "nvidia_smi_list": {"rc": 0, "stdout": listed}}
    (gpu,) = _read(commands=said).gpus
    (device,) = gpu["mig_devices"]
    assert (device["profile"], device["gpu_instance_id"], device["memory_total_mib"]) == ("1g.18gb", 9, 16384)


def test_driver_without_devices_has_none() -> None:
    assert _read(commands={"nvidia_smi": {"rc": 6, "stdout": "No devices were found\n"}}).attached_gpus == 0
    assert _read(commands={"nvidia_smi": {"rc": 9, "stdout": "NVIDIA-SMI has failed\n"}}).attached_gpus is None
    assert _read().attached_gpus is None


@pytest.mark.parametrize(
    ("product", "architecture", "mode", "expected"),
    [
        ("NVIDIA GB10", "Blackwell", None, ("12.1", True, None)),
        ("NVIDIA GH200 480GB", "Hopper", None, ("9.0", False, None)),
        ("NVIDIA GB200", "Blackwell", None, ("10.0", False, None)),
        ("NVIDIA A100-SXM4-40GB", "Ampere", None, ("8.0", False, None)),
        ("NVIDIA A10", "Ampere", None, ("8.6", False, None)),
        ("GRID T4-16Q", "Turing", "VGPU", ("7.5", False, "T4-16Q")),
        ("NVIDIA H100L-2-24C", "Hopper", None, ("9.0", False, "H100L-2-24C")),
        ("NVIDIA Something", "Ampere", None, (None, False, None)),
    ],
)
def test_what_follows_from_the_product(product: str, architecture: str, mode: str | None, expected: tuple[object, ...]) -> None:
    gpu = gpu_record.complete({**gpu_record.blank(0), "product": product, "architecture": architecture, "virtualization_mode": mode})
    assert (gpu["compute_capability"], gpu["unified_memory"], (gpu["vgpu"] or {}).get("profile")) == expected
