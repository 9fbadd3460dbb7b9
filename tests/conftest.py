# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes ``ansible_collections.gpufleet.k8s`` importable from this checkout, whatever folder it lies in."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.loader import init_plugin_loader

REPOSITORY = Path(__file__).resolve().parent.parent
COLLECTIONS = REPOSITORY / ".cache" / "collections"


def _link_checkout() -> None:
    link = COLLECTIONS / "ansible_collections" / "gpufleet" / "k8s"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(REPOSITORY)


_link_checkout()
init_plugin_loader([str(COLLECTIONS)])
