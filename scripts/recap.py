# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the recap that ansible-playbook prints at the end: how many tasks changed something, failed and so on, per host."""

from __future__ import annotations

import re

from scripts.processes import without_colour

HEADING = re.compile(r"^PLAY RECAP \**$", re.MULTILINE)
HOST = re.compile(r"^(?P<host>\S+)\s+:(?P<numbers>(?:\s+[a-z]+=\d+)+)\s*$", re.MULTILINE)
NUMBER = re.compile(r"([a-z]+)=(\d+)")

UNWANTED = ("changed", "failed", "unreachable", "rescued", "ignored")


def parse_recap(output: str) -> dict[str, dict[str, int]]:
    """Return the numbers of tasks by host and kind (ok, changed, failed, ...), empty where the output has no recap."""
    plain = without_colour(output)
    headings = list(HEADING.finditer(plain))
    if not headings:
        return {}
    recap = plain[headings[-1].end() :]
    return {match["host"]: {kind: int(number) for kind, number in NUMBER.findall(match["numbers"])} for match in HOST.finditer(recap)}


def disturbances(recap: dict[str, dict[str, int]]) -> list[str]:
    """Return, per host that a run without any change should have left alone, what was not zero: "gpu-1: changed=2, failed=1"."""
    found = {host: [f"{kind}={numbers[kind]}" for kind in UNWANTED if numbers.get(kind)] for host, numbers in recap.items()}
    return [f"{host}: {', '.join(kinds)}" for host, kinds in found.items() if kinds]
