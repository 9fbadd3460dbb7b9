# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The options of gpu_node_info, for the module on the node and for its half on the controller."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.node import SUBSETS

NODE_INFO_OPTIONS = {
    "gather": {"type": "list", "elements": "str", "choices": list(SUBSETS), "default": list(SUBSETS)},
    "raw": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 10},
    "evidence": {"type": "path"},
}
