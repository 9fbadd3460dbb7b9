# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python3 -m tests.benchmarks NAME``: runs a benchmark of this folder; without a name it lists them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in NAMES:
        print("Benchmarks:", *NAMES)
        return 2
    status: int = importlib.import_module(f"tests.benchmarks.{arguments[0]}").main(arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
