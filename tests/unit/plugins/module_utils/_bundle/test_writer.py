# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle import writer
from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.writer import KEY_SUFFIX, safe_name, save_cluster, save_node, save_report
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

UUID = "GPU-12345678-9abc-def0-1234-56789abcdef0"
SECRET = "s3cr3t-Zq81-value"
FINDING = {
    "code": "GpuLost",
    "severity": "error",
    "subject": {"kind": "node", "name": "gpu-1", "namespace": None},
    "summary": f"{UUID} is lost.",
    "cause": "",
    "next_step": "Reboot.",
    "evidence": [],
    "retryable": False,
    "consequence_of": None,
}


def pod(name: str, namespace: str = "default") -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": {"containers": []}}


def log(pod_name: str, text: str = "hello\n", *, previous: bool = False) -> dict[str, t.Any]:
    return {"namespace": "default", "pod": pod_name, "container": "main", "previous": previous, "text": text}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def save_all(folder: Path, *, mask: bool = False) -> list[str]:
    bundle = str(folder)
    objects = [pod("b"), pod("a"), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}, "status": {"addresses": [{"address": "10.0.0.7"}]}}]
    return [
        *save_node(bundle, "gpu-1", {"schema": 1, "gpus": UUID, "env": f"HF_TOKEN={SECRET}"}, mask=mask),
        *save_cluster(bundle, objects, [log("a", f"{UUID} password={SECRET}\n"), log("a", previous=True)], mask=mask),
        *save_report(bundle, {"findings": [FINDING], "nodes": ["gpu-1"], "unused": []}, mask=mask),
    ]


def test_layout_and_permissions(tmp_path: Path) -> None:
    paths = save_all(tmp_path / "bundle")
    assert sorted(str(Path(path).relative_to(tmp_path / "bundle")) for path in paths) == [
        "cluster/logs/default_a_main.log",
        "cluster/logs/default_a_main.previous.log",
        "cluster/node.json",
        "cluster/pod.json",
        "nodes/gpu-1/evidence.json",
        "report.json",
        "report.txt",
    ]
    assert sorted(content(tmp_path / "bundle")) == sorted(str(Path(path).relative_to(tmp_path / "bundle")) for path in paths)
    for path in [tmp_path / "bundle", *(tmp_path / "bundle").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    listed = json.loads((tmp_path / "bundle/cluster/pod.json").read_text())
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b"]


@pytest.mark.parametrize("mask", [False, True])
def test_a_second_time_changes_nothing(tmp_path: Path, mask: bool) -> None:
    save_all(tmp_path / "bundle", mask=mask)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "bundle").rglob("*") if path.is_file()}
    first = content(tmp_path / "bundle")
    save_all(tmp_path / "bundle", mask=mask)
    assert content(tmp_path / "bundle") == first
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_credentials_never_and_serials_only_unmasked(tmp_path: Path) -> None:
    save_all(tmp_path / "open")
    save_all(tmp_path / "masked", mask=True)
    for name, kept in (("open", True), ("masked", False)):
        everything = b"".join(content(tmp_path / name).values())
        assert SECRET.encode() not in everything
        assert (UUID.encode() in everything) is kept
        assert (b"10.0.0.7" in everything) is kept


def test_pseudonyms_are_the_same_in_all_files(tmp_path: Path) -> None:
    save_all(tmp_path / "bundle", mask=True)
    made_up = json.loads((tmp_path / "bundle/nodes/gpu-1/evidence.json").read_text())["gpus"]
    for path in ("cluster/logs/default_a_main.log", "report.json", "report.txt"):
        assert made_up in (tmp_path / "bundle" / path).read_text()


def test_the_key_is_beside_the_bundle(tmp_path: Path) -> None:
    save_all(tmp_path / "bundle", mask=True)
    key = tmp_path / f"bundle{KEY_SUFFIX}"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_bytes() not in b"".join(content(tmp_path / "bundle").values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", key.name]


def test_what_is_gone_from_the_cluster_goes_from_the_bundle(tmp_path: Path) -> None:
    save_cluster(str(tmp_path), [pod("a"), {"kind": "Job", "metadata": {"name": "j"}}], [log("a")], mask=False)
    (tmp_path / "notes.json").write_text("mine")
    save_cluster(str(tmp_path), [pod("a")], [], mask=False)
    assert sorted(content(tmp_path)) == ["cluster/pod.json", "notes.json"]


@pytest.mark.parametrize("name", ["../../etc", "..", ".", "", "a/b", "a\x00b", "-rf", ".hidden", "x" * 300, "gpu\n1", "k8s·node", "a\\b"])
def test_names_from_elsewhere_lead_nowhere(tmp_path: Path, name: str) -> None:
    bundle = tmp_path / "bundle"
    [path] = save_node(str(bundle), name, {"schema": 1}, mask=False)
    paths = [path, *save_cluster(str(bundle), [pod("a"), {"kind": name, "metadata": {}}], [{**log("a"), "pod": name, "container": name}], mask=False)]
    assert all(Path(path).resolve().is_relative_to(bundle) for path in paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle"]


def test_different_names_stay_different() -> None:
    names = ["a/b", "a_b", "a b", "a.b", "", "..", "unnamed"]
    assert len({safe_name(name) for name in names}) == len(names)
    assert [safe_name(name) for name in ("gpu-1", "gpu-1.example.com", "Node_1")] == ["gpu-1", "gpu-1.example.com", "Node_1"]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "nodes").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GpuFleetError) as caught:
        save_node(str(tmp_path), "gpu-1", {"schema": 1}, mask=False)
    assert caught.value.code == "BundleUnwritable"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_text("")
    with pytest.raises(GpuFleetError) as caught:
        save_node(str(tmp_path / "bundle"), "gpu-1", {"schema": 1}, mask=False)
    assert caught.value.code == "BundleUnwritable"
    assert caught.value.details["path"] == str(tmp_path / "bundle")


def test_half_a_file_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [path] = save_node(str(tmp_path), "gpu-1", {"schema": 1, "boot": 1}, mask=False)
    before = Path(path).read_bytes()

    def fail(_source: str, _target: str) -> t.NoReturn:
        raise OSError("no space left on device")

    monkeypatch.setattr(writer.os, "replace", fail)
    with pytest.raises(GpuFleetError):
        save_node(str(tmp_path), "gpu-1", {"schema": 1, "boot": 2}, mask=False)
    assert Path(path).read_bytes() == before
    assert [found.name for found in Path(path).parent.iterdir()] == ["evidence.json"]


def test_texts_that_are_no_utf8(tmp_path: Path) -> None:
    save_cluster(str(tmp_path), [], [log("a", "bad \udcff byte\n")], mask=True)
    save_node(str(tmp_path), "gpu-1", {"text": "bad \udcff byte"}, mask=True)
    assert json.loads((tmp_path / "nodes/gpu-1/evidence.json").read_text())["text"] == "bad \udcff byte"
