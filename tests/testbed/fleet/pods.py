# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet would do next with a pod, and the status that it would report. Pure: objects and facts in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.testbed.fleet import ownership
from tests.testbed.fleet.machines import Facts, Outcome
from tests.testbed.fleet.workloads import COMMANDS, Play, play

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
FIRST_BACK_OFF, LONGEST_BACK_OFF = 2, 10  # seconds; a kubelet waits 10 to 300, which no test should
_REJECTED = "Pod was rejected: "
_TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Event:
    """A Warning about a pod."""

    reason: str
    message: str


@dataclass(frozen=True)
class Step:
    """The next status of a pod, with what happens on the way."""

    status: Json | None = None
    events: tuple[Event, ...] = ()
    run: tuple[str, ...] = ()  # names of containers whose command is to be run now


@dataclass(frozen=True)
class Scene:
    """All that a decision about one pod depends on, besides the pod."""

    facts: Facts
    handler: str | None  # of the pod's RuntimeClass; None: the runtime's default
    free: Mapping[str, Sequence[str]]  # resource -> devices that no other pod holds
    total: Mapping[str, int]  # resource -> healthy devices
    rebooted: bool
    now: datetime
    outcome: Callable[[str], Outcome | None]  # container -> how its command ended, if it has


def stamp(moment: datetime) -> str:
    """The time as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def requested(pod: Json) -> dict[str, int]:
    """Devices that the pod holds, per resource: the sum over its containers, or more where one init container wants more."""
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for resource, count in ownership.limits(container).items():
            total[resource] = total.get(resource, 0) + count
    for container in pod["spec"].get("initContainers", []):
        for resource, count in ownership.limits(container).items():
            total[resource] = max(total.get(resource, 0), count)
    return total


def is_terminal(pod: Json) -> bool:
    """Whether the pod has ended for good."""
    return pod.get("status", {}).get("phase") in _TERMINAL


def is_admitted(pod: Json) -> bool:
    """Whether the node's kubelet accepted the pod: it then holds its devices."""
    return "startTime" in pod.get("status", {}) and not is_terminal(pod)


def add_devices(held: dict[str, set[str]], status: Json) -> None:
    """Adds the devices that a pod's status says its containers were given, per resource, to ``held``."""
    for container in status.get("containerStatuses", []):
        for entry in container.get("allocatedResourcesStatus", []):
            held.setdefault(entry["name"], set()).update(device["resourceID"] for device in entry.get("resources", []))


def driver_fault(facts: Facts) -> str | None:
    """Why a running device plugin would end, in the words of its log; None where it has what it needs."""
    return "error starting plugins: failed to initialize NVML: Driver Not Loaded" if facts.driver is None or not facts.gpus else None


def plugin_fault(facts: Facts, handler: str | None) -> str | None:
    """Why a device plugin can't be started, in the words of its log; None where it can."""
    if not facts.injects_gpus(handler):
        return "error starting plugins: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND"
    return driver_fault(facts)


def plugin_works(pod: Json, facts: Facts, handler: str | None) -> bool:
    """Whether the pod is a device plugin that is ready, stays, and has what it needs on the machine."""
    ready = any(entry["type"] == "Ready" and entry["status"] == "True" for entry in pod.get("status", {}).get("conditions", []))
    return ownership.is_plugin(pod) and ready and "deletionTimestamp" not in pod["metadata"] and plugin_fault(facts, handler) is None


def device_list_strategies(plugins: Sequence[Json]) -> set[str]:
    """How the plugins hand devices to containers; ``envvar`` is the plugin's own default."""
    values = [
        entry.get("value", "") for pod in plugins for container in ownership.containers(pod) for entry in container.get("env", [])
        if entry["name"] == "DEVICE_LIST_STRATEGY"
    ]
    return {name.strip() for value in values for name in value.split(",") if name.strip()} or {"envvar"}


def _condition(kind: str, holds: bool, now: datetime, reason: str | None = None, message: str | None = None) -> Json:
    return {"type": kind, "status": str(holds), "reason": reason, "message": message, "lastTransitionTime": stamp(now)}


def _conditions(statuses: Sequence[Json], phase: str, now: datetime, *, sandbox: bool) -> list[Json]:
    unready = [status["name"] for status in statuses if not status["ready"]]
    reason = "PodCompleted" if phase == "Succeeded" else "PodFailed" if phase == "Failed" else "ContainersNotReady"
    detail = (reason, f"containers with unready status: [{' '.join(unready)}]" if phase not in _TERMINAL else None) if unready else (None, None)
    return [
        _condition("PodReadyToStartContainers", sandbox and phase not in _TERMINAL, now),
        _condition("Initialized", True, now),
        _condition("Ready", not unready, now, *detail),
        _condition("ContainersReady", not unready, now, *detail),
    ]


def _reject(reason: str, message: str, now: datetime) -> Step:
    status = {"phase": "Failed", "reason": reason, "message": f"{_REJECTED}{message}", "startTime": stamp(now)}
    return Step(status=status, events=(Event(reason, message),))


def _no_devices(resource: str) -> str:
    return f"Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {resource}, which is unexpected"


def _admission_fault(pod: Json, scene: Scene) -> str | None:
    for resource, count in sorted(requested(pod).items()):
        free = len(scene.free.get(resource, ()))
        if not scene.total.get(resource):
            return _no_devices(resource)
        if count > free:
            return (
                f"Allocate failed due to requested number of devices unavailable for {resource}. Requested: {count}, Available: {free}, "
                "which is unexpected"
            )
    return None


def _fresh(container: Json, state: Json, devices: Mapping[str, Sequence[str]]) -> Json:
    status: Json = {
        "name": container["name"], "image": container.get("image", ""), "imageID": "", "ready": False, "started": False, "restartCount": 0, "state": state,
    }
    if devices:
        status["allocatedResourcesStatus"] = [
            {"name": resource, "resources": [{"resourceID": device, "health": "Healthy"} for device in given]} for resource, given in devices.items()
        ]
    return status


def _hand_out(pod: Json, scene: Scene) -> list[dict[str, list[str]]]:
    """Devices for each container of the pod, in order."""
    left = {resource: list(devices) for resource, devices in scene.free.items()}
    return [
        {resource: [left[resource].pop(0) for _index in range(count)] for resource, count in ownership.limits(container).items()}
        for container in pod["spec"]["containers"]
    ]


def _create(pod: Json, scene: Scene) -> Step:
    """Admits a pod that the scheduler has just bound."""
    fault = _admission_fault(pod, scene)
    if fault is not None:
        return _reject("UnexpectedAdmissionError", fault, scene.now)
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    pairs = zip(pod["spec"]["containers"], _hand_out(pod, scene), strict=True)
    statuses = [_fresh(container, waiting, devices) for container, devices in pairs]
    conditions = _conditions(statuses, "Pending", scene.now, sandbox=False)
    return Step(status={"phase": "Pending", "startTime": stamp(scene.now), "containerStatuses": statuses, "conditions": conditions})


def _running(status: Json, now: datetime, *, restart: bool = False) -> Json:
    last = {"lastState": {"terminated": status["state"]["terminated"]}} if "terminated" in status["state"] else {}
    started = {"state": {"running": {"startedAt": stamp(now)}}, "ready": True, "started": True}
    return {**status, **last, **started, "restartCount": status["restartCount"] + restart}


def _terminated(status: Json, outcome: Outcome, now: datetime, message: str | None = None) -> Json:
    started = status["state"].get("running", {}).get("startedAt", stamp(now))
    end: Json = {"exitCode": outcome.exit_code, "reason": "Error" if outcome.exit_code else "Completed", "startedAt": started, "finishedAt": stamp(now)}
    if message is not None:
        end["message"] = message
    return {**status, "state": {"terminated": end}, "ready": False, "started": False}


def _full_name(pod: Json) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def _back_off(status: Json) -> int:
    """Seconds until a container that ended is started again."""
    restarts: int = status["restartCount"]
    return min(FIRST_BACK_OFF * (restarts + 1), LONGEST_BACK_OFF)


def _backing_off(status: Json, pod: Json) -> Json:
    where = f"container={status['name']} pod={_full_name(pod)}"
    waiting = {"reason": "CrashLoopBackOff", "message": f"back-off {_back_off(status)}s restarting failed {where}"}
    return {**status, "state": {"waiting": waiting}, "lastState": {"terminated": status["state"]["terminated"]}}


def _may_restart(pod: Json, exit_code: int) -> bool:
    policy = pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _next_state(pod: Json, container: Json, status: Json, scene: Scene) -> Json:
    """The container's next status, or the same one where nothing is due."""
    plays, state = play(container), status["state"]
    if "terminated" in state:
        return _backing_off(status, pod) if _may_restart(pod, state["terminated"]["exitCode"]) else status
    if "waiting" in state:
        again = state["waiting"]["reason"] == "CrashLoopBackOff"
        if again and scene.now < datetime.fromisoformat(status["lastState"]["terminated"]["finishedAt"]) + timedelta(seconds=_back_off(status)):
            return status
        started = _running(status, scene.now, restart=again)
        fault = plugin_fault(scene.facts, scene.handler) if plays is Play.PLUGIN else None
        return started if fault is None else _terminated(started, Outcome("", 1), scene.now, fault)
    if scene.rebooted:
        return _running(_terminated(status, Outcome("", 255), scene.now), scene.now, restart=True)
    fault = driver_fault(scene.facts) if plays is Play.PLUGIN else None
    if fault is not None:
        return _terminated(status, Outcome("", 1), scene.now, fault)
    outcome = scene.outcome(container["name"]) if plays in COMMANDS else None
    return status if outcome is None else _terminated(status, outcome, scene.now)


def _phase(pod: Json, statuses: Sequence[Json]) -> str:
    ends = [status["state"]["terminated"]["exitCode"] for status in statuses if "terminated" in status["state"]]
    if len(ends) < len(statuses) or any(_may_restart(pod, code) for code in ends):
        return "Running"
    return "Failed" if any(ends) else "Succeeded"


def _overdue(pod: Json, now: datetime) -> bool:
    limit, started = pod["spec"].get("activeDeadlineSeconds"), pod["status"].get("startTime")
    return limit is not None and started is not None and now >= datetime.fromisoformat(started) + timedelta(seconds=limit)


def _fail(pod: Json, event: Event, message: str, now: datetime) -> Step:
    """Ends an admitted pod, whatever its containers were doing."""
    before = pod["status"].get("containerStatuses", [])
    ended = [status if "terminated" in status["state"] else _terminated(status, Outcome("", 137), now) for status in before]
    conditions = _conditions(ended, "Failed", now, sandbox=True)
    status = {"phase": "Failed", "reason": event.reason, "message": message, "containerStatuses": ended, "conditions": conditions}
    return Step(status=status, events=(event,))


def next_step(pod: Json, scene: Scene) -> Step:
    """What the kubelet would do with this pod now; an empty step where nothing is due.

    A pod goes through admission, sandbox and containers one step at a time, so whoever watches it sees each.
    """
    status = pod.get("status", {})
    if is_terminal(pod) or "deletionTimestamp" in pod["metadata"] or not scene.facts.running:
        return Step()
    if "startTime" not in status:
        return _create(pod, scene)
    if _overdue(pod, scene.now):
        message = "Pod was active on the node longer than the specified deadline"
        return _fail(pod, Event("DeadlineExceeded", message), message, scene.now)
    if scene.rebooted and requested(pod):  # a kubelet that starts admits its pods anew, before any plugin has registered
        fault = _no_devices(min(requested(pod)))
        return _fail(pod, Event("UnexpectedAdmissionError", fault), f"{_REJECTED}{fault}", scene.now)
    before: list[Json] = status["containerStatuses"]
    if all(entry["state"].get("waiting", {}).get("reason") == "ContainerCreating" for entry in before):
        error = scene.facts.sandbox_error(scene.handler)
        if error is not None:
            return Step(events=(Event("FailedCreatePodSandBox", error),))
    pairs = list(zip(pod["spec"]["containers"], before, strict=True))
    after = [_next_state(pod, container, entry, scene) for container, entry in pairs]
    started = tuple(
        container["name"] for (container, _outcome), entry in zip(pairs, after, strict=True) if play(container) in COMMANDS and "running" in entry["state"]
    )
    if after == before:
        return Step(run=started)
    phase = _phase(pod, after)
    back_off = tuple(
        Event("BackOff", f"Back-off restarting failed container {entry['name']} in pod {_full_name(pod)}")
        for entry in after if entry["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
    )
    conditions = _conditions(after, phase, scene.now, sandbox=True)
    return Step(status={"phase": phase, "containerStatuses": after, "conditions": conditions}, events=back_off, run=started)
