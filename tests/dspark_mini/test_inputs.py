"""The shared input checks: what they return, and the sentences that they raise."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import inputs

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=50, deadline=None)
NAME = "some_argument"


def test_every_exported_check_exists_and_is_documented() -> None:
    for name in inputs.__all__:
        assert getattr(inputs, name).__doc__


# --- Logits and biases -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_an_array_of_float_logits_is_returned_itself_without_a_copy(dtype: Any) -> None:
    rows = np.ones((2, 3), dtype=dtype)
    assert inputs.logit_rows(NAME, rows) is rows


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_whole_logits_become_floats_so_that_a_bias_can_be_added_in_place_to_a_copy(dtype: Any) -> None:
    rows = np.ones((2, 3), dtype=dtype)
    logits = inputs.logit_rows(NAME, rows)
    assert logits.dtype == np.float64 and (logits == 1.0).all() and rows.dtype == dtype


ROWS = [[[1, 2]], [(1.0, 2.0)], [[Fraction(1), Decimal(2)]], [range(1, 3)], [np.arange(1, 3)]]


@pytest.mark.parametrize("rows", ROWS)
def test_rows_of_any_numbers_become_a_real_matrix(rows: Any) -> None:
    logits = inputs.logit_rows(NAME, rows)
    assert logits.dtype.kind in "fi" and logits.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[0.5], [0.5, 0.5]], "some_argument row 1 has shape (2,), but the first has (1,)"),
        ([[0.5], ["x"]], "some_argument row 1 must hold real numbers only"),
        ([], "some_argument is empty: it needs at least one row"),
        ([[]], "some_argument is empty: its shape is (1, 0)"),
        ([1.0], "some_argument must be a matrix of shape (γ, V), not an array of shape (1,)"),
    ],
)
def test_logits_of_another_form_are_described(rows: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        inputs.logit_rows(NAME, rows)


def test_the_values_of_logits_are_left_to_the_check_of_the_best() -> None:
    rows = np.array([[NAN, 0.5], [INF, 0.5], [-INF, -INF]])
    assert inputs.logit_rows(NAME, rows) is rows


NUMBERS = st.sampled_from([-INF, -1.0, 0.5, 2.0, INF, NAN])


def fault(row: list[float]) -> str | None:
    """Find the fault of a row with plain Python."""
    if any(value != value for value in row):
        return f"holds nan at token {[value != value for value in row].index(True)}"
    if INF in row:
        return f"holds +inf at token {row.index(INF)}"
    return "holds nothing but -inf" if set(row) == {-INF} else None


@MANY
@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_the_best_logit_shows_whether_its_row_is_sound(row: list[float]) -> None:
    best = row[int(np.argmax(row))]
    for form in (row, np.array(row), np.array(row, dtype=np.float16)):
        if fault(row) is None:
            inputs.check_best(best, block_logits=(3, form))
            continue
        with pytest.raises(ValueError, match=re.escape(f"block_logits row 3 {fault(row)}")):
            inputs.check_best(best, block_logits=(3, form))


@MANY
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_the_best_sum_shows_whether_row_and_bias_are_sound(pairs: list[tuple[float, float]]) -> None:
    row, bias = ([pair[k] for pair in pairs] for k in (0, 1))
    with np.errstate(invalid="ignore"):
        total = np.array(row) + np.array(bias)
    best = float(total[total.argmax()])
    if fault(row):
        sentence = f"block_logits row 3 {fault(row)}"
    elif fault(bias):
        sentence = f"markov_bias of token 7 {fault(bias)}"
    elif best == -INF:
        sentence = "block_logits row 3 and markov_bias of token 7 leave no token to choose"
    else:
        inputs.check_best(best, block_logits=(3, row), markov_bias=(7, bias))
        return
    with pytest.raises(ValueError, match=re.escape(sentence)):
        inputs.check_best(best, block_logits=(3, row), markov_bias=(7, bias))


@pytest.mark.parametrize(
    ("row", "found"),
    [([1, np.nan], "nan at token 1"), ([np.inf, 1], "+inf at token 0"), ([-np.inf] * 2, "nothing but -inf")],
)
def test_checked_logits_name_the_first_row_at_fault(row: list[float], found: str) -> None:
    rows = [[0, -np.inf], row, [np.nan, np.nan]]
    with pytest.raises(ValueError, match=re.escape(f"{NAME} row 1 holds {found}.")):
        inputs.checked_logits(NAME, rows)
    assert inputs.checked_logits(NAME, rows[:1]).tolist() == [[0.0, -np.inf]]


def test_the_best_logit_of_any_argument_is_named_by_it() -> None:
    with pytest.raises(ValueError, match=f"{NAME} row 2 holds nan at token 1"):
        inputs.check_best(NAN, (2, [0.5, NAN]), name=NAME)


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (0, 0)])
def test_a_matrix_of_the_right_shape_passes(shape: tuple[int, int]) -> None:
    inputs.check_shape(NAME, np.zeros(shape), (shape[0], 3))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (0, 3)])
def test_a_matrix_of_another_shape_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{NAME} has shape {shape}, but the other arguments need (3, 3)")):
        inputs.check_shape(NAME, np.zeros(shape), (3, 3))


def test_a_bias_mapping_is_whatever_answers_get_and_is_not_read() -> None:
    class Head:
        def get(self, token: int) -> None:
            raise AssertionError("no row is looked at")

    head = Head()
    assert inputs.bias_mapping(NAME, head) is head  # type: ignore[arg-type]
    for wrong in (None, [], [[0.5]], 3):
        with pytest.raises(ValueError, match=f"{NAME} must be a mapping"):
            inputs.bias_mapping(NAME, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [[1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.float32), np.array([1, 2])])
def test_a_bias_row_becomes_a_float64_array(row: Any) -> None:
    bias = inputs.bias_row(NAME, 7, row, 2)
    assert bias.dtype == np.float64 and bias.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("row", [[], [1.0], [1.0] * 3, 1.0, [[1.0, 2.0]], ["a", "b"], "ab", [1.0, [2.0]], [1.0, 1j]])
def test_a_bad_bias_row_names_its_token(row: Any) -> None:
    with pytest.raises(ValueError, match=f"{NAME} of token 7 "):
        inputs.bias_row(NAME, 7, row, 2)


def test_a_missing_bias_row_stays_missing() -> None:
    assert inputs.bias_row(NAME, 7, None, 2) is None
    inputs.check_best(0.5, block_logits=(0, [0.5, 0.25]), markov_bias=(7, None))


# --- Whole numbers -----------------------------------------------------------------------------------

NOT_WHOLE = [2.0, 2.5, NAN, "2", None, True, np.bool_(True), [2], np.array([2]), 2j, Fraction(2)]


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_whole_numbers_of_any_kind_become_plain_ints(value: Any) -> None:
    for result in (
        inputs.token_id(NAME, value),
        inputs.whole_number(NAME, value, low=0),
        *inputs.whole_numbers(NAME, [value], low=2, high=2),
        *inputs.token_ids(NAME, (value,)),
    ):
        assert type(result) is int and result == 2


@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    for check in (lambda: inputs.token_id(NAME, value), lambda: inputs.whole_number(NAME, value, low=0)):
        with pytest.raises(ValueError, match=f"{NAME} must be a whole number"):
            check()
    for many in (lambda: inputs.whole_numbers(NAME, [3, value], low=0), lambda: inputs.token_ids(NAME, [3, value])):
        with pytest.raises(ValueError, match=rf"{NAME}\[1\] must be a whole number"):
            many()


@MANY
@given(st.integers(-20, 20), st.integers(-10, 10), st.none() | st.integers(0, 10))
def test_a_whole_number_is_accepted_exactly_between_its_limits(value: int, low: int, more: int | None) -> None:
    high = None if more is None else low + more
    if value >= low and (high is None or value <= high):
        assert inputs.whole_number(NAME, value, low, high) == value
        assert inputs.whole_numbers(NAME, [value, value], low, high) == [value, value]
        return
    limits = f"a whole number from {low} " + ("on" if high is None else f"to {high}")
    with pytest.raises(ValueError, match=f"{NAME} must be {limits}, not {value}"):
        inputs.whole_number(NAME, value, low, high)
    with pytest.raises(ValueError, match=rf"{NAME}\[1\] must be {limits}, not {value}"):
        inputs.whole_numbers(NAME, [low, value], low, high)


@pytest.mark.parametrize("value", [3, None, "12", b"12", {1: 2}, 0.5])
def test_whole_numbers_come_in_a_sequence(value: Any) -> None:
    with pytest.raises(ValueError, match=f"{NAME} must be a sequence of whole numbers"):
        inputs.whole_numbers(NAME, value, low=0)


def test_a_token_id_may_be_negative_alone_but_not_among_many() -> None:
    assert inputs.token_id(NAME, -1) == -1
    with pytest.raises(ValueError, match=rf"{NAME}\[2\]"):
        inputs.token_ids(NAME, [0, 1, -1])


def test_an_empty_sequence_of_whole_numbers_is_an_empty_list() -> None:
    assert inputs.whole_numbers(NAME, [], low=0) == [] and inputs.whole_numbers(NAME, np.array([]), low=0) == []


# --- Numbers between 0 and 1 -------------------------------------------------------------------------

UNIT = [0, 1, 0.5, -0.0, np.float32(0.5), np.array(0.25), Fraction(1, 2), Decimal("0.5")]
NOT_UNIT = [-0.125, 1.125, NAN, INF, -INF, None, "x"]


@pytest.mark.parametrize("value", UNIT, ids=repr)
def test_numbers_between_zero_and_one_become_floats(value: Any) -> None:
    number, numbers = inputs.unit_number(NAME, value), inputs.unit_numbers(NAME, [value, value])
    assert type(number) is float and number == float(value)
    assert numbers.dtype == np.float64 and numbers.tolist() == [float(value)] * 2


@pytest.mark.parametrize("value", NOT_UNIT, ids=repr)
def test_other_numbers_are_refused_with_their_position(value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{NAME} "):
        inputs.unit_number(NAME, value)
    with pytest.raises(ValueError, match=rf"^{NAME}(\[2\]| position 2) must"):
        inputs.unit_numbers(NAME, [0.5, 0.5, value])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "some_argument is empty"),
        (0.5, "some_argument must be a flat sequence of numbers, not an array of shape ()"),
        ([[0.5]], "some_argument must be a flat sequence of numbers, not an array of shape (1, 1)"),
        ([0.5, [0.5]], "some_argument position 1 has shape (1,), but the first has ()"),
        ({0: 0.5}, "some_argument must hold real numbers only"),
    ],
)
def test_other_shapes_are_described(values: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        inputs.unit_numbers(NAME, values)


def test_a_list_is_no_single_number() -> None:
    with pytest.raises(ValueError, match=f"{NAME} must be a number between 0 and 1"):
        inputs.unit_number(NAME, [0.5])  # type: ignore[arg-type]


@MANY
@given(st.lists(st.floats(allow_nan=True, width=32) | st.floats(0, 1, width=32), min_size=1, max_size=8))
def test_numbers_are_accepted_exactly_where_all_lie_between_zero_and_one(values: list[float]) -> None:
    outside = [k for k, value in enumerate(values) if not 0.0 <= value <= 1.0]
    for form in (values, np.array(values), np.array(values, dtype=np.float32)):
        if outside:
            with pytest.raises(ValueError, match=rf"^{NAME}\[{outside[0]}\] "):
                inputs.unit_numbers(NAME, form)
        else:
            assert inputs.unit_numbers(NAME, form).tolist() == values


# --- Modes and lengths -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["dflash", "dspark"])
def test_a_mode_that_is_known_is_returned(mode: str) -> None:
    assert inputs.drafter_mode(NAME, mode) == mode


@pytest.mark.parametrize("mode", ["eagle", "DSpark", "dspark ", "", None, 0, ["dspark"], np.array(["dspark"] * 2)])
def test_any_other_mode_is_refused(mode: Any) -> None:
    with pytest.raises(ValueError, match=f"{NAME} must be 'dflash' or 'dspark', not "):
        inputs.drafter_mode(NAME, mode)


@MANY
@given(st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_lengths_are_accepted_exactly_where_they_are_equal(one: int, other: int, array: bool) -> None:
    values, others = [7] * one, np.zeros(other) if array else [0.5] * other
    if one == other:
        inputs.check_same_length(NAME, values, "another", others)
        return
    with pytest.raises(ValueError, match=f"another has {other} entries, but {NAME} has {one}"):
        inputs.check_same_length(NAME, values, "another", others)
