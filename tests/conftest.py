# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes ``ansible_collections.gpufleet.k8s`` importable from this checkout, whatever folder it lies in."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.utils.collection_loader import _collection_finder

REPOSITORY = Path(__file__).resolve().parent.parent


def _install_collection_finder() -> None:
    parent = REPOSITORY / ".cache" / "collections" / "ansible_collections" / "gpufleet"
    parent.mkdir(parents=True, exist_ok=True)
    link = parent / "k8s"
    if not link.is_symlink():
        link.symlink_to(REPOSITORY)
    # kubernetes.core comes with the ansible package, beside ansible itself on sys.path.
    _collection_finder._AnsibleCollectionFinder(paths=[str(REPOSITORY / ".cache" / "collections")], scan_sys_paths=True)._install()


_install_collection_finder()
sys.path.insert(0, str(REPOSITORY))
