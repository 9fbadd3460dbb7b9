# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes cluster and bootable GPU nodes on one machine, for tests and for the demo."""
