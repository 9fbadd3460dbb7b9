# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make` runs: the demo, the tests, and the making of .venv. Never part of the collection's archive."""
