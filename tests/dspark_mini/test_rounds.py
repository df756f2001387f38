"""The round loop's own decisions: laws that the checks of lesson 07 do not ask for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.rounds import best_block_size, decode_round, keep_drafting, rollback_rows, round_totals

MANY = settings(max_examples=60, deadline=None)


@MANY
@given(st.integers(0, 20), st.data())
def test_after_the_rollback_the_cache_holds_the_committed_tokens_but_the_last(length: int, data: st.DataObject) -> None:
    accepted = data.draw(st.integers(0, length))
    rows = 1 + length  # the anchor's and those of the drafts
    assert rows - rollback_rows(rows, accepted) == (accepted + 1) - 1 + 1  # emitted but the last, and the anchor


@MANY
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.25, 0.5, 0.75])), max_size=6), st.data())
def test_a_round_never_depends_on_rows_past_the_trim(drafts: list[tuple[int, float]], data: st.DataObject) -> None:
    tokens, confidences = [token for token, _ in drafts], [confidence for _, confidence in drafts]
    targets = data.draw(st.lists(st.integers(0, 2), min_size=len(drafts) + 1, max_size=len(drafts) + 1))
    full = decode_round(tokens, confidences, targets, 0.5)
    rows = full["verified_rows"]
    assert full == decode_round(tokens, confidences, [*targets[:rows], *[-1] * (len(targets) - rows)], 0.5)
    assert full["dropped_rows"] == rollback_rows(rows, full["accepted"])


def test_the_rate_of_tested_drafts_is_that_of_the_drafter() -> None:
    """With α = 0.7 and a linear cost the best size of the estimate is the best size of the truth."""
    rng, times = np.random.default_rng(0), 1.0 + 0.1 * np.arange(13)
    accepted = np.cumprod(rng.random((4000, 12)) < 0.7, axis=1).sum(axis=1)
    truth = int(np.argmax(np.cumsum(0.7 ** np.arange(13)) / times))
    assert best_block_size(accepted.tolist(), [12] * 4000, times) == truth


@pytest.mark.parametrize(("patience", "retry_after"), [(1, 1), (2, 3), (4, 2)])
def test_hopeless_text_alternates_between_tries_and_pauses(patience: int, retry_after: int) -> None:
    drafted, emitted = list[int](), list[int]()
    for _ in range(5 * (patience + retry_after)):
        drafted.append(4 if keep_drafting(drafted, emitted, 1.5, patience, retry_after) else 0)
        emitted.append(1)
    assert drafted == ([4] * patience + [0] * retry_after) * 5
    assert all(keep_drafting(drafted[:n], [min(d + 1, 2) for d in drafted[:n]], 1.5, 99, 1) for n in range(patience))


@MANY
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3).map(sorted), min_size=1, max_size=8), st.data())
def test_every_token_is_counted_once(rounds: list[list[int]], data: st.DataObject) -> None:
    accepted, verified, drafted = map(list, zip(*rounds))
    emitted = [kept + 1 for kept in accepted]
    emitted[-1] = data.draw(st.integers(1, emitted[-1]))
    sums = round_totals(drafted, verified, accepted, emitted)
    assert sums["drafted"] == sums["trimmed"] + sums["rejected"] + sums["accepted"]
    assert sums["accepted"] + sums["rounds"] == sums["emitted"] + sums["cut"]
    assert sums["tau"] * sums["rounds"] == pytest.approx(sums["emitted"])


def test_counts_that_cannot_be_are_refused() -> None:
    for call, sentence in (
        (lambda: best_block_size([1, 3], [2, 2], [4.0, 5.0]), "accepted_counts[1] must be a whole number from 0 to 2"),
        (lambda: best_block_size([0], [0], [4.0]), "verified_counts holds no draft"),
        (lambda: keep_drafting([4, 4], [3, 6], 1.5, 2, 8), "emitted[1] must be a whole number from 1 to 5, not 6."),
        (lambda: round_totals([4, 4], [3, 4], [2, 3], [2, 4]), "emitted[0] must be a whole number from 3 to 3, not 2."),
        (lambda: round_totals([4], [5], [2], [3]), "verified[0] must be a whole number from 0 to 4, not 5."),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            call()
