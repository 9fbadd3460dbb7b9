# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Header compression for HTTP/2 (RFC 7541), as far as a gRPC client needs it."""

from __future__ import annotations

import typing as t

# Bits per symbol of RFC 7541 appendix B, symbols 0 to 255 and the end of string. The code is canonical, so the lengths give it.
_LENGTHS = (
    b"\x0d\x17\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x18\x1e\x1c\x1c\x1e\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1e\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c"
    b"\x06\x0a\x0a\x0c\x0d\x06\x08\x0b\x0a\x0a\x08\x0b\x08\x06\x06\x06\x05\x05\x05\x06\x06\x06\x06\x06\x06\x06\x07\x08\x0f\x06\x0c\x0a"
    b"\x0d\x06\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x08\x07\x08\x0d\x13\x0d\x0e\x06"
    b"\x0f\x05\x06\x05\x06\x05\x06\x06\x06\x05\x07\x07\x06\x06\x06\x05\x06\x07\x06\x05\x05\x06\x07\x07\x07\x07\x07\x0f\x0b\x0e\x0d\x1c"
    b"\x14\x16\x14\x14\x16\x16\x16\x17\x16\x17\x17\x17\x17\x17\x18\x17\x18\x18\x16\x17\x18\x17\x17\x17\x17\x15\x16\x17\x16\x17\x17\x18"
    b"\x16\x15\x14\x16\x16\x17\x17\x15\x17\x16\x16\x18\x15\x16\x17\x17\x15\x15\x16\x15\x17\x16\x17\x17\x14\x16\x16\x16\x17\x16\x16\x17"
    b"\x1a\x1a\x14\x13\x16\x17\x16\x19\x1a\x1a\x1a\x1b\x1b\x1a\x18\x19\x13\x15\x1a\x1b\x1b\x1a\x1b\x18\x15\x15\x1a\x1a\x1c\x1b\x1b\x1b"
    b"\x14\x18\x14\x15\x16\x15\x15\x17\x16\x16\x19\x19\x18\x18\x1a\x17\x1a\x1b\x1a\x1a\x1b\x1b\x1b\x1b\x1b\x1c\x1b\x1b\x1b\x1b\x1b\x1a"
    b"\x1e"
)
_STATIC_ENTRIES = 61


def _huffman_codes() -> dict[tuple[int, int], int]:
    """(length in bits, code) to symbol."""
    codes = {}
    code = length = 0
    for symbol in sorted(range(len(_LENGTHS)), key=lambda symbol: (_LENGTHS[symbol], symbol)):
        code <<= _LENGTHS[symbol] - length
        length = _LENGTHS[symbol]
        codes[length, code] = symbol
        code += 1
    return codes


def huffman_decode(data: bytes) -> bytes:
    """Undo the Huffman coding; the padding at the end is dropped."""
    codes = _huffman_codes()
    out = bytearray()
    code = length = 0
    for byte in data:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            length += 1
            symbol = codes.get((length, code))
            if symbol is not None:
                out.append(symbol & 0xFF)
                code = length = 0
    return bytes(out)


def encode(headers: t.Sequence[tuple[bytes, bytes]]) -> bytes:
    """A header block of literals without indexing; names and values below 127 bytes."""
    return b"".join(b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in headers)


class Decoder:
    """The receiving side of one connection. Names of the static table come out as empty: no gRPC status is among them."""

    def __init__(self) -> None:
        self._dynamic: list[tuple[bytes, bytes]] = []

    def decode(self, block: bytes) -> dict[bytes, bytes]:
        """The headers of a block.

        :raises IndexError: the block ends early.
        """
        headers = {}
        at = 0
        while at < len(block):
            first = block[at]
            if first & 0x80:
                index, at = _integer(block, at, 7)
                name, value = self._entry(index)
            elif first & 0xE0 == 0x20:
                _size, at = _integer(block, at, 5)
                continue
            else:
                index, at = _integer(block, at, 6 if first & 0x40 else 4)
                name, at = _string(block, at) if index == 0 else (self._entry(index)[0], at)
                value, at = _string(block, at)
                if first & 0x40:
                    self._dynamic.insert(0, (name, value))
            headers[name] = value
        return headers

    def _entry(self, index: int) -> tuple[bytes, bytes]:
        return self._dynamic[index - _STATIC_ENTRIES - 1] if index > _STATIC_ENTRIES else (b"", b"")


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    limit = (1 << bits) - 1
    value = block[at] & limit
    at += 1
    shift = 0
    while value >= limit:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return value, at


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    huffman = block[at] & 0x80
    length, at = _integer(block, at, 7)
    if at + length > len(block):
        raise IndexError("header block ends inside a string")
    text = block[at:at + length]
    return huffman_decode(text) if huffman else text, at + length
