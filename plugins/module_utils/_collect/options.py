# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The options of gpu_node_info, for the module on the node and for its half on the controller."""

from __future__ import annotations

# The parts of a node that can be looked at alone.
SUBSETS = ("platform", "pci", "driver", "gpus", "runtimes", "toolkit", "cdi", "kernel_log")

# Of these the node's half uses the first three; the others are for the controller's.
NODE_INFO_OPTIONS = {
    "gather": {"type": "list", "elements": "str", "choices": list(SUBSETS), "default": list(SUBSETS)},
    "timeout": {"type": "int", "default": 10},
    "driver_root": {"type": "path"},
    "raw": {"type": "bool", "default": False},
    "name": {"type": "str"},
    "evidence": {"type": "path"},
    "save": {"type": "path"},
    "mask": {"type": "bool", "default": False},
    "toolkit_floor": {"type": "str", "default": "1.19.1"},
}
