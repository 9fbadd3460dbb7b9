# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from tests.integration.bed import Bed
from tests.integration.sweeps import KILL_POINTS, KILL_SAMPLE, check_kill


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", KILL_SAMPLE)
def test_a_rerun_after_a_kill_ends_as_an_undisturbed_run(bed: Bed, undisturbed: dict[str, t.Any], name: str) -> None:
    check_kill(bed, KILL_POINTS[name], undisturbed)
