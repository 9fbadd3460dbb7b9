# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The wire format of protocol buffers, to read messages without their schema."""

from __future__ import annotations

import typing as t

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}

Message = t.Dict[int, t.List[t.Union[int, bytes]]]


def parse(data: bytes) -> Message:
    """Field number to the values in their order: integers, or the bytes of strings and messages.

    :raises ValueError: the message ends early or has a wire type that is no longer in use.
    """
    fields: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _BYTES:
            length, at = _varint(data, at)
            value, at = _take(data, at, length)
        elif kind in _FIXED_SIZES:
            value, at = _take(data, at, _FIXED_SIZES[kind])
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        fields.setdefault(number, []).append(value)
    return fields


def texts(fields: Message, number: int) -> list[str]:
    """All values of a string field."""
    return [value.decode("utf-8", "replace") for value in fields.get(number, []) if isinstance(value, bytes)]


def text(fields: Message, number: int) -> str:
    """A string field; empty where it isn't set."""
    return (texts(fields, number) or [""])[-1]


def flag(fields: Message, number: int) -> bool:
    """A boolean field; false where it isn't set."""
    return bool(fields.get(number, [0])[-1])


def messages(fields: Message, number: int) -> list[Message]:
    """All messages of a field."""
    return [parse(value) for value in fields.get(number, []) if isinstance(value, bytes)]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise ValueError(f"integer ends early at byte {at}")


def _take(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(data):
        raise ValueError(f"value ends early at byte {at}")
    return data[at:at + length], at + length
