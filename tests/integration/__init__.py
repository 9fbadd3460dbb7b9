# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.integration.bed", "tests.integration.sweeps")
