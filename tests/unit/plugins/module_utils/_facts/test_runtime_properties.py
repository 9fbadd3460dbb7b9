# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No text of a configuration or a CDI specification, however broken, makes its reader fail or grow."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import FILE_LIMIT
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.secrets import mask
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import cdi, containerd, docker, kubelet, toml_text, toolkit, yaml_text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.unit.node_cases import CASES

RELAXED = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FOLDERS = sorted([*CASES.glob("R*"), *CASES.glob("h200-node-ctk-*"), *CASES.glob("containerd-*")])
TEXTS = [path for folder in FOLDERS for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "case.json"]
PATHS = (
    "/etc/containerd/config.toml",
    "/etc/containerd/conf.d/99-nvidia.toml",
    "/etc/containerd/config.toml.bak",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
    "/etc/docker/daemon.json",
    "/etc/crio/crio.conf",
    "/etc/crio/crio.conf.d/10.conf",
    "/etc/nvidia-container-runtime/config.toml",
    "/var/run/cdi/nvidia.yaml",
    "/etc/cdi/nvidia.json",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/gpufleet/toolkit/record",
)
COMMANDS = ("containerd_config_dump", "docker_info", "docker_run", "crio_config", "cdi_consumer", "nvidia_ctk_version")
KEYS = ("plugins", "cri", "containerd", "runtimes", "nvidia", "options", "devices", "containerEdits", "mounts", "deviceNodes", "intelRdt", "kind", "name")
PARSERS: list[t.Callable[[str], t.Any]] = [
    toml_text.parse_toml,
    toml_text.is_template,
    yaml_text.parse_yaml,
    yaml_text.parse_json,
    docker.parse,
    cdi.parse_spec,
    toolkit.parse_config,
    kubelet.parse,
    mask,
]


def _mangled(text: str, data: st.DataObject) -> str:
    """A text that is cut, in another order, or with noise in it."""
    kind = data.draw(st.sampled_from(("cut", "shuffled", "noisy")))
    if kind == "shuffled":
        lines = text.splitlines(keepends=True)
        return "".join(data.draw(st.permutations(lines[:200])))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text))) if kind == "noisy" else len(text)
    return text[:start] + (data.draw(st.binary(max_size=8)).decode("utf-8", "replace") + text[end:] if kind == "noisy" else "")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@RELAXED
@given(st.lists(st.tuples(st.sampled_from(PATHS + COMMANDS), st.sampled_from(TEXTS)), min_size=1, max_size=6), st.data())
def test_mangled_files_in_any_place(chosen: list[tuple[str, Path]], data: st.DataObject) -> None:
    texts = {place: _mangled(_read(path), data) for place, path in chosen}
    evidence = {
        "schema": 1,
        "files": {place: {"text": text} for place, text in texts.items() if place in PATHS},
        "commands": {place: {"rc": data.draw(st.sampled_from((0, 1))), "stdout": text, "stderr": text} for place, text in texts.items() if place in COMMANDS},
    }
    facts = node_facts(evidence, SUBSETS)
    json.dumps([facts, node_findings(facts, "gpu-1")])


@RELAXED
@given(st.sampled_from(TEXTS), st.sampled_from(PARSERS), st.data())
def test_parsers_take_mangled_texts(path: Path, parser: t.Callable[[str], t.Any], data: st.DataObject) -> None:
    parser(_mangled(_read(path), data))


@RELAXED
@given(st.binary(max_size=400), st.sampled_from(PARSERS))
def test_parsers_take_any_bytes(data: bytes, parser: t.Callable[[str], t.Any]) -> None:
    parser(data.decode("utf-8", "surrogateescape"))
    parser(data.decode("latin-1"))


@RELAXED
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
        max_leaves=20,
    )
)
def test_any_shape_of_a_document(document: t.Any) -> None:
    text = json.dumps(document)
    cdi.parse_spec(text)
    docker.parse(text)
    kubelet.parse(text)
    if isinstance(document, dict):
        containerd.cri_section(document)
        containerd.type_error(document)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BOMB, "aliases"),
        ("a: &a [*a]\n", "aliases"),
        ("[" * 100_000, "nesting"),
        ("- " * 100_000, "nesting"),
        ("a: \x00", "control characters"),
        ("a: '\ud800'", "surrogates"),
        ("---\na: 1\n---\nb: 2\n", "another document"),
        ("!!python/object/apply:os.system ['true']", ""),
        ("\ufeffa: 1\n", ""),
        ("a: !!bool x\nb: !!int ''\nc: 2021-99-99\n", ""),
    ],
)
def test_hostile_yaml(text: str, error: str) -> None:
    _value, said = yaml_text.parse_yaml(text)
    assert error in (said or "")
    assert bool(said) is bool(error)


@pytest.mark.parametrize("text", ["a." * 5000 + "b = 1", "a = " + "[" * 100_000, "[" + "a." * 5000 + "b]", "a = 1\x00", "\ufeffa = 1", "a = '\ud800"])
def test_hostile_toml(text: str) -> None:
    assert toml_text.parse_toml(text)[1]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN}', "\ufeff{}", "{}\x00", "[]", "1", "9" * 5000])
def test_hostile_json(text: str) -> None:
    assert docker.parse(text).error


@pytest.mark.parametrize("piece", ["a", '"', "x.", "://", "\\", "{", "[", " ", "- ", "a: ", "token: a", "&"])
def test_a_long_line_costs_little(piece: str) -> None:
    text = piece * (FILE_LIMIT // len(piece))
    started = time.process_time()
    for parser in PARSERS:
        parser(text)
        parser("[" + text)
    assert time.process_time() - started < 10
