# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.kubeconfig import check_kubeconfig, secrets_in
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

GOOD = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c, user: u}\n- name: b\n  context: {cluster: c, user: u}\n"


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(GOOD)
    return str(path)


def code(params: dict[str, t.Any], environ: dict[str, str] | None = None) -> str | None:
    try:
        check_kubeconfig(params, environ or {})
    except GpuFleetError as error:
        return error.code
    return None


def test_what_is_right_passes(good: str) -> None:
    assert code({"kubeconfig": good}) is None
    assert code({"kubeconfig": good, "context": "b"}) is None
    assert code({}, {"KUBECONFIG": good}) is None
    assert code({}, {"K8S_AUTH_KUBECONFIG": good, "K8S_AUTH_CONTEXT": "b"}) is None
    assert code({"kubeconfig": {"current-context": "a", "contexts": [{"name": "a"}]}}) is None


def test_a_context_that_does_not_exist(good: str) -> None:
    with pytest.raises(GpuFleetError) as caught:
        check_kubeconfig({"kubeconfig": good, "context": "c"}, {})
    assert caught.value.code == "ContextNotFound"
    assert caught.value.details["contexts"] == ["a", "b"]
    assert good in str(caught.value)


def test_a_current_context_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(GOOD.replace("current-context: a", "current-context: gone"))
    assert code({"kubeconfig": str(path)}) == "ContextNotFound"


@pytest.mark.parametrize("text", ["clusters: [\n", "just text", "", "- a\n- b\n", "kind: Config\n", "kind: Config\ncontexts: none\n", "\x00"])
def test_what_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(GpuFleetError) as caught:
        check_kubeconfig({"kubeconfig": str(path)}, {})
    assert caught.value.code == "KubeconfigUnreadable"
    assert str(path) in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "bytes"):
        assert code({"kubeconfig": str(path)}) == "KubeconfigUnreadable"


def test_several_files(good: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(GOOD.replace("name: a", "name: x").replace("current-context: a", ""))
    paths = os.pathsep.join([str(tmp_path / "absent"), str(other), good])
    assert code({"context": "x"}, {"KUBECONFIG": paths}) is None
    assert code({"context": "y"}, {"KUBECONFIG": paths}) == "ContextNotFound"


def test_no_kubeconfig_is_needed_with_an_address_and_credentials() -> None:
    assert code({"host": "https://api", "api_key": "secret"}, {"KUBECONFIG": "/absent"}) is None
    assert code({"host": "https://api"}, {"KUBECONFIG": "/absent"}) == "KubeconfigUnreadable"


def test_secrets_of_a_kubeconfig_given_as_data() -> None:
    execution = {"apiVersion": "v1", "args": ["--token", "s3cret-argument"], "env": [{"name": "KEY", "value": "s3cret-variable"}]}
    users = [{"name": "public-name", "user": {"token": "s3cret-token", "exec": execution}}, {"name": "empty", "user": None}]
    assert secrets_in({"users": users, "clusters": [{"name": "public-cluster"}]}) == {"s3cret-token", "s3cret-argument", "s3cret-variable"}
    assert secrets_in("/a/path") == set()
    assert secrets_in(None) == set()
