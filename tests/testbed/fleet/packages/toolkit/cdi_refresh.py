# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for ``nvidia-ctk cdi generate``, which needs the real management library: lists the GPUs that nvidia-smi lists, without files to mount."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

TARGET = Path("/var/run/cdi/nvidia.yaml")


def specification(listing: str) -> dict:
    """A CDI specification for the GPUs in the output of ``nvidia-smi -L``."""
    gpus = re.findall(r"^GPU (\d+):.*\(UUID: (GPU-[^)]*)\)$", listing, re.MULTILINE)
    nodes = {name: [f"/dev/nvidia{index}"] for index, uuid in gpus for name in (index, uuid)}
    nodes["all"] = [f"/dev/nvidia{index}" for index, _uuid in gpus]
    return {
        "cdiVersion": "0.5.0",
        "kind": "nvidia.com/gpu",
        "devices": [{"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in paths]}} for name, paths in nodes.items()],
        "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"], "deviceNodes": [{"path": "/dev/nvidiactl"}]},
    }


def main() -> int:
    listed = subprocess.run(["/usr/bin/nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode:
        return listed.returncode
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(specification(listed.stdout), indent=2) + "\n")  # JSON is YAML too
    return 0


if __name__ == "__main__":
    sys.exit(main())
