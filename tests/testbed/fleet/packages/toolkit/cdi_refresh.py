# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for ``nvidia-ctk cdi generate``, which needs the real management library: its specification for the GPUs that nvidia-smi lists.

Layout, names and options are those of nvidia-ctk 1.20; of the driver's files it has those that the stand-in packages bring.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TARGET = Path("/var/run/cdi/nvidia.yaml")
LOADED_VERSION = Path("/sys/module/nvidia/version")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PROGRAMS = ("/usr/bin/nvidia-persistenced", "/usr/bin/nvidia-smi")
DEVICE_NODES = ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl")
OPTIONS = ("ro", "nosuid", "nodev", "rbind", "rprivate")


def specification(listing: str, files: list) -> dict:
    """A CDI specification for the GPUs in the output of ``nvidia-smi -L``.

    :param files: paths to mount
    """
    gpus = re.findall(r"^GPU (\d+):.*\(UUID: (GPU-[^)]*)\)$", listing, re.MULTILINE)
    nodes = {name: [f"/dev/nvidia{index}"] for index, uuid in gpus for name in (index, uuid)}
    nodes["all"] = [f"/dev/nvidia{index}" for index, _uuid in gpus]
    return {
        "cdiVersion": "0.5.0",
        "kind": "nvidia.com/gpu",
        "devices": [{"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in paths]}} for name, paths in nodes.items()],
        "containerEdits": {
            "env": ["NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu", "NVIDIA_VISIBLE_DEVICES=void"],
            "deviceNodes": [{"path": path} for path in DEVICE_NODES],
            "mounts": [{"hostPath": file, "containerPath": file, "options": list(OPTIONS)} for file in files],
        },
    }


def driver_files(version: str) -> list:
    """The libraries of that version and the programs, as far as they are there."""
    return [str(path) for path in (*sorted(LIBRARIES.glob(f"lib*.so.{version}")), *map(Path, PROGRAMS)) if path.exists()]


def yaml(value: object, indent: int = 0) -> str:
    """A block of YAML for mappings, lists and strings, indented as nvidia-ctk does it."""
    margin = " " * indent
    if isinstance(value, dict):
        return "".join(f"{margin}{key}:{_below(item, indent + 4)}" for key, item in value.items())
    if isinstance(value, list):
        return "".join(f"{margin}- {yaml(item, indent + 2).lstrip()}" for item in value)
    return f'{margin}"{value}"\n' if str(value).isdigit() else f"{margin}{value}\n"


def _below(item: object, indent: int) -> str:
    return f" {yaml(item)}" if isinstance(item, str) else f"\n{yaml(item, indent)}"


def main() -> int:
    listed = subprocess.run(["/usr/bin/nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode:
        return listed.returncode
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("---\n" + yaml(specification(listed.stdout, driver_files(LOADED_VERSION.read_text().strip()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
