# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the testbed keeps what it builds and what it runs."""

from __future__ import annotations

import os
import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("GPUFLEET_TESTBED_CACHE", REPO / ".cache" / "testbed")).resolve()
BIN = CACHE / "bin"
BASES = CACHE / "base"
PACKAGE_REPOSITORY = CACHE / "repo"

NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
# Folders of the cache that hold what is built, so no instance may take their names.
RESERVED = frozenset({"bin", "base", "repo", "keys", "tools"})


def checked_name(name: str) -> str:
    """Return ``name`` if an instance or a node may be called so.

    :param name: what a user typed; it becomes part of host names, cgroups and folders
    :raises ValueError: the name has characters that one of these doesn't take, or is one of the cache's own folders
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        expected = f"a small letter, then small letters, digits and dashes, 31 in all at most, and none of {', '.join(sorted(RESERVED))}"
        raise ValueError(f"name {name!r}: expected {expected}")
    return name


def instance_dir(name: str) -> Path:
    """Return the folder that holds all state of the instance ``name``.

    :raises ValueError: ``name`` is not fit for an instance
    """
    return CACHE / checked_name(name)
