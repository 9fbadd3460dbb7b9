# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of tests: read from JUnit reports, added up, and said in one line."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

# What ansible-test reports for a test that looks at a kind of file of which there is none.
NOTHING_TO_TEST = "No tests applicable."


@dataclass(frozen=True)
class Count:
    """How many tests passed, failed (errors included) and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


def count_junit(report: str) -> Count:
    """Count the test cases of a JUnit XML report.

    A case with both a failure and an error (a test that failed and whose fixture failed afterwards) is one failed test.

    Raises xml.etree.ElementTree.ParseError when the text is no XML.
    """
    count = Count()
    for case in ElementTree.fromstring(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            count += Count(failed=1)
        elif skipped is None:
            count += Count(passed=1)
        elif skipped.text != NOTHING_TO_TEST:
            count += Count(skipped=1)
    return count


def judge(counted: Count, exit_code: int | None) -> Count:
    """Return what a check counts for, given what its reports say and how it ended.

    exit_code is None for a check that ran out of time. A check that ended badly with no failed test in its reports, or that
    ran no test at all, is itself one failed test.
    """
    ran_nothing = counted.passed + counted.failed == 0
    if (exit_code != 0 and not counted.failed) or ran_nothing:
        return counted + Count(failed=1)
    return counted
