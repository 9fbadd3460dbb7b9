# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gRPC client against a real server, and against servers that misbehave."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
import typing as t
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cri, hpack, protobuf
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.grpc import MESSAGE_LIMIT, Connection, GrpcError

METHOD = "/runtime.v1.RuntimeService/Status"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


STATUS = (
    _field(
        1,
        _field(1, _field(1, "RuntimeReady") + _field(2, 1))
        + _field(1, _field(1, "NetworkReady") + _field(3, "NetworkPluginNotReady") + _field(4, "no CNI")),
    )
    + _field(2, _field(1, "config") + _field(2, '{"registry": {"auths": {"example.org": {"auth": "c2VjcmV0"}}}}'))
    + _field(3, _field(1, ""))
    + _field(3, _field(1, "nvidia") + _field(2, _field(1, 1)))
)
VERSION = _field(1, "0.1.0") + _field(2, "containerd") + _field(3, "v2.4.2") + _field(4, "v1")


class _Runtime(grpc.GenericRpcHandler):
    def __init__(self, replies: dict[str, t.Any]) -> None:
        self._replies = replies

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        reply = self._replies.get(details.method.rpartition("/")[2])
        if reply is None:
            return None
        return grpc.unary_unary_rpc_method_handler(lambda _request, context: reply(context) if callable(reply) else reply)


@pytest.fixture
def serve(tmp_path: Path) -> t.Iterator[t.Callable[[dict[str, t.Any]], str]]:
    servers = []

    def start(replies: dict[str, t.Any]) -> str:
        path = str(tmp_path / "runtime.sock")
        server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[_Runtime(replies)], options=[("grpc.max_send_message_length", -1)])
        server.add_insecure_port("unix://" + path)
        server.start()
        servers.append(server)
        return path

    yield start
    for server in servers:
        server.stop(0).wait()


def test_status_and_version(serve: t.Callable[[dict[str, t.Any]], str]) -> None:
    path = serve({"Status": STATUS, "Version": VERSION})
    answer = cri.ask(path, 5)
    assert answer["error"] is None
    assert answer["version"] == {"name": "containerd", "version": "v2.4.2"}
    assert answer["conditions"][0] == {"type": "RuntimeReady", "status": True, "reason": "", "message": ""}
    assert answer["conditions"][1] == {"type": "NetworkReady", "status": False, "reason": "NetworkPluginNotReady", "message": "no CNI"}
    assert answer["runtime_handlers"] == ["", "nvidia"]
    assert answer["info"] == {"config": '{"registry": {"auths": {"example.org": {"auth": "***"}}}}'}
    assert isinstance(answer["pid"], int)


@pytest.mark.parametrize("size", [0, 1, 16384, 65536, 1_000_000, MESSAGE_LIMIT])
def test_replies_of_any_size(serve: t.Callable[[dict[str, t.Any]], str], size: int) -> None:
    path = serve({"Status": b"x" * size})
    with Connection(path, 20) as connection:
        for _call in range(3):
            assert len(connection.call(METHOD, b"\x08\x01")) == size


def test_a_reply_that_is_too_large(serve: t.Callable[[dict[str, t.Any]], str]) -> None:
    path = serve({"Status": b"x" * (MESSAGE_LIMIT + 1)})
    with Connection(path, 20) as connection, pytest.raises(GrpcError, match="larger than"):
        connection.call(METHOD, b"")


def test_a_service_that_is_not_there(serve: t.Callable[[dict[str, t.Any]], str]) -> None:
    answer = cri.ask(serve({}), 5)
    assert (answer["grpc_status"], answer["conditions"]) == (12, [])
    assert "12" in answer["error"]


def test_the_servers_message_is_decoded(serve: t.Callable[[dict[str, t.Any]], str]) -> None:
    path = serve({"Status": lambda context: context.abort(grpc.StatusCode.UNAVAILABLE, "server is not initialized yet")})
    with Connection(path, 5) as connection, pytest.raises(GrpcError, match="server is not initialized yet") as caught:
        connection.call(METHOD, b"")
    assert caught.value.status == 14


def test_a_server_that_does_not_answer(serve: t.Callable[[dict[str, t.Any]], str]) -> None:
    release = threading.Event()
    path = serve({"Version": lambda _context: release.wait(5) and b""})
    started = time.monotonic()
    answer = cri.ask(path, 0.3)
    release.set()
    assert time.monotonic() - started < 2
    assert answer["grpc_status"] == 4


def test_nobody_listens(tmp_path: Path) -> None:
    answer = cri.ask(str(tmp_path / "no.sock"), 1)
    assert answer["grpc_status"] is None
    assert "No such file" in answer["error"]


def _raw_server(path: Path, data: bytes) -> threading.Thread:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(1)

    def run() -> None:
        with contextlib.suppress(OSError), listener, listener.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(data)
            connection.settimeout(1)
            while connection.recv(65536):
                pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


TRAILERS = hpack.encode(((b"grpc-status", b"0"),))
HEAD = _frame(4, 0, 0, b"") + _frame(6, 0, 0, b"01234567") + _frame(8, 0, 0, struct.pack(">I", 100)) + _frame(1, 4, 1, b"\x88")
BODY = struct.pack(">BI", 0, 3) + b"abc"


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(_frame(0, 0, 1, BODY) + _frame(1, 5, 1, TRAILERS), id="plain"),
        pytest.param(_frame(0, 8, 1, b"\x02" + BODY + b"\0\0") + _frame(1, 5, 1, TRAILERS), id="padded data"),
        pytest.param(_frame(0, 0, 1, BODY) + _frame(1, 0x2D, 1, b"\x01\0\0\0\0\x10" + TRAILERS + b"\0"), id="padded headers with priority"),
        pytest.param(_frame(0, 0, 1, BODY) + _frame(1, 1, 1, TRAILERS[:4]) + _frame(9, 4, 1, TRAILERS[4:]), id="continuation"),
        pytest.param(
            _frame(0, 0, 1, BODY[:4]) + _frame(7, 0, 0, struct.pack(">II", 1, 0)) + _frame(0, 0, 1, BODY[4:]) + _frame(1, 5, 1, TRAILERS),
            id="goaway after us",
        ),
    ],
)
def test_frames_of_all_kinds(tmp_path: Path, frames: bytes) -> None:
    _raw_server(tmp_path / "s", HEAD + frames)
    with Connection(str(tmp_path / "s"), 5) as connection:
        assert connection.call(METHOD, b"") == b"abc"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "HTTP/2", id="HTTP/1"),
        pytest.param(HEAD + _frame(3, 0, 1, struct.pack(">I", 7)), "reset", id="reset"),
        pytest.param(HEAD + _frame(7, 0, 0, struct.pack(">II", 0, 11)), "HTTP/2 error 11", id="goaway"),
        pytest.param(HEAD + _frame(0, 1, 1, BODY), "status unknown", id="no trailers"),
        pytest.param(HEAD + _frame(1, 5, 1, TRAILERS), "HTTP/2", id="no message"),
        pytest.param(HEAD + _frame(0, 0, 1, BODY[:-1]) + _frame(1, 5, 1, TRAILERS), "one whole message", id="cut message"),
        pytest.param(HEAD + _frame(3, 0, 1, b""), "HTTP/2", id="reset without a code"),
        pytest.param(HEAD + _frame(1, 5, 1, b"\x00\x7f"), "HTTP/2", id="cut header"),
        pytest.param(HEAD + _frame(0, 8, 1, b""), "HTTP/2", id="padding missing"),
    ],
)
def test_servers_that_misbehave(tmp_path: Path, data: bytes, message: str) -> None:
    _raw_server(tmp_path / "s", data)
    with Connection(str(tmp_path / "s"), 1) as connection, pytest.raises(GrpcError, match=message):
        connection.call(METHOD, b"")


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=300))
def test_the_collector_survives_any_reply(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("s") / "s"
    _raw_server(path, HEAD + data)
    assert cri.ask(str(path), 0.1)["error"] is not None


@given(st.binary(max_size=300))
def test_messages_of_any_bytes(data: bytes) -> None:
    for parser in (cri.status_reply, cri.version_reply, protobuf.parse):
        try:
            parser(data)
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("coded", "plain"),
    [  # RFC 7541, appendix C
        ("f1e3c2e5f23a6ba0ab90f4ff", b"www.example.com"),
        ("a8eb10649cbf", b"no-cache"),
        ("d07abe941054d444a8200595040b8166e082a62d1bff", b"Mon, 21 Oct 2013 20:13:21 GMT"),
        (
            "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
            b"foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        ),
    ],
)
def test_huffman(coded: str, plain: bytes) -> None:
    assert hpack.huffman_decode(bytes.fromhex(coded)) == plain


def test_headers_that_were_indexed_before() -> None:
    decoder = hpack.Decoder()
    literal = b"\x40\x0bgrpc-status\x010"
    assert decoder.decode(literal) == {b"grpc-status": b"0"}
    assert decoder.decode(b"\x20\xbe") == {b"grpc-status": b"0"}
    assert decoder.decode(b"\x7e\x0212") == {b"grpc-status": b"12"}
