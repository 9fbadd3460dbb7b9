# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of findings: causes before what they lead to, on the same thing or the same node and nowhere else."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE, ERROR, INFO, WARNING, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.consequences import CONSEQUENCES
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import arrange, causes_of, levels, subject_key

Object = dict[str, t.Any]


def about(code: str, name: str = "gpu-1", kind: str = "node", **values: t.Any) -> Object:
    values.setdefault("summary", f"{code} on {name}.")
    return finding(code, kind=kind, name=name, **values)


def told(findings: list[Object], **options: t.Any) -> list[tuple[str, str, str | None]]:
    return [(item["code"], item["subject"]["name"], item["consequence_of"]) for item in arrange(findings, **options)]


# The table


def test_every_code_of_the_table_is_in_the_catalogue() -> None:
    assert {*CONSEQUENCES, *(effect for effects in CONSEQUENCES.values() for effect in effects)} <= set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_no_code_follows_from_itself(code: str) -> None:
    assert code not in causes_of(code)


@pytest.mark.parametrize(("cause", "effects"), sorted(CONSEQUENCES.items()), ids=sorted(CONSEQUENCES))
def test_effects_are_named_once_and_lie_behind_their_cause(cause: str, effects: tuple[str, ...]) -> None:
    assert len(effects) == len(set(effects)) > 0
    assert all(levels()[effect] > levels()[cause] for effect in effects)


# What follows from what


def test_a_driver_that_is_not_loaded_explains_why_its_node_offers_nothing() -> None:
    found = [about("AllGpusUnhealthyOrPluginDown"), about("DeviceUnhealthy", "gpu-2"), about("DriverNotLoaded")]
    assert told(found) == [
        ("DeviceUnhealthy", "gpu-2", None),
        ("DriverNotLoaded", "gpu-1", None),
        ("AllGpusUnhealthyOrPluginDown", "gpu-1", "DriverNotLoaded"),
    ]


def test_what_is_wrong_on_another_node_explains_nothing() -> None:
    assert told([about("AllGpusUnhealthyOrPluginDown", "gpu-2"), about("DriverNotLoaded", "gpu-1")]) == [
        ("AllGpusUnhealthyOrPluginDown", "gpu-2", None),
        ("DriverNotLoaded", "gpu-1", None),
    ]


def test_a_name_that_another_one_begins_with_is_not_that_node() -> None:
    lost = about("GpuFallenOffBus", "0000:3b:00.0", "gpu", summary="The GPU at 0000:3b:00.0 on gpu-12: fallen off the bus.")
    assert [item["consequence_of"] for item in arrange([lost, about("GpuCountMismatch", "gpu-1"), about("GpuCountMismatch", "gpu-12")])] == [
        None,
        None,
        "GpuFallenOffBus",
    ]


@pytest.mark.parametrize("words", ["The GPU is on gpu-1.", "gpu-1: gone.", "Node gpu-1, GPU 0"])
def test_a_gpu_belongs_to_the_node_that_its_summary_names(words: str) -> None:
    lost = about("GpuFallenOffBus", "GPU-5", "gpu", summary=words)
    assert told([about("GpuCountMismatch"), lost])[1] == ("GpuCountMismatch", "gpu-1", "GpuFallenOffBus")


def test_a_file_belongs_to_the_node_that_its_evidence_names() -> None:
    broken = about("ConfigInvalid", "/etc/containerd/config.toml", "file", summary="It is broken.", evidence=[seen("gpu-1: config.toml", "x = =")])
    assert told([about("RuntimeNotRunning"), broken]) == [
        ("ConfigInvalid", "/etc/containerd/config.toml", None),
        ("RuntimeNotRunning", "gpu-1", "ConfigInvalid"),
    ]


def test_the_nearest_cause_is_named_and_the_chain_goes_on() -> None:
    found = [about("AllGpusUnhealthyOrPluginDown"), about("DriverConflict"), about("DriverNotLoaded"), about("DevicePluginNvmlBroken")]
    assert told(found) == [
        ("DriverConflict", "gpu-1", None),
        ("DriverNotLoaded", "gpu-1", "DriverConflict"),
        ("DevicePluginNvmlBroken", "gpu-1", "DriverNotLoaded"),
        ("AllGpusUnhealthyOrPluginDown", "gpu-1", "DevicePluginNvmlBroken"),
    ]


def test_what_is_between_two_findings_may_be_missing() -> None:
    assert told([about("AllGpusUnhealthyOrPluginDown"), about("DriverConflict")])[1][2] == "DriverConflict"


def test_the_gravest_cause_counts() -> None:
    found = [about("AllGpusUnhealthyOrPluginDown"), about("XidCritical", severity=WARNING), about("RuntimeHandlerMissing")]
    assert ("AllGpusUnhealthyOrPluginDown", "gpu-1", "RuntimeHandlerMissing") in told(found)


def test_an_info_explains_no_error() -> None:
    assert told([about("AllGpusUnhealthyOrPluginDown"), about("XidCritical", severity=INFO)]) == [
        ("AllGpusUnhealthyOrPluginDown", "gpu-1", None),
        ("XidCritical", "gpu-1", None),
    ]


def test_a_pod_fails_of_what_is_wrong_with_its_node() -> None:
    pod = about("DeviceUnavailable", "train-1", "pod", namespace="research")
    assert told([pod, about("NodeNotReady")], nodes={("pod", "research", "train-1"): "gpu-1"})[1][2] == "NodeNotReady"
    assert told([pod, about("NodeNotReady")], nodes={("pod", "research", "train-1"): "gpu-2"})[1][2] is None


def test_one_pod_is_not_the_cause_of_another_one() -> None:
    pods = [about(code, name, "pod", namespace="research") for code, name in (("DeadlineExceeded", "train-1"), ("ImagePullFailed", "train-2"))]
    assert [item["consequence_of"] for item in arrange(pods, {subject_key(pod): "gpu-1" for pod in pods})] == [None, None]


def test_what_a_pod_shows_of_its_node_counts_for_the_node() -> None:
    plugin = about("DevicePluginNvmlBroken", "nvidia-device-plugin-x7k2p", "pod", namespace="kube-system")
    found = told([about("PluginNotRegistered"), plugin], nodes={subject_key(plugin): "gpu-1"})
    assert found[1] == ("PluginNotRegistered", "gpu-1", "DevicePluginNvmlBroken")


def test_a_pod_without_devices_says_nothing_of_its_node() -> None:
    pod = about("ToolkitNotInjecting", "train-1", "pod", namespace="research")
    assert told([about("PluginNotRegistered"), pod], nodes={subject_key(pod): "gpu-1"})[0][2] is None


def test_a_job_and_its_pod_belong_together() -> None:
    pod, job = (about(code, name, kind, namespace="research") for code, name, kind in (("CudaNoDevice", "t-x7k2p", "pod"), ("ContainerFailed", "t", "job")))
    assert told([job, pod]) == [("CudaNoDevice", "t-x7k2p", None), ("ContainerFailed", "t", "CudaNoDevice")]
    refused = about("QuotaExceeded", "t", "job", namespace="research")
    late = about("DeadlineExceeded", "t-x7k2p", "pod", namespace="research")
    assert told([late, refused])[1] == ("DeadlineExceeded", "t-x7k2p", "QuotaExceeded")
    assert told([late, {**refused, "subject": {**refused["subject"], "namespace": "other"}}])[1][2] is None


def test_what_concerns_the_whole_cluster_goes_with_any_node() -> None:
    refused = about("PodSecurityViolation", "nvidia-device-plugin", "daemonset", namespace="kube-system")
    assert told([about("GpuResourceNotAdvertised"), refused])[1][2] == "PodSecurityViolation"
    operator = about("OperandNotReady", "cluster-policy", "clusterpolicy")
    assert told([operator, about("DriverNotLoaded")])[1] == ("OperandNotReady", "cluster-policy", "DriverNotLoaded")


def test_a_cause_on_the_node_itself_is_nearer_than_one_of_the_cluster() -> None:
    operator = about("OperandNotReady", "cluster-policy", "clusterpolicy")
    assert ("PluginNotRegistered", "gpu-1", "DriverNotLoaded") in told([about("PluginNotRegistered"), operator, about("DriverNotLoaded")])


# The order


def test_errors_then_warnings_then_infos_as_they_came() -> None:
    found = [about("TemplateNotToml"), about("ToolkitVulnerable"), about("NoGpu"), about("CgroupDriverMismatch"), about("VgpuUnlicensed")]
    assert [item["code"] for item in arrange(found)] == ["NoGpu", "VgpuUnlicensed", "ToolkitVulnerable", "CgroupDriverMismatch", "TemplateNotToml"]


def test_a_warning_stands_before_the_error_that_it_leads_to() -> None:
    found = [about("DriverNotLoaded"), about("ToolkitVulnerable"), about("PackagesInterrupted")]
    assert told(found) == [
        ("PackagesInterrupted", "gpu-1", None),
        ("DriverNotLoaded", "gpu-1", "PackagesInterrupted"),
        ("ToolkitVulnerable", "gpu-1", None),
    ]


def test_a_mark_whose_cause_is_gone_is_taken_away() -> None:
    [_cause, effect] = arrange([about("DriverNotLoaded"), about("PluginNotRegistered")])
    assert arrange([effect])[0]["consequence_of"] is None


NODES = ("gpu-1", "gpu-2")
subjects = st.sampled_from([
    *(("node", None, name) for name in NODES),
    ("gpu", None, "GPU-1"),
    ("file", None, "/etc/config"),
    ("pod", "research", "train-a1b2c"),
    ("job", "research", "train"),
    ("daemonset", "kube-system", "plugin"),
    ("release", None, "gpu-operator"),
])


@st.composite
def findings(draw: st.DrawFn) -> Object:
    kind, namespace, name = draw(subjects)
    words = draw(st.sampled_from(["It fails.", *(f"It fails on {node}." for node in NODES)]))
    severity = draw(st.sampled_from((ERROR, WARNING, INFO)))
    return finding(draw(st.sampled_from(sorted(CATALOGUE))), kind=kind, namespace=namespace, name=name, summary=words, severity=severity)


def as_set(found: t.Iterable[Object]) -> list[str]:
    return sorted(map(repr, found))


@given(st.data())
def test_which_findings_follow_from_which_does_not_depend_on_their_order(data: st.DataObject) -> None:
    found = data.draw(st.lists(findings(), max_size=12))
    assert as_set(arrange(data.draw(st.permutations(found)))) == as_set(arrange(found))


@given(st.lists(findings(), max_size=20))
def test_nothing_is_lost_and_a_second_time_changes_nothing(found: list[Object]) -> None:
    arranged = arrange(found)
    assert as_set({**item, "consequence_of": None} for item in arranged) == as_set(found)
    assert arrange(arranged) == arranged


@given(st.lists(findings(), max_size=20))
def test_causes_stand_before_what_follows_from_them(found: list[Object]) -> None:
    arranged = arrange(found)
    for position, item in enumerate(arranged):
        if item["consequence_of"] is not None:
            assert item["consequence_of"] in [earlier["code"] for earlier in arranged[:position]]
            assert item["consequence_of"] in causes_of(item["code"])
