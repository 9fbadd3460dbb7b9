# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_toolkit_same_config as subject

DUMP = 'imports = ["/a.toml", "/b.toml"]\nversion = 2\n[plugins.a]\nx = 1\n[plugins.b]\nx = 2\n'


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (DUMP, True),
        (DUMP.replace('"/a.toml", "/b.toml"', '"/b.toml", "/a.toml"'), True),
        ("version = 2\n[plugins.b]\nx = 2\n[plugins.a]\nx = 1\n", True),
        (DUMP.replace("x = 1", "x = 2").replace("[plugins.b]\nx = 2", "[plugins.b]\nx = 1"), False),
        (DUMP + "y = true\n", False),
        ("not toml at all", False),
    ],
    ids=["same text", "order of imports", "order of tables", "values swapped", "value added", "broken"],
)
def test_only_content_counts(other: str, same: bool) -> None:
    assert subject.same(DUMP, other) is same


def test_what_does_not_parse_equals_itself() -> None:
    assert subject.same("not toml", "not toml")
