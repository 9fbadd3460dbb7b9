# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Made-up values for what identifies hardware and networks.

One value has one pseudonym, whoever writes it and when, so that a bundle stays coherent: a pod's GPU is still a GPU of its node. Each has the form
of what it stands for, so that whatever parses the evidence still does. They are a keyed hash, since a serial number or an address could else be
found by trying all of them. Names of nodes, namespaces and pods stay: the findings speak of them.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import typing as t
import uuid

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)
_MAC = re.compile(r"(?<![\w:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![\w:])", re.IGNORECASE)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?[1-9]\d|1\d\d|\d)"
_IPV4 = re.compile(rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9a-f]*:[0-9a-f]*:)[0-9a-f:]{3,39}(?![\w:]|\.\d)", re.IGNORECASE)
# <serial>1</serial>, Serial Number : 1, "serial": "1"; GUIDs and machine ids likewise.
_NUMBERED = re.compile(
    r"((?:\b|_)(?:serial(?:[_ ]?number)?|machine[_ ]?id|\w{0,40}guid)(?:>|[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*))([\w-]{1,64}(?=[<\"'\\,;\s]|\Z))", re.IGNORECASE
)
_NUMBERED_KEY = re.compile(r"(?:.*[_a-z])?serial(?:_?number)?|machine_?id|.*guid", re.IGNORECASE)
_NOT_KNOWN = re.compile(r"0+|0x0+|n|none|null|not|unknown|requested|disabled|enabled|true|false", re.IGNORECASE)


class Pseudonyms:
    """:param key: secret; the same one gives the same pseudonyms."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def masked(self, value: t.Any) -> t.Any:
        """A copy of what JSON holds with the pseudonyms in it, in names too."""
        if isinstance(value, str):
            return self.masked_text(value)
        if isinstance(value, list):
            return [self.masked(item) for item in value]
        if isinstance(value, dict):
            return {self.masked_text(str(key)): self._number(str(inner)) if _is_number(key, inner) else self.masked(inner) for key, inner in value.items()}
        return value

    def masked_text(self, text: str) -> str:
        text = _UUID.sub(lambda found: self._uuid(found[0]), text)
        text = _NUMBERED.sub(lambda found: found[1] + (found[2] if _NOT_KNOWN.fullmatch(found[2]) else self._number(found[2])), text)
        text = _MAC.sub(lambda found: self._mac(found[0]), text)
        text = _IPV6.sub(lambda found: self._ipv6(found[0]), text)
        return _IPV4.sub(lambda found: self._ipv4(found[0]), text)

    def _digest(self, kind: str, value: str) -> bytes:
        return hmac.new(self._key, f"{kind} {value.lower()}".encode("utf-8", "replace"), hashlib.sha256).digest()

    def _uuid(self, value: str) -> str:
        return str(uuid.UUID(bytes=self._digest("uuid", value)[:16]))

    def _number(self, value: str) -> str:
        """Of the same length, and digits where it was digits."""
        digest = self._digest("number", value)
        text = str(int.from_bytes(digest, "big")) if value.isdecimal() else digest.hex()
        return (text * (len(value) // len(text) + 1))[: len(value)]

    def _mac(self, value: str) -> str:
        """A locally administered address."""
        return ":".join(["02", *(f"{byte:02x}" for byte in self._digest("mac", value)[:5])])

    def _ipv4(self, value: str) -> str:
        """An address of 240.0.0.0/4, which nobody has (RFC 1112, section 4)."""
        address = ipaddress.IPv4Address(value)
        if address.is_loopback or address.is_unspecified or address.is_reserved or value.startswith("255."):
            return value
        number = int.from_bytes(self._digest("ipv4", value)[:4], "big") >> 4
        return str(ipaddress.IPv4Address(0xF0000000 + number))

    def _ipv6(self, value: str) -> str:
        """An address of 2001:db8::/32, which is for examples (RFC 3849)."""
        try:
            address = ipaddress.IPv6Address(value)
        except ValueError:
            return value
        if address.is_loopback or address.is_unspecified:
            return value
        return str(ipaddress.IPv6Address(b"\x20\x01\x0d\xb8" + self._digest("ipv6", str(address))[:12]))


def _is_number(key: t.Any, value: t.Any) -> bool:
    known = isinstance(value, (str, int)) and not isinstance(value, bool) and re.fullmatch(r"[\w-]+", str(value)) is not None
    return known and isinstance(key, str) and _NUMBERED_KEY.fullmatch(key) is not None and not _NOT_KNOWN.fullmatch(str(value))
