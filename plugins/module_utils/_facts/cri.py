# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the running container runtime says of itself."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import mapping, mappings, text, texts

# Status codes of gRPC (grpc.io, Status codes): nobody implements the service, so the CRI plugin isn't there.
UNIMPLEMENTED = 12


def facts(answer: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    """The running daemon as the CRI shows it; ``None`` where there is no socket to ask.

    :param answer: the evidence's ``cri``.
    :return: ``handlers`` and ``default_handler`` are ``None`` where the daemon doesn't say; ``runtimes`` has the handlers' settings.
    """
    if answer is None:
        return None
    ready = next((item for item in mappings(answer.get("conditions")) if item.get("type") == "RuntimeReady"), {})
    containerd = mapping(config(answer).get("containerd"))
    runtimes = {name: mapping(entry) for name, entry in mapping(containerd.get("runtimes")).items()}
    # A handler without a name stands for the default one (kubernetes/cri-api, RuntimeHandler).
    named = [name for name in texts([item for item in answer.get("runtime_handlers") or [] if item]) if name]
    handlers = sorted(set(runtimes) | set(named))
    return {
        "endpoint": text(answer.get("endpoint")),
        "ready": ready.get("status") is True,
        "reason": text(ready.get("reason")) or None,
        "message": text(ready.get("message")) or text(answer.get("error")) or None,
        "grpc_status": answer.get("grpc_status"),
        "denied": answer.get("denied") is True,
        "version": text(mapping(answer.get("version")).get("version")) or None,
        "handlers": handlers or None,
        "default_handler": text(containerd.get("defaultRuntimeName")) or None,
        "runtimes": [_handler(name, entry) for name, entry in sorted(runtimes.items())],
    }


def _handler(name: str, entry: dict[str, t.Any]) -> dict[str, t.Any]:
    options = mapping(entry.get("options"))
    return {
        "name": name,
        "runtime_type": text(entry.get("runtimeType")) or None,
        "binary": text(options.get("BinaryName")) or None,
        "systemd_cgroup": options.get("SystemdCgroup") is True,
    }


def config(answer: dict[str, t.Any]) -> dict[str, t.Any]:
    """The configuration that the daemon runs with: the JSON text that containerd gives under ``info["config"]``."""
    try:
        return mapping(json.loads(text(mapping(answer.get("info")).get("config"))))
    except (ValueError, RecursionError):
        return {}
