# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed's cluster: a real Kubernetes control plane on this machine, built from Go modules."""

from __future__ import annotations

from tests.testbed.cluster.control_plane import down, is_ready, start_apiserver, stop_apiserver, up
from tests.testbed.cluster.gobuild import build
from tests.testbed.cluster.nodes import register_node

__all__ = ["build", "down", "is_ready", "register_node", "start_apiserver", "stop_apiserver", "up"]
