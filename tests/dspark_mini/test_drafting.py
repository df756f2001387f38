"""Laws of the two drafters: which changes of the logits and biases leave the candidates alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dspark_mini import dflash_parallel_candidates, dspark_markov_candidates

SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 9))
MANY = settings(max_examples=40, deadline=None)


def eighths(shape: Any, low: int = -16, high: int = 16) -> st.SearchStrategy[np.ndarray]:
    """Exact binary fractions on few levels: sums are exact and ties are frequent."""
    return hnp.arrays(np.int64, shape, elements=st.integers(low, high)).map(lambda a: a / 8.0)


def untied(shape: tuple[int, int]) -> st.SearchStrategy[np.ndarray]:
    """Rows without ties, in sixteenths below 1, so that adding whole numbers makes none."""
    row = st.permutations(range(shape[1]))
    return st.lists(row, min_size=shape[0], max_size=shape[0]).map(lambda rows: np.array(rows) / 16.0)


@st.composite
def chains(draw: st.DrawFn) -> tuple[np.ndarray, int, dict[int, np.ndarray]]:
    """A block, an anchor inside the vocabulary or outside, and bias rows for some tokens."""
    block = draw(SHAPES.flatmap(eighths))
    vocabulary = block.shape[1]
    anchor = draw(st.integers(-2, vocabulary + 3))
    tokens = draw(st.sets(st.integers(-2, vocabulary + 3)))
    return block, anchor, {token: draw(eighths(vocabulary, -40, 40)) for token in sorted(tokens)}


def test_the_check_values() -> None:
    assert dflash_parallel_candidates([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]) == [1, 0, 2]
    logits = [[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]]
    assert dspark_markov_candidates(logits, 9, {9: [0.4, 0], 0: [0, 0.6], 1: [0.5, 0]}) == [0, 1, 0]
    with pytest.raises(ValueError, match=r"markov_bias\[9\]"):
        dspark_markov_candidates([[0.5, 0.25]], 9, {9: [1.0]})


@MANY
@given(SHAPES.flatmap(eighths), st.integers(-3, 2000))
def test_without_biases_the_chain_is_the_parallel_block(block: np.ndarray, anchor: int) -> None:
    assert dspark_markov_candidates(block, anchor, {}) == dflash_parallel_candidates(block)


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(untied(shape), st.permutations(range(shape[1])))), st.data())
def test_renaming_the_tokens_renames_the_candidates(case: tuple[np.ndarray, list[int]], data: st.DataObject) -> None:
    block, order = case
    assert [order[token] for token in dflash_parallel_candidates(block[:, order])] == dflash_parallel_candidates(block)
    table = data.draw(hnp.arrays(np.int64, (block.shape[1],) * 2, elements=st.integers(-2, 2)))
    bias = dict(enumerate(table))
    renamed = {order.index(token): row[order] for token, row in bias.items()}
    shuffled = dspark_markov_candidates(block[:, order], order.index(0), renamed)
    assert [order[token] for token in shuffled] == dspark_markov_candidates(block, 0, bias)


@MANY
@given(chains())
def test_a_bias_row_is_read_only_where_the_chain_meets_its_token(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]],
) -> None:
    block, anchor, bias = case
    expected = dspark_markov_candidates(block, anchor, bias)
    met = {anchor, *expected[:-1]}
    spoilt = {token: row if token in met else [np.nan, "x"] for token, row in bias.items()}
    assert dspark_markov_candidates(block, anchor, spoilt) == expected
