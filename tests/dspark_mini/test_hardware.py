"""Static cache masks, flat batches, measured tables, and speed-ups with an interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspark_mini import cache_mask, flatten_requests, schedule_prefixes, speeds_from_times, speedup_with_interval

Draws = st.DataObject
SECONDS = st.floats(0.01, 10.0)


def attend(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mix values by softmax weights."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    mixed: np.ndarray = weights / weights.sum(axis=1, keepdims=True) @ values
    return mixed


@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 9), st.integers(0, 2**31))
def test_attention_under_the_mask_does_not_depend_on_what_lies_behind(
    rows: int, count: int, free: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    slots = rows + count + free
    mask = cache_mask(rows, count, slots)
    scores, values = rng.normal(size=(count, slots)), rng.normal(size=(slots, 3))
    mixed = attend(np.where(mask, scores, -np.inf), values)
    for i in range(count):
        upto = rows + i + 1
        assert np.allclose(mixed[i], attend(scores[i : i + 1, :upto], values[:upto])[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 2, 6), "count is 2, but 5 of the 6 slots"),
        ((-1, 2, 6), "rows"),
        ((2, 0, 6), "count"),
        ((0, 1, 0), "slots"),
        ((2.5, 1, 6), "rows"),
    ],
)
def test_tokens_that_do_not_fit_into_the_cache_are_refused(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cache_mask(*arguments)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=9))
def test_a_flat_batch_can_be_taken_apart_again(requests: list[tuple[int, int]]) -> None:
    flat = flatten_requests([length for length, _ in requests], [rows for _, rows in requests])
    starts = flat["starts"]
    assert len(starts) == len(requests) + 1 and starts[-1] == len(flat["requests"]) == len(flat["positions"])
    for r, (length, rows) in enumerate(requests):
        span = slice(starts[r], starts[r + 1])
        assert flat["requests"][span] == [r] * (1 + length)
        assert flat["positions"][span] == list(range(rows, rows + 1 + length))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2, -1], [5, 3]), r"verify_lengths\[1\]"),
        (([2, 1], [5, -3]), r"cache_rows\[1\]"),
        (([2, 1], [5]), "cache_rows has 1"),
        (([1.5], [5]), r"verify_lengths\[0\]"),
        ((2, [5]), "verify_lengths"),
    ],
)
def test_requests_that_cannot_be_are_refused(arguments: tuple[object, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flatten_requests(*arguments)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(1, 9), SECONDS), max_size=7), SECONDS, st.data())
def test_the_table_meets_every_measurement_and_never_rises(
    steps: list[tuple[int, float]], first: float, data: Draws
) -> None:
    sizes = np.cumsum([1, *(gap for gap, _ in steps)])
    seconds = [first, *(span for _, span in steps)]
    largest = data.draw(st.integers(1, int(sizes[-1])))
    table = speeds_from_times(sizes, seconds, largest)
    assert len(table) == largest + 1 and table[0] == 0.0
    assert all(np.diff(table[1:]) <= 1e-9 * table[1])
    for i, size in enumerate(sizes):
        if size <= largest:
            assert table[size] == pytest.approx(1.0 / max(seconds[: i + 1]))
    whole = 1.0 / np.array(speeds_from_times(sizes, seconds, int(sizes[-1]))[1:])  # seconds by size
    for low, high in zip(sizes, sizes[1:]):
        assert np.allclose(np.diff(whole[low - 1 : high], n=2), 0.0, atol=1e-9)


def test_the_scheduler_reads_the_table_and_trims_where_tokens_become_dear() -> None:
    cheap = speeds_from_times([1, 8], [1.0, 1.0], 8)
    dear = speeds_from_times([1, 8], [1.0, 8.0], 8)
    assert schedule_prefixes([[0.5] * 7], cheap) == [7]
    assert schedule_prefixes([[0.5] * 7], dear) == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 4], [0.25, 0.5, 0.5], 5), "largest"),
        (([1, 2], [0.25, 0.5], 0), "largest"),
        (([2, 4], [0.25, 0.5], 4), r"batch_sizes\[0\] must be 1, the smallest batch"),
        (([1, 4, 4], [0.25, 0.5, 0.5], 4), r"batch_sizes\[2\] must be above 4"),
        (([0, 1], [0.25, 0.5], 1), r"batch_sizes\[0\]"),
        (([1, 2], [0.25, 0.0], 2), r"seconds\[1\]"),
        (([1, 2], [math.nan, 0.5], 2), r"seconds\[0\]"),
        (([1, 2], [0.25], 1), "seconds has 1"),
        (([], [], 1), "batch_sizes is empty"),
    ],
)
def test_measurements_that_cannot_be_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        speeds_from_times(*arguments)  # type: ignore[arg-type]


@st.composite
def measurements(draw: st.DrawFn) -> list[list[float]]:
    count = draw(st.integers(2, 12))
    tokens, spans = (
        st.lists(st.integers(1, 90), min_size=count, max_size=count),
        st.lists(st.floats(0.1, 5.0), min_size=count, max_size=count),
    )
    return [draw(tokens), draw(spans), draw(tokens), draw(spans)]  # type: ignore[list-item]


@given(measurements(), st.floats(0.25, 4.0))
def test_a_speed_up_scales_with_the_clock_and_turns_around_with_the_roles(
    measured: list[list[float]], factor: float
) -> None:
    plain_tokens, plain_seconds, tokens, seconds = measured
    found = speedup_with_interval(*measured)
    slower = speedup_with_interval(plain_tokens, [factor * span for span in plain_seconds], tokens, seconds)
    assert {name: factor * value for name, value in found.items()} == pytest.approx(slower)
    swapped = speedup_with_interval(tokens, seconds, plain_tokens, plain_seconds)
    assert swapped["speedup"] == pytest.approx(1.0 / found["speedup"])
    assert found["low"] <= found["speedup"] <= found["high"]


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        length = rng.integers(20, 90, size=40)
        plain = length * 0.02 * rng.lognormal(0.0, 0.1, size=40)
        other = length * 0.01 * rng.lognormal(0.0, 0.3, size=40) / math.exp((0.3**2 - 0.1**2) / 2)
        found = speedup_with_interval(length, plain, length, other)
        hits += found["low"] <= 2.0 <= found["high"]
    assert 0.90 <= hits / 400 <= 0.99


def test_equal_prompts_leave_no_doubt() -> None:
    found = speedup_with_interval([10] * 5, [1.0] * 5, [20] * 5, [0.5] * 5)
    assert found == pytest.approx({"speedup": 4.0, "low": 4.0, "high": 4.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([10], [1.0], [10], [0.5]), "plain_tokens has 1 entries"),
        (([], [], [], []), "plain_tokens has 0 entries"),
        (([10, 0], [1.0, 1.0], [10, 10], [0.5, 0.5]), r"plain_tokens\[1\]"),
        (([10, 10], [1.0, math.inf], [10, 10], [0.5, 0.5]), r"plain_seconds\[1\]"),
        (([10, 10], [1.0, 1.0], [10, 1.5], [0.5, 0.5]), r"tokens\[1\]"),
        (([10, 10], [1.0, 1.0], [10, 10], [0.0, 0.5]), r"seconds\[0\]"),
        (([10, 10], [1.0], [10, 10], [0.5, 0.5]), "plain_seconds has 1"),
        (([10, 10], [1.0, 1.0], [10], [0.5, 0.5]), "tokens has 1"),
        (([10, 10], [1.0, 1.0], [10, 10], [0.5]), "seconds has 1"),
    ],
)
def test_measured_prompts_that_cannot_be_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        speedup_with_interval(*arguments)  # type: ignore[arg-type]
