# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel module files without code: enough ELF for modinfo, depmod and modprobe to read their descriptions."""

from __future__ import annotations

import struct

# System V ABI, ELF-64 object file format: sizes of the file header and of a section header.
_HEADER_SIZE, _SECTION_SIZE = 64, 64
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _STRTAB, _ALLOC = 1, 2, 3, 2


def _section(name: int, kind: int, flags: int, offset: int, size: int, link: int = 0, info: int = 0, entry: int = 0) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, link, info, 1, entry)


def kernel_module(fields: list[tuple[str, str]]) -> bytes:
    """Return the bytes of a .ko file.

    :param fields: what ``modinfo`` shows, in this order; a name may come more than once
    """
    information = b"".join(f"{name}={value}".encode() + b"\0" for name, value in fields)
    names = b"\0.modinfo\0.symtab\0.strtab\0.shstrtab\0"
    symbols = bytes(24)  # the one that every table begins with
    strings = b"\0"
    offsets, content = [], b""
    for part in (information, symbols, strings, names):
        content += bytes(-len(content) % 8)
        offsets.append(_HEADER_SIZE + len(content))
        content += part
    content += bytes(-len(content) % 8)
    sections = [
        bytes(_SECTION_SIZE),
        _section(names.index(b".modinfo"), _PROGBITS, _ALLOC, offsets[0], len(information)),
        _section(names.index(b".symtab"), _SYMTAB, 0, offsets[1], len(symbols), link=3, info=1, entry=24),
        _section(names.index(b".strtab"), _STRTAB, 0, offsets[2], len(strings)),
        _section(names.index(b".shstrtab"), _STRTAB, 0, offsets[3], len(names)),
    ]
    table = _HEADER_SIZE + len(content)
    header = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", _RELOCATABLE, _X86_64, 1, 0, 0, table, 0, _HEADER_SIZE, 0, 0, _SECTION_SIZE, len(sections), len(sections) - 1)
    return header + content + b"".join(sections)


def nvidia_modules(version: str) -> dict[str, bytes]:
    """Return the open driver's module files by name, as ``modinfo`` would describe those of ``version``."""
    parts = {"nvidia": "", "nvidia-modeset": "nvidia", "nvidia-drm": "nvidia-modeset", "nvidia-uvm": "nvidia"}
    modules = {}
    for name, needs in parts.items():
        # The driver claims display and 3D controllers of NVIDIA, whatever the model.
        aliases = [("alias", f"pci:v000010DEd*sv*sd*bc03sc{subclass}i00*") for subclass in ("02", "00")] if name == "nvidia" else []
        described = [*aliases, ("version", version), ("license", "Dual MIT/GPL"), ("depends", needs), ("name", name.replace("-", "_"))]
        modules[f"{name}.ko"] = kernel_module(described)
    return modules
