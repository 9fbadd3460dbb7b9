# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_node_info against ansible.builtin.setup: whole tasks over ssh on 20 testbed machines that have driver, toolkit and GPUs, with 20 forks."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from tests.testbed import nodes
from tests.testbed.paths import REPO, instance_dir

INSTANCE = "benchmark"
MACHINES = {f"gpu-{number}": ("bookworm", "trixie")[number % 2] for number in range(1, 21)}
FORKS = 20
ROUNDS = 5
BASELINE, MEASURED = "ansible.builtin.setup", "gpufleet.k8s.gpu_node_info"
# Of the baseline.
TARGET = 1.0
_AT_ONCE = 3
_INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
# What the roles leave on a node, as far as facts are made of it, without their checks.
_SET_UP = """
printf 'deb [trusted=yes] %s/driver /\\ndeb [trusted=yes] %s/toolkit /\\n' "$1" "$1" > /etc/apt/sources.list.d/benchmark.list
printf 'Package: *nvidia* libcuda1\nPin: version 580.159.04-1\nPin-Priority: 1001\n' > /etc/apt/preferences.d/benchmark
apt-get update
apt-get install --yes --no-install-recommends nvidia-open nvidia-container-toolkit
modprobe nvidia
systemctl start nvidia-cdi-refresh
nvidia-ctk runtime configure --runtime=containerd --config=/etc/containerd/config.toml
systemctl restart containerd
"""


def main(_arguments: list[str]) -> int:
    if os.geteuid() != 0:
        print("nothing measured: the testbed's machines need root")
        return 0
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {text}", flush=True)

    instance = instance_dir(INSTANCE)
    nodes.build(say)
    with _many_watches():
        try:
            nodes.up(instance, INSTANCE, MACHINES, say)
            _set_up(instance)
            say(f"{len(MACHINES)} machines have driver and toolkit")
            times = _measure(instance)
        finally:
            nodes.down(instance, INSTANCE)
            shutil.rmtree(instance, ignore_errors=True)
    return _report(times)


@contextmanager
def _many_watches() -> Iterator[None]:
    """Let this host's root have as many inotify instances as the machines' systemds need, eight or so each, which is more than the usual 128."""
    before = _INOTIFY.read_text()
    _INOTIFY.write_text(f"{max(int(before), 32 * len(MACHINES))}\n")
    try:
        yield
    finally:
        _INOTIFY.write_text(before)


def _set_up(instance: Path) -> None:
    """Install driver and toolkit on every machine, on some at a time."""
    url = (instance / "repository_url").read_text().strip()

    def install(node: str) -> None:
        done = nodes.node_exec(
            instance, node, ["sh", "-euc", _SET_UP, "sh", url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{node}: {done.stdout[-2000:]}")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in [pool.submit(install, node) for node in MACHINES]:
            done.result()


def _measure(instance: Path) -> dict[str, list[float]]:
    """Seconds of each task from its first host's begin to its last host's end, both modules in turn, after a round that opens the connections."""
    tasks = [{"name": name, name: {}} for _round in range(1 + ROUNDS) for name in (BASELINE, MEASURED)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as playbook:
        json.dump([{"hosts": "gpu_nodes", "gather_facts": False, "tasks": tasks}], playbook)
        playbook.flush()
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", "-i", instance / "hosts.yml", "-f", str(FORKS), playbook.name],
            cwd=REPO,
            env={**os.environ, "ANSIBLE_CONFIG": str(REPO / "ansible.cfg"), "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"ansible-playbook ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = json.loads(done.stdout[done.stdout.index("{") :])["plays"][0]["tasks"]
    _check(found)
    times: dict[str, list[float]] = {BASELINE: [], MEASURED: []}
    for task in found[2:]:
        times[task["task"]["name"]].append(_seconds(task["task"]["duration"]))
    return times


def _check(tasks: list[dict[str, t.Any]]) -> None:
    """A module that finds nothing would be quick.

    :raises RuntimeError: a machine didn't show its GPUs
    """
    for task in tasks:
        for node, result in task["hosts"].items():
            if task["task"]["name"] == MEASURED and [gpu["product"] for gpu in result["gpu_node"]["gpus"] or []] != ["NVIDIA H200"] * 2:
                raise RuntimeError(f"{node}: two GPUs expected: {json.dumps(result)[:2000]}")


def _seconds(duration: dict[str, str]) -> float:
    start, end = (datetime.fromisoformat(duration[key].replace("Z", "+00:00")) for key in ("start", "end"))
    return (end - start).total_seconds()


def _report(times: dict[str, list[float]]) -> int:
    """Print the medians and the ratio; 1 where the target is missed."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians[MEASURED] / medians[BASELINE]
    for name, values in times.items():
        print(f"{name:28} {medians[name]:6.2f} s on {len(MACHINES)} machines, forks {FORKS}; rounds: {' '.join(f'{value:.2f}' for value in values)}")
    print(f"{MEASURED} takes {ratio:.2f} of {BASELINE}; target <= {TARGET}: {'met' if ratio <= TARGET else 'MISSED'}")
    return 0 if ratio <= TARGET else 1
