# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue: complete, of one form, with role variables that exist; and no code with which something of ours stops is missing in it or in the failures."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import AREAS, CATALOGUE, ERROR, INFO, WARNING, finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.failures import FAILURES

REPOSITORY = Path(__file__).resolve().parents[5]
CODE = re.compile(r"(?:[A-Z][a-z0-9]+)+")
# In Jinja expressions: code='DriverVersionUnavailable', and a list's default ['DriverNotLoaded'].
IN_TEMPLATE = re.compile(r"(?:code=|code'\) \| list \+ \[)'([A-Z]\w+)'")
# Codes that are made of a kind.
OF_A_KIND = {"PodNotFound", "JobNotFound", "NodeNotFound", "NamespaceNotFound"}

each_code = pytest.mark.parametrize("code", sorted(CATALOGUE))


def public_variables() -> set[str]:
    """The variables of all roles: those with a default, and those that have none."""
    specs = (yaml.safe_load(path.read_text()) for path in (REPOSITORY / "roles").glob("*/meta/argument_specs.yml"))
    return {name for spec in specs for name in spec["argument_specs"]["main"].get("options", {})}


def in_python(path: Path) -> t.Iterator[str]:
    """Codes that a plugin gives to a failure, an error or a finding."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("failure", "_failure", "finding") and node.args:
            yield from constants(node.args[0])
        if isinstance(node, ast.keyword) and node.arg == "code":
            yield from constants(node.value)
        if isinstance(node, ast.Dict):
            values = dict(zip((key.value for key in node.keys if isinstance(key, ast.Constant)), node.values, strict=False))
            yield from constants(values.get("code"))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and [target.id for target in node.targets if isinstance(target, ast.Name)] == [
            "_CODES"
        ]:
            for value in node.value.values:
                yield from constants(value)


def constants(node: ast.AST | None) -> t.Iterator[str]:
    """Every constant that could be a code in an expression; one that is put together is none."""
    for part in ast.walk(node) if node and not isinstance(node, ast.JoinedStr) else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
            yield part.value


def in_yaml(value: t.Any) -> t.Iterator[str]:
    """Codes in a role's tasks and variables."""
    if isinstance(value, dict):
        if isinstance(value.get("code"), str) and CODE.fullmatch(value["code"]):
            yield value["code"]
        for inner in value.values():
            yield from in_yaml(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from in_yaml(inner)
    elif isinstance(value, str):
        yield from IN_TEMPLATE.findall(value)


def codes_in_use() -> dict[str, str]:
    """Every code with which something of ours stops, and a file that has it."""
    found = {code: path.name for path in (REPOSITORY / "plugins").rglob("*.py") for code in in_python(path)}
    for folder in ("tasks", "vars"):
        for path in (REPOSITORY / "roles").glob(f"*/{folder}/*.yml"):
            found.update(dict.fromkeys(in_yaml(yaml.safe_load(path.read_text())), str(path.relative_to(REPOSITORY))))
    return found


def test_codes_are_in_one_area_alone_and_in_camel_case() -> None:
    assert sum(len(codes) for codes in AREAS.values()) == len(CATALOGUE)
    assert [code for code in (*CATALOGUE, *FAILURES) if not CODE.fullmatch(code)] == []


@each_code
def test_an_entry_says_all_in_sentences(code: str) -> None:
    entry = CATALOGUE[code]
    assert entry.severity in (ERROR, WARNING, INFO)
    for text in (entry.cause, entry.next_step, entry.see):
        assert re.fullmatch(r"\S.*\.", text), text
    assert "`" in entry.see


@each_code
def test_an_entry_names_a_variable_that_exists_or_why_no_role_cures_it(code: str) -> None:
    entry = CATALOGUE[code]
    assert bool(entry.variable) != bool(entry.by_hand)
    assert not entry.variable or entry.variable in public_variables()
    mentioned = set(re.findall(r"\bgpu_[a-z_]+", f"{entry.next_step} {entry.see}"))
    roles = {path.name for path in (REPOSITORY / "roles").iterdir()} | {"gpu_node_info", "gpu_cluster_info"}
    assert mentioned - public_variables() - roles == set()


def test_every_code_with_which_something_stops_is_a_cause_or_a_failure() -> None:
    found = codes_in_use()
    assert len(found) > 60
    assert {code: path for code, path in found.items() if code not in CATALOGUE and code not in FAILURES} == {}


def test_a_failure_is_no_cause_and_is_in_use() -> None:
    assert set(FAILURES) & set(CATALOGUE) == set()
    assert set(FAILURES) - set(codes_in_use()) - OF_A_KIND == set()


def test_a_failure_says_all_in_sentences() -> None:
    assert [code for code, entry in FAILURES.items() if not (entry.meaning.endswith(".") and entry.next_step.endswith("."))] == []


def test_a_finding_may_be_made_more_precise() -> None:
    found = finding("NoGpu", kind="node", name="gpu-1", summary="None.", next_step="Buy one.", severity=INFO)
    assert (found["severity"], found["next_step"], found["cause"], found["consequence_of"]) == (INFO, "Buy one.", CATALOGUE["NoGpu"].cause, None)


def test_a_code_that_nobody_knows_makes_no_finding() -> None:
    with pytest.raises(KeyError):
        finding("NoSuchCode", kind="node", name="gpu-1", summary="None.")
