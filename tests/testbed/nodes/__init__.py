# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootable GPU nodes: build what they boot from, start and end them, get into them."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.testbed.fleet import hardware, packages
from tests.testbed.nodes import bases, cgroups, inventory, machines, network, repository, requirements
from tests.testbed.nodes.machines import Machine
from tests.testbed.paths import CACHE, checked_name

# Machines that boot at the same time; more of them only wait for each other.
_AT_ONCE = 4
__all__ = ["Machine", "build", "down", "leader", "names", "node_exec", "reboot", "root", "set_faults", "start_repository", "stop_repository", "up"]


def build(say: Callable[[str], None]) -> None:
    """Build the bases and the package repositories, as far as they are not there.

    :param say: called with a line per step
    :raises requirements.Unmet: the host lacks something
    """
    requirements.check()
    bases.build_bases(say)
    packages.build_repositories(say)


def leader(instance: Path, node: str) -> int | None:
    """Return the host's id of the machine's process 1, or None while it doesn't run. It changes with each reboot."""
    return machines.leader(Machine(instance, node))


def root(instance: Path, node: str) -> Path:
    """Return the machine's file system as the machine sees it, with all its mounts and sockets.

    :raises RuntimeError: the machine is not running
    """
    pid = leader(instance, node)
    if pid is None:
        raise RuntimeError(f"{node}: not running")
    return Path("/proc", str(pid), "root")


def node_exec(instance: Path, node: str, argv: list[str], **options: Any) -> subprocess.CompletedProcess:
    """Run a command in the machine.

    :param options: for :func:`subprocess.run`
    :raises RuntimeError: the machine is not running
    """
    return machines.enter(Machine(instance, node), argv, **options)


def reboot(instance: Path, node: str) -> None:
    """Reboot a machine and wait until it is up again.

    :raises RuntimeError: it is not running
    :raises TimeoutError: it took too long
    """
    machines.reboot(Machine(instance, node))


def names(instance: Path) -> list[str]:
    """Return the names of the instance's machines."""
    return sorted(path.name for path in (instance / "nodes").glob("*") if path.is_dir())


def set_faults(instance: Path, node: str, faults: Iterable[str]) -> None:
    """Give a machine exactly these hardware faults. If it runs, its devices go and come back at once, and drivers claim them anew.

    :param faults: names out of ``hardware.FAULTS``; none of them clears all
    :raises ValueError: there is no such fault
    """
    machine = Machine(instance, node)
    hardware.change_faults(machine.hardware, node, faults)
    if machines.leader(machine) is not None:
        machines.enter(machine, ["/usr/bin/python3", "/srv/gpu-hardware/simulated_kernel.py", "rescan"], check=True)


def _subnet(instance: Path) -> network.Subnet | None:
    record = instance / "subnet"
    return network.Subnet(int(record.read_text())) if record.exists() else None


def stop_repository(instance: Path) -> None:
    """Let the machines find their package repository dead."""
    repository.stop(instance)


def start_repository(instance: Path) -> str:
    """Start the instance's package repository again, and return the URL above its parts.

    :raises RuntimeError: the instance has no network
    """
    subnet = _subnet(instance)
    if subnet is None:
        raise RuntimeError(f"{instance.name}: not up")
    return repository.start(instance, subnet.host_address)


@contextmanager
def _network_lock() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".network.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _new_subnet(instance: Path, name: str) -> network.Subnet:
    """Choose a subnet, write it down, and only then make its bridge: whatever happens in between, ``down`` knows what to look for."""
    with _network_lock():
        subnet = network.choose_subnet(name, network.link_names())
        record = instance / "subnet"
        record.with_suffix(".unfinished").write_text(f"{subnet.number}\n")
        record.with_suffix(".unfinished").rename(record)
        network.create_bridge(subnet)
    return subnet


def up(instance: Path, name: str, nodes: dict[str, str], say: Callable[[str], None]) -> None:
    """Boot the machines of an instance, some at a time, and wait until each of them is up.

    An instance whose machines run already is left as it is; what is left of any other is removed first.

    :param instance: folder of the instance
    :param nodes: Debian suite by machine
    :param say: called with a line per step
    :raises requirements.Unmet: the host lacks something
    :raises RuntimeError: something didn't start; all that was started is removed again
    """
    requirements.check()
    for node, suite in nodes.items():
        checked_name(node)
        if not bases.base_dir(suite).exists():
            raise RuntimeError(f"base {suite} is not built; run: python -m tests.testbed build")
    if _runs_already(instance, nodes):
        say("machines: running already")
        return
    down(instance, name)
    instance.mkdir(parents=True, exist_ok=True)
    try:
        _boot(instance, name, nodes, say)
    except BaseException:
        down(instance, name)
        raise


def _runs_already(instance: Path, nodes: dict[str, str]) -> bool:
    if names(instance) != sorted(nodes) or not repository.is_running(instance):
        return False
    return all(leader(instance, node) and (instance / "nodes" / node / "suite").read_text().strip() == suite for node, suite in nodes.items())


def _boot(instance: Path, name: str, nodes: dict[str, str], say: Callable[[str], None]) -> None:
    subnet = _new_subnet(instance, name)
    key = inventory.make_key(instance)
    url = repository.start(instance, subnet.host_address)
    say(f"packages at {url}/driver and {url}/toolkit")
    addresses = {node: subnet.machine_address(position) for position, node in enumerate(nodes)}

    def boot(position: int, node: str) -> str:
        machine = Machine(instance, node)
        hardware.install(machine.hardware, node)
        machines.prepare(machine, bases.base_dir(nodes[node]), key)
        (machine.folder / "address").write_text(f"{addresses[node]}\n")
        (machine.folder / "suite").write_text(f"{nodes[node]}\n")
        network.connect(subnet, position)
        return machines.wait_until_up(machine, machines.start(machine, subnet.namespace(position)))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for node, state in zip(nodes, pool.map(boot, range(len(nodes)), nodes), strict=True):
            say(f"{node}: {nodes[node]} at {addresses[node]}, {state}")
    inventory.write_inventory(instance, addresses, url)


def down(instance: Path, name: str) -> None:
    """End the machines of an instance and remove what they left on the host; nothing of it need be there.

    What to remove is found by looking (cgroups, mounts, links, namespaces), so it doesn't matter where an earlier run was killed.
    """
    cgroups.end(cgroups.instance_cgroup(instance))
    for node in names(instance):
        machines.destroy(Machine(instance, node))
    subnet = _subnet(instance)
    if subnet is not None:
        with _network_lock():
            network.remove(subnet)
    for path in (instance / "subnet", instance / "hosts.yml", repository.url_file(instance), instance / "pids" / "repository", instance / "repository.log"):
        path.unlink(missing_ok=True)
    shutil.rmtree(instance / "nodes", ignore_errors=True)
