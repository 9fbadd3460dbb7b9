# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/findings/ and docs/failures.md from the catalogue of codes: PYTHONPATH=.cache/collections python docs/generate_finding_pages.py [--check]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import AREAS, CATALOGUE, CatalogueEntry
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.consequences import CONSEQUENCES
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.failures import GROUPS

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = REPOSITORY / "docs" / "findings"
FAILURE_PAGE = REPOSITORY / "docs" / "failures.md"
ROLES = sorted((path.name for path in (REPOSITORY / "roles").iterdir()), key=len, reverse=True)

HEADER = """\
<!--
Copyright (c) 2026, gpufleet authors
SPDX-License-Identifier: GPL-3.0-or-later
Generated from {source} by docs/generate_finding_pages.py. Edit that instead.
-->
"""
SOURCE = "plugins/module_utils/_findings/"
PAGE = """
# {code}

{severity} [All findings](index.md)

{cause}

## How to see it

{see}

## What to do

{next_step}

{variable}

## Does waiting help?

{waiting}

## What it follows from

{causes}

## What follows from it

{effects}
"""
INDEX = """
# Findings

A finding names one cause. Its code is stable, so that you can search for it, alert on it, and open its page. In every list of findings the first one is the
root cause: start there. What follows from another finding says so in `consequence_of`, and is usually gone with it.

How to get findings, and how to read them, is told in [From a symptom to the cause](../diagnosis.md). Codes with which a module or role stops, and that name
no cause, are in [Failures](../failures.md).

| severity | means |
|---|---|
| error | GPU work fails here |
| warning | it will, or partly does |
| info | good to know; nothing fails |

The severity given here is the usual one; a finding may have a milder or a graver one where what else was seen says so.
"""
FAILURES = """
# Failures

When a module or role of this collection stops, its result has a `failure` with a `code` beside the message. The codes here say that what was asked for isn't
there, isn't allowed, or isn't possible from here. A failure may also have the code of a [finding](findings/index.md), where it is one that stands in the way.
"""
SEVERITIES = {
    "error": "**Error**: GPU work fails here.",
    "warning": "**Warning**: GPU work will fail here, or partly does.",
    "info": "**Info**: good to know; nothing fails.",
}
WAITS = "It may. Look again after a few minutes before you do more than look."
WAITS_NOT = "No. It stays until somebody does something."


def role_of(variable: str) -> str:
    """The role that a public variable belongs to."""
    return next(role for role in ROLES if variable.startswith(f"{role}_"))


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def about_variable(entry: CatalogueEntry) -> str:
    if not entry.variable:
        return f"No role of this collection does that: {entry.by_hand}."
    role = role_of(entry.variable)
    return f"Role variable that cures or prevents it: `{entry.variable}` of [{role}](../../roles/{role}/README.md)."


def linked(codes: list[str], otherwise: str) -> str:
    """Codes as a list of links to their pages."""
    return "\n".join(f"- [{code}]({code}.md): {CATALOGUE[code].cause}" for code in codes) or otherwise


def finding_page(code: str) -> str:
    """The page of one code."""
    entry = CATALOGUE[code]
    return HEADER.format(source=SOURCE) + PAGE.format(
        code=code,
        severity=SEVERITIES[entry.severity],
        cause=entry.cause,
        see=entry.see,
        next_step=entry.next_step,
        variable=about_variable(entry),
        waiting=WAITS if entry.retryable else WAITS_NOT,
        causes=linked([cause for cause in CATALOGUE if code in CONSEQUENCES.get(cause, ())], "No other finding: it is a root cause itself."),
        effects=linked([effect for effect in CATALOGUE if effect in CONSEQUENCES.get(code, ())], "No other finding."),
    )


def index_page() -> str:
    """All codes by area."""
    parts = [HEADER.format(source=SOURCE) + INDEX]
    for area, codes in AREAS.items():
        rows = [f"| [{code}]({code}.md) | {entry.severity} | {cell(entry.cause)} |" for code, entry in codes.items()]
        parts.append("\n".join([f"## {area}", "", "| code | severity | cause |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def failure_page() -> str:
    """All codes with which something of ours stops, and that are no findings."""
    parts = [HEADER.format(source=f"{SOURCE}failures.py") + FAILURES]
    for group, codes in GROUPS.items():
        rows = [f"| {code} | {cell(failure.meaning)} | {cell(failure.next_step)} |" for code, failure in codes.items()]
        parts.append("\n".join([f"## {group}", "", "| code | means | what to do |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def all_pages() -> dict[Path, str]:
    """Each page that there has to be, and its text."""
    return {**{PAGES / f"{code}.md": finding_page(code) for code in CATALOGUE}, PAGES / "index.md": index_page(), FAILURE_PAGE: failure_page()}


def outdated() -> list[Path]:
    """The pages that aren't what the catalogue says, and those of codes that it doesn't have."""
    pages = all_pages()
    return [path for path, text in pages.items() if not path.exists() or path.read_text() != text] + sorted(set(PAGES.glob("*.md")) - set(pages))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail and name the files that would change")
    check = parser.parse_args().check
    pages, changed = all_pages(), outdated()
    PAGES.mkdir(exist_ok=True)
    for path in changed:
        print(("outdated: " if check else "written: " if path in pages else "removed: ") + str(path.relative_to(REPOSITORY)))
        if check:
            continue
        if path in pages:
            path.write_text(pages[path])
        else:
            path.unlink()
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
