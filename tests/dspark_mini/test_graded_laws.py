"""Laws of graded functions that no oracle states: masks and layouts work in a model, and intervals hold the truth.

Their values are tested where they are graded: `TASKS[id].check(reference)` compares them with the task's oracle. That
what is emitted follows the target is tested in the engine, by enumeration.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import (
    build_draft_record,
    draft_inputs,
    dspark_markov_candidates,
    fit_sequential_temperatures,
    residual_distribution,
    speedup_with_interval,
    verification_mask,
)
from dspark_mini.heads import LowRankHead, low_rank_bias, sample_markov_block

MANY = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
Row = np.ndarray


def test_results_share_no_memory_with_the_arguments_or_within_themselves() -> None:
    p, tokens = np.array([0.5, 0.5]), [3, 1]
    residual_distribution(p, p)[0] = 9.0
    record = build_draft_record("dflash", tokens, [0.75, 0.75], 0.5)
    record["verify_tokens"].clear()
    assert record["block_tokens"] == tokens == [3, 1] and p[0] == 0.5
    record["block_tokens"].clear()
    assert tokens == [3, 1]


def attend(queries: Row, keys: Row, values: Row, mask: Row) -> Row:
    """Apply one softmax attention head; what is masked gets the score −inf."""
    scores = np.where(mask, queries @ keys.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


@MANY
@given(st.tuples(st.integers(0, 6), st.integers(0, 5)).filter(any), SEEDS)
def test_one_forward_through_two_layers_equals_decoding_token_by_token(lengths: tuple[int, int], seed: int) -> None:
    n, rng = sum(lengths), np.random.default_rng(seed)
    embedded, weights = rng.normal(size=(n, 4)), rng.normal(size=(2, 3, 4, 4)) / 2.0
    together = embedded
    for wq, wk, wv in weights:
        together = together + attend(together @ wq, together @ wk, together @ wv, verification_mask(*lengths))
    cached: list[list[Row]] = [[], []]  # what each layer has read so far
    for position, row in enumerate(embedded):
        for read, (wq, wk, wv) in zip(cached, weights):
            read.append(row)
            seen = np.array(read)
            row = row + attend((row @ wq)[None], seen @ wk, seen @ wv, np.ones((1, position + 1), dtype=bool))[0]
        assert np.allclose(row, together[position], atol=1e-9)


@pytest.mark.parametrize("layout", ["dflash", "dspark"])
@pytest.mark.parametrize("gamma", [1, 7])
def test_an_oracle_drafter_is_accepted_in_full_and_one_row_late_hardly_ever(layout: str, gamma: int) -> None:
    text = np.random.default_rng(gamma).integers(50, size=600)
    first = 1 if layout == "dspark" else 0  # DSpark's anchor predicts x_1, DFlash's repeats x_0
    for late in (0, 1):
        accepted = []
        for start in range(0, 500, gamma + 1):
            inputs, positions = draft_inputs(text[start], 99, gamma, layout)
            said = text[start + first + late : start + first + late + len(inputs)]  # by a perfect drafter, row by row
            accepted.append(np.cumprod(said[positions] == text[start + 1 : start + 1 + gamma]).sum())
        assert np.mean(accepted) == gamma if late == 0 else np.mean(accepted) < 0.1 * gamma


def test_stated_temperatures_are_found_again_and_depend_on_what_comes_before_only() -> None:
    rng, stated, grid = np.random.default_rng(0), np.array([2.0, 0.5, 3.0]), np.arange(1, 33) / 8
    truth = rng.normal(1.0, 1.3, size=(4000, 3))
    accepted = np.cumprod(rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth)), axis=1)
    fitted = fit_sequential_temperatures(truth * stated, accepted, grid)
    assert fitted == pytest.approx(stated, rel=0.35)
    assert (fitted[:2] == fit_sequential_temperatures(truth[:, :2] * stated[:2], accepted[:, :2], grid[::-1])).all()


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        length = rng.integers(20, 90, size=40)
        plain = length * 0.02 * rng.lognormal(0.0, 0.1, size=40)
        other = length * 0.01 * rng.lognormal(0.0, 0.3, size=40) / math.exp((0.3**2 - 0.1**2) / 2)
        found: Any = speedup_with_interval(length, plain, length, other)
        hits += found["low"] <= 2.0 <= found["high"]
    assert 0.90 <= hits / 400 <= 0.99


def test_a_head_drafts_as_the_dict_of_its_rows_and_as_the_chain_at_temperature_zero() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        base, w1, w2 = (rng.integers(-4, 5, size=shape) / 8.0 for shape in ((4, 5), (5, 2), (2, 5)))
        head, rows = LowRankHead(w1, w2), {token: low_rank_bias(w1, w2, token) for token in range(5)}
        assert list(head) == list(rows) and len(head) == 5 and all((head[token] == rows[token]).all() for token in head)
        drafts = dspark_markov_candidates(base, 3, head)
        assert drafts == dspark_markov_candidates(base, 3, rows) == sample_markov_block(base, 3, w1, w2, rng, 0)[0]
        assert dspark_markov_candidates(base, 9, head) == dspark_markov_candidates(base, 9, rows)


def test_a_head_keeps_single_precision_and_has_no_rows_but_its_tokens() -> None:
    w1, w2 = np.ones((3, 2), np.float32), np.ones((2, 3), np.float32)
    head = LowRankHead(w1, w2)
    assert head[1].dtype == np.float32 and np.shares_memory(head._w2, w2)
    assert LowRankHead(w1, w2.tolist())[1].dtype == np.float64
    assert not any(key in head or head.get(key) is not None for key in (3, -1, "1", None))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^w1\[1\]\[0\] must be a finite number"):
        LowRankHead([[1.0], [np.nan]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"^w2 has shape \(1, 3\)"):
        LowRankHead([[1.0], [2.0]], [[1.0, 2.0, 3.0]])
