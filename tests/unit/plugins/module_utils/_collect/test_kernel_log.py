# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of the kernel's log that matter, from each of its sources."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import kernel_log
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host

GPU = "0000:3b:00.0"
MATTERS = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)",
    "NVRM: GPU 0000:01:00.0 is already bound to NovaCore.",
    "nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
    "nouveau 0000:5a:00.0: NVIDIA GV100",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
    "Loading of module with unavailable key is rejected",
    f"pci {GPU}: BAR 1 [mem size 0x4000000000 64bit pref]: failed to assign",
    f"pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from {GPU}",
)
OTHER = ("usb 1-1: new device", "nvme nvme0: 8/0/0 default/read/poll queues", "pci 0000:00:1f.0: BAR 0: failed to assign", "systemd[1]: environment invalid")


def _kmsg(messages: t.Iterable[str], first: int = 0) -> str:
    return "".join(f"6,{number},{number * 1_000_000},-;{message}\n" for number, message in enumerate(messages, first))


@pytest.mark.parametrize("message", MATTERS)
def test_what_matters_is_kept(message: str) -> None:
    found = kernel_log.from_kmsg(_kmsg([OTHER[0], message, *OTHER]), [GPU])
    assert found == {"source": "kmsg", "complete": True, "dropped": 0, "lines": [f"[    1.000000] {message}"]}


def test_a_buffer_that_wrapped_is_not_complete() -> None:
    assert kernel_log.from_kmsg(_kmsg(MATTERS, first=17), [])["complete"] is False
    assert kernel_log.from_kmsg("", [])["complete"] is False


def test_the_last_of_each_kind_are_kept_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "LINES", 2)
    messages = [f"NVRM: Xid (PCI:0000:3b:00): {code}, " for code in (13, 31, 43)] + ["nvidia: one"] + ["NVRM: Xid (PCI:0000:3b:00): 45, "]
    found = kernel_log.from_kmsg(_kmsg(messages), [])
    assert [line.partition("] ")[2].rstrip(" ,").rpartition(" ")[2] for line in found["lines"]] == ["43", "one", "45"]
    assert found["dropped"] == 2


def test_a_message_of_several_lines() -> None:
    message = r"NVRM: The NVIDIA GPU 0000:b3:00.0\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has\x0aNVRM: fallen off the bus."
    assert kernel_log.from_kmsg(_kmsg([message]), [])["lines"] == [
        "[    0.000000] NVRM: The NVIDIA GPU 0000:b3:00.0",
        "[    0.000000] NVRM: (PCI ID: 10de:26b5) installed in this system has",
        "[    0.000000] NVRM: fallen off the bus.",
    ]


def _records(journal: str = "", dmesg: str = "") -> dict[str, dict[str, t.Any]]:
    return {"kernel_journal": {"stdout": journal}, "dmesg": {"stdout": dmesg}}


def test_the_journal() -> None:
    journal = "[    0.000000] node-1 kernel: Linux\n[ 1843.308145] node-1 kernel: NVRM: The NVIDIA GPU 0000:b3:00.0\n            NVRM: fallen off the bus\n"
    found = kernel_log.from_commands(_records(journal, "[    0.000000] NVRM: not looked at"), [])
    assert found == {
        "source": "journal",
        "complete": True,
        "dropped": 0,
        "lines": ["[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0", "[ 1843.308145] NVRM: fallen off the bus"],
    }


def test_dmesg() -> None:
    found = kernel_log.from_commands(_records(dmesg="[   90.000000] NVRM: loading\n[   91.5] usb 1-1: new device\n"), [])
    assert found == {"source": "dmesg", "complete": False, "dropped": 0, "lines": ["[   90.000000] NVRM: loading"]}


def test_a_long_line_is_cut() -> None:
    assert len(kernel_log.from_kmsg(_kmsg(["NVRM: " + "x" * 5000]), [])["lines"][0]) == kernel_log.LINE_LIMIT


def test_what_cannot_be_read(tmp_path: Path) -> None:
    host = Host(print, str(tmp_path))
    with pytest.raises(FileNotFoundError):
        kernel_log.read(host, [])
    (tmp_path / "dev" / "kmsg").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        kernel_log.read(host, [])


@given(st.text(st.sampled_from("0123456789,;-NVRM: Xid[].\\x0a\n "), max_size=300), st.text(max_size=100))
def test_no_text_is_too_odd(text: str, more: str) -> None:
    for odd in (text, more, _kmsg([text, more])):
        found = [kernel_log.from_kmsg(odd, [GPU]), kernel_log.from_commands(_records(odd, more), [GPU])]
        assert all(isinstance(line, str) for log in found for line in log["lines"])
