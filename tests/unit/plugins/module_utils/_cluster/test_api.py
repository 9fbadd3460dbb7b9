# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paging, retries and watches against a server that answers by script."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import PAGE, Api, TransportError
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import AdmissionRefused, ApiError
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

Object = t.Dict[str, t.Any]


class Answer:
    def __init__(self, status: int, body: t.Any = None, headers: dict[str, str] | None = None, broken: bool = False) -> None:
        self.status = status
        self.headers = headers or {}
        self._body = body
        self._broken = broken

    def read(self) -> bytes:
        if self._broken:
            raise TransportError("connection reset")
        return self._body if isinstance(self._body, bytes) else json.dumps(self._body).encode()

    def lines(self) -> t.Iterator[bytes]:
        for event in self._body:
            yield json.dumps(event).encode()
        if self._broken:
            raise TransportError("connection reset")

    def close(self) -> None:
        pass


class Server:
    """Answers in the order given; a :class:`TransportError` among them is raised."""

    host = "https://api.example:6443"

    def __init__(self, *script: Answer | TransportError) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, str, Object]] = []
        self.now = 0.0

    def send(self, method: str, path: str, query: t.Mapping[str, t.Any], body: bytes | None, headers: t.Mapping[str, str], timeout_s: float) -> Answer:
        self.asked.append((method, path, dict(query)))
        step = self.script.pop(0)
        if isinstance(step, TransportError):
            raise step
        return step

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def api(self, timeout_s: float = 30) -> Api:
        return Api(self, timeout_s=timeout_s, clock=lambda: self.now, sleep=self.sleep)


def page(names: t.Iterable[str], following: str = "") -> Answer:
    return Answer(200, {"items": [{"metadata": {"name": name}} for name in names], "metadata": {"continue": following, "resourceVersion": "7"}})


def names(items: t.Iterable[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_pages() -> None:
    server = Server(page("ab", "next"), page("c"))
    assert names(server.api().items("/api/v1/nodes", labelSelector="x")) == ["a", "b", "c"]
    assert [asked[-1] for asked in server.asked] == [{"labelSelector": "x", "limit": PAGE}, {"labelSelector": "x", "limit": PAGE, "continue": "next"}]


def test_a_page_token_that_expired_is_replaced_by_the_servers() -> None:
    expired = Answer(410, {"message": "The provided continue parameter is too old", "reason": "Expired", "metadata": {"continue": "fresh"}})
    server = Server(page("a", "old"), expired, page("b"))
    assert names(server.api().items("/api/v1/pods")) == ["a", "b"]
    assert server.asked[-1][2]["continue"] == "fresh"


@pytest.mark.parametrize(
    "trouble",
    [
        Answer(429, {}, {"Retry-After": "2"}),
        Answer(500, {}),
        Answer(503, b"upstream connect error"),
        TransportError("reset"),
        Answer(200, {}, broken=True),
    ],
)
def test_trouble_that_passes(trouble: Answer | TransportError) -> None:
    server = Server(trouble, Answer(200, {"gitVersion": "v1"}))
    assert server.api().get("/version") == {"gitVersion": "v1"}
    assert server.now >= (2 if isinstance(trouble, Answer) and trouble.status == 429 else 0.25)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"message": "Unauthorized"}, "ApiUnauthorized"),
        (403, {"message": 'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope'}, "ApiForbidden"),
        (403, {"message": 'pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged'}, "AdmissionRefused"),
        (404, {"message": "not found"}, "ApiNotFound"),
        (409, {"message": "exists"}, "ApiConflict"),
        (418, b"a teapot", "ApiError"),
    ],
)
def test_refusals_are_named_and_not_repeated(status: int, body: t.Any, code: str) -> None:
    server = Server(Answer(status, body))
    with pytest.raises(ApiError) as caught:
        server.api().get("/api/v1/nodes")
    assert (caught.value.code, caught.value.status) == (code, status)
    assert server.now == 0


def test_forbidden_names_verb_and_resource() -> None:
    message = 'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope'
    with pytest.raises(ApiError) as caught:
        Server(Answer(403, {"message": message})).api().get("/api/v1/nodes")
    assert (caught.value.details["user"], caught.value.details["verb"], caught.value.details["resource"]) == ("u", "list", "nodes")


def test_admission_is_told_from_permission() -> None:
    with pytest.raises(AdmissionRefused) as caught:
        Server(Answer(403, {"message": 'pods "p" is forbidden: exceeded quota: q'})).api().create("/api/v1/namespaces/n/pods", {})
    assert caught.value.text.endswith("exceeded quota: q")


@pytest.mark.parametrize(("answered", "longest"), [(False, 5), (True, 30)])
def test_a_server_that_is_away_is_given_up_in_time(answered: bool, longest: float) -> None:
    server = Server(*([Answer(200, {})] if answered else []), *[TransportError("refused")] * 100)
    api = server.api(timeout_s=30)
    if answered:
        api.get("/version")
    with pytest.raises(GpuFleetError) as caught:
        api.get("/version")
    assert caught.value.code == "ApiUnreachable"
    assert caught.value.details["host"] == server.host
    assert longest / 2 < server.now <= longest


def test_what_waiting_cannot_cure_is_given_up_at_once() -> None:
    server = Server(TransportError("certificate verify failed", final=True))
    with pytest.raises(GpuFleetError) as caught:
        server.api().get("/version")
    assert (caught.value.code, server.now) == ("ApiUnreachable", 0)


def test_a_proxys_page_is_no_answer() -> None:
    with pytest.raises(GpuFleetError) as caught:
        Server(Answer(200, b"<html>sign in</html>")).api().get("/version")
    assert caught.value.code == "ApiUnreachable"
    assert "<html>" in str(caught.value)


def test_a_watch_ends_quietly_with_its_connection() -> None:
    events = [{"type": "ADDED", "object": {"metadata": {"name": "a"}}}]
    assert list(Server(Answer(200, events, broken=True)).api().watch("/api/v1/pods", "7", 5)) == events


def test_an_expired_watch_says_so() -> None:
    gone = [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}]
    with pytest.raises(ApiError) as caught:
        list(Server(Answer(200, gone)).api().watch("/api/v1/pods", "7", 5))
    assert caught.value.code == "ApiGone"


def test_what_is_gone_already_is_deleted() -> None:
    Server(Answer(404, {"message": "not found"})).api().delete("/api/v1/namespaces/n")
    assert Server(Answer(404, {"message": "not found"})).api().find("/api/v1/namespaces/n") is None


def test_the_servers_clock() -> None:
    server = Server(Answer(200, {}, {"Date": "Mon, 30 Nov 2026 22:00:00 GMT"}))
    api = server.api()
    api.get("/version")
    assert api.server_time() == 1796076000
