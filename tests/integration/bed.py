# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A running testbed, as tests see it: playbooks to run, machines and an API server to look at."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import kubernetes

from tests.testbed import nodes
from tests.testbed.paths import REPO

GPU = "nvidia.com/gpu"

# What "bare" means on a machine: nothing of the stack in any of these places.
MACHINE_STATE = r"""
dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' | grep -v '^[ru]n'
apt-mark showhold
find /etc/containerd /etc/apt /etc/modprobe.d /etc/modules-load.d -type f -exec sha256sum {} + | sort -k2
ls -d /sys/module/nvidia /var/lib/gpufleet 2>/dev/null
true
"""


@dataclasses.dataclass(frozen=True)
class Run:
    """How a playbook ended.

    :param stats: the recap, ``{host: {ok, changed, failures, unreachable, ...}}``.
    :param results: every task's result, ``(task name, host, result)`` in order.
    """

    rc: int
    stats: dict[str, dict[str, int]]
    results: list[tuple[str, str, dict[str, t.Any]]]
    output: str

    def failures(self, host: str) -> list[dict[str, t.Any]]:
        return [result for _task, name, result in self.results if name == host and result.get("failed")]

    def failure(self, host: str, code: str) -> dict[str, t.Any]:
        """The host's first failure or finding of that code."""
        found = [coded for coded in _coded(self.failures(host)) if coded["code"] == code]
        assert found, f"no {code} in {self.failures(host)}"
        return found[0]

    def changed(self) -> dict[str, int]:
        return {host: numbers["changed"] for host, numbers in self.stats.items()}

    def changed_tasks(self, host: str) -> list[str]:
        return [task for task, name, result in self.results if name == host and result.get("changed")]


def _coded(value: t.Any) -> t.Iterator[dict[str, t.Any]]:
    """Every mapping with a ``code`` inside a result, at any depth."""
    if isinstance(value, dict):
        if isinstance(value.get("code"), str):
            yield value
        for inner in value.values():
            yield from _coded(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _coded(inner)


class Bed:
    """One instance of the testbed, addressed by its folder."""

    def __init__(self, instance: Path) -> None:
        self.instance = instance
        self.environment = {
            **os.environ,
            "GPUFLEET_TESTBED": str(instance),
            "ANSIBLE_CONFIG": str(REPO / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "KUBECONFIG": str(instance / "kubeconfig"),
        }
        self.state: str | None = "bare"
        self._api: kubernetes.client.ApiClient | None = None

    # Playbooks

    def program(self, name: str) -> list[str]:
        """One of Ansible's programs with the testbed's inventory."""
        return [str(Path(sys.executable).parent / name), "-i", "inventories/testbed"]

    def argv(self, playbook: str, *arguments: str) -> list[str]:
        return [*self.program("ansible-playbook"), f"playbooks/{playbook}.yml", *arguments]

    def play(self, playbook: str, *arguments: str, **variables: t.Any) -> Run:
        """Run a playbook to its end; ``variables`` become extra variables."""
        done = subprocess.run(
            [*self.argv(playbook, *arguments), "-e", json.dumps(variables)],
            cwd=REPO,
            env={**self.environment, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return _parse(done.returncode, done.stdout, done.stderr)

    def play_and_kill(self, at_task: str, playbook: str, *arguments: str, delay: float = 0.0) -> None:
        """Start a playbook and kill it, children included, ``delay`` seconds after the named task began."""
        seen = []
        with subprocess.Popen(
            self.argv(playbook, *arguments),
            cwd=REPO,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    seen.append(line)
                    if line.startswith("TASK [") and at_task in line:
                        time.sleep(delay)
                        return
            finally:
                # Ansible's workers lead sessions of their own, so a group's kill doesn't reach them.
                for pid in [process.pid, *_descendants(process.pid)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"the playbook never reached {at_task!r}:\n" + "".join(seen[-40:]))

    def ensure(self, state: str) -> None:
        """Bring the testbed to ``bare`` or ``ready`` with our own playbooks, if it isn't known to be there."""
        if self.state == state:
            return
        self.state = None
        run = self.play({"bare": "cleanup", "ready": "site"}[state])
        assert run.rc == 0, run.output[-4000:]
        self.state = state

    def module(self, name: str, **arguments: t.Any) -> dict[str, t.Any]:
        """Run one module of ours on the controller and return its result."""
        return self.ad_hoc("localhost", name, kubeconfig=self.environment["KUBECONFIG"], **arguments)["localhost"]

    def ad_hoc(self, pattern: str, name: str, **arguments: t.Any) -> dict[str, dict[str, t.Any]]:
        """Run one module of ours on the hosts of a pattern and return each one's result."""
        done = subprocess.run(
            [*self.program("ansible"), pattern, "-m", f"gpufleet.k8s.{name}", *(["-a", json.dumps(arguments)] if arguments else [])],
            cwd=REPO,
            env={**self.environment, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return {host: result for _task, host, result in _parse(done.returncode, done.stdout, done.stderr).results}

    # Machines

    def running(self, node: str) -> bool:
        return nodes.leader(self.instance, node) is not None

    def on(self, node: str, *argv: str, check: bool = True) -> str:
        done = nodes.node_exec(self.instance, node, list(argv), capture_output=True, text=True, timeout=120)
        assert not check or done.returncode == 0, f"{argv} on {node}: {done.returncode} {done.stdout}{done.stderr}"
        return done.stdout

    def names(self) -> list[str]:
        return sorted(path.name for path in (self.instance / "nodes").iterdir() if path.is_dir())

    def snapshot(self) -> dict[str, t.Any]:
        """All that our playbooks could have changed, on every machine and in the cluster."""
        return {**{name: self.on(name, "sh", "-c", MACHINE_STATE) for name in self.names()}, "cluster": self._cluster_state()}

    # Cluster

    def api(self) -> kubernetes.client.ApiClient:
        if self._api is None:
            self._api = kubernetes.config.new_client_from_config(str(self.instance / "kubeconfig"))
        return self._api

    def disconnect(self) -> None:
        """Close the connections to the API server; the next use opens new ones."""
        if self._api is not None:
            self._api.rest_client.pool_manager.clear()
            self._api.close()
            self._api = None

    def core(self) -> kubernetes.client.CoreV1Api:
        return kubernetes.client.CoreV1Api(self.api())

    def gpus(self, node: str) -> int:
        """GPUs that the node's kubelet would hand out."""
        return int((self.core().read_node(node).status.allocatable or {}).get(GPU, 0))

    def _cluster_state(self) -> dict[str, t.Any]:
        api = self.api()
        core, apps, runtime = kubernetes.client.CoreV1Api(api), kubernetes.client.AppsV1Api(api), kubernetes.client.NodeV1Api(api)
        return {
            # One that is on its way out takes some seconds.
            "namespaces": sorted(item.metadata.name for item in core.list_namespace().items if item.status.phase == "Active"),
            "daemonsets": sorted(item.metadata.name for item in apps.list_daemon_set_for_all_namespaces().items),
            "runtime classes": sorted(item.metadata.name for item in runtime.list_runtime_class().items),
            "nodes": {
                item.metadata.name: {"labels": item.metadata.labels, "annotations": _without_bookkeeping(item.metadata.annotations), "taints": item.spec.taints}
                for item in core.list_node().items
            },
        }


def _descendants(pid: int) -> list[int]:
    children = [int(child) for record in Path("/proc", str(pid), "task").glob("*/children") for child in record.read_text().split()]
    return [*children, *(grandchild for child in children for grandchild in _descendants(child))]


def _without_bookkeeping(annotations: dict[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (annotations or {}).items() if not key.startswith(("node.alpha.kubernetes.io/", "volumes.kubernetes.io/"))}


def _parse(rc: int, stdout: str, stderr: str) -> Run:
    start = stdout.find("{")
    report = json.loads(stdout[start:]) if start >= 0 else {"plays": [], "stats": {}}
    results = [
        (task["task"]["name"], host, result)
        for play in report["plays"]
        for task in play["tasks"]
        for host, result in task["hosts"].items()
    ]
    return Run(rc, report["stats"], results, stdout + stderr)


def eventually(condition: t.Callable[[], t.Any], seconds: float, what: str) -> t.Any:
    """The condition's first true value within ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.3)
