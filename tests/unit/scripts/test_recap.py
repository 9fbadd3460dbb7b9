# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo reads from the output of ansible-playbook."""

from __future__ import annotations

import pytest

from scripts.recap import disturbances, parse_recap

OUTPUT = """\
TASK [say what a recap looks like] *********************************************
ok: [gpu-1] => {"msg": "PLAY RECAP *****"}

PLAY RECAP *********************************************************************
gpu-1                      : ok=12   changed=0    unreachable=0    failed=0    skipped=3    rescued=0    ignored=0
\x1b[0;33mgpu-2\x1b[0m                      : \x1b[0;32mok=12  \x1b[0m \x1b[0;33mchanged=2   \x1b[0m unreachable=0 failed=0 skipped=3 rescued=0 ignored=0
node-3.example.org         : ok=2    changed=0    unreachable=1    failed=0    skipped=0    rescued=0    ignored=0
"""


def test_numbers_by_host_and_kind() -> None:
    recap = parse_recap(OUTPUT)

    assert list(recap) == ["gpu-1", "gpu-2", "node-3.example.org"]
    assert recap["gpu-2"] == {"ok": 12, "changed": 2, "unreachable": 0, "failed": 0, "skipped": 3, "rescued": 0, "ignored": 0}


@pytest.mark.parametrize("output", ["", "ERROR! the playbook: nowhere.yml could not be found\n", "PLAY RECAP ****\n"])
def test_output_without_hosts(output: str) -> None:
    assert parse_recap(output) == {}


def test_disturbances_name_host_and_kind() -> None:
    assert disturbances(parse_recap(OUTPUT)) == ["gpu-2: changed=2", "node-3.example.org: unreachable=1"]
