# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.quantity import parse_count, parse_quantity

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", Fraction(8)),
        (8, Fraction(8)),
        ("500m", Fraction(1, 2)),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("-1k", Fraction(-1000)),
        ("+2Gi", Fraction(2 * 1024**3)),
        ("263980164Ki", Fraction(263980164 * 1024)),
        ("100u", Fraction(1, 10000)),
    ],
)
def test_known_quantities(text: str, value: Fraction) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1gi", "1K", "1e", "1ee3", "1Gii", "0x10", "1_000", "NaN", "²"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        parse_quantity(text)


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(DECIMAL)))
def test_decimal_suffixes(number: int, suffix: str) -> None:
    assert parse_quantity(f"{number}{suffix}") == number * Fraction(10) ** DECIMAL[suffix]


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(BINARY)))
def test_binary_suffixes(number: int, suffix: str) -> None:
    assert parse_quantity(f"{number}{suffix}") == number * 2 ** BINARY[suffix]


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        value: Fraction | None = parse_quantity(text)
    except ValueError:
        value = None
    assert value is None or isinstance(value, Fraction)


@pytest.mark.parametrize(("value", "count"), [(None, 0), ("2", 2), (2, 2), ("1k", 1000), ("1500m", 2)])
def test_counts(value: str, count: int) -> None:
    assert parse_count(value) == count
