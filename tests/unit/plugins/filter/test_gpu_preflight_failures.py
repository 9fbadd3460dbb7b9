# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_preflight_failures as subject
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE, finding

PLATFORMS = ["debian-12", "debian-13"]


def observed(*codes: str, gpus: int = 2, **facts: t.Any) -> dict[str, t.Any]:
    return {
        "gpu_node": {
            "pci": [{"address": f"0000:00:0{number}.0", "kind": "gpu"} for number in range(gpus)] + [{"address": "0000:00:09.0", "kind": "nvswitch"}],
            "platform": {"os": {"id": "debian", "version_id": "13", "pretty_name": "Debian GNU/Linux 13"}},
            "runtimes": [{"name": "containerd", "active": True}],
            **facts,
        },
        "findings": [finding(code, kind="node", name="gpu-1", summary=f"{code} was seen.") for code in codes],
    }


def reasons(result: dict[str, t.Any], **options: t.Any) -> list[str]:
    failures = subject.failures(result, "gpu-1", platforms=PLATFORMS, **options)
    return [item["code"] for failure in failures for item in failure["details"]["findings"]]


def test_a_bare_node_that_can_become_one_is_let_through() -> None:
    bare = observed("DriverNotInstalled", "ToolkitNotInstalled", "RuntimeHandlerMissing", "RuntimeNotRunning")
    assert subject.failures(bare, "gpu-1", platforms=PLATFORMS) == []


@pytest.mark.parametrize("code", ["NoGpu", "DriverConflict", "BoundToVfio", "ConfigInvalid", "CriPluginDisabled", "GpuFallenOffBus", "ModuleSignatureRejected"])
def test_what_no_role_cures_is_refused(code: str) -> None:
    assert reasons(observed(code)) == [code]


def test_every_reason_is_in_one_list() -> None:
    result = observed("NoGpu", "ConfigInvalid", gpus=0, runtimes=[])
    answers = [{"item": "http://mirror/InRelease", "status": -1, "msg": "refused"}, {"item": "http://other/InRelease", "status": 200}]
    [failure] = subject.failures(result, "gpu-1", expected_gpus=8, platforms=["ubuntu-24.04"], answers=answers)
    assert failure["code"] == "PreflightFailed"
    codes = [item["code"] for item in failure["details"]["findings"]]
    assert codes == ["NoGpu", "ConfigInvalid", "PlatformUnsupported", "RuntimeNotInstalled", "RepositoryUnreachable", "GpuCountMismatch"]
    assert all(code in failure["message"] for code in codes)
    assert all(item["next_step"] in failure["message"] for item in failure["details"]["findings"])


def test_reasons_have_the_shape_of_findings() -> None:
    shape = set(finding("NoGpu", kind="node", name="gpu-1", summary="None."))
    [failure] = subject.failures(observed(runtimes=[]), "gpu-1", platforms=[], answers=[{"item": "http://x", "status": 503, "msg": "busy"}])
    assert all(set(item) == shape for item in failure["details"]["findings"])


@pytest.mark.parametrize(("expected", "codes"), [(None, []), (2, []), (8, ["GpuCountMismatch"]), (1, ["GpuCountMismatch"])])
def test_only_gpus_count(expected: int | None, codes: list[str]) -> None:
    assert reasons(observed(), expected_gpus=expected) == codes


@pytest.mark.parametrize(("status", "refused"), [(200, False), (304, False), (404, True), (503, True), (-1, True)])
def test_a_repository_must_answer_with_success(status: int, refused: bool) -> None:
    assert reasons(observed(), answers=[{"item": "http://x", "status": status, "msg": "said"}]) == ["RepositoryUnreachable"] * refused


def test_the_tables_name_codes_of_the_catalogue() -> None:
    assert set(CATALOGUE) >= subject.CURED_LATER | subject.REFUSED_TOO
