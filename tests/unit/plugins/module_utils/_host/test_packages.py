# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._host import packages as subject

MADISON = """\
 nvidia-open |    590.1-1 | http://10.0.0.1/driver ./ Packages
 nvidia-open | 580.159.04-1 | http://10.0.0.1/driver ./ Packages
 nvidia-open | 580.159.04-1 | http://10.0.0.2/driver ./ Packages
 libcuda1 | 2:580.159.04-1ubuntu1 | http://10.0.0.1/driver ./ Packages
"""


@pytest.mark.parametrize(
    ("version", "upstream"),
    [("580.159.04", "580.159.04"), ("580.159.04-1", "580.159.04"), ("1:580.159.04-0ubuntu1", "580.159.04"), ("1.20.0~rc.1-1", "1.20.0~rc.1")],
)
def test_upstream_has_neither_epoch_nor_revision(version: str, upstream: str) -> None:
    assert subject.upstream(version) == upstream


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [("580.159.04", "580.159.04-1"), ("580.159.04-1", "580.159.04-1"), ("580.159", None), ("580.159.04-2", None)],
)
def test_a_version_is_chosen_as_a_whole(wanted: str, chosen: str | None) -> None:
    assert subject.choose(["590.1-1", "580.159.04-1"], wanted) == chosen


def test_madison_lists_each_version_once_newest_first() -> None:
    assert subject.parse_madison(MADISON) == {"nvidia-open": ["590.1-1", "580.159.04-1"], "libcuda1": ["2:580.159.04-1ubuntu1"]}


@pytest.mark.parametrize(
    ("stderr", "errors"),
    [
        ("W: careful\nE: Failed to fetch http://x\n", ["Failed to fetch http://x"]),
        ("Error: Unable to locate package x\n", ["Unable to locate package x"]),
        ("segmentation fault\n\n", ["segmentation fault"]),
        ("", []),
    ],
)
def test_apt_errors(stderr: str, errors: list[str]) -> None:
    assert subject.apt_errors(stderr) == errors
