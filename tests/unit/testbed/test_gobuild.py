# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the testbed builds with Go, and when it builds it again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.testbed.cluster import gobuild


def test_every_part_is_of_a_module_that_is_required():
    go_mod = (gobuild.TOOLS / "go.mod").read_text()
    for part in gobuild.parts():
        assert f"\t{part.package}\n" in go_mod, part.name


def test_a_version_is_stamped_into_what_reports_one():
    server = next(part for part in gobuild.parts() if part.name == "kube-apiserver")
    assert f"k8s.io/component-base/version.gitVersion={gobuild.kubernetes_version()}" in server.variables


def test_a_part_is_built_again_when_its_flags_change():
    part = gobuild.parts()[0]
    assert gobuild.fingerprint(part) == gobuild.fingerprint(replace(part))
    assert gobuild.fingerprint(part) != gobuild.fingerprint(replace(part, cgo=True))


def test_an_unknown_module_has_no_version():
    with pytest.raises(LookupError, match="nothing"):
        gobuild.module_version("example.com/nothing", "require example.com/something v1.0.0\n")
