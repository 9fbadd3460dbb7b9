# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from tests.integration.conftest import bed, undisturbed

__all__ = ["bed", "undisturbed"]
