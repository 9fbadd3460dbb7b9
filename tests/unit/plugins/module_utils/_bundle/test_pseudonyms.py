# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.pseudonyms import Pseudonyms

UUID = "12345678-9abc-def0-1234-56789abcdef0"
PSEUDONYMS = Pseudonyms(b"a key")


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (f"GPU 0: NVIDIA H200 (UUID: GPU-{UUID})", UUID),
        (f"MIG-GPU-{UUID}/3/0", UUID),
        (f"kubepods-pod{UUID}.slice", UUID),
        (UUID.upper(), UUID.upper()),
        ("<serial>1654422005434</serial>", "1654422005434"),
        ("    Serial Number                         : 1654422005434", "1654422005434"),
        ('"serial": "1654422005434"', "1654422005434"),
        ("<gpu_fabric_guid>0x0123456789abcdef</gpu_fabric_guid>", "0123456789abcdef"),
        ("dial tcp 10.3.0.17:10250: connect: refused", "10.3.0.17"),
        ("podCIDR 10.244.7.0/24", "10.244.7.0"),
        ("fe80::aabb:1", "fe80::aabb:1"),
        ("link/ether 0c:42:a1:00:7b:11 brd", "0c:42:a1:00:7b:11"),
    ],
)
def test_what_identifies_is_replaced(text: str, gone: str) -> None:
    masked = PSEUDONYMS.masked_text(text)
    assert gone not in masked
    assert len(masked.split()) == len(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "driver 580.159.04, CUDA 13.0, VBIOS 96.00.5E.00.01 and 92.00.45.00.03",
        "0000:17:00.0 bound to nvidia",
        "Xid (PCI:0000:17:00): 79, pid=1234",
        "2026-11-30T22:00:00.123456Z and 12:34:56.789",
        "127.0.0.1:8080 ::1 0.0.0.0 255.255.255.0",
        "<serial>N/A</serial> <gpu_fabric_guid>0x0000000000000000</gpu_fabric_guid>",
        "    Serial Number                         : 0",
        "std::string sha256:0123456789abcdef",
        "v1.36.3+k3s1 containerd://2.1.4",
    ],
)
def test_what_does_not_stays(text: str) -> None:
    assert PSEUDONYMS.masked_text(text) == text


def test_equal_values_stay_equal_wherever_they_are() -> None:
    masked = PSEUDONYMS.masked(
        {"gpus": [{"uuid": f"GPU-{UUID}", "serial": "1654422005434"}], "log": f"GPU-{UUID} lost", "xml": "<serial>1654422005434</serial>"}
    )
    [gpu] = masked["gpus"]
    assert masked["log"] == f"{gpu['uuid']} lost"
    assert masked["xml"] == f"<serial>{gpu['serial']}</serial>"
    assert gpu["serial"].isdigit()
    assert len(gpu["serial"]) == 13


def test_the_key_decides() -> None:
    assert Pseudonyms(b"a key").masked_text(UUID) == PSEUDONYMS.masked_text(UUID)
    assert Pseudonyms(b"another").masked_text(UUID) != PSEUDONYMS.masked_text(UUID)


def test_names_of_fields_are_masked_and_other_values_kept() -> None:
    value = {"10.0.0.9": {"ready": True, "count": 3, "none": None, "ratio": 0.5}}
    [(key, inner)] = PSEUDONYMS.masked(value).items()
    assert key != "10.0.0.9"
    assert inner == value["10.0.0.9"]
    assert json.dumps(inner)


@pytest.mark.parametrize("value", ["N/A", "0", "", "[Unknown Error]", None, False])
def test_unknown_serial_numbers_stay(value: object) -> None:
    assert PSEUDONYMS.masked({"serial": value}) == {"serial": value}
