"""Flat batches, measured tables and speed-ups with an interval: laws; and arguments that do not fit together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspark_mini import cache_mask, flatten_requests, schedule_prefixes, speeds_from_times, speedup_with_interval

SECONDS = st.floats(0.01, 10.0)
MEASURED = st.tuples(st.integers(1, 90), SECONDS, st.integers(1, 90), SECONDS)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=9))
def test_a_flat_batch_can_be_taken_apart_again(requests: list[tuple[int, int]]) -> None:
    flat = flatten_requests([length for length, _ in requests], [rows for _, rows in requests])
    spans = [slice(*ends) for ends in zip(flat["starts"], flat["starts"][1:])]
    assert [set(flat["requests"][span]) for span in spans] == [{r} for r in range(len(requests))]
    assert [flat["positions"][span] for span in spans] == [[*range(rows, rows + n + 1)] for n, rows in requests]


@given(st.lists(st.tuples(st.integers(1, 9), SECONDS), max_size=7), SECONDS)
def test_the_table_never_rises_and_its_times_lie_on_lines(steps: list[tuple[int, float]], first: float) -> None:
    sizes = np.cumsum([1, *(gap for gap, _ in steps)])
    table = speeds_from_times(sizes, [first, *(time for _, time in steps)], sizes[-1])
    assert all(np.diff(table[1:]) <= 1e-9 * table[1])
    for low, high in zip(sizes, sizes[1:]):
        assert np.allclose(np.diff(1.0 / np.array(table[low : high + 1]), n=2), 0.0, atol=1e-9)


def test_the_scheduler_reads_the_table_and_trims_where_tokens_become_expensive() -> None:
    cheap, expensive = (speeds_from_times([1, 8], [1.0, time], 8) for time in (1.0, 8.0))
    assert schedule_prefixes([[0.5] * 7], cheap) == [7] and schedule_prefixes([[0.5] * 7], expensive) == [0]


@given(st.lists(MEASURED, min_size=2, max_size=12), st.floats(0.25, 4.0))
def test_a_speed_up_scales_with_the_clock_and_is_inverted_with_the_roles(
    prompts: list[tuple[int, float, int, float]], factor: float
) -> None:
    plain_tokens, plain_seconds, tokens, seconds = zip(*prompts)
    found = speedup_with_interval(plain_tokens, plain_seconds, tokens, seconds)
    slower = speedup_with_interval(plain_tokens, factor * np.array(plain_seconds), tokens, seconds)
    assert {name: factor * value for name, value in found.items()} == pytest.approx(slower)
    swapped = speedup_with_interval(tokens, seconds, plain_tokens, plain_seconds)
    assert swapped["speedup"] == pytest.approx(1.0 / found["speedup"])


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        length = rng.integers(20, 90, size=40)
        plain = length * 0.02 * rng.lognormal(0.0, 0.1, size=40)
        other = length * 0.01 * rng.lognormal(0.0, 0.3, size=40) / math.exp((0.3**2 - 0.1**2) / 2)
        found = speedup_with_interval(length, plain, length, other)
        hits += found["low"] <= 2.0 <= found["high"]
    assert 0.90 <= hits / 400 <= 0.99


def test_arguments_that_do_not_fit_together_raise() -> None:
    with pytest.raises(ValueError, match="slots must be a whole number of at least 7, not 6"):
        cache_mask(5, 2, 6)
    with pytest.raises(ValueError, match=r"batch_sizes\[0\] must be 1, the smallest batch, not 2"):
        speeds_from_times([2, 4], [0.25, 0.5], 4)
    with pytest.raises(ValueError, match=r"batch_sizes\[2\] must be above 4, the size before it, not 4"):
        speeds_from_times([1, 4, 4], [0.25, 0.5, 0.5], 4)
    with pytest.raises(ValueError, match="largest must be at most 4, the last size that was measured, not 5"):
        speeds_from_times([1, 2, 4], [0.25, 0.5, 0.5], 5)
    with pytest.raises(ValueError, match="plain_tokens has 1 entry, but an interval takes two prompts"):
        speedup_with_interval([10], [1.0], [10], [0.5])
