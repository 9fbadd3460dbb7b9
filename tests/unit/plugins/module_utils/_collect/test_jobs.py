# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and forked work, side by side, each with a time limit."""

from __future__ import annotations

import os
import time
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import jobs as jobs_module
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.jobs import Jobs


@pytest.fixture
def host() -> Host:
    with patch_module_args({}):
        return Host(AnsibleModule({}).run_command)


def _run(host: Host, argv: t.Sequence[str], timeout: float = 5.0) -> dict[str, t.Any]:
    jobs = Jobs(host, timeout)
    jobs.start("it", argv)
    return jobs.results()["it"]


def _shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def test_what_a_command_said(host: Host) -> None:
    argv = _shell("echo out; echo err >&2; exit 14")
    assert _run(host, argv) == {"argv": list(argv), "rc": 14, "stdout": "out\n", "stderr": "err\n", "timed_out": False}


def test_credentials_that_a_command_prints_stay_on_the_node(host: Host) -> None:
    record = _run(host, _shell("""echo '{"HttpProxy": "http://me:s3cret@proxy:3128"}'; echo 'password = "s3cret"' >&2"""))
    assert "s3cret" not in record["stdout"] + record["stderr"]
    assert "me:***@proxy" in record["stdout"]


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
    record = _run(host, _shell(script), 0.3)
    assert time.monotonic() - started < 2
    assert (record["rc"], record["timed_out"], record["stdout"]) == (None, True, "early\n")


def test_one_that_never_stops_writing_costs_its_time_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "OUTPUT_LIMIT", 1000)
    started = time.monotonic()
    record = _run(host, ("/usr/bin/yes",), 0.3)
    assert time.monotonic() - started < 2
    assert (record["timed_out"], len(record["stdout"])) == (True, 1000)


def test_they_run_at_the_same_time(host: Host) -> None:
    started = time.monotonic()
    jobs = Jobs(host, 5)
    jobs.start_all({str(number): _shell("sleep 0.4") for number in range(4)})
    assert [record["rc"] for record in jobs.results().values()] == [0, 0, 0, 0]
    assert time.monotonic() - started < 1.2


def test_one_that_hangs_leaves_the_others_their_answers(host: Host) -> None:
    jobs = Jobs(host, 0.3)
    jobs.start_all({"hangs": ("/bin/sleep", "30"), "answers": ("/bin/echo", "yes")})
    records = jobs.results()
    assert (records["hangs"]["timed_out"], records["answers"]["stdout"], records["answers"]["rc"]) == (True, "yes\n", 0)


def test_waiting_for_one_reads_the_others(host: Host) -> None:
    """The other one writes more than a pipe holds, and would have no time left if it were read afterwards."""
    jobs = Jobs(host, 1.0)
    jobs.start_all({"hangs": ("/bin/sleep", "30"), "big": _shell("head -c 1000000 /dev/zero | tr '\\0' x")})
    assert jobs.result("hangs")["timed_out"]
    assert jobs.results()["big"]["stdout"] == "x" * 1_000_000


def test_output_is_bounded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "OUTPUT_LIMIT", 1000)
    record = _run(host, _shell("head -c 3000000 /dev/zero | tr '\\0' x"))
    assert (record["rc"], record["stdout"]) == (0, "x" * 1000)


def test_a_program_that_is_not_there(host: Host) -> None:
    record = _run(host, ("no-such-program",))
    assert (record["rc"], record["stderr"], record["timed_out"]) == (None, "not installed", False)


def test_a_program_that_cannot_be_started(host: Host, tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text("no program")
    (tmp_path / "nvidia-smi").chmod(0o755)
    record = _run(host, (str(tmp_path / "nvidia-smi"),))
    assert (record["rc"], record["timed_out"]) == (None, False)
    assert "Exec format error" in record["stderr"]


def test_arguments_are_taken_as_they_are(host: Host) -> None:
    assert _run(host, ("echo", "${HOME}", "~", "*"))["stdout"] == "${HOME} ~ *\n"


def test_bytes_that_are_no_text(host: Host) -> None:
    assert _run(host, _shell(r"printf '\377\n'"))["stdout"] == "\ufffd\n"


def _crash() -> str:
    os.abort()


def _fail() -> str:
    raise ValueError("no")


def _hang() -> str:
    time.sleep(30)
    return "late"


@pytest.mark.parametrize(
    ("work", "rc", "stdout"),
    [(lambda: "x" * 200_000, 0, "x" * 200_000), (_crash, -6, ""), (_fail, 1, "")],
    ids=["answers", "crashes", "raises"],
)
def test_forked_work(host: Host, capfd: pytest.CaptureFixture[str], work: t.Callable[[], str], rc: int, stdout: str) -> None:
    jobs = Jobs(host, 5)
    jobs.fork("it", work)
    assert jobs.results()["it"] == {"argv": ["it"], "rc": rc, "stdout": stdout, "stderr": "", "timed_out": False}
    assert capfd.readouterr().out == ""


def test_forked_work_that_hangs_costs_its_time_once(host: Host) -> None:
    started = time.monotonic()
    jobs = Jobs(host, 0.3)
    jobs.fork("it", _hang)
    jobs.start("other", ("/bin/echo", "yes"))
    records = jobs.results()
    assert time.monotonic() - started < 2
    assert (records["it"]["timed_out"], records["it"]["rc"], records["other"]["stdout"]) == (True, None, "yes\n")


def test_forked_work_lets_go_of_what_its_parent_was_given() -> None:
    """Whoever started the module reads its output to the end; work that hangs must not keep that open."""
    read_end, write_end = os.pipe()
    jobs = Jobs(Host(print), 20)
    saved = os.dup(1)
    os.dup2(write_end, 1)
    try:
        jobs.fork("it", _hang)
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(write_end)
    try:
        os.set_blocking(read_end, False)
        deadline = time.monotonic() + 5
        with open(read_end, "rb", buffering=0) as stream:
            # None while somebody holds the other end, empty afterwards.
            while (data := stream.read(1)) is None and time.monotonic() < deadline:
                time.sleep(0.01)
        assert data == b""
    finally:
        jobs._jobs["it"].running.process.kill()
        jobs.results()
