# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module

Main = t.Callable[[AnsibleModule], dict]


def exit_of(main: Main, capsys: pytest.CaptureFixture[str], **arguments: t.Any) -> tuple[int, dict[str, t.Any]]:
    with patch_module_args(arguments), pytest.raises(SystemExit) as stopped:
        run_module(main, {"size": {"type": "int"}})
    return t.cast(int, stopped.value.code), json.loads(capsys.readouterr().out)


def test_a_result_without_changed_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    code, result = exit_of(lambda module: {"size": module.params["size"]}, capsys, size=3)
    assert (code, result["changed"], result["size"]) == (0, False, 3)


def test_our_errors_carry_their_code_and_details(capsys: pytest.CaptureFixture[str]) -> None:
    def main(module: AnsibleModule) -> dict:
        raise GpuFleetError("expected a context named a, found b", code="ContextNotFound", contexts=["b"])

    code, result = exit_of(main, capsys)
    assert code == 1
    assert result["failed"]
    assert result["failure"] == {"code": "ContextNotFound", "details": {"contexts": ["b"]}}


def test_an_unknown_error_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def main(module: AnsibleModule) -> dict:
        raise ZeroDivisionError("by nought")

    code, result = exit_of(main, capsys)
    assert code == 1
    assert result["failure"]["code"] == "Unexpected"
    assert "ZeroDivisionError: by nought" in result["failure"]["details"]["traceback"]


def test_options_are_strict(capsys: pytest.CaptureFixture[str]) -> None:
    code, result = exit_of(lambda module: {}, capsys, sise=3)
    assert code == 1
    assert "sise" in result["msg"]
