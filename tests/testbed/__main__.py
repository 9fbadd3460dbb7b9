# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed's command line: ``python -m tests.testbed build | up | down | exec | fault | repository``."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.testbed import cluster, faults, fleet, nodes
from tests.testbed.paths import instance_dir

DEFAULT_INSTANCE = "demo"
DEFAULT_NODES = "gpu-1:bookworm,gpu-2:trixie,gpu-3:trixie"
NODE_LABELS = {"nvidia.com/gpu.product": "NVIDIA-H200"}
_STARTED = time.monotonic()


def say(text: str) -> None:
    """Print a line of progress with the seconds since the start."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {text}", flush=True)


def parse_nodes(text: str) -> dict[str, str]:
    """Return the suite by machine of ``name:suite,name:suite``.

    :raises ValueError: an entry has no suite, or a name comes twice
    """
    wanted: dict[str, str] = {}
    for entry in text.split(","):
        name, colon, suite = entry.partition(":")
        if not (name and colon and suite):
            raise ValueError(f"node {entry!r}: expected name:suite")
        if name in wanted:
            raise ValueError(f"node {name!r}: named twice")
        wanted[name] = suite
    return wanted


def _machines_possible(arguments: argparse.Namespace) -> bool:
    if arguments.no_machines:
        return False
    if os.geteuid() != 0:
        say("not root: no machines, only simulated nodes; driver, toolkit and container runtime are left out (run as root for all of it)")
        return False
    return True


def build(arguments: argparse.Namespace) -> int:
    machines = _machines_possible(arguments)
    if not arguments.no_cluster:
        cluster.build(say)
    if machines:
        nodes.build(say)
    say("built")
    return 0


def up(arguments: argparse.Namespace) -> int:
    instance = instance_dir(arguments.name)
    wanted = parse_nodes(arguments.nodes)
    machines = _machines_possible(arguments)
    instance.mkdir(parents=True, exist_ok=True)
    try:
        if machines:
            nodes.up(instance, arguments.name, wanted, say)
        if not arguments.no_cluster:
            kubeconfig = cluster.up(instance, arguments.name, say)
            for node in wanted:
                cluster.register_node(kubeconfig, node, machine=machines, labels=NODE_LABELS)
            fleet.start(instance)
            say(f"export KUBECONFIG={kubeconfig}")
    except BaseException:
        say("not up: removing what was started")
        _take_down(instance, arguments.name)
        raise
    say(f"instance {arguments.name} is up: {instance}")
    return 0


def _take_down(instance: Path, name: str) -> None:
    """End and remove everything of an instance, each part even if another one fails."""
    with ExitStack() as parts:  # last in, first out
        parts.callback(shutil.rmtree, instance, ignore_errors=True)
        parts.callback(nodes.down, instance, name)
        parts.callback(cluster.down, instance, name)
        parts.callback(fleet.stop, instance)


def down(arguments: argparse.Namespace) -> int:
    _take_down(instance_dir(arguments.name), arguments.name)
    say(f"instance {arguments.name} is down")
    return 0


def execute(arguments: argparse.Namespace) -> int:
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    return nodes.node_exec(instance_dir(arguments.name), arguments.node, command or ["/bin/bash", "--login"]).returncode


def fault(arguments: argparse.Namespace) -> int:
    instance = instance_dir(arguments.name)
    if arguments.fault == "clear":
        faults.cure(instance, arguments.node, *faults.names(instance, arguments.node))
    else:
        faults.inject(instance, arguments.node, arguments.fault)
    return 0


def repository(arguments: argparse.Namespace) -> int:
    instance = instance_dir(arguments.name)
    {"start": nodes.start_repository, "stop": nodes.stop_repository}[arguments.action](instance)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], description: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=description, description=description)
        made.set_defaults(run=run)
        return made

    def instance_command(name: str, run: Callable[[argparse.Namespace], int], description: str) -> argparse.ArgumentParser:
        made = command(name, run, description)
        made.add_argument("--name", default=DEFAULT_INSTANCE, help="instance (default: %(default)s)")
        return made

    builds = command("build", build, "build what is missing or outdated")
    starts = instance_command("up", up, "start an instance")
    for made in (builds, starts):
        made.add_argument("--no-machines", action="store_true", help="simulated nodes only")
        made.add_argument("--no-cluster", action="store_true", help="machines only")
    starts.add_argument("--nodes", default=DEFAULT_NODES, help="machines and their Debian suites (default: %(default)s)")
    instance_command("down", down, "end an instance and remove all of it, also after a crash")
    executes = instance_command("exec", execute, "run a command in a machine, or a shell without one")
    executes.add_argument("node")
    executes.add_argument("command", nargs=argparse.REMAINDER)
    breaks = instance_command("fault", fault, "give a machine a fault, or clear all that it has")
    breaks.add_argument("node")
    breaks.add_argument("fault", choices=[*faults.FAULTS, "clear"], help="; ".join(f"{name}: {found.text}" for name, found in faults.FAULTS.items()))
    serves = instance_command("repository", repository, "stop or start the package repository of an instance")
    serves.add_argument("action", choices=["start", "stop"])
    return parser


def main() -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that a half-way ``up`` is removed
    arguments = _parser().parse_args()
    try:
        return arguments.run(arguments)
    except (ValueError, RuntimeError, TimeoutError, FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
