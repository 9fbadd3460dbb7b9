# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the container runtime's answers."""

from __future__ import annotations

import json

import pytest

from tests.testbed.fleet import cri


def field(number: int, content: str | bytes) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    length, left = b"", len(data)
    while left > 0x7F:
        length, left = length + bytes([left & 0x7F | 0x80]), left >> 7
    return bytes([number << 3 | 2]) + length + bytes([left]) + data


def test_handlers_come_from_containerds_configuration_and_from_the_field_of_newer_runtimes():
    config = {
        "enableCDI": True,
        "containerd": {
            "defaultRuntimeName": "runc",
            "runtimes": {"runc": {"options": None}, "nvidia": {"options": {"BinaryName": "/usr/bin/nvidia-container-runtime"}}},
        },
    }
    condition = field(1, "RuntimeReady") + b"\x10\x01"
    message = field(1, field(1, condition)) + field(2, field(1, "config") + field(2, json.dumps(config))) + field(3, field(1, "crun") + field(2, b"\x08\x01"))
    assert cri.parse_status(message) == cri.RuntimeStatus(
        handlers={"crun": "", "runc": "", "nvidia": "/usr/bin/nvidia-container-runtime"}, default_handler="runc", cdi_enabled=True
    )


def test_version():
    assert cri.parse_version(field(1, "0.1.0") + field(2, "containerd") + field(3, "v2.1.0") + field(4, "v1")) == "containerd://2.1.0"


@pytest.mark.parametrize("message", [b"\x0a", b"\x0f", field(2, field(1, "config") + field(2, "no json"))])
def test_what_is_no_answer(message):
    with pytest.raises(cri.CriError):
        cri.parse_status(message)
