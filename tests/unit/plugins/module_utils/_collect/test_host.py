# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with a time limit, and files of a machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import host as host_module
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host


@pytest.fixture
def host() -> Host:
    with patch_module_args({}):
        return Host(AnsibleModule({}).run_command)


def _run(host: Host, script: str, timeout: float = 5.0) -> dict[str, object]:
    return host.finish({"it": host.start(("/bin/sh", "-c", script))}, timeout)["it"]


def test_what_a_command_said(host: Host) -> None:
    assert _run(host, "echo out; echo err >&2; exit 14") == {
        "argv": ["/bin/sh", "-c", "echo out; echo err >&2; exit 14"],
        "rc": 14,
        "stdout": "out\n",
        "stderr": "err\n",
        "timed_out": False,
    }


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo early; sleep 30", id="hangs"),
        pytest.param("trap '' TERM INT; echo early; while :; do sleep 1; done", id="ignores signals"),
        pytest.param("echo early; exec >&- 2>&-; sleep 30", id="closes its pipes first"),
        pytest.param("sleep 30 & echo early; wait", id="has a child"),
    ],
)
def test_a_command_that_hangs_costs_its_time_once(host: Host, script: str) -> None:
    started = time.monotonic()
    record = _run(host, script, 0.3)
    assert time.monotonic() - started < 2
    assert (record["rc"], record["timed_out"], record["stdout"]) == (None, True, "early\n")


def test_commands_run_at_the_same_time(host: Host) -> None:
    started = time.monotonic()
    records = host.finish({str(number): host.start(("/bin/sh", "-c", "sleep 0.4")) for number in range(4)}, 5)
    assert time.monotonic() - started < 1.2
    assert [record["rc"] for record in records.values()] == [0, 0, 0, 0]


def test_one_that_hangs_leaves_the_others_their_answers(host: Host) -> None:
    records = host.finish({"hangs": host.start(("/bin/sleep", "30")), "answers": host.start(("/bin/echo", "yes"))}, 0.3)
    assert (records["hangs"]["timed_out"], records["answers"]["stdout"], records["answers"]["rc"]) == (True, "yes\n", 0)


def test_output_is_bounded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "OUTPUT_LIMIT", 1000)
    record = _run(host, "head -c 3000000 /dev/zero | tr '\\0' x")
    assert (record["rc"], record["stdout"]) == (0, "x" * 1000)


def test_a_program_that_is_not_there(host: Host) -> None:
    record = host.finish({"it": host.start(("no-such-program",))}, 1)["it"]
    assert (record["rc"], record["stderr"], record["timed_out"]) == (None, "not installed", False)


def test_a_program_that_cannot_be_started(host: Host, tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text("no program")
    (tmp_path / "nvidia-smi").chmod(0o755)
    record = host.finish({"it": host.start((str(tmp_path / "nvidia-smi"),))}, 1)["it"]
    assert (record["rc"], record["timed_out"]) == (None, False)
    assert "Exec format error" in record["stderr"]


def test_arguments_are_taken_as_they_are(host: Host) -> None:
    assert host.finish({"it": host.start(("echo", "${HOME}", "~", "*"))}, 5)["it"]["stdout"] == "${HOME} ~ *\n"


def test_bytes_that_are_no_text(host: Host) -> None:
    assert _run(host, r"printf '\377\n'")["stdout"] == "\ufffd\n"


def test_files_below_another_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "b.toml").write_text(" two \n")
    (tmp_path / "etc" / "a.toml").symlink_to("b.toml")
    host = Host(print, str(tmp_path))
    assert host.glob("/etc/*.toml") == ["/etc/a.toml", "/etc/b.toml"]
    assert (host.read_line("/etc/b.toml"), host.read_line("/etc/none")) == ("two", None)
    assert (host.readlink("/etc/a.toml"), host.readlink("/etc/b.toml")) == ("b.toml", None)
    assert (host.listdir("/etc"), host.listdir("/none"), host.exists("/none")) == (["a.toml", "b.toml"], [], False)
    assert host.which(os.path.basename("/bin/no-such-program")) is None
