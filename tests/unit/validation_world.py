# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server in memory whose nodes act by script, for what gpu_validate creates. It knows just the requests that a validation makes."""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import ApiError, status_error
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts

Object = t.Dict[str, t.Any]
Behaviour = t.Callable[[Object], t.Tuple[Object, str]]

VECTORADD = "[Vector addition of 50000 elements]\nTest PASSED\nDone\n"


def smi(gpus: int, driver: str = "580.159.04") -> str:
    """What nvidia-smi -q -x says, shortened."""
    listed = "".join(f'<gpu id="00000000:0{i}:00.0"><product_name>NVIDIA H200</product_name><uuid>GPU-{i}</uuid></gpu>' for i in range(gpus))
    return f'<?xml version="1.0" ?>\n<nvidia_smi_log><driver_version>{driver}</driver_version><attached_gpus>{gpus}</attached_gpus>{listed}</nvidia_smi_log>\n'


def ended(name: str, exit_code: int = 0, **values: t.Any) -> Object:
    """Status of a pod whose container has ended."""
    terminated = {"exitCode": exit_code, "reason": "Completed" if exit_code == 0 else "Error", **values}
    return {"phase": "Succeeded" if exit_code == 0 else "Failed", "containerStatuses": [{"name": name, "image": "i", "state": {"terminated": terminated}}]}


def healthy(pod: Object) -> tuple[Object, str]:
    """A node on which everything works."""
    [container] = pod["spec"]["containers"]
    asked = int(container["resources"]["limits"]["nvidia.com/gpu"])
    return ended(container["name"]), smi(asked) if container["name"] == "inspect" else VECTORADD


def node(name: str, gpus: int = 2, **spec: t.Any) -> Object:
    return {
        "metadata": {"name": name, "labels": {}},
        "spec": spec,
        "status": {
            "capacity": {"nvidia.com/gpu": str(gpus)},
            "allocatable": {"nvidia.com/gpu": str(gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def observation(*nodes: Object, runtime_classes: t.Sequence[str] = ("nvidia",), plugins: t.Sequence[Object] = ()) -> Observation:
    classes = [{"metadata": {"name": name}, "handler": name} for name in runtime_classes]
    return Observation("v1.36.3", {item["metadata"]["name"]: item for item in nodes}, list(plugins), PodIndex([]), classes, [])


def gpu_cluster(*nodes: Object, **kwargs: t.Any) -> Object:
    return cluster_facts(observation(*nodes, **kwargs))


class World:
    """The server, its clock and its nodes.

    :ivar behaviours: what pods do, by node; a node without one is healthy.
    :ivar refuse: the server's words to every new pod or job; ``None`` to admit them.
    :ivar log: requests that change something, in order.
    """

    def __init__(self, **behaviours: Behaviour) -> None:
        self.behaviours = {name.replace("_", "-"): behaviour for name, behaviour in behaviours.items()}
        self.now = 0.0
        self.namespaces: dict[str, Object] = {}
        self.objects: dict[str, dict[str, Object]] = {}
        self.logs: dict[str, str] = {}
        self.events: list[Object] = []
        self.pending: list[Object] = []
        self.refuse: t.Callable[[Object], str | None] = lambda _obj: None
        self.log: list[str] = []
        self.watches = 0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def server_time(self) -> float:
        return 1_000_000 + self.now

    def find(self, path: str) -> Object | None:
        return self.namespaces.get(path.rpartition("/")[2])

    def create(self, path: str, obj: Object, **_query: t.Any) -> Object:
        self.log.append(f"create {obj['kind']} {obj['metadata']['name']}")
        if obj["kind"] == "Namespace":
            self.namespaces[obj["metadata"]["name"]] = obj
            return obj
        refused = self.refuse(obj)
        if refused:
            raise status_error(403, json.dumps({"message": refused}).encode(), "create")
        obj = copy.deepcopy(obj)
        self.objects.setdefault(path, {})[obj["metadata"]["name"]] = obj
        if obj["kind"] == "Pod":
            self._run(obj)
        elif obj["kind"] == "Job":
            template = obj["spec"]["template"]
            metadata = {**template["metadata"], "name": obj["metadata"]["name"] + "-x", "namespace": obj["metadata"]["namespace"]}
            pods = path.replace("/apis/batch/v1", "/api/v1").replace("/jobs", "/pods")
            pod = {"kind": "Pod", "metadata": metadata, "spec": template["spec"]}
            self.objects.setdefault(pods, {})[metadata["name"]] = pod
            self._run(pod)
        return obj

    def _run(self, pod: Object) -> None:
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        [name] = terms[0]["matchFields"][0]["values"]
        status, log = self.behaviours.get(name, healthy)(pod)
        pod["spec"] = {**pod["spec"], "nodeName": name}
        pod["status"] = status
        self.logs[pod["metadata"]["name"]] = log
        self.pending.append(pod)

    def items(self, path: str, **query: t.Any) -> t.Iterator[Object]:
        if path.endswith("/events"):
            yield from list(self.events)
            return
        yield from [obj for obj in self.objects.get(path, {}).values() if _selected(obj, query.get("labelSelector", ""))]

    def snapshot(self, path: str, **query: t.Any) -> tuple[list[Object], str]:
        return list(self.items(path, **query)), "1"

    def watch(self, path: str, resource_version: str, seconds: int, **query: t.Any) -> t.Iterator[Object]:
        self.watches += 1
        self.now += 1
        if not self.pending:
            self.now += seconds
        while self.pending:
            pod = self.pending.pop(0)
            yield {"type": "MODIFIED", "object": {**pod, "metadata": {**pod["metadata"], "resourceVersion": "2"}}}

    def text(self, path: str, **_query: t.Any) -> str:
        name = path.split("/")[-2]
        if self.logs[name] == "unreadable":
            raise ApiError(500, "dial tcp: connection refused", code="ApiError", what="read the log")
        return self.logs[name]

    def delete(self, path: str, options: Object | None = None, **query: t.Any) -> None:
        self.log.append(f"delete {path} {query.get('labelSelector', '')}".strip())
        if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
            self.namespaces.pop(path.rpartition("/")[2], None)
            self.objects.clear()
            return
        kept = {name: obj for name, obj in self.objects.get(path, {}).items() if not _selected(obj, query["labelSelector"])}
        self.objects[path] = kept

    def leftovers(self) -> list[str]:
        return sorted(name for objects in self.objects.values() for name in objects)


def _selected(obj: Object, selector: str) -> bool:
    labels = obj["metadata"].get("labels") or {}
    for part in filter(None, selector.split(",")):
        key, separator, value = part.partition("!=" if "!=" in part else "=")
        if separator == "!=" and labels.get(key) == value:
            return False
        if separator == "=" and labels.get(key) != value:
            return False
        if not separator and key not in labels:
            return False
    return True
