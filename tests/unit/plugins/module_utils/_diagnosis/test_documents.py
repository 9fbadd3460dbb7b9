# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of strangers: links, devices, archives, endless files. Each costs a note, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import documents
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import snapshot_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

TEXT = b"Failed to initialize NVML: Driver/library version mismatch\n"


def _notes(path: Path) -> dict[str, str]:
    return {note["what"]: note["reason"] for note in documents.read(str(path))[1]}


def _texts(path: Path) -> dict[str, str]:
    return {document.path: document.text for document in documents.read(str(path))[0]}


def test_files_of_a_folder_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "b" / "etc").mkdir(parents=True)
    (tmp_path / "b" / "etc" / "os-release").write_bytes(b"ID=ubuntu\n")
    (tmp_path / "a.txt").write_bytes(TEXT)
    assert _texts(tmp_path) == {"a.txt": TEXT.decode(), "b/etc/os-release": "ID=ubuntu\n"}
    assert _texts(tmp_path / "a.txt") == {"a.txt": TEXT.decode()}


def test_a_link_is_followed_only_where_the_user_named_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "file").symlink_to(outside / "secret.txt")
    (folder / "folder").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    assert _texts(folder) == {}
    assert set(_notes(folder)) == {"file", "folder", "loop"}
    assert _texts(folder / "file") == {"file": "secret"}


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    started = time.monotonic()
    assert _texts(tmp_path) == {}
    assert _notes(tmp_path) == {"pipe": "not a regular file", "zero": "a symbolic link, which isn't followed"}
    with pytest.raises(GpuFleetError):
        documents.read("/dev/zero")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("content", "text", "reason"),
    [
        (b"\xef\xbb\xbfabc", "\ufeffabc", "byte order mark"),
        ("NVRM: ü\n".encode("utf-16"), "NVRM: ü\n", "UTF-16"),
        ("driver version\r\n".encode("utf-16-le"), "driver version\r\n", "UTF-16-LE"),
        ("abc".encode("utf-32"), "abc", "UTF-32"),
        (b"NVRM \xff\xfe Xid", "NVRM \ufffd\ufffd Xid", "isn't valid UTF-8"),
        (b"a long text with one\0 byte of zero in it", "a long text with one byte of zero in it", "NUL"),
        (bytes(range(32)) * 50, None, "binary"),
        (b"\x1f\x8b\x08" + b"x" * 50, None, "gzip archive"),
        (b"PK\x03\x04", None, "zip archive"),
        (b"\0" * 257 + b"ustar  ", None, "tar archive"),
    ],
)
def test_encodings(tmp_path: Path, content: bytes, text: str | None, reason: str) -> None:
    (tmp_path / "x").write_bytes(content)
    assert _texts(tmp_path) == ({} if text is None else {"x": text})
    assert reason in _notes(tmp_path)["x"]


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "FILE_LIMIT", 1000)
    monkeypatch.setattr(documents, "TOTAL_LIMIT", 2500)
    monkeypatch.setattr(documents, "COUNT_LIMIT", 5)
    monkeypatch.setattr(documents, "DEPTH_LIMIT", 2)
    for name in "abcdefgh":
        (tmp_path / name).write_bytes(name.encode() * 1200)
    found, notes = documents.read(str(tmp_path))
    assert [(document.path, len(document.text), document.truncated) for document in found] == [("a", 1000, True), ("b", 1000, True), ("c", 500, True)]
    assert notes[-1]["what"] == "5 files"
    deep = tmp_path / "deep" / "1" / "2" / "3" / "4"
    deep.mkdir(parents=True)
    (deep / "x").write_bytes(TEXT)
    assert any("folders in it are left out" in note["reason"] for note in documents.read(str(tmp_path / "deep"))[1])


def test_notes_are_bounded(tmp_path: Path) -> None:
    for number in range(documents.NOTES_LIMIT + 50):
        (tmp_path / f"{number}").symlink_to("nowhere")
    notes = documents.read(str(tmp_path))[1]
    assert len(notes) == documents.NOTES_LIMIT + 1
    assert notes[-1]["what"] == "50 more"


def test_names_of_any_bytes(tmp_path: Path) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"bad\xff\nname"), "wb") as stream:
        stream.write(TEXT)
    assert list(_texts(tmp_path)) == ["bad??name"]


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GpuFleetError) as caught:
        documents.read(str(tmp_path / "nowhere"))
    assert caught.value.code == "EvidenceUnreadable"


def test_a_file_without_permission_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(TEXT)
    (tmp_path / "x").chmod(0)
    (tmp_path / "locked").mkdir(mode=0)
    try:
        notes = _notes(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)
    # root may read anything
    assert set(notes) == (set() if os.geteuid() == 0 else {"x", "locked"})


def _laughs() -> str:
    first = "a: &a [" + ",".join(["lol"] * 9) + "]\n"
    return first + "".join(f"{chr(98 + level)}: &{chr(98 + level)} [{','.join(['*' + chr(97 + level)] * 9)}]\n" for level in range(9))


@pytest.mark.parametrize(
    "content",
    [
        _laughs(),
        "kind: Pod\n" + _laughs(),
        '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>',
        '{"kind": "Pod", "metadata": ' + "[" * 100_000,
        "kind: Pod\nmetadata: " + "[" * 100_000,
        "kind: Pod\nmetadata:\n" + "".join(" " * level + "a:\n" for level in range(1, 3000)),
        '{"kind": "Node", "metadata": {"name": ' + "9" * 10_000 + "}}",
        "[nvidia-container-cli]\n" + "a = [" * 50_000,
        "<nvidia_smi_log>" + "<a>" * 100_000,
        "kind: !!python/object/apply:os.system [id]\nmetadata: {}\n",
        "NVRM: " + "Xid (PCI:0000:3b:00): " * 100_000,
        "error when evicting pods " * 100_000,
        "NAME " * 200_000,
        "|" * 3_000_000,
        " " * 3_000_000 + "x",
        "=" * 1_000_000 + ":" * 1_000_000,
    ],
    ids=lambda content: content[:24].strip() or "blank",
)
def test_hostile_texts_cost_a_note_and_no_time(tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content, encoding="utf-8")
    started = time.process_time()
    snapshot = snapshot_of(str(tmp_path))
    findings = explain(snapshot)
    assert time.process_time() - started < 20
    assert len(repr(findings)) < 100_000
    assert len(repr(snapshot.unused)) < 10_000


def test_an_endless_line(tmp_path: Path) -> None:
    with open(tmp_path / "dmesg.txt", "wb") as stream:
        stream.write(b"[    1.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n[    2.000000] ")
        stream.seek(1024 * 1024 * 1024)
        stream.write(b"x")
    findings = explain(snapshot_of(str(tmp_path)))
    assert [finding["code"] for finding in findings][:1] in (["GpuFallenOffBus"], [])
    assert "larger than" in _notes(tmp_path)["dmesg.txt"] or "binary" in _notes(tmp_path)["dmesg.txt"]
