# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_diagnose."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.gpufleet.k8s.plugins.action.gpu_diagnose import ActionModule
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import snapshot_of
from tests.unit import mailed

FAILED_POD = json.loads((mailed.CASES / "V23" / "pod.json").read_text(encoding="utf-8"))
LIVE = {
    "changed": False,
    "objects": [FAILED_POD, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-9"}}],
    "logs": [{"namespace": "default", "pod": "x", "container": "c", "previous": False, "text": "GPU has fallen off the bus"}],
    "notes": [{"what": "quotas", "reason": "forbidden"}],
}


def _action(
    monkeypatch: pytest.MonkeyPatch, args: dict[str, t.Any], live: dict[str, t.Any] | None = None, *, check_mode: bool = False
) -> tuple[ActionModule, list[dict[str, t.Any]]]:
    """The action with a module that gives ``live``, and the list of the module's calls."""
    task = SimpleNamespace(args=args, async_val=0, check_mode=check_mode, diff=False, environment=[], delegate_to=None, action="gpufleet.k8s.gpu_diagnose")
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None), become=None, has_pipelining=True)
    action = ActionModule(task, connection, SimpleNamespace(), DataLoader(), None, None)
    calls: list[dict[str, t.Any]] = []

    def execute(**call: t.Any) -> dict[str, t.Any]:
        calls.append(call)
        call["module_args"]["_ansible_check_mode"] = check_mode  # as the core does, in place
        return dict(live or {})

    monkeypatch.setattr(action, "_execute_module", execute)
    return action, calls


def _codes(result: dict[str, t.Any]) -> list[str]:
    return [finding["code"] for finding in result["findings"]]


def test_a_folder_is_explained_without_any_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    action, calls = _action(monkeypatch, {"evidence": str(mailed.CASES / "O16")})
    result = action.run(None, {})
    assert calls == []
    assert _codes(result)[0] == "ToolkitNotInjecting"
    assert result["changed"] is False
    assert result["summary"][0].startswith("ERROR ToolkitNotInjecting on file plugin-new.log: ")
    assert [note["what"] for note in result["unused"]] == ["case.json"]
    assert "failed" not in result


def test_a_cluster_is_explained_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    args = {"namespace": "default", "pod": "gpu-pod"}
    action, calls = _action(monkeypatch, args, LIVE)
    first, second = action.run(None, {}), action.run(None, {})
    assert first == second
    assert [call["module_name"] for call in calls] == ["gpufleet.k8s.gpu_diagnose"] * 2
    assert args == {"namespace": "default", "pod": "gpu-pod"}
    assert sorted(_codes(first)) == ["DriverLibraryMismatch", "GpuFallenOffBus"]
    assert first["nodes"] == ["gpu-9"]
    assert first["unused"] == LIVE["notes"]
    assert "objects" not in first


@pytest.mark.parametrize(
    ("options", "is_live"),
    [({}, False), ({"node": "gpu-9"}, True), ({"operator": True}, True), ({"live": True}, True), ({"live": False, "pod": "x"}, False)],
)
def test_when_the_cluster_is_asked_beside_a_folder(monkeypatch: pytest.MonkeyPatch, options: dict[str, t.Any], is_live: bool) -> None:
    action, calls = _action(monkeypatch, {"evidence": str(mailed.CASES / "O16"), **options}, LIVE)
    result = action.run(None, {})
    assert len(calls) == is_live
    assert ("DriverLibraryMismatch" in _codes(result)) == is_live
    assert "ToolkitNotInjecting" in _codes(result)


def test_a_module_that_failed_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"failed": True, "msg": "no such pod", "failure": {"code": "PodNotFound", "details": {}}}
    action, _calls = _action(monkeypatch, {"pod": "x"}, failed)
    assert action.run(None, {}) == failed


@pytest.mark.parametrize(
    ("fail_on", "case", "fails"),
    [("never", "O16", False), ("error", "O16", True), ("warning", "O16", True), ("error", "O12", False), ("warning", "O12", True), ("warning", "S10", False)],
)
def test_findings_fail_only_where_the_user_says_so(monkeypatch: pytest.MonkeyPatch, fail_on: str, case: str, fails: bool) -> None:
    action, _calls = _action(monkeypatch, {"evidence": str(mailed.CASES / case), "fail_on": fail_on})
    result = action.run(None, {})
    assert result.get("failed", False) is fails
    assert result["findings"]
    if fails:
        assert (result["failure"]["code"], result["failure"]["details"]["first"]) == ("FindingsReported", _codes(result)[0])
        assert result["findings"][0]["next_step"] in result["msg"]


def test_a_bundle_tells_the_same_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    evidence = tmp_path / "mail"
    evidence.mkdir()
    (evidence / "dmesg").write_text("[ 885.242168] NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)\n", encoding="utf-8")
    args = {"evidence": str(evidence), "live": True, "save": str(tmp_path / "bundle")}
    action, _calls = _action(monkeypatch, args, LIVE)
    result = action.run(None, {})
    assert sorted(Path(path).relative_to(tmp_path / "bundle").as_posix() for path in result["bundle"]) == [
        "cluster/logs/default_x_c.log", "cluster/node.json", "cluster/pod.json", "nodes/gpu-9/evidence.json", "report.json", "report.txt"
    ]  # fmt: skip
    replay, calls = _action(monkeypatch, {"evidence": str(tmp_path / "bundle")})
    again = replay.run(None, {})
    assert calls == []
    assert set(_codes(again)) == set(_codes(result)) == {"GpuInitFailed", "DriverLibraryMismatch", "GpuFallenOffBus"}
    assert {note["what"] for note in again["unused"]} == {"report.json", "report.txt"}
    snapshot = snapshot_of(str(tmp_path / "bundle"))
    assert sorted(obj["kind"] for obj in snapshot.objects) == ["Node", "Pod"]
    assert [(text.namespace, text.pod) for text in snapshot.texts] == [("default", "x")]


def test_check_mode_saves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    action, _calls = _action(monkeypatch, {"evidence": str(mailed.CASES / "O16"), "save": str(tmp_path / "bundle")}, check_mode=True)
    assert "bundle" not in action.run(None, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code"), [({"evidence": "/nowhere"}, "EvidenceUnreadable"), ({"live": False}, "NothingToExplain")]
)
def test_what_cannot_be_done_has_a_code(monkeypatch: pytest.MonkeyPatch, args: dict[str, t.Any], code: str) -> None:
    action, _calls = _action(monkeypatch, args)
    result = action.run(None, {})
    assert (result["failed"], result["failure"]["code"]) == (True, code)


@pytest.mark.parametrize("args", [{"evidences": "x"}, {"pod": "a", "job": "b"}, {"node": "a", "namespace": "b"}, {"fail_on": "info"}])
def test_options_that_are_none(monkeypatch: pytest.MonkeyPatch, args: dict[str, t.Any]) -> None:
    action, _calls = _action(monkeypatch, args)
    with pytest.raises(AnsibleError):
        action.run(None, {})
