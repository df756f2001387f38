"""Properties, check values and bad inputs of choose_confident_prefix and conditional_acceptance."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import choose_confident_prefix, conditional_acceptance

NAN, INF = float("nan"), float("inf")
UNIT = st.integers(0, 8).map(lambda n: n / 8.0)  # equality with a threshold is exact and frequent
CONFIDENCES = st.lists(UNIT, min_size=1, max_size=12)
LIMITS = st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))
MANY = settings(max_examples=50, deadline=None)


@st.composite
def rounds(draw: st.DrawFn, least: int = 0) -> tuple[list[int], int]:
    """Accepted counts of some rounds and the block size that they fit."""
    size = draw(st.integers(1, 9))
    best = draw(st.integers(0, size))
    return draw(st.lists(st.integers(0, best), min_size=least, max_size=20)), size


def prefix(confidences: list[float], threshold: float) -> int:
    """Find the longest prefix in which every confidence reaches the threshold."""
    return max(k for k in range(len(confidences) + 1) if all(c >= threshold for c in confidences[:k]))


def reached(counts: list[int], k: int) -> int:
    return len([count for count in counts if count >= k])


# --- Check values of SPEC.md, section 2 --------------------------------------------------------------


@pytest.mark.parametrize(("confidences", "expected"), [([0.9, 0.8, 0.3, 0.95], 2), ([0.1, 0.9], 1), ([0.9] * 10, 4)])
def test_the_confident_prefix_has_the_check_values(confidences: list[float], expected: int) -> None:
    assert choose_confident_prefix(confidences, 0.5, 1, 4) == expected


def test_conditional_acceptance_has_the_value_of_its_example() -> None:
    assert conditional_acceptance([0, 1, 2, 2], 3) == [3 / 4, 2 / 3, 0.0]


# --- Task 2.3 ----------------------------------------------------------------------------------------


@MANY
@given(CONFIDENCES, UNIT, LIMITS)
def test_the_prefix_equals_brute_force(confidences: list[float], threshold: float, limits: tuple[int, int]) -> None:
    low, high = limits
    length = prefix(confidences, threshold)
    expected = sorted([low, length, high])[1]  # the middle one: length clamped to low..high
    assert choose_confident_prefix(confidences, threshold, low, high) == min(expected, len(confidences))


@MANY
@given(CONFIDENCES, UNIT, UNIT, LIMITS)
def test_a_higher_threshold_never_lengthens_the_prefix(
    confidences: list[float], one: float, other: float, limits: tuple[int, int]
) -> None:
    low, high = min(one, other), max(one, other)
    assert choose_confident_prefix(confidences, high, *limits) <= choose_confident_prefix(confidences, low, *limits)


@MANY
@given(CONFIDENCES, UNIT, LIMITS, st.data())
def test_a_higher_confidence_never_shortens_the_prefix(
    confidences: list[float], threshold: float, limits: tuple[int, int], data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, len(confidences) - 1))
    raised = [
        *confidences[:k],
        data.draw(st.sampled_from([c / 8 for c in range(9) if c / 8 >= confidences[k]])),
        *confidences[k + 1 :],
    ]
    before = choose_confident_prefix(confidences, threshold, *limits)
    assert choose_confident_prefix(raised, threshold, *limits) >= before


@MANY
@given(CONFIDENCES, UNIT, LIMITS)
def test_the_length_lies_within_the_limits_and_what_there_is(
    confidences: list[float], threshold: float, limits: tuple[int, int]
) -> None:
    low, high = limits
    length = choose_confident_prefix(confidences, threshold, low, high)
    assert min(low, len(confidences)) <= length <= min(high, len(confidences))


@MANY
@given(CONFIDENCES, UNIT, LIMITS)
def test_the_limits_are_applied_to_the_unlimited_length(
    confidences: list[float], threshold: float, limits: tuple[int, int]
) -> None:
    low, high = limits
    free = choose_confident_prefix(confidences, threshold, 1, 1000)
    assert choose_confident_prefix(confidences, threshold, 1, high) == min(free, high)
    assert choose_confident_prefix(confidences, threshold, low, 1000) == min(max(free, low), len(confidences))


@MANY
@given(CONFIDENCES, st.lists(UNIT, max_size=5), UNIT)
def test_what_comes_behind_the_stop_does_not_count(
    confidences: list[float], tail: list[float], threshold: float
) -> None:
    stopped = [*confidences, 0.0]
    above = max(threshold, 0.125)
    assert choose_confident_prefix(stopped + tail, above, 1, 99) == choose_confident_prefix(stopped, above, 1, 99)


@MANY
@given(st.integers(1, 20))
def test_the_default_limits_are_one_and_eight(size: int) -> None:
    assert choose_confident_prefix([0.75] * size, 0.5) == min(size, 8)
    assert choose_confident_prefix([0.25] * size, 0.5) == 1
    assert choose_confident_prefix([0.75] * size, 0.5, max_tokens=3) == min(size, 3)
    assert choose_confident_prefix([0.25] * size, threshold=0.5, min_tokens=2) == min(size, 2)


@MANY
@given(CONFIDENCES, UNIT)
def test_the_prefix_is_a_plain_int_and_equal_for_lists_and_arrays(confidences: list[float], threshold: float) -> None:
    forms = (confidences, tuple(confidences), np.array(confidences), np.array(confidences, dtype=np.float32))
    lengths = [choose_confident_prefix(form, np.float64(threshold), np.int64(1), np.int64(8)) for form in forms]
    assert {type(length) for length in lengths} == {int}
    assert lengths == [max(min(prefix(confidences, threshold), 8), 1)] * 4


@MANY
@given(CONFIDENCES, UNIT)
def test_the_confidences_are_left_as_they_were(confidences: list[float], threshold: float) -> None:
    array, before = np.array(confidences), list(confidences)
    array.flags.writeable = False
    choose_confident_prefix(array, threshold)
    choose_confident_prefix(confidences, threshold)
    assert confidences == before and array.tolist() == before


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([], 0.5), "confidences is empty", id="no confidences"),
        pytest.param((np.array([]), 0.5), "confidences is empty", id="an empty array"),
        pytest.param(([0.75, NAN], 0.5), "confidences[1]", id="nan"),
        pytest.param(([NAN, 1.5, NAN], 0.5), "confidences[0]", id="three bad ones, the first of them counts"),
        pytest.param(([0.75, 0.75, 1.5], 0.5), "confidences[2]", id="above 1"),
        pytest.param(([0.75, 1.0000001], 0.5), "confidences[1]", id="a little above 1"),
        pytest.param(([-0.5, 0.75], 0.5), "confidences[0]", id="negative"),
        pytest.param(([0.75, INF], 0.5), "confidences[1]", id="+inf"),
        pytest.param(([0.75, -INF], 0.5), "confidences[1]", id="−inf"),
        pytest.param(([0.25, 0.75, 0.5, NAN], 0.5), "confidences[3]", id="nan behind the stop"),
        pytest.param(([0.25, 0.75, -0.5], 0.5), "confidences[2]", id="negative behind the stop"),
        pytest.param(([0.75, 0.75, 7.5], 0.5, 1, 2), "confidences[2]", id="above 1 behind max_tokens"),
        pytest.param(([[0.5], [0.5]], 0.5), "confidences must be a flat sequence", id="a matrix"),
        pytest.param((0.5, 0.5), "confidences must be a flat sequence", id="a number"),
        pytest.param(([0.5, [0.5]], 0.5), "confidences position 1", id="ragged"),
        pytest.param(([0.5, 0.5, "x"], 0.5), "confidences position 2", id="text among them"),
        pytest.param(("0.5", 0.5), "confidences must hold real numbers", id="text"),
        pytest.param(([0.5], 1.5), "threshold", id="threshold above 1"),
        pytest.param(([0.5], -0.5), "threshold", id="negative threshold"),
        pytest.param(([0.5], NAN), "threshold", id="threshold nan"),
        pytest.param(([0.5], INF), "threshold", id="threshold +inf"),
        pytest.param(([0.5], None), "threshold", id="no threshold"),
        pytest.param(([0.5], "0.5"), "threshold", id="threshold text"),
        pytest.param(([0.5], [0.5]), "threshold", id="threshold a list"),
        pytest.param(([0.5], 0.5, 0, 4), "min_tokens", id="min_tokens 0"),
        pytest.param(([0.5], 0.5, -1, 4), "min_tokens", id="min_tokens negative"),
        pytest.param(([0.5], 0.5, 1.0, 4), "min_tokens", id="min_tokens a float"),
        pytest.param(([0.5], 0.5, True, 4), "min_tokens", id="min_tokens a bool"),
        pytest.param(([0.5], 0.5, 1, 0), "max_tokens", id="max_tokens 0"),
        pytest.param(([0.5], 0.5, 3, 2), "max_tokens", id="max_tokens below min_tokens"),
        pytest.param(([0.5], 0.5, 1, INF), "max_tokens", id="max_tokens infinite"),
        pytest.param(([0.5], 0.5, 1, None), "max_tokens", id="max_tokens None"),
    ],
)
def test_bad_input_of_the_prefix_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        choose_confident_prefix(*arguments)


@MANY
@given(CONFIDENCES, st.sampled_from([NAN, INF, -INF, -0.125, 1.125]), st.data())
def test_the_first_bad_confidence_is_named_wherever_it_stands(
    confidences: list[float], bad: float, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(confidences) - 1))
    confidences[position:] = [bad] * (len(confidences) - position)
    for form in (confidences, np.array(confidences), np.array(confidences, dtype=np.float32)):
        with pytest.raises(ValueError, match=re.escape(f"confidences[{position}]")):
            choose_confident_prefix(form, 0.5)


# --- Task 2.5 ----------------------------------------------------------------------------------------


@MANY
@given(rounds())
def test_rates_equal_brute_force(case: tuple[list[int], int]) -> None:
    counts, size = case
    rates = conditional_acceptance(counts, size)
    assert len(rates) == size
    for k, rate in enumerate(rates, start=1):
        if reached(counts, k - 1) == 0:
            assert math.isnan(rate)
        else:
            assert rate == reached(counts, k) / reached(counts, k - 1)


@MANY
@given(rounds(least=1))
def test_the_product_of_the_rates_is_the_share_of_rounds_that_survived(case: tuple[list[int], int]) -> None:
    counts, size = case
    rates = conditional_acceptance(counts, size)
    for k in range(1, size + 1):
        share = reached(counts, k) / len(counts)
        product = math.prod(rates[:k])
        assert share == 0.0 if math.isnan(product) else product == pytest.approx(share, abs=1e-12)


@MANY
@given(rounds(least=1))
def test_nan_stands_behind_the_longest_round_and_its_failure_only(case: tuple[list[int], int]) -> None:
    counts, size = case
    rates = conditional_acceptance(counts, size)
    assert [math.isnan(rate) for rate in rates] == [k > max(counts) for k in range(size)]
    assert all(rate > 0.0 for rate in rates[: max(counts)])
    assert rates[max(counts) : max(counts) + 1] in ([0.0], [])


@MANY
@given(rounds(), st.integers(2, 4), st.randoms(use_true_random=False))
def test_neither_the_order_of_the_rounds_nor_their_repetition_matters(
    case: tuple[list[int], int], times: int, random: Any
) -> None:
    counts, size = case
    shuffled = counts * times
    random.shuffle(shuffled)
    assert np.array_equal(conditional_acceptance(shuffled, size), conditional_acceptance(counts, size), equal_nan=True)


@MANY
@given(rounds(), st.integers(1, 5))
def test_a_longer_block_only_adds_positions(case: tuple[list[int], int], more: int) -> None:
    counts, size = case
    longer = conditional_acceptance(counts, size + more)
    assert np.array_equal(longer[:size], conditional_acceptance(counts, size), equal_nan=True)


@MANY
@given(st.integers(1, 64))
def test_without_rounds_every_rate_is_nan(size: int) -> None:
    for empty in ([], np.array([], dtype=int), np.array([])):
        rates = conditional_acceptance(empty, size)
        assert len(rates) == size and all(math.isnan(rate) for rate in rates)


@MANY
@given(rounds(), st.sampled_from([np.int64, np.int32, np.uint8, "object"]))
def test_rates_are_plain_floats_and_equal_for_lists_and_arrays(case: tuple[list[int], int], dtype: Any) -> None:
    counts, size = case
    expected = conditional_acceptance(counts, size)
    array = np.array(counts, dtype=dtype)
    array.flags.writeable = False
    rates = conditional_acceptance(array, np.int64(size))
    assert np.array_equal(rates, expected, equal_nan=True)
    for result in (expected, rates):
        assert type(result) is list and {type(rate) for rate in result} == {float}


@MANY
@given(rounds())
def test_the_counts_are_left_as_they_were(case: tuple[list[int], int]) -> None:
    counts, size = case
    before, array = list(counts), np.array(counts, dtype=int)
    conditional_acceptance(counts, size)
    conditional_acceptance(array, size)
    assert counts == before and array.tolist() == before


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([1, 2, 4], 3), "accepted_counts[2]", id="above block_size"),
        pytest.param(([9, 2, -1], 3), "accepted_counts[0]", id="two bad ones, the first of them counts"),
        pytest.param(([2, -3], 3), "accepted_counts[1]", id="negative"),
        pytest.param(([2, 1.0], 3), "accepted_counts[1]", id="a float"),
        pytest.param(([2, 1, 0, NAN], 3), "accepted_counts[3]", id="nan"),
        pytest.param(([2, True], 3), "accepted_counts[1]", id="a bool"),
        pytest.param(([2, "1"], 3), "accepted_counts[1]", id="text among them"),
        pytest.param(([2, None], 3), "accepted_counts[1]", id="None among them"),
        pytest.param(([[1, 2]], 3), "accepted_counts[0]", id="a matrix"),
        pytest.param((np.array([1.0, 2.0]), 3), "accepted_counts[0]", id="an array of floats"),
        pytest.param((2, 3), "accepted_counts must be a sequence", id="a number"),
        pytest.param((None, 3), "accepted_counts must be a sequence", id="nothing"),
        pytest.param(("12", 3), "accepted_counts must be a sequence", id="text"),
        pytest.param(([0], 0), "block_size", id="block_size 0"),
        pytest.param(([], 0), "block_size", id="block_size 0 without rounds"),
        pytest.param(([1], -2), "block_size", id="block_size negative"),
        pytest.param(([1], 2.0), "block_size", id="block_size a float"),
        pytest.param(([1], True), "block_size", id="block_size a bool"),
        pytest.param(([1], None), "block_size", id="block_size None"),
    ],
)
def test_bad_input_of_conditional_acceptance_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        conditional_acceptance(*arguments)


@MANY
@given(rounds(least=1), st.data())
def test_the_first_bad_count_is_named_wherever_it_stands(case: tuple[list[int], int], data: st.DataObject) -> None:
    counts, size = case
    position = data.draw(st.integers(0, len(counts) - 1))
    counts[position:] = [data.draw(st.sampled_from([-1, size + 1]))] * (len(counts) - position)
    for form in (counts, np.array(counts)):
        with pytest.raises(ValueError, match=re.escape(f"accepted_counts[{position}]")):
            conditional_acceptance(form, size)
