"""Comparing a result with the expected one: by value, by plain type, and how values are shown."""

from __future__ import annotations

import tracemalloc
from collections import OrderedDict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.check.comparison import same_value, shown, type_fault
from grader.run.child.wire import Opaque

MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAN, INF = float("nan"), float("inf")

numbers = st.one_of(
    st.booleans(), st.integers(-1000, 1000), st.floats(-1e6, 1e6, width=32), st.sampled_from([INF, -INF])
)
matrices = npst.arrays(np.float64, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), elements=numbers)
plain = st.recursive(
    st.one_of(
        st.none(), st.text(max_size=6), st.floats(), numbers, matrices, st.just(np.int64(3)), st.just(Opaque("x"))
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=10,
)


# --- Values ------------------------------------------------------------------------------------------


@MANY
@given(matrices.filter(lambda array: array.size > 0 or array.ndim == 1))
def test_numbers_agree_whatever_container_holds_them(array: Any) -> None:
    for form in (array.tolist(), array, array.astype(object).tolist(), array[...].copy(order="F")):
        assert same_value(array.tolist(), form) and same_value(array, form)
    if array.ndim == 1:
        assert same_value(array.tolist(), tuple(array)) and same_value(tuple(array), list(array))


@MANY
@given(matrices.filter(lambda array: array.size > 0), st.data())
def test_one_wrong_number_anywhere_is_noticed(array: Any, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, array.size - 1))
    right = float(array.flat[place])
    for wrong in (right + 1 + abs(right) / 1e6 if np.isfinite(right) else 7.5, NAN, "1", None):
        other = array.astype(object)
        other.flat[place] = wrong
        assert not same_value(array, other.tolist())


@MANY
@given(matrices, matrices)
def test_results_of_different_shape_never_agree(a: Any, b: Any) -> None:
    if a.shape != b.shape:
        assert not same_value(a, b)
        assert not same_value(a.tolist(), b) or a.size == 0  # [] does not tell (0,) from (0, 3)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, [1]),
        ([1], 1),
        ([1, 1], [1]),
        ([1, 1], 1),
        ([[1, 2]], [1, 2]),
        ([1, 2], [[1], [2]]),
        ([], [[]]),
        ([], 0),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros((2, 3)), np.zeros(3)),
        (np.zeros((0, 3)), np.zeros((0, 2))),
    ],
)
def test_nothing_is_broadcast(expected: Any, got: Any) -> None:
    assert not same_value(expected, got) and not same_value(got, expected)


def test_nan_agrees_with_an_expected_nan_only() -> None:
    assert same_value([NAN, 1.0], [NAN, 1.0]) and same_value(NAN, np.float64(NAN))
    for other in (0.0, None, INF, "nan"):
        assert not same_value(NAN, other) and not same_value([NAN], [other])
        assert other is None or not same_value(other, NAN)


def test_infinities_agree_with_their_own_sign_only() -> None:
    assert same_value([INF, -INF], [INF, -INF])
    for other in (-INF, 1e308, NAN, 0):
        assert not same_value(INF, other) and not same_value(other, INF)


def test_rounding_is_forgiven_and_errors_are_not() -> None:
    assert same_value(0.3, 0.1 + 0.2) and same_value(1e6, 1e6 + 1e-5) and same_value(0.0, 1e-12)
    assert not same_value(0.3, 0.3 + 1e-7) and not same_value(0.0, 1e-6) and not same_value(1e6, 1e6 + 1)


def test_whole_numbers_have_no_tolerance() -> None:
    assert not same_value(10**9 + 1, 10**9) and not same_value([2**53], [2**53 + 1])


@pytest.mark.parametrize("got", ["", {}, None, [[]], "[]", Opaque("list"), {"a": 1}, ["x"], [None], [1, [2]], object()])
def test_other_things_are_no_empty_list(got: Any) -> None:
    assert not same_value([], got) and not same_value([1], got) and not same_value(0, got)


@pytest.mark.parametrize("got", ["tune", "accept ", "Accept", None, 0, ["accept"], np.array(["accept"]), Opaque("str")])
def test_text_agrees_with_the_same_text_only(got: Any) -> None:
    assert same_value("accept", "accept") and not same_value("accept", got)


@pytest.mark.parametrize(
    "got",
    [
        {},
        {"a": 1},
        {"a": 1, "b": [2, 3], "c": 0},
        {"a": 1, "b": [2, 4]},
        {"a": 1, "b": [3, 2]},
        {"A": 1, "b": [2, 3]},
        [("a", 1), ("b", [2, 3])],
        ["a", "b"],
        None,
        7,
        {1: 1, "b": [2, 3]},
        {"a": Opaque("x"), "b": [2, 3]},
    ],
)
def test_dicts_need_the_same_keys_and_values(got: Any) -> None:
    expected = {"a": 1, "b": [2, 3]}
    assert same_value(expected, {"b": np.array([2, 3]), "a": 1.0}) and not same_value(expected, got)


def test_types_are_left_to_the_other_judge() -> None:
    for got in (np.int64(1), True, 1.0, np.float32(1), np.array(1), np.True_):
        assert same_value(1, got)


@pytest.mark.parametrize("got", [1j, Fraction(1), "1", b"1", np.array("1"), np.complex128(1), [1j], {1}, None])
def test_only_real_numbers_are_numbers(got: Any) -> None:
    assert not same_value(1, got) and not same_value([1], [got]) and not same_value([1], got)


@MANY
@given(plain, plain)
def test_comparing_never_fails_whatever_comes_back(expected: Any, got: Any) -> None:
    assert same_value(expected, got) in (True, False)
    assert type_fault(expected, got) is None or isinstance(type_fault(expected, got), str)


@pytest.mark.parametrize(
    "value",
    [
        ([1, 2], np.zeros((2, 3))),  # 3.2
        (np.zeros(2), np.zeros(3)),  # 3.3
        ([1, 2], [1]),
        ["a", "b"],
        [{"a": 1}],
        [[1], [2, 3]],
        None,
        {"a": None},
    ],
    ids=str,
)
def test_results_of_several_parts_agree_with_themselves(value: Any) -> None:
    assert same_value(value, value)


def test_results_of_several_parts_do_not_agree_with_others() -> None:
    for other in (([1, 2], np.zeros((3, 2))), ([1, 3], np.zeros((2, 3))), ([1, 2],), [1, 2], None):
        assert not same_value(([1, 2], np.zeros((2, 3))), other)


def test_an_object_that_refuses_to_become_an_array_is_a_wrong_result() -> None:
    class Refuses:
        def __array__(self, *arguments: Any, **keywords: Any) -> Any:
            raise RuntimeError("no")

    assert not same_value([1], Refuses())


# --- Types -------------------------------------------------------------------------------------------

PASSES = [
    (1, 1),
    (1.0, 1.0),
    (1.0, 1),
    (1.0, np.float64(1)),
    (True, True),
    ("a", "a"),
    ([1, 2], [1, 2]),
    ([1.0], [np.float64(1), 2]),
    ((1, 2), (1, 2)),
    ((1, 2), [1, 2]),
    ({"a": [1]}, {"a": [1]}),
    ({"a": [1]}, {}),
    ([1], []),
    ([], [np.int64(1)]),
    (np.zeros(2), np.zeros(3)),
    (np.zeros(2, bool), np.ones((2, 2), bool)),
]
FAULTS = [
    (1, True, "the result is of type bool, not int"),
    (1, np.int64(1), "the result is of type np.int64, not int"),
    (1, 1.0, "the result is of type float, not int"),
    (1, "1", "the result is of type str, not int"),
    (1.0, True, "the result is of type bool, not float"),
    (1.0, np.float32(1), "the result is of type np.float32, not float"),
    (1.0, np.int64(1), "the result is of type np.int64, not float"),
    (1.0, np.array(1.0), "the result is of type np.ndarray, not float"),
    (True, 1, "the result is of type int, not bool"),
    (True, np.True_, f"the result is of type np.{np.bool_.__name__}, not bool"),
    ([1, 2], (1, 2), "the result is of type tuple, not list"),
    ([1, 2], np.array([1, 2]), "the result is of type np.ndarray, not list"),
    ([1, 2], [1, np.int64(2)], "the result[1] is of type np.int64, not int"),
    ([1, 2], [1, True], "the result[1] is of type bool, not int"),
    ([[1]], [np.array([1])], "the result[0] is of type np.ndarray, not list"),
    ((1, 2), np.array([1, 2]), "the result is of type np.ndarray, not tuple"),
    ({"a": 1}, OrderedDict(a=1), "the result is of type OrderedDict, not dict"),
    ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, "the result['b'][0] is of type float, not int"),
    (np.zeros(2), [0.0, 0.0], "the result is of type list, not an array"),
    (np.zeros(2), np.zeros(2, np.float32), "the result has dtype float32, not float64"),
    (np.zeros(2, bool), np.zeros(2, int), "the result has dtype int64, not bool"),
    ([1], Opaque("deque"), "the result is of type deque, not list"),
    ({"a": [1]}, {"a": [Opaque("Token")]}, "the result['a'][0] is of type Token, not int"),
]


@pytest.mark.parametrize(("expected", "got"), PASSES, ids=str)
def test_promised_types_pass(expected: Any, got: Any) -> None:
    assert type_fault(expected, got) is None


@pytest.mark.parametrize(("expected", "got", "sentence"), FAULTS, ids=str)
def test_other_types_are_named_with_their_place(expected: Any, got: Any, sentence: str) -> None:
    fault = type_fault(expected, got)
    assert fault is not None and fault.replace("bool_", "bool") == sentence


@MANY
@given(st.recursive(st.one_of(st.booleans(), st.integers(), st.floats(), st.text()), st.lists, max_leaves=8))
def test_a_plain_result_has_the_types_of_itself(value: Any) -> None:
    assert type_fault(value, value) is None and type_fault({"k": value}, {"k": value}) is None


# --- How values are shown ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.333333"),
        ([1, 2.0, True, None], "[1, 2, True, None]"),
        ((1, "a"), "(1, 'a')"),
        ({"a": [0.5], 2: np.array([1])}, "{'a': [0.5], 2: array([1])}"),
        (np.array([[1.5, -INF], [NAN, 0]]), "array([[1.5, -inf], [nan, 0]])"),
        (np.array([True, False]), "array([1, 0])"),
        (np.array(2.5), "array(2.5)"),
        (np.int64(3), "np.int64(3)"),
        (np.float64(0.25), "0.25"),
        (Opaque("deque"), "<deque>"),
        ("a\nb", r"'a\nb'"),
        ("\ud800\x1b", r"'\ud800\x1b'"),
        ([], "[]"),
        ({}, "{}"),
    ],
    ids=str,
)
def test_values_are_shown_the_short_way(value: Any, text: str) -> None:
    assert shown(value) == text


@MANY
@given(plain, st.integers(1, 200))
def test_what_is_shown_fits_on_one_line_and_can_be_written_to_a_file(value: Any, width: int) -> None:
    text = shown(value, width)
    assert len(text) <= width and "\n" not in text and text.encode()


def test_what_is_cut_off_ends_in_dots() -> None:
    assert shown(list(range(1000)), 20) == "[0, 1, 2, 3, 4, 5, …"


class BrokenRepr:
    """Cannot be written down."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def contains_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [BrokenRepr(), [BrokenRepr()], contains_itself()], ids=["one", "in a list", "cycle"])
def test_a_result_that_cannot_be_written_down_is_shown_all_the_same(value: Any) -> None:
    assert shown(value)


def test_the_name_of_a_type_cannot_hold_control_characters() -> None:
    assert "\x1b" not in shown(Opaque("\x1b[2J")) and "\n" not in shown(Opaque("a\nb"))


def test_a_long_text_among_numbers_does_not_make_every_entry_as_long() -> None:
    tracemalloc.start()
    try:
        assert not same_value([0] * 1001, ["x" * 100_000, *[0] * 1000])
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
