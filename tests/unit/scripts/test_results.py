# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the tests are counted that `make test` closes with."""

from __future__ import annotations

import pytest

from scripts.results import Count, count_junit, judge

REPORT = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="2" tests="6">
  <testcase classname="a" name="passes"/>
  <testcase classname="a" name="passes-and-prints"><system-out>skipped failure</system-out></testcase>
  <testcase classname="a" name="fails"><failure message="m">text</failure></testcase>
  <testcase classname="a" name="fails-twice"><failure message="m">text</failure><error message="teardown">text</error></testcase>
  <testcase classname="a" name="skipped"><skipped message="no tool">text</skipped></testcase>
  <testcase classname="sanity" name="pslint"><skipped>No tests applicable.</skipped></testcase>
</testsuite></testsuites>
"""


def test_junit_cases_are_counted_once_each() -> None:
    assert count_junit(REPORT) == Count(passed=2, failed=2, skipped=1)


@pytest.mark.parametrize(
    ("counted", "exit_code", "expected"),
    [
        pytest.param(Count(passed=3), 0, Count(passed=3), id="good"),
        pytest.param(Count(passed=3, failed=1), 1, Count(passed=3, failed=1), id="a failure that the report has is not counted twice"),
        pytest.param(Count(passed=3), 3, Count(passed=3, failed=1), id="crashed after some tests"),
        pytest.param(Count(passed=3), None, Count(passed=3, failed=1), id="ran out of time"),
        pytest.param(Count(), 0, Count(failed=1), id="ran no test"),
        pytest.param(Count(skipped=2), 0, Count(failed=1, skipped=2), id="skipped every test"),
        pytest.param(Count(), 5, Count(failed=1), id="collected nothing"),
    ],
)
def test_judgement_of_a_check(counted: Count, exit_code: int | None, expected: Count) -> None:
    assert judge(counted, exit_code) == expected


@pytest.mark.parametrize(
    ("count", "line"),
    [(Count(passed=12), "12 passed, 0 failed"), (Count(1, 2), "1 passed, 2 failed"), (Count(1, 0, 3), "1 passed, 0 failed, 3 skipped")],
)
def test_closing_line(count: Count, line: str) -> None:
    assert str(count) == line


def test_sum() -> None:
    assert sum([Count(1, 2, 3), Count(4, 5, 6)], Count()) == Count(5, 7, 9)
