# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Asks the running container runtime through the CRI (runtime.v1 of kubernetes/cri-api)."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import protobuf
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.grpc import Connection, GrpcError
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask

_SERVICE = "/runtime.v1.RuntimeService/"
_VERBOSE = b"\x08\x01"


def ask(path: str, timeout: float) -> dict[str, t.Any]:
    """What the runtime behind a socket says of itself.

    :param path: of the unix socket.
    :param timeout: seconds for all of it.
    :return: the evidence's ``cri``; ``error`` says why the rest is empty.
    """
    evidence: dict[str, t.Any] = {
        "endpoint": "unix://" + path,
        "error": None,
        "grpc_status": None,
        "denied": False,
        "pid": None,
        "version": {},
        "conditions": [],
        "info": {},
        "runtime_handlers": [],
    }
    try:
        with Connection(path, timeout) as connection:
            evidence["pid"] = connection.server_pid()
            evidence["version"] = version_reply(connection.call(_SERVICE + "Version", b""))
            evidence.update(status_reply(connection.call(_SERVICE + "Status", _VERBOSE)))
    except GrpcError as error:
        evidence.update(error=str(error), grpc_status=error.status)
    except PermissionError as error:
        evidence.update(error=str(error), denied=True)
    except (OSError, ValueError) as error:
        evidence.update(error=str(error))
    return evidence


def version_reply(data: bytes) -> dict[str, str]:
    """A VersionResponse.

    :raises ValueError: it isn't one.
    """
    fields = protobuf.parse(data)
    return {"name": protobuf.text(fields, 2), "version": protobuf.text(fields, 3)}


def status_reply(data: bytes) -> dict[str, t.Any]:
    """A StatusResponse.

    :raises ValueError: it isn't one.
    """
    fields = protobuf.parse(data)
    conditions = [condition for status in protobuf.messages(fields, 1) for condition in protobuf.messages(status, 1)]
    return {
        "conditions": [
            {
                "type": protobuf.text(condition, 1),
                "status": protobuf.flag(condition, 2),
                "reason": protobuf.text(condition, 3),
                "message": protobuf.text(condition, 4),
            }
            for condition in conditions
        ],
        "info": {protobuf.text(entry, 1): mask(protobuf.text(entry, 2)) for entry in protobuf.messages(fields, 2)},
        "runtime_handlers": [protobuf.text(handler, 1) for handler in protobuf.messages(fields, 3)],
    }
