# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the parts of `make test` one after the other, whatever fails, and close with one line: N passed, N failed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from scripts.parts import PARTS, TESTBED_BUILD, Check, Part
from scripts.processes import LOGS, REPOSITORY, run_logged, tail
from scripts.results import Count, count_junit, judge

DEFAULT_PARTS = ("unit", "lint", "sanity", "molecule", "integration")
TAIL_LINES = 80


def say(message: str) -> None:
    print(message, flush=True)


def relative(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def run_check(part_name: str, check: Check) -> Count:
    """Run one check, say how it went and return what it counts for."""
    log = LOGS / f"{part_name}-{check.name}.log"
    for report in check.reports():
        report.unlink()
    started = time.monotonic()
    exit_code = run_logged(check.argv, log, timeout=check.timeout, label=f"{part_name}: {check.name}", say=say)
    counted = sum((count_junit(report.read_text()) for report in check.reports()), Count())
    if not check.junit and exit_code == 0:
        counted = Count(passed=1)
    count = judge(counted, exit_code)
    ending = "ran out of time" if exit_code is None else f"exit code {exit_code}"
    seconds = time.monotonic() - started
    if count.failed:
        say(f"{part_name}: {check.name}: {count} ({ending}, {seconds:.0f} s), the end of {relative(log)}:")
        say(tail(log, TAIL_LINES))
    else:
        say(f"{part_name}: {check.name}: {count} ({seconds:.0f} s)")
    return count


def run_part(name: str, part: Part, testbed: Count | None) -> Count:
    """Run the checks of one part; testbed is what building the testbed counted for, None where no part needs it."""
    checks = part.checks()
    if part.needs_machines and os.geteuid() != 0:
        say(f"{name}: left out, it boots machines and so needs root")
        return Count(skipped=len(checks))
    if part.needs_machines and testbed and testbed.failed:
        say(f"{name}: not run, because the testbed was not built")
        return Count(failed=len(checks))
    return sum((run_check(name, check) for check in checks), Count())


def run_parts(names: list[str]) -> Count:
    """Run the named parts in the order given, with the testbed's parts built before the first that needs them."""
    total = Count()
    testbed: Count | None = None
    durations = []
    for name in names:
        started = time.monotonic()
        if PARTS[name].needs_machines and testbed is None and os.geteuid() == 0:
            testbed = run_check("testbed", TESTBED_BUILD)
            total += testbed
        total += run_part(name, PARTS[name], testbed)
        durations.append(f"{name} {time.monotonic() - started:.0f} s")
    say(f"durations: {', '.join(durations)}")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: {', '.join(DEFAULT_PARTS)}")
    names = parser.parse_args().parts or list(DEFAULT_PARTS)
    if unknown := sorted(set(names) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    try:
        total = run_parts(names)
    except KeyboardInterrupt:
        say("interrupted; what the tests started is ended, logs are in .cache/logs")
        return 130
    say(str(total))
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
