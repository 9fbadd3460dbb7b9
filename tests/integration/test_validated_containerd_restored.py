# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A containerd that doesn't come back after our change gets its old configuration again."""

from __future__ import annotations

import pytest

from tests.integration.bed import Bed

NODE = "gpu-3"
CONFIGURATION = "find /etc/containerd -type f -exec sha256sum {} +"
# Fails to start as soon as the daemon's effective configuration names the handler: a stand-in for any start failure that only the new configuration brings.
GUARD = "[Service]\nExecStartPre=/bin/sh -c '! containerd config dump | grep -q runtimes.nvidia'\n"


@pytest.mark.timeout(900)
def test_the_old_configuration_is_restored_and_only_that_node_fails(bare: Bed) -> None:
    unit = "/etc/systemd/system/containerd.service.d/guard.conf"
    bare.on(NODE, "sh", "-c", f"mkdir -p $(dirname {unit}); cat > {unit} <<'EOF'\n{GUARD}EOF\nsystemctl daemon-reload")
    before = bare.on(NODE, "sh", "-c", CONFIGURATION)
    bare.state = None
    try:
        run = bare.play("site")
        assert bare.on(NODE, "systemctl", "is-active", "containerd").strip() == "active"
        assert bare.on(NODE, "sh", "-c", CONFIGURATION) == before
    finally:
        bare.on(NODE, "sh", "-c", f"rm -r $(dirname {unit}); systemctl daemon-reload")
    assert run.rc != 0
    assert {host for host, numbers in run.stats.items() if numbers["failures"]} == {NODE}
    assert run.failure(NODE, "RuntimeRestored")
    assert {name: bare.gpus(name) for name in bare.names()} == {"gpu-1": 2, "gpu-2": 2, NODE: 0}

    run = bare.play("site")
    assert run.rc == 0, run.output[-4000:]
    assert bare.gpus(NODE) == 2
    bare.state = "ready"
