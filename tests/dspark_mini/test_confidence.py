"""Check values of the confident prefix, and laws of the conditional acceptance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import choose_confident_prefix, conditional_acceptance

MANY = settings(max_examples=50, deadline=None)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[int], int]:
    """Accepted counts of some rounds and the block size that they fit."""
    size = draw(st.integers(1, 9))
    best = draw(st.integers(0, size))
    return draw(st.lists(st.integers(0, best), min_size=1, max_size=20)), size


def test_the_check_values() -> None:
    assert choose_confident_prefix([0.9, 0.8, 0.3, 0.95], 0.5, 1, 4) == 2
    assert choose_confident_prefix([0.1, 0.9], 0.5, 1, 4) == 1
    assert choose_confident_prefix([0.9] * 10, 0.5, 1, 4) == 4
    assert conditional_acceptance([0, 1, 2, 2], 3) == [3 / 4, 2 / 3, 0.0]


def test_the_limits_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="max_tokens must be a whole number of at least 3, not 2"):
        choose_confident_prefix([0.5], 0.5, 3, 2)


@MANY
@given(rounds())
def test_the_product_of_the_rates_is_the_share_of_rounds_that_survived(case: tuple[list[int], int]) -> None:
    counts, size = case
    rates = conditional_acceptance(counts, size)
    for k in range(1, size + 1):
        share = sum(count >= k for count in counts) / len(counts)
        product = math.prod(rates[:k])
        assert share == 0.0 if math.isnan(product) else product == pytest.approx(share, abs=1e-12)


@MANY
@given(rounds(), st.integers(1, 5))
def test_a_longer_block_only_adds_positions(case: tuple[list[int], int], more: int) -> None:
    counts, size = case
    longer = conditional_acceptance(counts[::-1], size + more)
    assert np.array_equal(longer[:size], conditional_acceptance(counts, size), equal_nan=True)
