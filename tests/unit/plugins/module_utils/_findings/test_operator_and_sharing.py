# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the operator, on sharing, on MIG and on Helm, beyond the cases."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import snapshot_from
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.helm import helm_findings

CONFIG = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4}\n"


def _codes(*objects: t.Any) -> list[str]:
    documents = [Document(f"{position}", content if isinstance(content, str) else json.dumps(content)) for position, content in enumerate(objects)]
    return [finding["code"] for finding in explain(snapshot_from(documents)) if finding["severity"] != "info"]


def _node(name: str = "gpu-1", gpus: str | None = "1", **labels: str) -> dict[str, t.Any]:
    amounts = {} if gpus is None else {"nvidia.com/gpu": gpus}
    named = {"nvidia.com/" + key.replace("__", "-").replace("_", "."): value for key, value in labels.items()}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.present": "true", **named}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": ready},
    }


def _config_map(**data: str) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sharing", "namespace": "gpu-operator"}, "data": data}


def _policy(state: str = "ready", reason: str = "Reconciled", message: str = "", **spec: t.Any) -> dict[str, t.Any]:
    status = {"state": state, "conditions": [{"type": "Ready", "status": "True" if state == "ready" else "False", "reason": reason, "message": message}]}
    return {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": spec, "status": status}


def _pod(name: str, phase: str = "Running") -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "gpu-operator"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "gpu-1"}, "status": {"phase": phase}}


def _crd(**metadata: t.Any) -> dict[str, t.Any]:
    named = {"name": "clusterpolicies.nvidia.com", "creationTimestamp": "2025-01-01T00:00:00Z", **metadata}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": named}


def test_a_healthy_operator_says_nothing() -> None:
    policy = _policy(devicePlugin={"config": {"name": "sharing", "default": "any"}})
    crd = _crd(labels={"helm.sh/chart": "gpu-operator-v26.3.3"})
    assert _codes(policy, crd, _config_map(any=CONFIG), _node(gpus="4"), _pod("gpu-operator-7c9d8f6b5d-x2x4z")) == []


@pytest.mark.parametrize("content", [CONFIG, "version: v1\n", "some: other\n", "not YAML: [", "replicas: 1"])
def test_a_config_map_alone_may_be_in_use_somewhere(content: str) -> None:
    assert _codes(_config_map(any=content)) == []


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([_node(gpus="1")], ["SharingConfigNotSelected"]),
        ([_node(gpus="8")], []),
        ([_node(gpus="1", device__plugin_config="any")], []),
        ([_node(gpus="1"), _policy(devicePlugin={"config": {"name": "sharing", "default": "any"}})], []),
        ([_node(gpus="8"), _policy(devicePlugin={"config": {"name": "another"}})], ["SharingConfigNotSelected"]),
    ],
)
def test_whether_a_configuration_is_in_use(others: list[t.Any], expected: list[str]) -> None:
    assert _codes(_config_map(any=CONFIG), *others) == expected


def test_broken_yaml_in_a_config_map() -> None:
    assert _codes(_config_map(any="version: v1\nsharing:\n  timeSlicing:\n   - replicas: 4\n  bad")) == ["SharingConfigInvalid"]


def test_states_that_are_not_ready_are_named() -> None:
    policy = _policy("notReady", "OperandNotReady", "ClusterPolicy is not ready; states not ready: [state-driver state-device-plugin]")
    found = explain(snapshot_from([Document("x", json.dumps(policy))]))
    assert [finding["code"] for finding in found] == ["OperandNotReady"]
    assert "state-driver, state-device-plugin" in found[0]["summary"]


def test_a_finalizer_waits_only_while_the_operator_is_gone() -> None:
    cluster = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": "c", "finalizers": ["f"], "deletionTimestamp": "x"}}
    assert _codes(cluster, _pod("other")) == ["FinalizerOrphaned"]
    assert _codes(cluster) == []
    assert _codes(cluster, _pod("gpu-operator-7c9d8f6b5d-x2x4z")) == []


def test_a_crd_that_was_written_again_is_not_outdated() -> None:
    node = _node(gpus=None)
    crd = _crd()
    policy = _policy()
    policy["metadata"]["labels"] = {"helm.sh/chart": "gpu-operator-v26.3.3"}
    assert _codes(policy, node, crd)[:1] == ["CrdOutdated"]
    crd["metadata"]["managedFields"] = [{"time": "2026-04-01T00:00:00Z"}]
    assert "CrdOutdated" not in _codes(policy, node, crd)


def test_upgrade_labels_of_a_driver_that_is_the_operators() -> None:
    node = _node(gpu__driver__upgrade__state="drain-required")
    assert _codes(node, _policy(driver={"enabled": True})) == []
    assert _codes(node, _policy(driver={"enabled": False})) == ["StaleUpgradeLabels"]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (_node(gpus="7", mig_config="all-1g.10gb", mig_config_state="success", mig_strategy="single"), []),
        (_node(gpus="1", mig_config="all-1g.10gb", mig_config_state="success", mig_strategy="single"), ["DevicePluginNotReloaded"]),
        (_node(gpus="1", mig_config="all-disabled", mig_config_state="success", mig_strategy="single"), []),
        (_node(gpus="1", mig_config="all-1g.10gb", mig_config_state="pending", mig_strategy="single"), []),
        (_node(gpus="1", mig_config="x", mig_config_state="failed"), ["MigManagerWedged"]),
        (_node(gpus="8", mig_config="half", gpu_count="8", mig_strategy="mixed"), ["MigLayoutIncomplete"]),
        (_node(gpus="8", mig_config="all-disabled", gpu_count="8", mig_strategy="mixed"), []),
    ],
)
def test_mig(node: dict[str, t.Any], expected: list[str]) -> None:
    layouts = "version: v1\nmig-configs:\n  half:\n  - devices: [0,1,2,3]\n    mig-enabled: false\n  all-disabled:\n  - devices: all\n    mig-enabled: false\n"
    assert _codes(node, layouts) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('Error: INSTALLATION FAILED: cannot re-use a name that is still in use\n', "HelmReleaseNotFoundOrFailed"),
        ("Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress\n", "HelmReleaseNotFoundOrFailed"),
        ('Error: no matches for kind "GPUCluster" in version "nvidia.com/v1alpha1"\n', "CrdOutdated"),
        ("NAME\tNAMESPACE\tREVISION\tUPDATED\tSTATUS\tCHART\ngpu-operator\tgpu\t1\t2026\tpending-install\tgpu-operator-v26\n", "HelmReleaseNotFoundOrFailed"),
        ("NAME\tNAMESPACE\tREVISION\tUPDATED\tSTATUS\tCHART\tAPP VERSION\ngpu-operator\tgpu\t1\t2026\tdeployed\tgpu-operator-v26.3.3\tv26\n", None),
        ("REVISION\tUPDATED\tSTATUS\tCHART\n1\tx\tfailed\tgpu\n2\tx\tdeployed\tgpu\n", None),
        ("REVISION\tUPDATED\tSTATUS\tCHART\n1\tx\tdeployed\tgpu\n2\tx\tfailed\tgpu\n", "HelmReleaseNotFoundOrFailed"),
        ("NAME: gpu-operator\nLAST DEPLOYED: Mon\nSTATUS: deployed\n", None),
    ],
)
def test_helm(text: str, code: str | None) -> None:
    assert [finding["code"] for finding in helm_findings(text, "helm.txt")] == ([code] if code else [])
    assert _codes(text) == ([code] if code else [])
