"""Laws of the masks, proven on a small attention layer."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import block_mask
from dspark_mini.masks import verification_mask

MANY = settings(max_examples=40, deadline=None)


@st.composite
def packings(draw: st.DrawFn) -> tuple[int, list[int], int]:
    """A context, some anchors in it in any order, and a block length."""
    context = draw(st.integers(0, 8))
    return context, draw(st.lists(st.integers(0, context), min_size=1, max_size=5)), draw(st.integers(1, 4))


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Apply one softmax attention head; what is masked gets the score −inf."""
    scores = np.where(mask, queries @ keys.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


@MANY
@given(packings(), st.data())
def test_blocks_packed_together_see_what_each_would_see_alone(
    case: tuple[int, list[int], int], data: st.DataObject
) -> None:
    context, anchors, length = case
    j = data.draw(st.integers(0, len(anchors) - 1))
    rows = block_mask(*case)[j * length : (j + 1) * length]
    own = np.s_[context + j * length : context + (j + 1) * length]
    alone = block_mask(context, [anchors[j]], length)
    assert np.array_equal(np.hstack([rows[:, :context], rows[:, own]]), alone)
    assert rows.sum() == alone.sum()  # and no other column is open


@MANY
@given(packings(), st.data())
def test_reordering_the_anchors_moves_whole_blocks(case: tuple[int, list[int], int], data: st.DataObject) -> None:
    context, anchors, length = case
    order = data.draw(st.permutations(range(len(anchors))))
    rows = (np.array(order)[:, None] * length + np.arange(length)).ravel()
    columns = np.concatenate([np.arange(context), context + rows])
    reordered = block_mask(context, [anchors[j] for j in order], length)
    assert np.array_equal(reordered, block_mask(*case)[np.ix_(rows, columns)])


# --- verification_mask ---------------------------------------------------------------------------------

LENGTHS = st.tuples(st.integers(0, 6), st.integers(0, 5)).filter(any)


@MANY
@given(LENGTHS, st.integers(0, 2**32 - 1))
def test_one_forward_through_two_layers_equals_decoding_token_by_token(lengths: tuple[int, int], seed: int) -> None:
    n, rng = sum(lengths), np.random.default_rng(seed)
    embedded, weights = rng.normal(size=(n, 4)), rng.normal(size=(2, 3, 4, 4)) / 2.0
    cached: list[list[np.ndarray]] = [[], []]  # what each layer has read so far: its cache
    for position, row in enumerate(embedded):
        for layer, (wq, wk, wv) in enumerate(weights):
            cached[layer].append(row)
            seen = np.array(cached[layer])
            open_row = np.ones((1, position + 1), dtype=bool)
            row = row + attend((row @ wq)[None], seen @ wk, seen @ wv, open_row)[0]
        assert np.allclose(row, forward(embedded, weights, verification_mask(*lengths))[position], atol=1e-9)


def forward(x: np.ndarray, weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Run all tokens through the layers at once."""
    for wq, wk, wv in weights:
        x = x + attend(x @ wq, x @ wk, x @ wv, mask)
    return x
