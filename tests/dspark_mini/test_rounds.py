"""The decisions of the round loop: rollback, a greedy round, block size, fallback, and counts that add up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspark_mini import (
    best_block_size,
    choose_confident_prefix,
    decode_round,
    keep_drafting,
    rollback_rows,
    round_totals,
    verify_greedy,
)

Draws = st.DataObject
CHANCES = st.floats(0.0, 1.0)


@given(st.integers(0, 64), st.data())
def test_after_the_rollback_the_cache_holds_the_committed_tokens_but_the_last(length: int, data: Draws) -> None:
    accepted = data.draw(st.integers(0, length))
    committed_before, verified_rows = 10, 1 + length
    rows = (committed_before - 1) + verified_rows - rollback_rows(verified_rows, accepted)
    assert rows == committed_before + accepted + 1 - 1


@pytest.mark.parametrize(
    ("rows", "accepted", "name"), [(0, 0, "verified_rows"), (4, 4, "accepted"), (4, -1, "accepted")]
)
def test_a_rollback_that_cannot_be_is_refused(rows: int, accepted: int, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        rollback_rows(rows, accepted)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[int], list[float], list[int], float]:
    size = draw(st.integers(0, 8))
    tokens = st.lists(st.integers(0, 2), min_size=size, max_size=size)
    targets = st.lists(st.integers(0, 2), min_size=size + 1, max_size=size + 1)
    return draw(tokens), draw(st.lists(CHANCES, min_size=size, max_size=size)), draw(targets), draw(CHANCES)


@given(blocks())
def test_a_round_is_trim_then_greedy_verification(block: tuple[list[int], list[float], list[int], float]) -> None:
    drafts, confidences, targets, threshold = block
    made = decode_round(drafts, confidences, targets, threshold)
    length = 0
    if confidences and confidences[0] >= threshold:
        length = choose_confident_prefix(confidences, threshold, 1, 8)
    logits = np.eye(3)[targets[: length + 1]]
    verdict = verify_greedy(drafts[:length], logits)
    assert made == verdict | {
        "verified_rows": 1 + length,
        "dropped_rows": rollback_rows(1 + length, verdict["accepted"]),
    }


@given(blocks())
def test_a_round_never_looks_at_rows_behind_the_trim(block: tuple[list[int], list[float], list[int], float]) -> None:
    drafts, confidences, targets, threshold = block
    made = decode_round(drafts, confidences, targets, threshold)
    unseen: list[object] = list(targets)
    unseen[made["verified_rows"] :] = [None] * (len(targets) - made["verified_rows"])
    assert decode_round(drafts, confidences, unseen, threshold) == made  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5, -7], [0.5, 0.5], [5, 7, 1], 0.5), r"draft_tokens\[1\]"),
        (([5, 7], [0.5, math.nan], [5, 7, 1], 0.5), r"confidences\[1\]"),
        (([5, 7], [0.5], [5, 7, 1], 0.5), "confidences has 1"),
        (([5, 7], [0.5, 0.5], [5, 7], 0.5), "target_tokens must have 3 entries"),
        (([5, 7], [0.5, 0.5], [5, -1, 1], 0.5), r"target_tokens\[1\]"),
        (([5, 7], [0.5, 0.5], 5, 0.5), "target_tokens"),
        (([5, 7], [0.5, 0.5], [5, 7, 1], 1.5), "threshold"),
    ],
)
def test_a_bad_round_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_round(*arguments)  # type: ignore[arg-type]


@given(st.data())
def test_the_block_size_is_the_best_of_a_direct_search(data: Draws) -> None:
    verified = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    accepted = [data.draw(st.integers(0, most)) for most in verified]
    times = data.draw(st.lists(st.floats(0.5, 9.0), min_size=1, max_size=9))
    refused = sum(kept < most for kept, most in zip(accepted, verified))
    alpha = sum(accepted) / (sum(accepted) + refused)
    speeds = [sum(alpha**k for k in range(size + 1)) / times[size] for size in range(len(times))]
    chosen = best_block_size(accepted, verified, times)
    assert speeds[chosen] == pytest.approx(max(speeds), rel=1e-12)
    assert all(speeds[size] < speeds[chosen] * (1 + 1e-12) for size in range(chosen))


def test_the_rate_of_tested_drafts_is_that_of_the_drafter() -> None:
    rng = np.random.default_rng(0)
    alpha, times = 0.7, 1.0 + 0.1 * np.arange(12)
    accepted = np.cumprod(rng.random((20_000, 7)) < alpha, axis=1).sum(axis=1)
    true_best = int(np.argmax(np.cumsum(alpha ** np.arange(12)) / times))
    assert best_block_size(accepted, np.full(20_000, 7), times) == true_best


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 3], [2, 2], [4.0]), r"accepted_counts\[1\]"),
        (([1], [2, 2], [4.0]), "verified_counts has 2"),
        (([0], [0], [4.0]), "verified_counts holds no draft"),
        (([], [], [4.0]), "verified_counts holds no draft"),
        (([1], [2], [4.0, 0.0]), r"round_times\[1\]"),
        (([1], [2], [math.nan]), r"round_times\[0\]"),
        (([1], [2], []), "round_times is empty"),
    ],
)
def test_bad_histories_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        best_block_size(*arguments)  # type: ignore[arg-type]


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 40))
def test_hopeless_text_alternates_between_tries_and_pauses(patience: int, retry_after: int, rounds: int) -> None:
    drafted: list[int] = []
    for _ in range(rounds):
        drafted.append(4 if keep_drafting(drafted, [1] * len(drafted), 1.5, patience, retry_after) else 0)
    cycle = [4] * patience + [0] * retry_after
    assert drafted == (cycle * (rounds // len(cycle) + 1))[:rounds]


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 20))
def test_text_that_pays_is_always_drafted(patience: int, retry_after: int, rounds: int) -> None:
    assert keep_drafting([4] * rounds, [2] * rounds, 2.0, patience, retry_after)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([4, 4], [3, 6], 1.5, 2, 8), r"emitted\[1\]"),
        (([4, 0], [3, 2], 1.5, 2, 8), r"emitted\[1\]"),
        (([4, 4], [0, 3], 1.5, 2, 8), r"emitted\[0\]"),
        (([4], [3, 1], 1.5, 2, 8), "emitted has 2"),
        (([4], [3], math.inf, 2, 8), "break_even"),
        (([4], [3], 1.5, 0, 8), "patience"),
        (([4], [3], 1.5, 2, 0), "retry_after"),
    ],
)
def test_bad_fallback_input_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keep_drafting(*arguments)  # type: ignore[arg-type]


@given(st.data())
def test_every_token_is_counted_once(data: Draws) -> None:
    drafted = data.draw(st.lists(st.integers(0, 8), max_size=12))
    verified = [data.draw(st.integers(0, most)) for most in drafted]
    accepted = [data.draw(st.integers(0, most)) for most in verified]
    emitted = [kept + 1 for kept in accepted]
    if emitted:
        emitted[-1] = data.draw(st.integers(1, emitted[-1]))
    found = round_totals(drafted, verified, accepted, emitted)
    assert found["trimmed"] + found["rejected"] + found["accepted"] == found["drafted"] == sum(drafted)
    assert found["accepted"] + found["rounds"] == found["emitted"] + found["cut"]
    assert found["emitted"] == sum(emitted) and found["cut"] >= 0
    if drafted:
        assert found["tau"] == sum(emitted) / len(drafted)
    else:
        assert math.isnan(found["tau"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([4], [5], [1], [2]), r"verified\[0\]"),
        (([4], [3], [4], [5]), r"accepted\[0\]"),
        (([4, 4], [3, 3], [2, 2], [2, 3]), r"emitted\[0\]"),
        (([4], [3], [2], [4]), r"emitted\[0\]"),
        (([4], [3], [2], [0]), r"emitted\[0\]"),
        (([4], [3], [2], [3, 1]), "emitted has 2"),
    ],
)
def test_counts_that_cannot_be_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        round_totals(*arguments)  # type: ignore[arg-type]
