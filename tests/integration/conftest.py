# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import subprocess
import sys
import typing as t

import pytest

from tests.integration.bed import Bed
from tests.testbed.paths import REPO, instance_dir

NAME = "integration"


def _testbed(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "tests.testbed", *arguments], cwd=REPO, stdin=subprocess.DEVNULL, check=True)


@pytest.fixture(scope="session")
def bed() -> t.Iterator[Bed]:
    """Three bare machines of two Debian releases, each a Node of a real API server."""
    assert os.geteuid() == 0, "the testbed's machines need root (systemd-nspawn, mount, network namespaces)"
    _testbed("build")
    _testbed("down", "--name", NAME)
    _testbed("up", "--name", NAME)
    bed = Bed(instance_dir(NAME))
    try:
        yield bed
    finally:
        bed.disconnect()
        _testbed("down", "--name", NAME)


@pytest.fixture(scope="session")
def undisturbed(bed: Bed) -> dict[str, t.Any]:
    """What a run of ``site.yml`` leaves when nothing disturbs it."""
    bed.ensure("ready")
    return bed.snapshot()


@pytest.fixture
def bare(bed: Bed) -> Bed:
    """The testbed with nothing of ours on it."""
    bed.ensure("bare")
    return bed


@pytest.fixture
def ready(bed: Bed) -> Bed:
    """The testbed after ``site.yml``."""
    bed.ensure("ready")
    return bed
