# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet agent: plays kubelet, container runtime and device plugin for the GPU side of an instance's nodes.

    python -m tests.testbed.fleet.agent --instance DIR

It looks at everything anew several times a second and does what is due. What it knows it reads from the API server and the
machines, so it may be killed and started again at any time; only commands in flight are then run once more.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.testbed.cluster.nodes import GPUS, MACHINE
from tests.testbed.fleet import node_status, ownership, pods, workloads
from tests.testbed.fleet.api import STRATEGIC, Api, Json, Refused, Unavailable
from tests.testbed.fleet.machines import Facts, Machine, Outcome, TestbedMachine
from tests.testbed.fleet.records import Journal, LogBook
from tests.testbed.fleet.simulated import SimulatedMachine

BUSY_SECONDS, IDLE_SECONDS = 0.2, 0.5
PID_FILE = "pids/fleet-agent.pid"
PLUGIN_LOG = 'Registered device plugin for "nvidia.com/gpu" with Kubelet\n'

log = logging.getLogger("fleet")


@dataclass(frozen=True)
class Seat:
    """A Node with what stands behind it and the agent's pods that are bound to it."""

    node: Json
    machine: Machine
    facts: Facts
    pods: list[Json]
    handlers: dict[str, str]  # RuntimeClass -> handler

    @property
    def managed(self) -> bool:
        """Whether the agent reports this node's devices; Nodes that were not registered by the testbed keep what they say."""
        return GPUS in self.node["metadata"].get("annotations", {})

    def handler(self, pod: Json) -> str | None:
        """The runtime handler that the pod asks for; None for the runtime's default."""
        runtime_class = pod["spec"].get("runtimeClassName")
        return None if runtime_class is None else self.handlers.get(runtime_class, runtime_class)

    def plugins(self) -> list[Json]:
        """The device plugin's pods that work: running, not being deleted, and nothing on the machine keeps them from it."""
        return [pod for pod in self.pods if pods.plugin_works(pod, self.facts, self.handler(pod))]

    def devices(self) -> dict[str, list[str]]:
        """The healthy devices of the node, per resource."""
        advertised = self.node["status"].get("allocatable", {})
        found = {
            resource: [f"{resource}#{number}" for number in range(int(count))]
            for resource, count in advertised.items() if resource.startswith(ownership.RESOURCE_PREFIX)
        }
        found[pods.GPU] = list(self.facts.gpus) if self.plugins() or not self.managed else []
        return found


class Agent:
    """One instance's nodes and their GPU pods."""

    def __init__(self, instance: Path) -> None:
        """Raises kubernetes' ConfigException where the instance has no cluster."""
        self._instance = instance
        self._api = Api(instance / "kubeconfig")
        self._journal = Journal(self._api)
        self._logs = LogBook(self._api, instance / "logs" / "pods")
        self._workers = ThreadPoolExecutor(max_workers=8)
        self._machines: dict[tuple[str, bool, int], Machine] = {}
        self._commands: dict[tuple[str, str, int], Future[Outcome]] = {}
        self._last_well: dict[str, float] = {}

    def tick(self) -> bool:
        """Looks once and does what is due. Returns whether anything was. Raises Unavailable where the API server doesn't answer."""
        nodes = self._api.items("/api/v1/nodes")
        everything = self._api.items("/api/v1/pods")
        handlers = {entry["metadata"]["name"]: entry["handler"] for entry in self._api.items("/apis/node.k8s.io/v1/runtimeclasses")}
        bound: dict[str, list[Json]] = {}
        for pod in sorted(filter(ownership.is_agents, everything), key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["uid"])):
            bound.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        uids = {pod["metadata"]["uid"] for pod in everything}
        self._logs.forget_all_but(uids)
        self._commands = {key: command for key, command in self._commands.items() if key[0] in uids}
        machines = [self._machine(node) for node in nodes]
        looks = self._workers.map(lambda machine: machine.facts(), machines)
        changes = [
            self._serve(Seat(node, machine, facts, bound.get(node["metadata"]["name"], []), handlers))
            for node, machine, facts in zip(nodes, machines, looks, strict=True)
        ]
        return any(changes)

    def _machine(self, node: Json) -> Machine:
        name, notes = node["metadata"]["name"], node["metadata"].get("annotations", {})
        listed = node["status"].get("allocatable", {}).get(pods.GPU, "0")
        key = (name, notes.get(MACHINE) == "true", int(notes.get(GPUS, listed)))
        if key not in self._machines:
            folder = self._instance / "simulated" / name
            self._machines[key] = TestbedMachine(self._instance, name) if key[1] else SimulatedMachine(folder, name, key[2])
        return self._machines[key]

    def _serve(self, seat: Seat) -> bool:
        """One round on one node: its pods first, so that a reboot is reported only when they all know of it."""
        changed = False
        held: dict[str, set[str]] = {}
        for pod in filter(pods.is_admitted, seat.pods):
            pods.add_devices(held, pod.get("status", {}))
        for pod in seat.pods:
            step = pods.next_step(pod, self._scene(seat, pod, held))
            pods.add_devices(held, step.status or {})
            try:
                changed |= self._take(seat, pod, step)
            except Refused as refusal:  # deleted or replaced meanwhile, or its namespace is on its way out: the next round sees what is left
                log.warning("%s: %s", pod["metadata"]["name"], refusal)
        return self._report(seat) or changed

    def _scene(self, seat: Seat, pod: Json, held: dict[str, set[str]]) -> pods.Scene:
        devices = seat.devices()
        return pods.Scene(
            facts=seat.facts,
            handler=seat.handler(pod),
            free={resource: [device for device in names if device not in held.get(resource, ())] for resource, names in devices.items()},
            total={resource: len(names) for resource, names in devices.items()},
            rebooted=node_status.has_rebooted(seat.node, seat.facts),
            now=datetime.now(UTC),
            outcome=lambda container: self._outcome(pod, container),
        )

    def _key(self, pod: Json, container: str, statuses: list[Json]) -> tuple[str, str, int]:
        restarts = next((status["restartCount"] for status in statuses if status["name"] == container), 0)
        return pod["metadata"]["uid"], container, restarts

    def _outcome(self, pod: Json, container: str) -> Outcome | None:
        command = self._commands.get(self._key(pod, container, pod["status"].get("containerStatuses", [])))
        return command.result() if command is not None and command.done() else None

    def _take(self, seat: Seat, pod: Json, step: pods.Step) -> bool:
        for event in step.events:
            self._journal.warn(pod, event)
        statuses = (step.status or pod["status"]).get("containerStatuses", [])
        if step.status is not None:
            self._write_logs(pod, statuses)
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
            self._api.patch(path, {"metadata": {"uid": pod["metadata"]["uid"]}, "status": step.status}, STRATEGIC)
            log.info("%s/%s: %s", pod["metadata"]["namespace"], pod["metadata"]["name"], step.status["phase"])
        for container in step.run:
            key = self._key(pod, container, statuses)
            if key not in self._commands:
                self._commands[key] = self._workers.submit(self._perform, seat, pod, container, statuses)
        return step.status is not None or bool(step.run)

    def _perform(self, seat: Seat, pod: Json, name: str, statuses: list[Json]) -> Outcome:
        container = next(container for container in pod["spec"]["containers"] if container["name"] == name)
        held: dict[str, set[str]] = {}
        pods.add_devices(held, {"containerStatuses": [status for status in statuses if status["name"] == name]})
        asked = pods.GPU in ownership.limits(container)
        gpus = [gpu for gpu in seat.facts.gpus if gpu in held.get(pods.GPU, ())] if asked else None
        by_cdi = asked and pods.device_list_strategies(seat.plugins()) == {"cdi-cri"}
        injected = seat.facts.cdi_enabled if by_cdi else seat.facts.injects_gpus(seat.handler(pod))
        return workloads.perform(seat.machine, container, gpus, injected=injected)

    def _write_logs(self, pod: Json, statuses: list[Json]) -> None:
        before = {status["name"]: status["state"] for status in pod["status"].get("containerStatuses", [])}
        started = [status for status in statuses if "running" in status["state"] and "running" not in before.get(status["name"], {})]
        if started:
            self._logs.open(pod, statuses)
        plays = {container["name"]: workloads.play(container) for container in pod["spec"]["containers"]}
        for status in started:
            if plays[status["name"]] is workloads.Play.PLUGIN:
                self._logs.write(pod, status, PLUGIN_LOG)
        for status in statuses:
            end = status["state"].get("terminated")
            if end is None or "terminated" in before.get(status["name"], {}):
                continue
            outcome = self._outcome(pod, status["name"])
            self._logs.write(pod, status, outcome.output if outcome else f"{end.get('message', '')}\n")
            self._logs.open(pod, statuses)

    def _report(self, seat: Seat) -> bool:
        name = seat.node["metadata"]["name"]
        well = seat.facts.running and seat.facts.runtime is not None
        self._last_well[name] = time.monotonic() if well else self._last_well.get(name, time.monotonic())
        silent = time.monotonic() - self._last_well[name]
        patch = node_status.patch(seat.node, seat.facts, plugin=bool(seat.plugins()), silent=silent, now=datetime.now(UTC)) if seat.managed else None
        if patch is not None:
            self._api.patch(f"/api/v1/nodes/{name}/status", patch, STRATEGIC)
            log.info("%s: %s", name, patch["status"])
        return patch is not None


def run(instance: Path) -> None:
    """Plays the instance's nodes until the process is ended. The pid file appears when the first round is done."""
    agent = Agent(instance)
    pid_file = instance / PID_FILE
    reachable = True
    while True:
        busy = False
        try:
            busy = agent.tick()
            reachable = True
            if not pid_file.exists():
                pid_file.parent.mkdir(parents=True, exist_ok=True)
                pid_file.write_text(f"{os.getpid()}\n")
                log.info("watching")
        except Unavailable as error:
            if reachable:
                log.warning("the API server doesn't answer: %s", error)
            reachable = False
        time.sleep(BUSY_SECONDS if busy else IDLE_SECONDS)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instance", type=Path, required=True, metavar="DIR", help="the instance's folder")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run(parser.parse_args().instance.resolve())


if __name__ == "__main__":
    main()
