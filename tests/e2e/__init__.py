# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs a machine with a real GPU, and therefore runs by hand: ``python3 -m tests.e2e.real_gpu`` from the repository.

Works in a bare checkout with nothing but Python 3.11 or later: importing this package makes ``ansible_collections.gpufleet.k8s`` importable,
unless Ansible's own loader has done so already. It writes nothing.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_PACKAGES = ("ansible_collections", "ansible_collections.gpufleet", "ansible_collections.gpufleet.k8s")


def _make_importable() -> None:
    try:
        found = importlib.util.find_spec(_PACKAGES[-1])
    except ModuleNotFoundError:
        found = None
    if found is not None:
        return
    for name in _PACKAGES:
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(REPOSITORY)] if name == _PACKAGES[-1] else []
            sys.modules[name] = package


_make_importable()
