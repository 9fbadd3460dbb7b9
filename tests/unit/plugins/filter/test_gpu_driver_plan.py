# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_driver_plan as subject

WANTED = "580.159.04"
STEPS = ("release", "finish", "install", "load", "hold", "unhold")


def package(name: str, version: str = f"{WANTED}-1", status: str = "ii", held: bool = True) -> dict[str, t.Any]:
    return {"name": name, "version": version, "status": status, "held": held}


def driver(*packages: dict[str, t.Any], loaded: str | None = None, installed: str | None = None, **facts: t.Any) -> dict[str, t.Any]:
    return {
        "driver": {
            "packages": list(packages),
            "loaded_version": loaded,
            "installed_version": installed,
            "healthy": loaded is not None,
            "interrupted_packages": [],
            **facts,
        }
    }


def plan(facts: dict[str, t.Any], **options: t.Any) -> dict[str, t.Any]:
    return subject.plan(facts, "gpu-1", version=options.pop("version", WANTED), packages=["nvidia-open"], **options)


def steps(result: dict[str, t.Any]) -> dict[str, t.Any]:
    return {name: result[name] for name in STEPS if result[name]}


READY = driver(package("nvidia-open"), package("libcuda1"), loaded=WANTED, installed=WANTED)


def test_a_bare_node_gets_everything() -> None:
    result = plan(driver())
    assert steps(result) == {"install": ["nvidia-open"], "load": True}
    assert (result["failures"], result["ready"]) == ([], False)
    assert result["announce"] == [f"install nvidia-open at version {WANTED}, with what they need", "load the kernel module nvidia", "hold what was installed"]


@pytest.mark.parametrize("version", [WANTED, f"{WANTED}-1"])
def test_a_node_that_has_it_gets_nothing(version: str) -> None:
    result = plan(READY, version=version)
    assert (steps(result), result["failures"], result["announce"], result["ready"]) == ({}, [], [], True)


def test_a_healthy_driver_from_elsewhere_is_never_touched() -> None:
    result = plan(driver(loaded=WANTED))
    assert (steps(result), result["failures"], result["ready"]) == ({}, [], True)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (driver(package("nvidia-open", held=False), loaded=WANTED, installed=WANTED), {"hold": ["nvidia-open"]}),
        (driver(package("nvidia-open"), installed=WANTED), {"load": True}),
        # Killed in the middle of the transaction: the libraries are there, the package that was asked for isn't.
        (driver(package("libcuda1"), loaded=WANTED, installed=WANTED), {"install": ["nvidia-open"]}),
        (
            driver(package("nvidia-open", status="iU"), installed=WANTED, interrupted_packages=["nvidia-open"]),
            {"finish": ["nvidia-open"], "install": ["nvidia-open"], "load": True},
        ),
    ],
    ids=["not held", "not loaded", "partly installed", "half configured"],
)
def test_only_what_is_missing_is_done(facts: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    assert steps(plan(facts)) == expected


def test_a_hold_that_is_not_wanted_ends() -> None:
    assert steps(plan(READY, hold=False)) == {"unhold": ["libcuda1", "nvidia-open"]}


def test_packages_of_other_versions_are_not_held() -> None:
    facts = driver(package("nvidia-open"), package("nvidia-settings", version="570.1-1", held=False), loaded=WANTED, installed=WANTED)
    assert steps(plan(facts)) == {}


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (driver(loaded="570.1", installed="570.1"), "DriverVersionMismatch"),
        (driver(loaded="570.1"), "DriverVersionMismatch"),
        (driver(installed="570.1"), "DriverVersionMismatch"),
        (driver(package("nvidia-open"), loaded="570.1", installed=WANTED), "NodeRebootRequired"),
    ],
    ids=["loaded and installed", "loaded", "installed", "installed, the old one loaded"],
)
def test_another_version_is_refused_with_its_name(facts: dict[str, t.Any], code: str) -> None:
    [failure] = plan(facts)["failures"]
    assert failure["code"] == code
    assert "570.1" in failure["message"]
    assert WANTED in failure["message"]


def test_another_version_is_replaced_where_that_is_asked_for() -> None:
    result = plan(driver(package("nvidia-open", version="570.1-1"), loaded="570.1", installed="570.1"), upgrade=True)
    assert (result["failures"], steps(result)) == ([], {"release": ["nvidia-open"], "install": ["nvidia-open"]})
