# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What NVML says of a node's driver and GPUs."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host

Record = t.Dict[str, t.Any]

_LIBRARY = "libnvidia-ml.so.1"
# Of nvmlReturn_t; the rest is in nvml_library, which nobody but the asking process needs.
_TIMEOUT, _UNKNOWN = 10, 999
# The distributions' folders (of 64 bits), WSL's, and where driver containers and image-based systems keep the driver.
_FOLDERS = (
    "/usr/lib/[!i]*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/local/nvidia/lib/[!i]*-linux-gnu",
    "/run/nvidia/driver/usr/lib/[!i]*-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
    "/run/opengl-driver/lib",
)
_BELOW_ROOT = ("/usr/lib/[!i]*-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/lib/[!i]*-linux-gnu")


def libraries(host: Host, driver_root: str | None) -> list[str]:
    """Where NVML's library is.

    :param driver_root: the only place to look at, below which the driver's files lie as below ``/``; ``None`` for all that are known.
    """
    folders = _FOLDERS if driver_root is None else tuple(driver_root.rstrip("/") + folder for folder in _BELOW_ROOT)
    return [path for folder in folders for path in host.glob(f"{folder}/{_LIBRARY}")]


def reader(host: Host, paths: t.Sequence[str]) -> t.Callable[[], str]:
    """What asks NVML and gives the answer as JSON. It may hang with the driver, so that it is to be called in a process of its own.

    :param paths: of the libraries, of which the first counts that gives an answer.
    """
    files = {os.path.realpath(host.path(path)): path for path in reversed(paths)}
    candidates = [(path, real) for real, path in reversed(files.items())]

    def read() -> str:
        # Imported where it is needed, and by nobody else: it takes a while.
        from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.nvml_session import ask

        return json.dumps(ask(candidates))

    return read


def record(answer: dict[str, t.Any], paths: t.Sequence[str], timeout: float) -> tuple[Record, list[str]]:
    """The evidence's ``nvml`` and what could not be read.

    :param answer: the record of the process that ``reader`` ran in.
    :param paths: of the libraries.
    :param timeout: seconds that it had.
    """
    if answer["timed_out"]:
        text = f"no answer within {timeout:g} s"
        return _nothing(paths[0], _TIMEOUT, text), [f"{text}; nvidia-smi was not run, since it asks the same driver"]
    try:
        found = json.loads(answer["stdout"])
        return found["nvml"], found["failures"]
    except ValueError:
        text = f"the process that asked it ended with status {answer['rc']}"
        return _nothing(paths[0], _UNKNOWN, text), [text]


def _nothing(library: str, code: int, text: str) -> Record:
    error = {"function": "", "code": code, "text": text}
    return {"library": library, "error": error, "driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": []}
