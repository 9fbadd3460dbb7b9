# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input, on bare nodes: a clear error with a code, and nothing changed anywhere."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.integration.bed import Bed
from tests.testbed import nodes

NODE = "gpu-1"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def untouched(bare: Bed) -> t.Iterator[Bed]:
    """Bare nodes that must be as they were when the test ends."""
    before = bare.snapshot()
    yield bare
    assert bare.snapshot() == before


@pytest.mark.parametrize(
    ("fault", "code"),
    [("no-gpu", "NoGpu"), ("nouveau", "DriverConflict")],
)
def test_hardware_that_preflight_refuses(untouched: Bed, fault: str, code: str) -> None:
    nodes.set_faults(untouched.instance, NODE, [fault])
    try:
        run = untouched.play("site", "--limit", NODE)
    finally:
        nodes.set_faults(untouched.instance, NODE, [])
    assert run.rc != 0
    assert run.failure(NODE, code)


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"gpu_driver_version": "999.1"}, "DriverVersionUnavailable"),
        ({"gpu_driver_repository_uri": "http://127.0.0.1:9/driver"}, "RepositoryUnreachable"),
        ({"gpu_toolkit_repository_uri": "http://127.0.0.1:9/toolkit"}, "RepositoryUnreachable"),
        ({"gpu_preflight_expected_gpus": 8}, "GpuCountMismatch"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_variables_that_do_not_fit_the_node(untouched: Bed, variables: dict[str, t.Any], code: str) -> None:
    run = untouched.play("site", "--limit", NODE, **variables)
    assert run.rc != 0
    assert run.failure(NODE, code)


@pytest.mark.parametrize(
    "variables",
    [
        {"gpu_driver_hold": ["not", "a", "boolean"]},
        {"gpu_toolkit_runtime": "rkt"},
        {"gpu_preflight_expected_gpus": "eight"},
    ],
    ids=lambda value: next(iter(value)),
)
def test_wrong_typed_variables_are_named(untouched: Bed, variables: dict[str, t.Any]) -> None:
    run = untouched.play("site", "--limit", NODE, **variables)
    assert run.rc != 0
    assert next(iter(variables)) in str(run.failures(NODE))


def test_a_containerd_config_that_does_not_parse(bare: Bed) -> None:
    config = Path("/etc/containerd/config.toml")
    good = bare.on(NODE, "cat", str(config))
    bare.on(NODE, "sh", "-c", f"echo '[plugins' >> {config}")
    before = bare.snapshot()
    try:
        run = bare.play("site", "--limit", NODE)
        assert run.rc != 0
        assert str(config) in str(run.failure(NODE, "ConfigInvalid"))
        assert bare.snapshot() == before
    finally:
        bare.on(NODE, "sh", "-c", f"cat > {config} <<'EOF'\n{good}EOF")


def test_one_refused_node_does_not_stop_the_others(bare: Bed) -> None:
    nodes.set_faults(bare.instance, NODE, ["no-gpu"])
    others = [name for name in bare.names() if name != NODE]
    bare.state = None
    try:
        run = bare.play("site")
    finally:
        nodes.set_faults(bare.instance, NODE, [])
    assert run.rc != 0
    assert run.failure(NODE, "NoGpu")
    assert {name: bare.gpus(name) for name in bare.names()} == {NODE: 0, **dict.fromkeys(others, 2)}
