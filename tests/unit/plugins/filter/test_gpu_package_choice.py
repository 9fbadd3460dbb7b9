# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_package_choice as subject


def choice(offered: dict[str, list[str]], version: str) -> dict[str, t.Any]:
    return subject.choice(offered, version, variable="gpu_driver_version", code="DriverVersionUnavailable", uri="http://mirror/driver")


def test_the_package_s_own_version_is_installed() -> None:
    assert choice({"nvidia-open": ["590.1-1", "580.159.04-1"]}, "580.159.04") == {"install": ["nvidia-open=580.159.04-1"], "failures": []}


def test_a_version_that_is_not_there_names_those_that_are() -> None:
    [failure] = choice({"nvidia-open": ["590.1-1", "580.159.04-1"]}, "999.1")["failures"]
    assert failure["code"] == "DriverVersionUnavailable"
    assert failure["details"]["available"] == ["590.1-1", "580.159.04-1"]
    for expected in ("999.1", "590.1-1, 580.159.04-1", "http://mirror/driver", "gpu_driver_version"):
        assert expected in failure["message"]


def test_a_package_that_is_not_there_is_named() -> None:
    result = choice({"nvidia-open": [], "libcuda1": ["580.159.04-1"]}, "580.159.04")
    assert [failure["details"]["package"] for failure in result["failures"]] == ["nvidia-open"]
