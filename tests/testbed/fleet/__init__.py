# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU side of the testbed's nodes: simulated hardware, and an agent that gives it its effect on the cluster."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

START_SECONDS = 30
_MODULE = "tests.testbed.fleet.agent"


def start(instance: Path) -> None:
    """Starts the instance's fleet agent, unless it runs, and waits until it has looked at the cluster once.

    Raises RuntimeError where the instance has no cluster or the agent doesn't come up.
    """
    from tests.testbed import paths
    from tests.testbed.fleet.agent import PID_FILE

    if running(instance):
        return
    if not (instance / "kubeconfig").is_file():
        raise RuntimeError(f"{instance} has no cluster for a fleet agent to watch: no kubeconfig there")
    pid_file, logs = instance / PID_FILE, instance / "logs"
    pid_file.unlink(missing_ok=True)
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / "fleet-agent.log"
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, "--instance", str(instance.resolve())], cwd=paths.REPO, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )
    give_up = time.monotonic() + START_SECONDS
    while not pid_file.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            stop(instance)
            last = "\n".join(log.read_text().splitlines()[-15:])
            raise RuntimeError(f"the fleet agent didn't come up within {START_SECONDS} s (exit code {process.poll()}); the end of {log}:\n{last}")
        time.sleep(0.1)


def running(instance: Path) -> list[int]:
    """Pids of the instance's agent."""
    from tests.testbed.cluster import processes

    return [process.pid for process in processes.find(lambda process: _is_agent(process.arguments, instance))]


def stop(instance: Path) -> None:
    """Ends the instance's agent. Fine when there is none."""
    from tests.testbed.cluster import processes
    from tests.testbed.fleet.agent import PID_FILE

    processes.end(lambda process: _is_agent(process.arguments, instance))
    (instance / PID_FILE).unlink(missing_ok=True)


def _is_agent(arguments: tuple[str, ...], instance: Path) -> bool:
    return _MODULE in arguments and str(instance.resolve()) in arguments
