# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bridge per instance with the host on it, and a network namespace per machine. Nothing is routed or translated: a machine reaches the host only.

Every name that is made has the number of the instance's subnet in it, so that ``down`` finds all of them without a record.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

# The third byte of 10.99.x.0/24. Other names get one from 16 on.
WELL_KNOWN = {"demo": 0, "integration": 1, "molecule": 2}
_FIRST_FREE, _LAST_FREE = 16, 250
FIRST_MACHINE = 11
PREFIX_LENGTH = 24


@dataclass(frozen=True)
class Subnet:
    """The network of one instance, by its number."""

    number: int

    @property
    def bridge(self) -> str:
        return f"gpufleet{self.number}"

    @property
    def host_address(self) -> str:
        return self._address(1)

    def machine_address(self, position: int) -> str:
        """Return the address of the machine at ``position`` (from 0)."""
        return self._address(FIRST_MACHINE + position)

    def namespace(self, position: int) -> str:
        return f"{self.bridge}-{FIRST_MACHINE + position}"

    def link(self, position: int) -> str:
        """Return the name of the host's end of a machine's cable; the kernel allows 15 characters."""
        return f"gf{self.number}-{FIRST_MACHINE + position}"

    def _address(self, last: int) -> str:
        return str(ipaddress.IPv4Address("10.99.0.0") + 256 * self.number + last)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def link_names() -> set[str]:
    """Return the names of the host's network interfaces."""
    return {link["ifname"] for link in json.loads(_ip("-json", "link", "show"))}


def _candidates(name: str) -> list[int]:
    start = zlib.crc32(name.encode()) % (_LAST_FREE - _FIRST_FREE)
    others = [_FIRST_FREE + (start + step) % (_LAST_FREE - _FIRST_FREE) for step in range(_LAST_FREE - _FIRST_FREE)]
    return [WELL_KNOWN[name], *others] if name in WELL_KNOWN else others


def choose_subnet(name: str, taken_links: set[str]) -> Subnet:
    """Return the subnet for a new instance: the one that its name stands for, or the next whose bridge doesn't exist.

    :param taken_links: names of the interfaces that exist
    :raises RuntimeError: there is none left
    """
    for number in _candidates(name):
        if Subnet(number).bridge not in taken_links:
            return Subnet(number)
    raise RuntimeError("no free subnet in 10.99.0.0/16: take other instances of the testbed down first")


def create_bridge(subnet: Subnet) -> None:
    """Make the bridge, with the host's address on it."""
    _ip("link", "add", subnet.bridge, "type", "bridge")
    _ip("address", "add", f"{subnet.host_address}/{PREFIX_LENGTH}", "dev", subnet.bridge)
    _ip("link", "set", subnet.bridge, "up")


def connect(subnet: Subnet, position: int) -> None:
    """Make the namespace of a machine and plug it into the bridge."""
    namespace, link = subnet.namespace(position), subnet.link(position)
    _ip("netns", "add", namespace)
    _ip("link", "add", link, "type", "veth", "peer", "name", "host0", "netns", namespace)
    _ip("link", "set", link, "master", subnet.bridge, "up")
    _ip("-netns", namespace, "link", "set", "lo", "up")
    _ip("-netns", namespace, "address", "add", f"{subnet.machine_address(position)}/{PREFIX_LENGTH}", "dev", "host0")
    _ip("-netns", namespace, "link", "set", "host0", "up")


def disconnect(subnet: Subnet, position: int) -> None:
    """Take away what :func:`connect` made, as far as it is there.

    The cable goes first: a namespace's own end lingers after its deletion, and would keep the name taken for the next ``connect``.
    """
    if subnet.link(position) in link_names():
        _ip("link", "delete", subnet.link(position))
    if Path("/run/netns", subnet.namespace(position)).exists():
        _ip("netns", "delete", subnet.namespace(position))


def remove(subnet: Subnet) -> None:
    """Take away every interface and namespace of the subnet."""
    prefix = subnet.link(0).partition("-")[0] + "-"
    for link in sorted(name for name in link_names() if name.startswith(prefix)):
        _ip("link", "delete", link)
    if subnet.bridge in link_names():
        _ip("link", "delete", subnet.bridge)
    for namespace in Path("/run/netns").glob(f"{subnet.bridge}-*"):
        _ip("netns", "delete", namespace.name)
