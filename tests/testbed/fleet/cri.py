# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a machine's container runtime for the runtime handlers that it knows: CRI ``RuntimeService.Status`` over its socket.

The messages are small enough to read by hand, which saves generated protobuf code. Field numbers are those of
k8s.io/cri-api/pkg/apis/runtime/v1/api.proto.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import grpc

STATUS, VERSION = (f"/runtime.v1.RuntimeService/{method}" for method in ("Status", "Version"))
VERBOSE = b"\x08\x01"  # StatusRequest.verbose = true
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class CriError(Exception):
    """The runtime didn't answer, or not in a way that we understand."""


@dataclass(frozen=True)
class RuntimeStatus:
    """What a running container runtime knows."""

    handlers: Mapping[str, str]  # name -> path of the OCI runtime's binary, "" where the runtime doesn't say
    default_handler: str
    cdi_enabled: bool = False  # injects the CDI devices that a kubelet names
    version: str = ""  # as a Node reports it: containerd://1.7.24


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each length-delimited field of a protobuf message (text, bytes, messages); others are passed over.

    Raises CriError where the bytes are no such message.
    """
    at = 0
    try:
        while at < len(message):
            key, at = _varint(message, at)
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                _value, at = _varint(message, at)
            elif kind == _BYTES:
                length, at = _varint(message, at)
                yield number, message[at:at + length]
                at += length
            elif kind in (_FIXED32, _FIXED64):
                at += 4 if kind == _FIXED32 else 8
            else:
                raise CriError(f"unknown wire type {kind} at byte {at}")
    except IndexError as error:
        raise CriError("the message ends within a field") from error


def parse_status(message: bytes) -> RuntimeStatus:
    """Reads a StatusResponse: ``runtime_handlers`` (field 3, newer runtimes) and containerd's own configuration in ``info`` (field 2).

    Raises CriError where it is no StatusResponse.
    """
    names: set[str] = set()
    info: dict[str, str] = {}
    for number, content in fields(message):
        entry = {part: value.decode(errors="replace") for part, value in fields(content) if part in (1, 2)} if number in (2, 3) else {}
        if number == 2:
            info[entry.get(1, "")] = entry.get(2, "")
        elif number == 3:
            names.add(entry.get(1, ""))
    try:
        config = json.loads(info.get("config", "{}"))
    except json.JSONDecodeError as error:
        raise CriError(f"info.config is no JSON: {error}") from error
    containerd = config.get("containerd", {})
    runtimes = containerd.get("runtimes") or {}
    binaries = {name: (settings.get("options") or {}).get("BinaryName", "") for name, settings in runtimes.items()}
    return RuntimeStatus(
        handlers={**{name: "" for name in names if name}, **binaries}, default_handler=containerd.get("defaultRuntimeName", ""),
        cdi_enabled=config.get("enableCDI", False),
    )


def parse_version(message: bytes) -> str:
    """Reads a VersionResponse: name and version of the runtime. Raises CriError where it is no such message."""
    texts = {number: value.decode(errors="replace") for number, value in fields(message)}
    return f"{texts.get(2, '')}://{texts.get(3, '').removeprefix('v')}"


def _told(error: grpc.RpcError) -> str:
    """The error as Go's gRPC, and so a kubelet, words it: code and description."""
    if not isinstance(error, grpc.Call):
        return f"code = Unknown desc = {error}"
    return f"code = {error.code().name.title().replace('_', '')} desc = {error.details()}"


def runtime_status(socket: Path, *, timeout: float = 2) -> RuntimeStatus:
    """The status of the runtime that listens on ``socket``. Raises CriError where there is no answer within ``timeout`` seconds."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"unix://{socket}", options=options) as channel:

        def ask(method: str, request: bytes) -> bytes:
            answer: bytes = channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)(request, timeout=timeout)
            return answer

        try:
            status, version = ask(STATUS, VERBOSE), ask(VERSION, b"")
        except grpc.RpcError as error:
            raise CriError(_told(error)) from error
    return replace(parse_status(status), version=parse_version(version))
