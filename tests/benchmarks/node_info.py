# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_node_info's half on the node against one ``nvidia-smi -q -x``, on a machine with a GPU.

The module is what Ansible would send to a node, run here as a whole process, and beside it ``ansible.builtin.ping``, which is what Ansible itself takes;
both are left out where Ansible isn't installed. The collector is what the module calls, alone in this process, and as a process of its own.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from tests.e2e import REPOSITORY, collector

SMI = ("nvidia-smi", "-q", "-x")
# Of one nvidia-smi -q -x.
TARGETS = {"module, NVML": 0.3, "module, XML": 1.3}
ROUNDS = 7


def seconds(function: t.Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of some calls, after one that warms up."""
    function()
    times = []
    for _round in range(rounds):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def timings() -> dict[str, float]:
    """Seconds by what was timed."""
    with tempfile.TemporaryDirectory(prefix="gpu-node-info-") as folder:
        programs = {
            "nvidia-smi -q -x": SMI,
            "python3, doing nothing": (sys.executable, "-c", "pass"),
            "collector as a process, NVML": (sys.executable, "-m", "tests.e2e.collector"),
            "collector as a process, XML": (sys.executable, "-m", "tests.e2e.collector", "--xml"),
            **_modules(Path(folder)),
        }
        found = {name: seconds(functools.partial(_run, argv)) for name, argv in programs.items()}
    found["collector, NVML"] = seconds(lambda: collector.evidence(use_nvml=True))
    found["collector, XML"] = seconds(lambda: collector.evidence(use_nvml=False))
    return found


def _run(argv: t.Sequence[str]) -> None:
    subprocess.run(argv, cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=True)


def _modules(folder: Path) -> dict[str, t.Sequence[str]]:
    """Modules as Ansible packs them for a node; nothing where Ansible isn't installed."""
    if importlib.util.find_spec("ansible") is None:
        return {}
    return {
        "ansible.builtin.ping": (sys.executable, _packed(folder / "ping", "ansible.builtin.ping", "")),
        "module, NVML": (sys.executable, _packed(folder / "nvml", "gpufleet.k8s.gpu_node_info", "")),
        "module, XML": (sys.executable, _packed(folder / "xml", "gpufleet.k8s.gpu_node_info", "driver_root=/nonexistent")),
    }


def _packed(folder: Path, module: str, arguments: str) -> str:
    """The path of a packed module, which Ansible is told to leave behind."""
    environment = {
        **os.environ,
        "ANSIBLE_KEEP_REMOTE_FILES": "1",
        "ANSIBLE_REMOTE_TMP": str(folder),
        "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / ".cache" / "collections"),
        "ANSIBLE_PIPELINING": "0",
    }
    ansible = (sys.executable, "-m", "ansible", "adhoc", "localhost", "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}")
    subprocess.run((*ansible, "-m", module, "-a", arguments), cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, check=True)
    return str(next(folder.rglob("AnsiballZ_*.py")))


def main(_arguments: list[str]) -> int:
    if shutil.which("nvidia-smi") is None or subprocess.run(SMI, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("nothing measured: nvidia-smi finds no GPU on this machine")
        return 0
    found = timings()
    unit = found["nvidia-smi -q -x"]
    for name, time_taken in found.items():
        target = TARGETS.get(name)
        verdict = "" if target is None else f"  target {target:.1f}: {'met' if time_taken / unit <= target else 'MISSED'}"
        print(f"{name:32} {time_taken * 1000:8.1f} ms  {time_taken / unit:6.2f} x{verdict}")
    return 0
