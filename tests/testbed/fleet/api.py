# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The little of the Kubernetes API that the testbed needs: raw JSON in and out over one connection pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubernetes import client, config
from urllib3.exceptions import HTTPError

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Unavailable(Exception):
    """The API server didn't answer, or answered that it can't now (429 and 5xx)."""


class Refused(Exception):
    """The API server refused a request (any other 4xx)."""


class Api:
    """Talks to one cluster as the kubeconfig's user."""

    def __init__(self, kubeconfig: Path, *, timeout: float = 5) -> None:
        """``timeout``: seconds for one request. Raises kubernetes' ConfigException where the kubeconfig can't be read."""
        settings = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=settings, persist_config=False)
        self._host = settings.host
        self._pool = client.ApiClient(settings).rest_client.pool_manager
        self._timeout = timeout

    def _request(self, method: str, path: str, body: Json | None = None, content_type: str = "application/json") -> tuple[int, bytes]:
        try:
            answer = self._pool.request(
                method, self._host + path, body=None if body is None else json.dumps(body),
                headers={"Content-Type": content_type, "Accept": "application/json"}, timeout=self._timeout, retries=False,
            )
        except HTTPError as error:
            raise Unavailable(f"{method} {path}: {error}") from error
        if answer.status == 429 or answer.status >= 500:
            raise Unavailable(f"{method} {path}: {answer.status} {answer.data[:500]!r}")
        return answer.status, answer.data

    def _accepted(self, method: str, path: str, body: Json | None, content_type: str, missing: int) -> Json | None:
        status, data = self._request(method, path, body, content_type)
        if status == missing:
            return None
        if status >= 400:
            raise Refused(f"{method} {path}: {status} {data.decode(errors='replace')[:500]}")
        parsed: Json = json.loads(data)
        return parsed

    def get(self, path: str) -> Json | None:
        """The object or list at ``path``; None where there is none."""
        return self._accepted("GET", path, None, "application/json", missing=404)

    def items(self, path: str) -> list[Json]:
        """The items of the list at ``path``, from the server's watch cache."""
        found = self.get(f"{path}?resourceVersion=0")
        return found["items"] if found else []

    def create(self, path: str, body: Json) -> Json | None:
        """Creates an object; None where one of that name exists."""
        return self._accepted("POST", path, body, "application/json", missing=409)

    def patch(self, path: str, body: Json, content_type: str = MERGE) -> Json | None:
        """Patches an object; None where it is gone."""
        return self._accepted("PATCH", path, body, content_type, missing=404)

    def apply(self, path: str, body: Json) -> Json | None:
        """Creates the object or takes over the fields of ``body`` in it (server-side apply)."""
        return self.patch(f"{path}?fieldManager=testbed-fleet&force=true", body, APPLY)
