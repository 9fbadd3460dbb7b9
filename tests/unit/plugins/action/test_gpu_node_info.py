# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of gpu_node_info."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.gpufleet.k8s.plugins.action.gpu_node_info import ActionModule
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import toolkit
from tests.unit import node_cases

TASK_VARS = {"inventory_hostname": "gpu-1"}


def _evidence(name: str) -> dict[str, t.Any]:
    return next(check.evidence for check in node_cases.checks() if check.name == name)


def _action(monkeypatch: pytest.MonkeyPatch, args: dict[str, t.Any], result: dict[str, t.Any] | None = None) -> tuple[ActionModule, list[dict[str, t.Any]]]:
    """The action with a module that gives ``result``, and the list of the module's calls."""
    task = SimpleNamespace(args=args, async_val=0, check_mode=True, diff=False, environment=[], delegate_to=None, action="gpufleet.k8s.gpu_node_info")
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None), become=None, has_pipelining=True)
    action = ActionModule(task, connection, SimpleNamespace(), DataLoader(), None, None)
    calls: list[dict[str, t.Any]] = []

    def execute(**call: t.Any) -> dict[str, t.Any]:
        calls.append(call)
        call["module_args"]["_ansible_check_mode"] = True  # as the core does, in place
        return dict(result or {})

    monkeypatch.setattr(action, "_execute_module", execute)
    return action, calls


def test_evidence_becomes_facts_and_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    action, calls = _action(monkeypatch, {}, {"changed": False, "evidence": _evidence("N01 node")})
    result = action.run(None, TASK_VARS)
    assert [call["module_name"] for call in calls] == ["gpufleet.k8s.gpu_node_info"]
    assert result["changed"] is False
    assert result["gpu_node"]["driver"]["loaded_version"] == "520.56.06"
    assert [(found["code"], found["subject"]["name"]) for found in result["findings"]] == [("DriverLibraryMismatch", "gpu-1")]
    assert result["collector_errors"] == []
    assert "evidence" not in result


def test_a_task_that_retries_asks_the_module_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    action, calls = _action(monkeypatch, {"gather": ["pci"]}, {"changed": False, "evidence": _evidence("h200 node")})
    first, second = action.run(None, TASK_VARS), action.run(None, TASK_VARS)
    assert first == second
    assert "failed" not in second
    assert len(calls) == 2


def test_raw_evidence_can_be_replayed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    action, _calls = _action(monkeypatch, {"raw": True}, {"changed": False, "evidence": _evidence("h200 node")})
    live = action.run(None, TASK_VARS)
    (tmp_path / "evidence.json").write_text(json.dumps(live["evidence"]), encoding="utf-8")
    for path in (tmp_path, tmp_path / "evidence.json"):
        replay, calls = _action(monkeypatch, {"evidence": str(path)})
        result = replay.run(None, TASK_VARS)
        assert calls == []
        assert (result["gpu_node"], result["findings"]) == (live["gpu_node"], live["findings"])


def test_only_the_wanted_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    action, _calls = _action(monkeypatch, {"gather": ["pci"]}, {"evidence": _evidence("N26 node")})
    result = action.run(None, TASK_VARS)
    assert {name for name, value in result["gpu_node"].items() if value is not None} == {"pci"}


def test_a_folder_of_text_is_evidence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "from-bob.txt").write_bytes((node_cases.CASES / "h200" / "nvidia-smi.xml").read_bytes())
    for path in (tmp_path, tmp_path / "from-bob.txt"):
        action, calls = _action(monkeypatch, {"evidence": str(path)})
        result = action.run(None, TASK_VARS)
        assert calls == []
        assert [gpu["product"] for gpu in result["gpu_node"]["gpus"]] == ["NVIDIA H200", "NVIDIA H200"]


def test_of_several_nodes_the_one_that_is_named_like_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("gpu-1", "gpu-2"):
        live, _calls = _action(monkeypatch, {"save": str(tmp_path / "bundle")}, {"evidence": {**_evidence("h200 node"), "host": {"hostname": name}}})
        live._task.check_mode = False
        live.run(None, {"inventory_hostname": name})
    replay, _calls = _action(monkeypatch, {"evidence": str(tmp_path / "bundle"), "raw": True})
    assert replay.run(None, TASK_VARS)["evidence"]["host"]["hostname"] == "gpu-1"
    failed = replay.run(None, {"inventory_hostname": "other"})
    assert (failed["failed"], failed["failure"]["code"], failed["failure"]["details"]["nodes"]) == (True, "EvidenceAmbiguous", ["gpu-1", "gpu-2"])


def test_a_bundle_is_written_and_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    action, calls = _action(monkeypatch, {"save": str(tmp_path / "bundle"), "mask": True}, {"changed": False, "evidence": _evidence("h200 node")})
    assert action.run(None, TASK_VARS)["saved"] == []
    assert list(tmp_path.iterdir()) == []
    action._task.check_mode = False
    result = action.run(None, TASK_VARS)
    assert (len(calls), result["changed"], len(result["saved"])) == (2, False, 1)
    text = Path(result["saved"][0]).read_text(encoding="utf-8")
    assert "GPU-00000001-0000-4000-8000-000000000001" not in text
    replay, _calls = _action(monkeypatch, {"evidence": result["saved"][0]})
    assert [gpu["product"] for gpu in replay.run(None, TASK_VARS)["gpu_node"]["gpus"]] == ["NVIDIA H200", "NVIDIA H200"]


def test_a_bundle_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    action, _calls = _action(monkeypatch, {"save": str(tmp_path / "file")}, {"changed": False, "evidence": _evidence("h200 node")})
    action._task.check_mode = False
    result = action.run(None, TASK_VARS)
    assert (result["failed"], result["failure"]["code"]) == (True, "BundleUnwritable")


def test_the_floor_is_the_one_that_the_facts_know() -> None:
    assert NODE_INFO_OPTIONS["toolkit_floor"]["default"] == toolkit.FLOOR


def test_a_module_that_failed_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    action, _calls = _action(monkeypatch, {}, {"failed": True, "msg": "no Python"})
    assert action.run(None, TASK_VARS) == {"failed": True, "msg": "no Python"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "EvidenceUnreadable"),
        ("not JSON", "EvidenceUnreadable"),
        ("[" * 100_000, "EvidenceUnreadable"),
        ("[]", "EvidenceUnsupported"),
        ('{"schema": 99}', "EvidenceUnsupported"),
    ],
)
def test_evidence_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, code: str) -> None:
    path = tmp_path / "evidence.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    action, _calls = _action(monkeypatch, {"evidence": str(path)})
    result = action.run(None, TASK_VARS)
    assert (result["failed"], result["failure"]["code"], result["failure"]["details"]["path"]) == (True, code, str(path))
    assert str(path) in result["msg"]


@pytest.mark.parametrize("args", [{"gather": ["weather"]}, {"timeout": "soon"}, {"unknown": 1}])
def test_wrong_options_are_refused(monkeypatch: pytest.MonkeyPatch, args: dict[str, t.Any]) -> None:
    action, calls = _action(monkeypatch, args)
    with pytest.raises(AnsibleError):
        action.run(None, TASK_VARS)
    assert calls == []
