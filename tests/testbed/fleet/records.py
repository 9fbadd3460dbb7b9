# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fleet agent leaves behind for people to read: events about pods, and containers' logs."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.testbed.fleet import pods
from tests.testbed.fleet.api import Api, Json

REPEAT_EVENT_SECONDS = 10
LOGS_API = "/apis/kwok.x-k8s.io/v1alpha1"


class Journal:
    """Events about pods; the same one again is counted up, and not more often than every few seconds."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._sent: dict[str, float] = {}

    def warn(self, pod: Json, event: pods.Event) -> None:
        """Records a Warning about the pod, in the name of its kubelet."""
        metadata, now = pod["metadata"], pods.stamp(datetime.now(UTC))
        digest = hashlib.sha256(f"{metadata['uid']} {event.reason} {event.message}".encode()).hexdigest()[:16]
        if time.monotonic() < self._sent.get(digest, float("-inf")) + REPEAT_EVENT_SECONDS:
            return
        self._sent[digest] = time.monotonic()
        path, name, host = f"/api/v1/namespaces/{metadata['namespace']}/events", f"{metadata['name']}.{digest}", pod["spec"]["nodeName"]
        about = {"apiVersion": "v1", "kind": "Pod", **{key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}}
        body = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": metadata["namespace"]}, "involvedObject": about,
            "type": "Warning", "reason": event.reason, "message": event.message, "count": 1, "firstTimestamp": now, "lastTimestamp": now,
            "source": {"component": "kubelet", "host": host}, "reportingComponent": "kubelet", "reportingInstance": host,
        }
        if self._api.create(path, body) is None:
            counted = (self._api.get(f"{path}/{name}") or {"count": 0})["count"]
            self._api.patch(f"{path}/{name}", {"count": counted + 1, "lastTimestamp": now})


class LogBook:
    """Containers' logs: files in the runtime's format, which kwok serves once a Logs object of the pod's name points to them."""

    def __init__(self, api: Api, folder: Path) -> None:
        self._api = api
        self._folder = folder

    def _file(self, pod: Json, status: Json, back: int = 0) -> Path:
        uid, name, restarts = str(pod["metadata"]["uid"]), str(status["name"]), int(status["restartCount"])
        return self._folder / uid / name / f"{restarts - back}.log"

    def open(self, pod: Json, statuses: Sequence[Json]) -> None:
        """Makes the logs of the pod's present containers readable; they are empty so far."""
        entries = []
        for status in statuses:
            file, before = self._file(pod, status), self._file(pod, status, back=1)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            previous = {"previousLogsFile": str(before)} if before.exists() else {}
            entries.append({"containers": [status["name"]], "logsFile": str(file), **previous})
        metadata = pod["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        names = {"name": metadata["name"], "namespace": metadata["namespace"]}
        self._api.apply(
            f"{LOGS_API}/namespaces/{names['namespace']}/logs/{names['name']}",
            {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs", "metadata": {**names, "ownerReferences": [owner]}, "spec": {"logs": entries}},
        )

    def write(self, pod: Json, status: Json, text: str) -> None:
        """Sets the log of a container to ``text``."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        file = self._file(pod, status)
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(".new")
        scratch.write_text("".join(f"{moment} stdout F {line}\n" for line in text.splitlines()))
        scratch.replace(file)

    def forget_all_but(self, uids: Iterable[str]) -> None:
        """Removes the logs of pods that are gone."""
        kept = set(uids)
        for folder in self._folder.iterdir() if self._folder.exists() else ():
            if folder.name not in kept:
                shutil.rmtree(folder)
