"""Properties, examples and bad inputs of the masks, proven on a small attention layer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import block_mask
from dspark_mini.masks import verification_mask

NAN = float("nan")
MANY = settings(max_examples=40, deadline=None)


@st.composite
def packings(draw: st.DrawFn) -> tuple[int, list[int], int]:
    """A context, some anchors in it in any order, and a block length."""
    context = draw(st.integers(0, 8))
    return context, draw(st.lists(st.integers(0, context), min_size=1, max_size=5)), draw(st.integers(1, 4))


def may_attend(row: int, column: int, context: int, anchors: list[int], length: int) -> bool:
    """Say the rule for one cell in words of its own: before the anchor of the row's block, or in that block."""
    first_row = row - row % length
    in_context = column < context and column < anchors[row // length]
    return in_context or context + first_row <= column < context + first_row + length


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Apply one softmax attention head; what is masked gets the score −inf."""
    scores = np.where(mask, queries @ keys.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param((2, [1], 2), [[1, 0, 1, 1], [1, 0, 1, 1]], id="one block"),
        pytest.param((3, [2, 0], 1), [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]], id="anchors that go back"),
        pytest.param((2, [2, 1, 1], 1), [[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0, 1]], id="a repeated anchor"),
        pytest.param((0, [0], 2), [[1, 1], [1, 1]], id="no context"),
        pytest.param((1, [1, 0], 2), [[1, 1, 1, 0, 0]] * 2 + [[0, 0, 0, 1, 1]] * 2, id="two blocks of two"),
    ],
)
def test_masks_of_examples_are_as_written(arguments: tuple[int, list[int], int], expected: list[list[int]]) -> None:
    assert block_mask(*arguments).astype(int).tolist() == expected


@MANY
@given(packings())
def test_every_cell_follows_the_rule(case: tuple[int, list[int], int]) -> None:
    context, anchors, length = case
    rows = len(anchors) * length
    mask = block_mask(*case)
    assert mask.shape == (rows, context + rows)
    assert mask.tolist() == [[may_attend(r, c, *case) for c in range(context + rows)] for r in range(rows)]


@MANY
@given(packings(), st.integers(0, 2**32 - 1))
def test_a_masked_column_never_changes_an_output_and_an_open_one_does(
    case: tuple[int, list[int], int], seed: int
) -> None:
    context, anchors, length = case
    rng, rows = np.random.default_rng(seed), len(anchors) * length
    queries, keys = rng.uniform(-1.0, 1.0, size=(rows, 3)), rng.uniform(-1.0, 1.0, size=(context + rows, 3))
    values, mask = rng.uniform(-1.0, 1.0, size=(context + rows, 2)), block_mask(*case)
    before = attend(queries, keys, values, mask)
    for column in range(context + rows):
        moved, turned = values.copy(), keys.copy()
        moved[column] += 1.0
        turned[column] = -5.0
        by_value = np.abs(attend(queries, keys, moved, mask) - before).max(axis=1)
        by_both = np.abs(attend(queries, turned, moved, mask) - before).max(axis=1)
        open_rows = np.array([may_attend(row, column, *case) for row in range(rows)])
        assert (by_value[open_rows] > 1e-6).all()
        assert (by_value[~open_rows] == 0.0).all() and (by_both[~open_rows] == 0.0).all()


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


@MANY
@given(packings())
def test_the_block_half_is_symmetric_and_every_row_sees_itself(case: tuple[int, list[int], int]) -> None:
    own = block_mask(*case)[:, case[0] :]
    assert np.array_equal(own, own.T) and own.diagonal().all()


@MANY
@given(packings())
def test_a_row_sees_as_many_columns_as_its_anchor_and_block_have(case: tuple[int, list[int], int]) -> None:
    _, anchors, length = case
    assert block_mask(*case).sum(axis=1).tolist() == [anchor + length for anchor in anchors for _ in range(length)]


@MANY
@given(packings(), st.sampled_from([np.int64, np.int32, np.uint8, "object"]))
def test_masks_are_boolean_arrays_and_equal_for_lists_and_arrays(case: tuple[int, list[int], int], dtype: Any) -> None:
    context, anchors, length = case
    array = np.array(anchors, dtype=dtype)
    array.flags.writeable = False
    masks = block_mask(context, anchors, length), block_mask(np.int64(context), array, np.int64(length))
    assert np.array_equal(*masks)
    assert all(type(mask) is np.ndarray and mask.dtype == np.bool_ for mask in masks)


@MANY
@given(packings())
def test_the_anchors_are_left_as_they_were_and_masks_are_not_shared(case: tuple[int, list[int], int]) -> None:
    context, anchors, length = case
    before, array = list(anchors), np.array(anchors)
    first = block_mask(context, anchors, length)
    kept = first.copy()
    first[:] = ~first
    assert np.array_equal(block_mask(context, array, length), kept)
    assert anchors == before and array.tolist() == before


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param((3, [1, 4], 2), "anchor_positions[1]", id="an anchor behind the context"),
        pytest.param((3, [9, -1], 2), "anchor_positions[0]", id="two bad anchors, the first of them counts"),
        pytest.param((3, [1, 2, -5], 2), "anchor_positions[2]", id="a negative anchor"),
        pytest.param((0, [0, 1], 1), "anchor_positions[1]", id="an anchor without context"),
        pytest.param((3, [1, 2.0], 2), "anchor_positions[1]", id="a float"),
        pytest.param((3, [NAN], 2), "anchor_positions[0]", id="nan"),
        pytest.param((3, [1, True], 2), "anchor_positions[1]", id="a bool"),
        pytest.param((3, [1, None], 2), "anchor_positions[1]", id="None among them"),
        pytest.param((3, [1, "2"], 2), "anchor_positions[1]", id="text among them"),
        pytest.param((3, [[1, 2]], 2), "anchor_positions[0]", id="a matrix"),
        pytest.param((3, np.array([1.0, 2.0]), 2), "anchor_positions[0]", id="an array of floats"),
        pytest.param((3, [], 2), "anchor_positions is empty", id="no anchors"),
        pytest.param((3, np.array([], dtype=int), 2), "anchor_positions is empty", id="an empty array"),
        pytest.param((3, 1, 2), "anchor_positions must be a sequence", id="a number"),
        pytest.param((3, None, 2), "anchor_positions must be a sequence", id="nothing"),
        pytest.param((3, "12", 2), "anchor_positions must be a sequence", id="text"),
        pytest.param((-1, [0], 2), "context_length", id="negative context"),
        pytest.param((3.0, [1], 2), "context_length", id="context a float"),
        pytest.param((True, [1], 2), "context_length", id="context a bool"),
        pytest.param((None, [1], 2), "context_length", id="context None"),
        pytest.param((3, [1], 0), "block_length", id="block_length 0"),
        pytest.param((3, [1], -2), "block_length", id="block_length negative"),
        pytest.param((3, [1], 2.0), "block_length", id="block_length a float"),
        pytest.param((3, [1], None), "block_length", id="block_length None"),
    ],
)
def test_bad_input_of_the_mask_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        block_mask(*arguments)


@MANY
@given(packings(), st.data())
def test_the_first_bad_anchor_is_named_wherever_it_stands(
    case: tuple[int, list[int], int], data: st.DataObject
) -> None:
    context, anchors, length = case
    position = data.draw(st.integers(0, len(anchors) - 1))
    anchors[position:] = [data.draw(st.sampled_from([-1, context + 1]))] * (len(anchors) - position)
    for form in (anchors, np.array(anchors)):
        with pytest.raises(ValueError, match=re.escape(f"anchor_positions[{position}]")):
            block_mask(context, form, length)


# --- verification_mask ---------------------------------------------------------------------------------

LENGTHS = st.tuples(st.integers(0, 6), st.integers(0, 5)).filter(any)


@MANY
@given(LENGTHS, st.integers(0, 2**32 - 1))
def test_a_later_token_never_changes_a_row_of_the_forward_and_an_earlier_one_does(
    lengths: tuple[int, int], seed: int
) -> None:
    n, rng = sum(lengths), np.random.default_rng(seed)
    queries, keys, values = rng.uniform(-1.0, 1.0, size=(3, n, 3))
    mask = verification_mask(*lengths)
    before = attend(queries, keys, values, mask)
    for column in range(n):
        moved, turned = values.copy(), keys.copy()
        moved[column] += 1.0
        turned[column] = -5.0
        by_value = np.abs(attend(queries, keys, moved, mask) - before).max(axis=1)
        by_both = np.abs(attend(queries, turned, moved, mask) - before).max(axis=1)
        looking = np.arange(n) >= column
        assert (by_value[looking] > 1e-6).all()
        assert (by_value[~looking] == 0.0).all() and (by_both[~looking] == 0.0).all()


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
