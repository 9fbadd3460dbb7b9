# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each code, equal to what the catalogue says."""

from __future__ import annotations

import importlib.util
import re
import types
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.failures import FAILURES

DOCS = Path(__file__).resolve().parents[2] / "docs"
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.fixture(scope="module")
def generator() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("generate_finding_pages", DOCS / "generate_finding_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_generated_from_the_catalogue(generator: types.ModuleType) -> None:
    assert generator.outdated() == [], "run: make docs"


def test_each_code_has_its_page_and_nothing_else_has() -> None:
    assert {path.stem for path in (DOCS / "findings").glob("*.md")} == {*CATALOGUE, "index"}


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_page_tells_all_that_is_asked_at_night(code: str) -> None:
    text = (DOCS / "findings" / f"{code}.md").read_text()
    entry = CATALOGUE[code]
    headings = ["How to see it", "What to do", "Does waiting help?", "What it follows from", "What follows from it"]
    assert re.findall("^## (.*)$", text, re.M) == headings
    assert [part for part in (f"# {code}\n", entry.cause, entry.see, entry.next_step, entry.variable, entry.by_hand) if part not in text] == []


def test_the_overviews_name_every_code() -> None:
    index, failures = (DOCS / "findings" / "index.md").read_text(), (DOCS / "failures.md").read_text()
    assert [code for code in CATALOGUE if f"[{code}]({code}.md)" not in index] == []
    assert [code for code in FAILURES if f"| {code} |" not in failures] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    broken = [(page.name, target) for page in pages for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert broken == []
