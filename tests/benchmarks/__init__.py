# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timed comparisons, each within one run, so that the machine's speed doesn't matter: ``python3 -m tests.benchmarks NAME``."""
