# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for nvidia-container-runtime: changes the container's specification, then becomes runc, as the real one does.

A test machine has no library or device to inject, so the container only keeps its NVIDIA_VISIBLE_DEVICES. Where that asks for GPUs and the
driver is not loaded, it refuses with libnvidia-container's words.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

CONTROLLERS = Path("/sys/fs/cgroup/cgroup.controllers")
LOADED_VERSION = Path("/sys/module/nvidia/version")
NO_DEVICES = {"", "void", "none"}


def option(arguments: list, *names: str) -> str | None:
    """The value of an option, which may stand after it or behind an equals sign; None without it."""
    for position, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else arguments[position + 1]
    return None


def fail(arguments: list, message: str) -> None:
    """End with an error where containerd's shim looks for it: in runc's log."""
    log = option(arguments, "--log")
    if log is not None:
        Path(log).write_text(json.dumps({"level": "error", "msg": message, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) + "\n")
    sys.exit(message)


def environment(specification: dict) -> dict:
    return dict(entry.split("=", 1) for entry in specification["process"].get("env", []) if "=" in entry)


def changed(specification: dict, controllers: list) -> dict:
    """The specification as runc can use it on this machine: its limits only where the machine's cgroups can keep them.

    :param controllers: the cgroup controllers that the machine has
    """
    result = dict(specification)
    if "cpu" not in controllers and "linux" in result:
        result["linux"] = {key: value for key, value in result["linux"].items() if key != "resources"}
    return result


def main(arguments: list) -> None:
    if "create" in arguments:
        path = Path(option(arguments, "--bundle", "-b") or ".") / "config.json"
        specification = json.loads(path.read_text())
        if environment(specification).get("NVIDIA_VISIBLE_DEVICES", "") not in NO_DEVICES and not LOADED_VERSION.exists():
            fail(arguments, "nvidia-container-cli: initialization error: nvml error: driver not loaded")
        path.write_text(json.dumps(changed(specification, CONTROLLERS.read_text().split() if CONTROLLERS.exists() else [])))
    os.execvp("runc", ["runc", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
