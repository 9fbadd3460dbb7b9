# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from tests.integration.bed import Bed


@pytest.mark.timeout(900)
def test_check_mode_changes_nothing_and_says_what_it_would_do(bare: Bed) -> None:
    before = bare.snapshot()
    run = bare.play("site", "--check", "--diff")
    assert run.rc == 0, run.output[-4000:]
    assert bare.snapshot() == before
    for node in bare.names():
        told = str([result for _task, host, result in run.results if host == node and result.get("changed")])
        for expected in ("580.159.04", "1.20.2-1", "/etc/containerd/conf.d/99-nvidia.toml"):
            assert expected in told, f"{expected} isn't announced for {node}"
    cluster = str([result for _task, host, result in run.results if host == "localhost" and result.get("changed")])
    for expected in ("RuntimeClass", "DaemonSet"):
        assert expected in cluster
