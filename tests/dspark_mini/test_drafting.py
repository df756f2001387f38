"""Properties, check values and bad inputs of dflash_parallel_candidates and dspark_markov_candidates."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dspark_mini import dflash_parallel_candidates, dspark_markov_candidates

NAN, INF = float("nan"), float("inf")
SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 9))
MANY = settings(max_examples=40, deadline=None)


def eighths(shape: Any, low: int = -16, high: int = 16) -> st.SearchStrategy[np.ndarray]:
    """Exact binary fractions on few levels: sums are exact and ties are frequent."""
    return hnp.arrays(np.int64, shape, elements=st.integers(low, high)).map(lambda a: a / 8.0)


def untied(shape: tuple[int, int]) -> st.SearchStrategy[np.ndarray]:
    """Rows without ties, in sixteenths below 1, so that adding whole numbers makes none."""
    row = st.permutations(range(shape[1]))
    return st.lists(row, min_size=shape[0], max_size=shape[0]).map(lambda rows: np.array(rows) / 16.0)


def first_best(row: Any) -> int:
    """Find the lowest index of the largest number without NumPy's help."""
    best = 0
    for token, value in enumerate(row):
        if value > row[best]:
            best = token
    return best


def chain(block: Any, anchor: int, bias: dict[int, Any]) -> list[int]:
    """Correct and choose with plain Python numbers."""
    tokens: list[int] = []
    for row in np.asarray(block, dtype=np.float64).tolist():
        previous = tokens[-1] if tokens else anchor
        extra = bias[previous] if previous in bias else [0.0] * len(row)
        tokens.append(first_best([u + b for u, b in zip(row, extra, strict=True)]))
    return tokens


def masked(block: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Put −inf where hidden is True, except in column 0."""
    keep = np.zeros_like(hidden)
    keep[:, 0] = True
    return np.where(hidden & ~keep, -np.inf, block)


@st.composite
def chains(draw: st.DrawFn) -> tuple[np.ndarray, int, dict[int, np.ndarray]]:
    """A block, an anchor inside the vocabulary or outside, and bias rows for some tokens."""
    block = draw(SHAPES.flatmap(eighths))
    vocabulary = block.shape[1]
    anchor = draw(st.integers(-2, vocabulary + 3))
    tokens = draw(st.sets(st.integers(-2, vocabulary + 3)))
    return block, anchor, {token: draw(eighths(vocabulary, -40, 40)) for token in sorted(tokens)}


class LowRankHead:
    """A mapping of which only .get works: the row of a token is W1[token] W2."""

    def __init__(self, w1: np.ndarray, w2: np.ndarray) -> None:
        self.w1, self.w2 = w1, w2

    def get(self, token: int) -> np.ndarray | None:
        return self.w1[token] @ self.w2 if 0 <= token < len(self.w1) else None


class OnlyMet:
    """A mapping that refuses to be asked for a token that the chain does not meet."""

    def __init__(self, rows: dict[int, Any], met: set[int]) -> None:
        self.rows, self.met = rows, met

    def get(self, token: int) -> Any:
        assert token in self.met, f"token {token} is not met"
        return self.rows.get(token)


# --- Check values of SPEC.md, section 2 --------------------------------------------------------------


def test_parallel_candidates_have_the_check_values() -> None:
    assert dflash_parallel_candidates([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]) == [1, 0, 2]


def test_markov_candidates_have_the_check_values() -> None:
    logits = [[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]]
    assert dspark_markov_candidates(logits, 9, {9: [0.4, 0], 0: [0, 0.6], 1: [0.5, 0]}) == [0, 1, 0]


def test_markov_bias_of_another_length_has_the_check_value() -> None:
    with pytest.raises(ValueError, match="markov_bias of token 9"):
        dspark_markov_candidates([[0.5, 0.25]], 9, {9: [1.0]})


# --- Task 2.1 ----------------------------------------------------------------------------------------


@MANY
@given(st.data())
def test_each_position_takes_the_first_best_token_of_its_row(data: st.DataObject) -> None:
    block = data.draw(SHAPES.flatmap(eighths))
    hidden = data.draw(hnp.arrays(bool, block.shape))
    block = masked(block, hidden)
    assert dflash_parallel_candidates(block) == [first_best(row) for row in block.tolist()]


@MANY
@given(SHAPES.flatmap(eighths), st.sampled_from([np.float64, np.float32, np.float16, np.longdouble, "object"]))
def test_parallel_candidates_are_equal_for_lists_and_arrays_of_each_dtype(block: np.ndarray, dtype: Any) -> None:
    expected = [first_best(row) for row in block.tolist()]
    assert dflash_parallel_candidates(block.tolist()) == expected
    assert dflash_parallel_candidates(block.astype(dtype)) == expected
    assert dflash_parallel_candidates(np.asfortranarray(block)) == expected
    assert dflash_parallel_candidates([tuple(row) for row in block]) == expected


@MANY
@given(SHAPES.flatmap(lambda shape: hnp.arrays(np.uint8, shape)))
def test_integer_logits_are_compared_as_they_are(block: np.ndarray) -> None:
    assert dflash_parallel_candidates(block) == [first_best(row) for row in block.tolist()]


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(untied(shape), st.permutations(range(shape[1])))))
def test_permuting_the_vocabulary_permutes_the_candidates(case: tuple[np.ndarray, list[int]]) -> None:
    block, order = case
    shuffled = dflash_parallel_candidates(block[:, order])
    assert [order[token] for token in shuffled] == dflash_parallel_candidates(block)


@MANY
@given(SHAPES.flatmap(eighths), st.data())
def test_permuting_the_positions_permutes_the_candidates(block: np.ndarray, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(block))))
    tokens = dflash_parallel_candidates(block)
    assert dflash_parallel_candidates(block[order]) == [tokens[k] for k in order]


@MANY
@given(SHAPES.flatmap(eighths), st.data())
def test_a_constant_and_a_scale_of_each_row_change_no_candidate(block: np.ndarray, data: st.DataObject) -> None:
    shift = data.draw(eighths((len(block), 1), -800, 800))
    scale = 2.0 ** data.draw(hnp.arrays(np.int64, (len(block), 1), elements=st.integers(-3, 20)))
    assert dflash_parallel_candidates(scale * block + shift) == dflash_parallel_candidates(block)


def test_of_equal_logits_the_lowest_token_wins() -> None:
    assert dflash_parallel_candidates([[0.5, 0.5], [0.25, 0.75], [0.0, -0.0]]) == [0, 1, 0]


# --- Task 2.2 ----------------------------------------------------------------------------------------


@MANY
@given(chains())
def test_the_chain_equals_brute_force(case: tuple[np.ndarray, int, dict[int, np.ndarray]]) -> None:
    block, anchor, bias = case
    assert dspark_markov_candidates(block, anchor, bias) == chain(block, anchor, bias)


@MANY
@given(chains(), st.data())
def test_masked_logits_and_masked_transitions_equal_brute_force(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]], data: st.DataObject
) -> None:
    block, anchor, bias = case
    block = masked(block, data.draw(hnp.arrays(bool, block.shape)))
    bias = {token: masked(row[None], data.draw(hnp.arrays(bool, (1, row.size))))[0] for token, row in bias.items()}
    assert dspark_markov_candidates(block, anchor, bias) == chain(block, anchor, bias)


@MANY
@given(SHAPES.flatmap(eighths), st.integers(-3, 2000))
def test_without_biases_the_chain_is_the_parallel_block(block: np.ndarray, anchor: int) -> None:
    assert dspark_markov_candidates(block, anchor, {}) == dflash_parallel_candidates(block)


@MANY
@given(chains(), st.data())
def test_a_constant_added_to_a_row_of_logits_or_of_biases_changes_nothing(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]], data: st.DataObject
) -> None:
    block, anchor, bias = case
    shift = data.draw(eighths((len(block), 1), -800, 800))
    lifted = {token: row + data.draw(st.integers(-9, 9)) for token, row in bias.items()}
    assert dspark_markov_candidates(block + shift, anchor, lifted) == dspark_markov_candidates(block, anchor, bias)


@MANY
@given(chains(), st.sampled_from([np.float64, np.float32, np.float16]))
def test_the_chain_is_equal_for_lists_and_arrays_of_each_dtype(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]], dtype: Any
) -> None:
    block, anchor, bias = case
    expected = chain(block, anchor, bias)
    assert dspark_markov_candidates(block.tolist(), anchor, {t: row.tolist() for t, row in bias.items()}) == expected
    arrays = {np.int64(t): row.astype(dtype) for t, row in bias.items()}
    assert dspark_markov_candidates(block.astype(dtype), np.int64(anchor), arrays) == expected


@MANY
@given(SHAPES, st.integers(1, 3), st.data())
def test_any_object_that_answers_get_serves_as_biases(shape: tuple[int, int], rank: int, data: st.DataObject) -> None:
    block = data.draw(eighths(shape))
    w1, w2 = data.draw(eighths((shape[1], rank))), data.draw(eighths((rank, shape[1])))
    table = {token: w1[token] @ w2 for token in range(shape[1])}
    anchor = data.draw(st.integers(-1, shape[1]))
    assert dspark_markov_candidates(block, anchor, LowRankHead(w1, w2)) == chain(block, anchor, table)


@MANY
@given(chains())
def test_only_the_anchor_and_the_chosen_tokens_but_the_last_are_looked_up(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]],
) -> None:
    block, anchor, bias = case
    expected = chain(block, anchor, bias)
    met = {anchor, *expected[:-1]}
    assert dspark_markov_candidates(block, anchor, OnlyMet(bias, met)) == expected


@MANY
@given(chains())
def test_bad_bias_rows_of_tokens_that_are_not_met_do_no_harm(
    case: tuple[np.ndarray, int, dict[int, np.ndarray]],
) -> None:
    block, anchor, bias = case
    expected = chain(block, anchor, bias)
    spoilt = {token: row if token in {anchor, *expected[:-1]} else [NAN, "x", INF] for token, row in bias.items()}
    assert dspark_markov_candidates(block, anchor, spoilt) == expected


@MANY
@given(SHAPES.flatmap(lambda shape: st.tuples(untied(shape), st.permutations(range(shape[1])))), st.data())
def test_renaming_the_tokens_renames_the_chain(case: tuple[np.ndarray, list[int]], data: st.DataObject) -> None:
    block, order = case
    table = data.draw(hnp.arrays(np.int64, (block.shape[1],) * 2, elements=st.integers(-2, 2)))
    bias = dict(enumerate(table))
    renamed = {order.index(token): row[order] for token, row in bias.items()}
    shuffled = dspark_markov_candidates(block[:, order], order.index(0), renamed)
    assert [order[token] for token in shuffled] == dspark_markov_candidates(block, 0, bias)


def test_the_token_before_is_the_corrected_choice_and_not_the_rows_own_best() -> None:
    assert dspark_markov_candidates([[0, 1], [0, 1], [0, 1]], 0, {0: [8, 0], 1: [0, 0]}) == [0, 0, 0]


def test_a_missing_row_does_not_bring_an_older_one_back() -> None:
    assert dspark_markov_candidates([[1, 0], [1, 0]], 5, {5: [0, 2]}) == [1, 0]


def test_of_equal_sums_the_lowest_token_wins() -> None:
    assert dspark_markov_candidates([[0.5, 0.0], [0.0, 0.25]], 0, {0: [0.0, 0.5], 1: [0.5, 0.5]}) == [0, 1]
    assert dspark_markov_candidates([[0.0, 0.5]], 3, {3: [0.5, 0.0]}) == [0]


# --- Both --------------------------------------------------------------------------------------------


@MANY
@given(chains())
def test_results_are_plain_ints_in_a_list(case: tuple[np.ndarray, int, dict[int, np.ndarray]]) -> None:
    block, anchor, bias = case
    for tokens in (dflash_parallel_candidates(block), dspark_markov_candidates(block, np.int64(anchor), bias)):
        assert type(tokens) is list and len(tokens) == len(block)
        assert {type(token) for token in tokens} == {int}
        assert all(0 <= token < block.shape[1] for token in tokens)


@MANY
@given(chains())
def test_the_arguments_are_left_as_they_were_bit_by_bit(case: tuple[np.ndarray, int, dict[int, np.ndarray]]) -> None:
    block, anchor, bias = case
    bits, rows = block.tobytes(), {token: row.tobytes() for token, row in bias.items()}
    dflash_parallel_candidates(block)
    dspark_markov_candidates(block, anchor, bias)
    assert block.tobytes() == bits
    assert {token: row.tobytes() for token, row in bias.items()} == rows
    lists = (block.tolist(), anchor, {token: row.tolist() for token, row in bias.items()})
    before = copy.deepcopy(lists)
    dflash_parallel_candidates(lists[0])
    dspark_markov_candidates(*lists)
    assert lists == before


@MANY
@given(chains())
def test_read_only_arrays_are_accepted(case: tuple[np.ndarray, int, dict[int, np.ndarray]]) -> None:
    block, anchor, bias = case
    expected = chain(block, anchor, bias)
    for array in (block, *bias.values()):
        array.flags.writeable = False
    assert dflash_parallel_candidates(block) == chain(block, anchor, {})
    assert dspark_markov_candidates(block, anchor, bias) == expected


BAD_BLOCKS = [
    pytest.param([[0.1, 0.9], [NAN, 0.5]], "block_logits row 1", id="nan in row 1"),
    pytest.param([[0.5, NAN], [NAN, 0.5]], "block_logits row 0", id="nan in rows 0 and 1"),
    pytest.param([[0.5, 0.25], [0.5, 0.25], [INF, 0.5]], "block_logits row 2", id="+inf in row 2"),
    pytest.param([[0.5, INF, NAN]], "block_logits row 0", id="+inf and nan in one row"),
    pytest.param([[0.5, 0.25], [-INF, -INF]], "block_logits row 1", id="only −inf in row 1"),
    pytest.param([[0.5], [INF], [-INF], [NAN]], "block_logits row 1", id="three bad rows, the first of them counts"),
    pytest.param([[0.5, 0.25], [0.5, 0.25], [0.5]], "block_logits row 2", id="row 2 is short"),
    pytest.param([[0.5], [0.5, 0.25]], "block_logits row 1", id="row 1 is long"),
    pytest.param([[0.5, 0.25], 0.5], "block_logits row 1", id="row 1 is a number"),
    pytest.param([[0.5, 0.25], [0.5, "x"]], "block_logits row 1", id="row 1 holds text"),
    pytest.param([[0.5, 0.25], [0.5, 1j]], "block_logits row 1", id="row 1 is complex"),
    pytest.param([[0.5, None]], "block_logits row 0", id="row 0 holds None"),
    pytest.param([], "block_logits is empty", id="no rows"),
    pytest.param([[], []], "block_logits is empty", id="no tokens"),
    pytest.param(np.zeros((0, 3)), "block_logits is empty", id="an array without rows"),
    pytest.param([0.5, 0.25], "block_logits must be a matrix", id="one axis"),
    pytest.param([[[0.5, 0.25]]], "block_logits must be a matrix", id="three axes"),
    pytest.param(0.5, "block_logits must be a matrix", id="a number"),
    pytest.param("ab", "block_logits must hold real numbers", id="text"),
    pytest.param({0: [0.5]}, "block_logits must hold real numbers", id="a dict"),
]


@pytest.mark.parametrize(("block", "where"), BAD_BLOCKS)
def test_a_bad_block_is_refused_by_the_parallel_drafter(block: Any, where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        dflash_parallel_candidates(block)


@pytest.mark.parametrize(("block", "where"), BAD_BLOCKS)
def test_a_bad_block_is_refused_by_the_markov_drafter_too(block: Any, where: str) -> None:
    for bias in ({}, {7: [NAN]}):
        with pytest.raises(ValueError, match=re.escape(where)):
            dspark_markov_candidates(block, 3, bias)


@pytest.mark.filterwarnings("ignore:invalid value")  # +inf and −inf
@pytest.mark.parametrize(
    ("row", "what"),
    [([NAN, 0.5], "nan at token 0"), ([0.5, INF], "+inf at token 1"), ([-INF, -INF], "nothing but -inf")],
)
@pytest.mark.parametrize("bias", [[0.5, 0.25], [-INF, 0.0], [0.0, -INF]])
def test_a_bad_row_of_logits_is_not_blamed_on_a_legal_bias(row: list[float], what: str, bias: list[float]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"block_logits row 1 holds {what}")):
        dspark_markov_candidates([[0.5, 0.0], row], 9, {0: bias})


@pytest.mark.parametrize(("bad", "word"), [(NAN, "nan at token"), (INF, "+inf at token")])
@MANY
@given(SHAPES, st.data())
def test_the_first_bad_row_and_its_token_are_named(
    bad: float, word: str, shape: tuple[int, int], data: st.DataObject
) -> None:
    block = data.draw(eighths(shape))
    row, token = data.draw(st.integers(0, shape[0] - 1)), data.draw(st.integers(0, shape[1] - 1))
    block[row:, token:] = bad
    for form in (block, block.tolist(), block.astype(np.float32)):
        with pytest.raises(ValueError, match=re.escape(f"block_logits row {row} holds {word} {token}")):
            dflash_parallel_candidates(form)


@pytest.mark.parametrize(
    ("bias", "where"),
    [
        pytest.param({9: [1.0]}, "markov_bias of token 9", id="short row of the anchor"),
        pytest.param({9: [1.0, 0.5, 0.5]}, "markov_bias of token 9", id="long row of the anchor"),
        pytest.param({9: []}, "markov_bias of token 9", id="empty row of the anchor"),
        pytest.param({9: 0.5}, "markov_bias of token 9", id="number in place of a row"),
        pytest.param({9: [[0.5, 0.5]]}, "markov_bias of token 9", id="matrix in place of a row"),
        pytest.param({9: [0.5, [0.5]]}, "markov_bias of token 9", id="ragged row"),
        pytest.param({9: ["a", "b"]}, "markov_bias of token 9", id="text in the row"),
        pytest.param({9: [NAN, 0.5]}, "markov_bias of token 9", id="nan in the row"),
        pytest.param({9: [0.5, NAN]}, "markov_bias of token 9", id="nan at the end of the row"),
        pytest.param({9: [INF, 0.5]}, "markov_bias of token 9", id="+inf in the row"),
        pytest.param({9: [-INF, -INF]}, "markov_bias of token 9", id="only −inf in the row"),
        pytest.param({1: [1.0]}, "markov_bias of token 1", id="short row of the second step"),
        pytest.param({1: [0.5, NAN]}, "markov_bias of token 1", id="nan in the second step"),
        pytest.param({9: [0.5, 0.5], 1: [-INF, -INF]}, "markov_bias of token 1", id="only −inf in the second step"),
        pytest.param({9: [8.0, 0.0], 0: [8.0, 0.0], 1: [NAN]}, None, id="the bad row is not met"),
        pytest.param([[0.5, 0.5]], "markov_bias must be a mapping", id="a list of rows"),
        pytest.param(None, "markov_bias must be a mapping", id="nothing"),
    ],
)
def test_bad_biases_are_refused_where_they_are_used(bias: Any, where: str | None) -> None:
    block = [[0.25, 0.75], [0.5, 0.25], [0.5, 0.25]]
    if where is None:
        assert dspark_markov_candidates(block, 9, bias) == [0, 0, 0]
        return
    with pytest.raises(ValueError, match=re.escape(where)):
        dspark_markov_candidates(block, 9, bias)


def test_a_bias_that_forbids_every_token_left_is_refused() -> None:
    with pytest.raises(ValueError, match="block_logits row 0 and markov_bias of token 4 leave no token"):
        dspark_markov_candidates([[-INF, 0.5]], 4, {4: [0.5, -INF]})


@pytest.mark.filterwarnings("ignore:invalid value")
def test_plus_infinity_on_a_masked_token_is_refused() -> None:
    with pytest.raises(ValueError, match="markov_bias of token 4"):
        dspark_markov_candidates([[-INF, 0.5]], 4, {4: [INF, 0.5]})


@pytest.mark.parametrize("anchor", [None, 2.0, NAN, "9", True, [9], np.array([9])])
def test_an_anchor_that_is_no_whole_number_is_refused(anchor: Any) -> None:
    with pytest.raises(ValueError, match="anchor_token must be a whole number"):
        dspark_markov_candidates([[0.5, 0.25]], anchor, {})
