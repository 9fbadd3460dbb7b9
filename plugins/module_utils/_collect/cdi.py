# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The container toolkit's configuration and the CDI specifications."""

from __future__ import annotations

import re

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

# The host's own, and the one that the GPU Operator's toolkit container installs.
_TOOLKIT = (
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
    "/run/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
)
_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_SPECS = re.compile(r"[^/]+\.(?:yaml|json)")
_SPECS_LIMIT = 16


def observe(host: Host, reader: Reader) -> None:
    """Read the toolkit's configuration and the specifications in CDI's own folders, as far as the reader's limits allow."""
    reader.read_all(_TOOLKIT)
    paths = [f"{folder}/{name}" for folder in _FOLDERS for name in host.listdir(folder) if _SPECS.fullmatch(name)]
    if len(paths) > _SPECS_LIMIT:
        reader.error(paths[_SPECS_LIMIT], f"left out, and maybe others: more than {_SPECS_LIMIT} CDI specifications")
    reader.read_all(paths[:_SPECS_LIMIT])
