# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for nvidia-container-cli: says its version, or what driver and GPUs it would inject."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VERSION = "@UPSTREAM@"
LOADED_VERSION = Path("/sys/module/nvidia/version")


def main(arguments: list) -> int:
    if {"-V", "--version"} & set(arguments):
        print(f"cli-version: {VERSION}\nlib-version: {VERSION}")
        return 0
    if not LOADED_VERSION.exists():
        print("nvidia-container-cli: initialization error: nvml error: driver not loaded", file=sys.stderr)
        return 1
    print(f"NVRM version:   {LOADED_VERSION.read_text().strip()}")
    return subprocess.run(["/usr/bin/nvidia-smi", "-L"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
