# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is true of every role: its anatomy, its names, and that its three descriptions of its variables agree."""

from __future__ import annotations

import importlib.util
import typing as t
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (REPOSITORY / "roles").iterdir() if path.is_dir())
ANATOMY = ("README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml", "tasks/main.yml")
TYPES = {"str": str, "path": str, "int": int, "bool": bool, "list": list, "dict": dict}
each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def load(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text()) or {}


def options(role: Path) -> dict[str, t.Any]:
    return load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})


def test_there_are_roles() -> None:
    assert {"gpu_preflight", "gpu_driver", "gpu_toolkit", "gpu_device_plugin", "gpu_validate", "gpu_cleanup"} <= {role.name for role in ROLES}


@each_role
def test_anatomy(role: Path) -> None:
    assert [part for part in ANATOMY if not (role / part).is_file()] == []


@each_role
def test_defaults_equal_the_specification(role: Path) -> None:
    specified = {name: option["default"] for name, option in options(role).items() if "default" in option}
    assert load(role / "defaults" / "main.yml") == specified


@each_role
def test_each_option_has_a_type_that_its_default_is_of_and_a_description(role: Path) -> None:
    for name, option in options(role).items():
        assert option["description"], name
        assert option["type"] in TYPES, name
        assert (option["type"] == "list") <= ("elements" in option), name
        if "default" in option:
            kind = TYPES[option["type"]]
            assert isinstance(option["default"], kind), name
            assert isinstance(option["default"], bool) == (kind is bool), name
            assert option["default"] in option.get("choices", [option["default"]]), name


@each_role
def test_public_variables_begin_with_the_role_and_internal_ones_with_two_underscores(role: Path) -> None:
    assert [name for name in options(role) if not name.startswith(f"{role.name}_")] == []
    internal = [name for path in (role / "vars").glob("*.yml") for name in load(path)]
    assert [name for name in internal if not name.startswith(f"__{role.name}_")] == []


@each_role
def test_internal_variables_override_no_public_one(role: Path) -> None:
    internal = {name for path in (role / "vars").glob("*.yml") for name in load(path)}
    assert internal & set(options(role)) == set()


def test_readmes_are_generated_from_the_specifications() -> None:
    spec = importlib.util.spec_from_file_location("generate_role_readmes", REPOSITORY / "docs" / "generate_role_readmes.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.outdated() == [], "run: python docs/generate_role_readmes.py"
