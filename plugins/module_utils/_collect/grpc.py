# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Unary gRPC calls over a unix socket: HTTP/2 (RFC 9113) with nothing that a call doesn't need."""

from __future__ import annotations

import socket
import struct
import time

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import hpack

MESSAGE_LIMIT = 4 * 1024 * 1024
DEADLINE_EXCEEDED = 4
_WINDOW = MESSAGE_LIMIT + 64 * 1024
_FRAME_LIMIT = 16384

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _INITIAL_WINDOW_SIZE = 1, 2, 4


class GrpcError(Exception):
    """A call that gave no reply.

    :param status: the gRPC status code where the server sent one, for example 12 (unimplemented).
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """One connection to a gRPC server.

    :param path: of the unix socket.
    :param timeout: seconds for everything that is done with the connection.
    :raises OSError: nothing listens there, or access is denied.
    """

    def __init__(self, path: str, timeout: float) -> None:
        self._deadline = time.monotonic() + timeout
        self._decoder = hpack.Decoder()
        self._stream = -1
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
            settings = ((_HEADER_TABLE_SIZE, 0), (_ENABLE_PUSH, 0), (_INITIAL_WINDOW_SIZE, _WINDOW))
            self._socket.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b"".join(struct.pack(">HI", *setting) for setting in settings)))
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def server_pid(self) -> int | None:
        """The process that listens on the socket; ``None`` where the kernel doesn't tell."""
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", credentials)[0] or None

    def call(self, method: str, request: bytes) -> bytes:
        """A unary call.

        :param method: for example ``/runtime.v1.RuntimeService/Status``.
        :param request: the protobuf message.
        :raises GrpcError: the server refused, broke the connection or took too long.
        """
        self._stream += 2
        headers = hpack.encode((
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", method.encode()),
            (b":authority", b"localhost"),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
        ))
        message = struct.pack(">BI", 0, len(request)) + request
        try:
            # The connection's window is apart from the streams' and starts at 64 KiB: open it by one whole reply a call.
            self._socket.sendall(
                _frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", _WINDOW))
                + _frame(_HEADERS, _END_HEADERS, self._stream, headers)
                + _frame(_DATA, _END_STREAM, self._stream, message)
            )
            return self._reply()
        except socket.timeout:
            raise GrpcError(f"no reply to {method} in time", DEADLINE_EXCEEDED) from None
        except OSError as error:
            raise GrpcError(f"connection broken during {method}: {error}") from error
        except (IndexError, struct.error) as error:
            raise GrpcError(f"the server doesn't speak HTTP/2: {error}") from error

    def _reply(self) -> bytes:
        body = bytearray()
        headers: dict[bytes, bytes] = {}
        block = b""
        ended = False
        while True:
            kind, flags, stream, payload = self._receive()
            if kind in _CONNECTION_FRAMES:
                self._connection_frame(kind, flags, payload)
            elif kind == _RST_STREAM and stream == self._stream:
                raise GrpcError(f"the server reset the call (HTTP/2 error {struct.unpack('>I', payload)[0]})")
            elif kind == _DATA and stream == self._stream:
                body += _unpadded(payload, flags, 0)
                ended = ended or bool(flags & _END_STREAM)
            elif kind in (_HEADERS, _CONTINUATION):
                block += _unpadded(payload, flags, 5 if flags & _PRIORITY else 0) if kind == _HEADERS else payload
                ended = ended or (kind == _HEADERS and stream == self._stream and bool(flags & _END_STREAM))
                if flags & _END_HEADERS:
                    headers.update(self._decoder.decode(block))
                    block = b""
            if len(body) > MESSAGE_LIMIT + 5 or len(block) > MESSAGE_LIMIT:
                raise GrpcError(f"the reply is larger than {MESSAGE_LIMIT} bytes")
            if ended and not block:
                return _message(bytes(body), headers)

    def _connection_frame(self, kind: int, flags: int, payload: bytes) -> None:
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._socket.sendall(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
        elif kind == _GOAWAY:
            last, error = struct.unpack(">II", payload[:8])
            if last < self._stream or error:
                raise GrpcError(f"the server closed the connection (HTTP/2 error {error})")

    def _receive(self) -> tuple[int, int, int, bytes]:
        head = self._read(9)
        length = int.from_bytes(head[:3], "big")
        if length > _FRAME_LIMIT:
            raise GrpcError("the server doesn't speak HTTP/2: frame too large")
        return head[3], head[4], int.from_bytes(head[5:], "big") & 0x7FFFFFFF, self._read(length)

    def _read(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise socket.timeout
            self._socket.settimeout(remaining)
            chunk = self._socket.recv(length - len(data))
            if not chunk:
                raise GrpcError("the server closed the connection")
            data += chunk
        return bytes(data)


_CONNECTION_FRAMES = frozenset((_SETTINGS, _PING, _GOAWAY))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def _unpadded(payload: bytes, flags: int, prefix: int) -> bytes:
    """A frame's content without its padding and without the ``prefix`` bytes of priority before it."""
    padding = 0
    if flags & _PADDED:
        padding = payload[0]
        payload = payload[1:]
    return payload[prefix:len(payload) - padding]


def _message(body: bytes, headers: dict[bytes, bytes]) -> bytes:
    """The reply's message, checked against the status in the trailers."""
    status = _number(headers.get(b"grpc-status", b""))
    if status != 0:
        text = headers.get(b"grpc-message", b"").decode("utf-8", "replace")
        raise GrpcError(f"gRPC status {'unknown' if status is None else status}: {text}", status)
    compressed, length = struct.unpack(">BI", body[:5])
    if compressed or len(body) != length + 5:
        raise GrpcError("the reply is not one whole message")
    return body[5:]


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None
