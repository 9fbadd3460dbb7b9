# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Raw JSON from and to the API server: paging, retries, watches."""

from __future__ import annotations

import email.utils
import json
import time
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import ApiError, status_error, unreachable

Object = t.Dict[str, t.Any]
Query = t.Mapping[str, t.Any]

PAGE = 500
# A server that has never answered is more likely misnamed than restarting.
PATIENCE_WITH_STRANGERS_S = 5.0
_RETRIED = (429, 500, 502, 503, 504)
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


class TransportError(Exception):
    """No HTTP answer: refused, reset, timed out, bad certificate.

    :ivar final: waiting can't cure it.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class Answer(t.Protocol):
    """An HTTP answer whose body may still be on its way."""

    status: int
    headers: t.Mapping[str, str]

    def read(self) -> bytes: ...

    def lines(self) -> t.Iterator[bytes]: ...

    def close(self) -> None: ...


class Transport(t.Protocol):
    """One attempt of one HTTP request.

    :raises TransportError: there was no answer within ``timeout_s``.
    """

    host: str

    def send(self, method: str, path: str, query: Query, body: t.Optional[bytes], headers: t.Mapping[str, str], timeout_s: float) -> Answer: ...


class Api:
    """The API server.

    :param timeout_s: longest time for one request, retries included.
    """

    def __init__(
        self, transport: Transport, *, timeout_s: float, clock: t.Callable[[], float] = time.monotonic, sleep: t.Callable[[float], None] = time.sleep
    ) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._clock = clock
        self._sleep = sleep
        self._answered = False
        self._date: t.Optional[str] = None

    def within(self, timeout_s: float) -> Api:
        """The same server, given up sooner: for what is asked of a kubelet through it, which may be away."""
        return Api(self._transport, timeout_s=min(timeout_s, self._timeout_s), clock=self._clock, sleep=self._sleep)

    def server_time(self) -> float:
        """Seconds since the epoch by the API server's clock, as of its last answer: what its timestamps compare with."""
        parsed = email.utils.parsedate_to_datetime(self._date) if self._date else None
        return parsed.timestamp() if parsed else time.time()

    def get(self, path: str, **query: t.Any) -> Object:
        """:raises GpuFleetError: ApiUnreachable, ApiUnauthorized, ApiForbidden, ApiNotFound."""
        return self._json("GET", path, query)

    def find(self, path: str) -> t.Optional[Object]:
        """Like :meth:`get`, ``None`` where there is no such object."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: t.Any) -> t.Iterator[Object]:
        """Objects of a collection, page by page, so that a long list is never in memory at once.

        Where a page token expires, the server offers one to go on with; the rest of the list is then newer than its start.
        """
        following: t.Optional[str] = None
        while True:
            page = {**query, "limit": PAGE, **({"continue": following} if following else {})}
            try:
                found = self.get(path, **page)
            except ApiError as error:
                following = error.details.get("continue")
                if following is None:
                    raise
                continue
            yield from found.get("items") or []
            following = (found.get("metadata") or {}).get("continue")
            if not following:
                return

    def snapshot(self, path: str, **query: t.Any) -> t.Tuple[t.List[Object], str]:
        """A whole collection and the resource version from which to watch it."""
        found = self.get(path, **query)
        return found.get("items") or [], found["metadata"]["resourceVersion"]

    def watch(self, path: str, resource_version: str, seconds: int, **query: t.Any) -> t.Iterator[Object]:
        """Events of a collection for some seconds: ``{"type": "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", "object": ...}``.

        Ends without an error when the connection does: go on from the last object's resource version.

        :raises GpuFleetError: ApiGone where that version is too old: list again.
        """
        wanted = {**query, "watch": "1", "resourceVersion": resource_version, "timeoutSeconds": seconds, "allowWatchBookmarks": "true"}
        answer, _body = self._request("GET", path, wanted, stream_s=seconds)
        try:
            for line in answer.lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise status_error(event["object"].get("code") or 500, json.dumps(event["object"]).encode(), f"watch {path}")
                yield event
        except TransportError:
            return
        finally:
            answer.close()

    def text(self, path: str, **query: t.Any) -> str:
        """A text, such as a container's log."""
        return self._request("GET", path, query)[1].decode("utf-8", "replace")

    def create(self, path: str, obj: Object, **query: t.Any) -> Object:
        """:raises AdmissionRefused: the object isn't allowed."""
        return self._json("POST", path, query, obj)

    def delete(self, path: str, options: t.Optional[Object] = None, **query: t.Any) -> None:
        """Delete an object, or a collection with a ``labelSelector``; what is gone already is no error."""
        try:
            self._request("DELETE", path, query, options or {})
        except ApiError as error:
            if error.status != 404:
                raise

    def _json(self, method: str, path: str, query: Query, obj: t.Optional[Object] = None) -> Object:
        _answer, content = self._request(method, path, query, obj)
        try:
            return json.loads(content)
        except ValueError as error:
            start = content[:200].decode("utf-8", "replace")
            raise unreachable(self._transport.host, f"{method.lower()} {path}", f"expected JSON, found {start!r}", 0.0) from error

    def _request(
        self, method: str, path: str, query: Query, obj: t.Optional[Object] = None, stream_s: t.Optional[int] = None
    ) -> t.Tuple[Answer, bytes]:
        """One request, tried again while that can help.

        :param stream_s: leave the body to the caller, who reads it for so many seconds.
        """
        what = f"{method.lower()} {path}"
        body = None if obj is None else json.dumps(obj).encode()
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body else {})}
        started = self._clock()
        patience = self._timeout_s if self._answered else min(self._timeout_s, PATIENCE_WITH_STRANGERS_S)
        pause = _FIRST_PAUSE_S
        while True:
            left = max(0.1, self._timeout_s - (self._clock() - started))
            try:
                answer = self._transport.send(method, path, query, body, headers, left + (stream_s or 0))
                content = b"" if stream_s is not None and answer.status < 300 else answer.read()
            except TransportError as error:
                waited = self._clock() - started
                if error.final or waited + pause > patience:
                    raise unreachable(self._transport.host, what, str(error), waited) from error
                wait = pause
            else:
                self._answered, patience = True, self._timeout_s
                self._date = answer.headers.get("Date") or self._date
                if 200 <= answer.status < 300:
                    return answer, content
                wait = _retry_after(answer, pause)
                if answer.status not in _RETRIED or self._clock() - started + wait > patience:
                    raise status_error(answer.status, content, what)
            self._sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE_S)


def _retry_after(answer: Answer, pause: float) -> float:
    asked = answer.headers.get("Retry-After") or ""
    return max(pause, float(asked)) if asked.isdecimal() else pause
