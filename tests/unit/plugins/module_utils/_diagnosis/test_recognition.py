# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text is, whatever its name is; which node or pod it belongs to."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.assemble import merged, snapshot_from
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.explain import explain, facts_of
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.recognise import recognise
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.snapshot import Snapshot
from tests.unit import mailed, node_cases

DPKG = """Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name                          Version        Architecture Description
+++-=============================-==============-============-=================================
ii  libnvidia-container1:amd64    1.17.8-1       amd64        NVIDIA container runtime library
hi  nvidia-container-toolkit      1.16.2-1       amd64        NVIDIA Container toolkit
"""
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": "research"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-7"}}
SMI = (mailed.CASES / "h200" / "nvidia-smi.xml").read_text(encoding="utf-8")


def _kinds(text: str, path: str = "x") -> list[str]:
    return [piece.kind for piece in recognise(Document(path, text))[0]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SMI, "nvidia_smi"),
        ("GPU 0: NVIDIA A10 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n", "nvidia_smi"),
        ("No devices were found\n", "nvidia_smi"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022\nGCC version:  gcc 11\n", "proc_version"),
        ("[    1.0] Linux\n[  885.242168] NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)\n", "kernel_log"),
        ("Dec  2 11:49:53 node-4 kernel: usb 1-1: new device\n", "kernel_log"),
        ("0000:5a:00.0 3D controller: NVIDIA Corporation Device 1db6 (rev a1)\n", "lspci"),
        (DPKG, "packages"),
        ("ii \tnvidia-driver-580\t580.95.05-1\tamd64\n", "packages"),
        ("nvidia-container-toolkit-1.17.8-1.x86_64\nlibnvidia-container1-1.17.8-1.x86_64\n", "packages"),
        ('version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "nvidia"\n', "containerd_config"),
        ('{{ template "base" . }}\n[plugins."io.containerd.cri.v1.runtime"]\n', "toml_template"),
        ('[crio.runtime]\ndefault_runtime = "nvidia"\n', "crio_config"),
        ('disable-require = false\n[nvidia-container-cli]\nload-kmods = true\n', "toolkit_config"),
        ('{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}', "docker_config"),
        ('{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}},}', "docker_config"),
        ('{"ServerVersion": "28.2.2", "Runtimes": {}}', "docker_info"),
        ("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n", "cdi_spec"),
        ("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n", "kubelet_config"),
        ("version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n", "plugin_config"),
        ("version: v1\nmig-configs:\n  all-disabled:\n  - {devices: all, mig-enabled: false}\n", "mig_config"),
        ("driver:\n  enabled: false\n", "helm_values"),
        ('Error: UPGRADE FAILED: "gpu-operator" has no deployed releases\n', "helm_output"),
        ("I1130 22:01:11.048832       1 plugin-manager.go:101] Detected platform: unknown\n", "component_log"),
        ('time="2024-02-13T10:21:13Z" level=debug msg="Walking MigConfig for (devices=all)"\n', "component_log"),
        ("evicting pod default/x\n", "drain_output"),
        ("Name:   gpu-1\nCapacity:\n  nvidia.com/gpu: 1\nAllocatable:\n  nvidia.com/gpu: 1\n", "describe"),
        ("Name:  train\nNamespace:  research\nStatus:  Running\nContainers:\n  main:\n    Image: x\n", "describe"),
        ("NAME    READY   STATUS             RESTARTS   AGE\ntrain   0/1     CrashLoopBackOff   12         5m\n", "table"),
        ("NAME    STATUS   ROLES    AGE   VERSION\ngpu-1   Ready    <none>   44s   v1.36.3\n", "table"),
        ('{"kind": "Status", "status": "Failure", "message": "exceeded quota"}', "status"),
        (json.dumps({"kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}), "objects"),
        (json.dumps(POD) + "\n" + json.dumps(NODE), "objects"),
        ("---\nkind: Pod\nmetadata: {name: a}\n---\n---\nkind: Node\nmetadata: {name: b}\n", "objects"),
        ("5.15.146.1-microsoft-standard-WSL2\n", "uname"),
        ("Linux gpu-1 6.8.0-59-generic #61 SMP x86_64 GNU/Linux\n", "uname"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "os_release"),
        ('"x" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=1, limited: x=1', "text"),
    ],
)
def test_kinds_by_content(text: str, kind: str) -> None:
    for name in ("x", "notes.pdf", "kubectl-get.json"):
        assert set(_kinds(text, name)) == {kind}
    assert set(_kinds("\ufeff" + text)) == {kind}


@pytest.mark.parametrize("text", ["", "  \n", "Dear colleague,\nplease have a look.\n", '{"a": 1}', "[1, 2]", "a: 1\n", '["upgrade-done"]'])
def test_what_is_nothing_known_has_a_reason(text: str) -> None:
    pieces, reason = recognise(Document("x", text))
    assert pieces == []
    assert reason


def test_items_of_a_typed_list_have_its_kind() -> None:
    pieces, _reason = recognise(Document("x", json.dumps({"kind": "PodList", "items": [{"metadata": {"name": "a"}}]})))
    assert [piece.value["kind"] for piece in pieces] == ["Pod"]


def _snapshot(**files: t.Any) -> Snapshot:
    return snapshot_from([Document(path, content if isinstance(content, str) else json.dumps(content)) for path, content in files.items()])


def test_texts_are_of_one_node_unless_they_say_otherwise() -> None:
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022\nGCC version:  gcc 11\n"
    assert list(_snapshot(**{"a.txt": version, "b.txt": SMI}).nodes) == ["node"]
    assert list(_snapshot(**{"a.txt": version, "n.json": NODE}).nodes) == ["gpu-7"]
    assert list(_snapshot(**{"gpu-1/a.txt": version, "gpu-1/b": SMI, "gpu-2/etc/a.txt": version}).nodes) == ["gpu-1", "gpu-2"]
    assert list(_snapshot(**{"nodes/x/a.txt": version, "nodes/y/b": SMI, "c": version}).nodes) == ["x", "y", "node"]
    assert list(_snapshot(**{"one.xml": SMI, "two.xml": SMI}).nodes) == ["node", "two"]


def test_files_keep_the_path_that_they_had_on_the_node() -> None:
    config = 'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\n'
    files = {"gpu-1/etc/containerd/conf.d/99-nvidia.toml": config, "gpu-1/config.toml": config, "gpu-1/sys_module_nvidia_version": "580.95.05\n"}
    assert sorted(_snapshot(**files).nodes["node"]["files"]) == [
        "/etc/containerd/conf.d/99-nvidia.toml", "/etc/containerd/config.toml", "/sys/module/nvidia/version"
    ]  # fmt: skip


def test_an_exit_code_belongs_to_the_output_beside_it() -> None:
    node = _snapshot(**{"smi.stdout": "No devices were found\n", "smi.rc": "6\n"}).nodes["node"]
    assert [(command["rc"], command["stdout"]) for command in node["commands"].values()] == [(6, "No devices were found\n")]


def test_packages_have_the_columns_that_the_collector_asks_for() -> None:
    facts = facts_of(_snapshot(x=DPKG))["node"]
    assert {package["name"]: (package["version"], package["held"]) for package in facts["toolkit"]["packages"]} == {
        "libnvidia-container1": ("1.17.8-1", False), "nvidia-container-toolkit": ("1.16.2-1", True)
    }  # fmt: skip
    assert [finding["code"] for finding in explain(_snapshot(x=DPKG))][:1] == ["ToolkitVersionMixed"]


def test_lspci_with_and_without_ids() -> None:
    nnk = "18:00.0 3D controller [0302]: NVIDIA Corporation TU104GL [Tesla T4] [10de:1eb8] (rev a1)\n\tKernel driver in use: nvidia\n"
    plain = "00:1f.0 ISA bridge: Intel Corporation Device 7a04\n18:00.0 VGA compatible controller: NVIDIA Corporation Device 1eb8 (rev a1)\n"
    for text, expected in ((nnk, ("0302", "nvidia")), (plain, ("0300", None))):
        functions = facts_of(_snapshot(x=text))["node"]["pci"]
        assert [(item["device_id"], item["class"], item["driver"]) for item in functions] == [("1eb8", *expected)]
        assert explain(_snapshot(x=text)) == []
    assert [finding["code"] for finding in explain(_snapshot(x="00:1f.0 ISA bridge: Intel Corporation Device 7a04\n"))] == ["NoGpu"]


def test_a_log_is_of_the_pod_beside_it_whatever_it_looks_like() -> None:
    listing = "GPU 0: NVIDIA A10 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
    snapshot = _snapshot(**{"t.pod.json": POD, "t.log": listing, "other.log": listing, "cluster/logs/research_train_main.log": "Dear colleague"})
    assert [(text.namespace, text.pod) for text in snapshot.texts] == [("research", "train")] * 2
    assert list(snapshot.nodes) == ["node"]


def test_of_an_object_that_comes_twice_the_last_counts() -> None:
    snapshot = _snapshot(**{"1.json": POD, "2.json": {**POD, "spec": {"nodeName": "gpu-1"}}})
    assert [obj.get("spec") for obj in snapshot.objects] == [{"nodeName": "gpu-1"}]


def test_a_gpu_node_info_result_is_evidence_or_at_least_its_findings() -> None:
    evidence = next(check.evidence for check in node_cases.checks() if check.name == "N01 node")
    with_evidence = _snapshot(**{"r.json": {"gpu_node": {}, "evidence": {**evidence, "host": {"hostname": "gpu-3"}}, "changed": False}})
    assert list(with_evidence.nodes) == ["gpu-3"]
    found = explain(with_evidence)
    assert [(finding["code"], finding["subject"]["name"]) for finding in found] == [("DriverLibraryMismatch", "gpu-3")]
    alone = _snapshot(**{"r.json": {"gpu_node": {}, "findings": [*found, {"code": "Nonsense"}, 5]}})
    assert [finding["code"] for finding in explain(alone)] == ["DriverLibraryMismatch"]
    assert "raw: true" in alone.unused[0]["reason"]


def test_evidence_of_another_schema_is_a_note() -> None:
    snapshot = _snapshot(**{"nodes/a/evidence.json": {"schema": 9, "files": {}, "commands": {}}})
    assert snapshot.nodes == {}
    assert "schema 9" in snapshot.unused[0]["reason"]


def test_the_same_words_beside_other_facts() -> None:
    said = "docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n"
    assert [finding["code"] for finding in explain(_snapshot(x=said))] == ["RuntimeHandlerMissing"]
    config = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}
    assert "DaemonNotUsingConfig" in [finding["code"] for finding in explain(_snapshot(x=said, y=config))]


def test_what_a_plugin_complained_of_before_it_worked_is_over() -> None:
    failed = "E1 main.go:1] Failed to initialize NVML: ERROR_UNKNOWN\nRetrieving plugins\n"
    well = "I1 server.go:1] Registered device plugin for 'nvidia.com/gpu' with Kubelet\n"
    assert [finding["code"] for finding in explain(_snapshot(x=failed))] == ["DevicePluginNvmlBroken"]
    assert explain(_snapshot(x=failed + well)) == []


def test_a_live_cluster_joins_what_was_mailed() -> None:
    live = {
        "objects": [NODE, {**POD, "spec": {"nodeName": "gpu-7"}}],
        "logs": [{"namespace": "research", "pod": "train", "container": "main", "previous": False, "text": "x"}],
        "notes": [{"what": "quotas", "reason": "forbidden"}],
    }
    snapshot = merged(_snapshot(**{"1.json": POD}), live)
    assert [(obj["kind"], "spec" in obj) for obj in snapshot.objects] == [("Node", False), ("Pod", True)]
    assert [(text.kind, text.pod) for text in snapshot.texts] == [("container_log", "train")]
    assert snapshot.unused == live["notes"]
