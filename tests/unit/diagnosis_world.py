# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server in memory with a GPU stack on it, for what gpu_diagnose reads."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api, TransportError
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.diagnosis import diagnose

Object = t.Dict[str, t.Any]

PLURALS = {
    "nodes": "Node",
    "pods": "Pod",
    "events": "Event",
    "namespaces": "Namespace",
    "resourcequotas": "ResourceQuota",
    "limitranges": "LimitRange",
    "configmaps": "ConfigMap",
    "jobs": "Job",
    "daemonsets": "DaemonSet",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "runtimeclasses": "RuntimeClass",
    "customresourcedefinitions": "CustomResourceDefinition",
    "clusterpolicies": "ClusterPolicy",
}
PATH = re.compile(r"/api(?:s/[^/]+)?/[^/]+(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?P<log>/log)?)?")


class Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self._body = body

    def read(self) -> bytes:
        return self._body

    def lines(self) -> t.Iterator[bytes]:
        raise AssertionError("nothing is watched")

    def close(self) -> None:
        pass


class World:
    """An API server with some objects.

    :ivar asked: ``path?query`` of all requests.
    :ivar trouble: status by a part of the path; 0 for no answer at all.
    """

    host = "https://api.example:6443"

    def __init__(self, *objects: Object) -> None:
        self.objects = list(objects)
        self.asked: list[str] = []
        self.trouble: dict[str, int] = {}
        self.now = 0.0

    def send(self, method: str, path: str, query: t.Mapping[str, t.Any], body: bytes | None, headers: t.Mapping[str, str], timeout_s: float) -> Answer:
        assert method == "GET"
        self.asked.append(path + "?" + "&".join(f"{key}={value}" for key, value in sorted(query.items())))
        for part, status in self.trouble.items():
            if part in path:
                if not status:
                    raise TransportError("timed out")
                return Answer(status, json.dumps({"message": f"no {path}"}).encode())
        found = PATH.fullmatch(path)
        assert found, path
        kind = PLURALS.get(found["plural"])
        if kind is None:
            return Answer(404, b'{"message": "the server could not find the requested resource"}')
        chosen = [obj for obj in self.objects if obj["kind"] == kind and _selected(obj, found["namespace"], query)]
        if found["log"]:
            return Answer(200, f"{found['name']} {query['container']} {query.get('previous', '')} HF_TOKEN=hf_secret\n".encode())
        if found["name"]:
            one = [obj for obj in chosen if obj["metadata"]["name"] == found["name"]]
            return Answer(200, json.dumps(one[0]).encode()) if one else Answer(404, b'{"message": "not found"}')
        bare = [{key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} for obj in chosen]
        return Answer(200, json.dumps({"items": bare, "metadata": {"resourceVersion": "7"}}).encode())

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def diagnose(self, **options: t.Any) -> Object:
        params = {"pod": None, "job": None, "namespace": None, "node": None, "operator": False, "log_lines": 50, **options}
        return diagnose(Api(self, timeout_s=30, clock=lambda: self.now, sleep=self.sleep), params)

    def requests(self) -> list[str]:
        """The paths asked for, without the API group's prefix."""
        return [re.sub(r"\?.*|/apis?/[^?]*?v1[a-z0-9]*/", "", path) for path in self.asked]


def _selected(obj: Object, namespace: str | None, query: t.Mapping[str, t.Any]) -> bool:
    if namespace and obj["metadata"].get("namespace") != namespace:
        return False
    labels = obj["metadata"].get("labels") or {}
    if any(labels.get(term.split("=")[0]) != term.split("=")[1] for term in filter(None, query.get("labelSelector", "").split(","))):
        return False
    return all(_matches(obj, term) for term in filter(None, query.get("fieldSelector", "").split(",")))


def _matches(obj: Object, term: str) -> bool:
    left, value = term.split("=", 1)
    key, negated = left.rstrip("!"), left.endswith("!")
    found: t.Any = obj
    for part in key.split("."):
        found = (found or {}).get(part)
    return (found == value) is not negated


def pod(name: str, node: str | None = "gpu-1", *, namespace: str = "default", gpus: int = 1, **parts: t.Any) -> Object:
    status = {"phase": "Running" if node else "Pending", **parts.pop("status", {})}
    spec = {
        **({"nodeName": node} if node else {}),
        "containers": [
            {
                "name": "main",
                "image": "app:1",
                "env": [{"name": "HF_TOKEN", "value": "hf_secret"}],
                "resources": {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {},
            },
            {"name": "sidecar", "image": "side:1"},
        ],
    }
    return {"kind": "Pod", "metadata": {"name": name, "namespace": namespace, **parts}, "spec": spec, "status": status}


def plugin(node: str, **status: t.Any) -> Object:
    container = {"name": "nvidia-device-plugin-ctr", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.19.3"}
    state = [{"name": container["name"], "state": {"running": {}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": f"plugin-{node}", "namespace": "kube-system", "ownerReferences": [{"kind": "DaemonSet", "name": "nvidia-device-plugin"}]},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running", "containerStatuses": state, **status},
    }


def node(name: str, gpus: int = 1) -> Object:
    return {
        "kind": "Node",
        "metadata": {"name": name, "managedFields": [{}]},
        "spec": {},
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}, "images": [{}]},
    }


def event(kind: str, name: str, namespace: str = "default", reason: str = "Failed", event_type: str = "Warning") -> Object:
    return {
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}", "namespace": namespace},
        "involvedObject": {"kind": kind, "name": name, **({} if kind == "Node" else {"namespace": namespace})},
        "reason": reason,
        "type": event_type,
        "message": f"about {name}",
    }


def crashing(name: str, **parts: t.Any) -> Object:
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    states = [
        {"name": "main", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended},
        {"name": "sidecar", "state": {"running": {}}},
    ]
    return pod(name, status={"containerStatuses": states}, **parts)


STACK: tuple[Object, ...] = (
    {"kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"},
    {
        "kind": "DaemonSet",
        "metadata": {"name": "nvidia-device-plugin", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [{"name": "p", "image": "k8s-device-plugin"}], "volumes": [{"configMap": {"name": "sharing"}}]}}},
    },
    {
        "kind": "DaemonSet",
        "metadata": {"name": "log-shipper", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [{"name": "p", "image": "fluent"}]}}},
    },
    {"kind": "ConfigMap", "metadata": {"name": "sharing", "namespace": "kube-system"}, "data": {"config.yaml": "version: v1"}},
    {"kind": "ConfigMap", "metadata": {"name": "other", "namespace": "kube-system"}},
    {"kind": "Namespace", "metadata": {"name": "default"}},
    {"kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "default"}},
    {"kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "elsewhere"}},
    {"kind": "LimitRange", "metadata": {"name": "limits", "namespace": "default"}},
    *(node(name) for name in ("gpu-1", "gpu-2")),
    *(plugin(name) for name in ("gpu-1", "gpu-2")),
)


def names(result: Object, kind: str) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in result["objects"] if obj["kind"] == kind)


def logs(result: Object) -> list[tuple[str, str, bool]]:
    return [(log["pod"], log["container"], log["previous"]) for log in result["logs"]]
