# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from tests.integration.bed import Bed
from tests.integration.sweeps import BREAKS, KILL_POINTS, check_break, check_kill

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("name", KILL_POINTS)
def test_a_rerun_after_a_kill_ends_as_an_undisturbed_run(bed: Bed, undisturbed: dict[str, t.Any], name: str) -> None:
    check_kill(bed, KILL_POINTS[name], undisturbed)


@pytest.mark.parametrize("name", BREAKS)
def test_gpus_vanish_and_a_plain_rerun_brings_them_back(bed: Bed, name: str) -> None:
    check_break(bed, name)
