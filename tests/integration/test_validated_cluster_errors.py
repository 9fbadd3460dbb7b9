# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server away, unreadable or unwilling: each is named, in time, and nothing stays behind."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import kubernetes
import pytest
import yaml

from tests.integration.bed import Bed
from tests.testbed import cluster

TIMEOUT = 20

pytestmark = pytest.mark.timeout(600)


def validate(bed: Bed, **variables: t.Any) -> t.Any:
    return bed.play("validate", "--limit", "localhost", **variables)


def test_an_unreadable_kubeconfig(ready: Bed, tmp_path: Path) -> None:
    broken = tmp_path / "kubeconfig"
    broken.write_text("apiVersion: v1\nkind: Config\nclusters: [\n")
    run = validate(ready, gpu_validate_kubeconfig=str(broken))
    assert run.rc != 0
    assert str(broken) in str(run.failure("localhost", "KubeconfigUnreadable"))


def test_a_context_that_does_not_exist(ready: Bed) -> None:
    run = validate(ready, gpu_validate_context="elsewhere")
    assert run.rc != 0
    known = yaml.safe_load((ready.instance / "kubeconfig").read_text())["contexts"][0]["name"]
    assert known in str(run.failure("localhost", "ContextNotFound"))


def test_an_api_server_that_is_down_fails_in_time(ready: Bed) -> None:
    ready.disconnect()
    cluster.stop_apiserver(ready.instance, ready.instance.name)
    started = time.monotonic()
    try:
        run = validate(ready, gpu_validate_timeout=TIMEOUT)
        seconds = time.monotonic() - started
    finally:
        cluster.start_apiserver(ready.instance, ready.instance.name)
    assert run.rc != 0
    assert run.failure("localhost", "ApiUnreachable")
    assert seconds < TIMEOUT + 15


def test_a_namespace_that_refuses_the_pods(ready: Bed) -> None:
    core = ready.core()
    name = "refusing"
    core.create_namespace({"metadata": {"name": name}})
    core.create_namespaced_resource_quota(name, {"metadata": {"name": "none"}, "spec": {"hard": {"requests.nvidia.com/gpu": "0"}}})
    try:
        run = validate(ready, gpu_validate_namespace=name)
        assert run.rc != 0
        assert run.failure("localhost", "QuotaExceeded")
        assert core.list_namespaced_pod(name).items == []
        assert kubernetes.client.BatchV1Api(ready.api()).list_namespaced_job(name).items == []
    finally:
        core.delete_namespace(name)


def test_a_runtime_class_that_does_not_exist_lists_those_that_do(ready: Bed) -> None:
    run = validate(ready, gpu_validate_runtime_class="nvidia-typo")
    assert run.rc != 0
    assert run.failure("localhost", "RuntimeClassMissing")["details"]["runtime_classes"] == ["nvidia"]
