"""Comparing a result with the expected one: by value, by plain type, and how values are shown."""

import tracemalloc
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.check.comparison import same_value, shown, shown_apart, type_fault
from grader.check.diagnosis import fingerprint
from grader.run.child.wire import Opaque, encoded

MANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


class Refuses:
    """Refuses to become an array and to be written down."""

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


SEVERAL = ([1, 2], np.zeros((2, 3)))  # as of 3.2
AGREE = [
    *((1, got) for got in (np.int64(1), True, 1.0, np.float32(1), np.array(1), np.True_)),  # types are judged apart
    (0.3, 0.1 + 0.2),
    (1e6, 1e6 + 1e-5),
    (0.0, 1e-12),
    ([NAN, 1.0], [NAN, 1.0]),
    (NAN, np.float64(NAN)),
    ([INF, -INF], [INF, -INF]),
    ({"a": 1, "b": [2, 3]}, {"b": np.array([2, 3]), "a": 1.0}),
    ("accept", "accept"),
    (SEVERAL, ([1, 2], np.zeros((2, 3)))),
    ([[1], [2, 3]], ([1], (2, 3))),
    ({"a": None}, {"a": None}),
]
DIFFER = [
    *((1, got) for got in ([1], 1j, "1", b"1", np.array("1"), np.complex128(1), {1}, None, Refuses())),
    *(([1], [got]) for got in (1j, "1", None, [1], Refuses())),
    *(([], got) for got in ("", {}, None, [[]], "[]", Opaque("list"), 0, [None], len)),
    *(("accept", got) for got in ("tune", "accept ", None, 0, ["accept"], np.array(["accept"]), Opaque("str"))),
    *((NAN, got) for got in (0.0, None, INF, "nan")),
    *((INF, got) for got in (-INF, 1e308, NAN, 0)),
    *((0.0, got) for got in (1e-6, NAN)),
    (0.3, 0.3 + 1e-7),
    (1e6, 1e6 + 1),
    (10**9 + 1, 10**9),  # whole numbers have no tolerance
    ([2**53], [2**53 + 1]),
    ([1, 1], [1]),  # nothing is broadcast
    ([1, 1], 1),
    ([[1, 2]], [1, 2]),
    ([1, 2], [[1], [2]]),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.zeros((2, 3)), np.zeros(3)),
    (np.zeros((0, 3)), np.zeros((0, 2))),
    *(({"a": 1, "b": [2, 3]}, got) for got in ({"a": 1}, {"a": 1, "b": [2, 3], "c": 0}, {"a": 1, "b": [3, 2]})),
    *(({"a": 1, "b": [2, 3]}, got) for got in ({"A": 1, "b": [2, 3]}, {"a": Opaque("x"), "b": [2, 3]})),
    ({"a": 1, "b": [2, 3]}, [("a", 1), ("b", [2, 3])]),
    *((SEVERAL, got) for got in (([1, 2], np.zeros((3, 2))), ([1, 3], np.zeros((2, 3))), ([1, 2],), [1, 2], None)),
]


def test_equal_values_agree_and_others_differ() -> None:
    assert [pair for pair in AGREE if not same_value(*pair)] == []
    assert [shown(pair[0]) for pair in DIFFER if same_value(*pair)] == []


LOOKALIKES = [
    ({"a": 1}, OrderedDict(a=1), "OrderedDict"),
    ({4: 2, 1: 1}, Counter([4, 4, 1]), "Counter"),
    ({"a": [1]}, defaultdict(list, a=[1]), "defaultdict"),
    ([1, 2], range(1, 3), "range"),
    ([1, 2], deque([1, 2]), "deque"),
    (0.75, Fraction(3, 4), "Fraction"),
    (0.75, Decimal("0.75"), "Decimal"),
]


@pytest.mark.parametrize(("expected", "got", "name"), LOOKALIKES, ids=str)
def test_right_value_of_another_type_costs_the_type_and_not_the_value(expected: Any, got: Any, name: str) -> None:
    for wrap in (lambda x: x, lambda x: [x, 1], lambda x: {"k": x}):
        back = encoded(wrap(got)).decoded()
        assert same_value(wrap(expected), back) and fingerprint(back) == fingerprint(wrap(expected))
        assert f"of type {name}, not {type(expected).__name__}" in str(type_fault(wrap(expected), back))


def test_lookalikes_that_are_too_large_or_not_genuine_are_opaque() -> None:
    fake = type("Fraction", (), {"__module__": "fractions", "__float__": lambda self: 0.5})
    for value in (range(10**15), fake(), Fraction(10**400), Counter([(1, 2)])):
        assert type(encoded(value).decoded()) is Opaque


@MANY
@given(plain, plain)
def test_comparing_never_fails_whatever_comes_back(expected: Any, got: Any) -> None:
    assert same_value(expected, got) in (True, False)
    assert type_fault(expected, got) is None or isinstance(type_fault(expected, got), str)


PASSES = [
    *((1, 1), (1.0, 1.0), (1.0, 1), (1.0, np.float64(1)), (True, True), ("a", "a")),
    *(([1, 2], [1, 2]), ([1.0], [np.float64(1), 2]), ([1], []), ([], [np.int64(1)])),
    *(((1, 2), (1, 2)), ((1, 2), [1, 2]), ({"a": [1]}, {"a": [1]}), ({"a": [1]}, {})),
    *((np.zeros(2), np.zeros(3)), (np.zeros(2, bool), np.ones((2, 2), bool))),
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


def test_promised_types_pass_and_others_are_named_with_their_place() -> None:
    assert [pair for pair in PASSES if type_fault(*pair)] == []
    for expected, got, sentence in FAULTS:
        assert str(type_fault(expected, got)).replace("bool_", "bool") == sentence


@MANY
@given(st.recursive(st.one_of(st.booleans(), st.integers(), st.floats(), st.text()), st.lists, max_leaves=8))
def test_a_plain_result_has_the_types_of_itself(value: Any) -> None:
    assert type_fault(value, value) is None and type_fault({"k": value}, {"k": value}) is None


SHOWN: list[tuple[Any, str]] = [
    *((0.1 + 0.2, "0.3"), (1 / 3, "0.333333"), ([1, 2.0, True, None], "[1, 2, True, None]"), ((1, "a"), "(1, 'a')")),
    ({"a": [0.5], 2: np.array([1])}, "{'a': [0.5], 2: array([1])}"),
    (np.array([[1.5, -INF], [NAN, 0]]), "array([[1.5, -inf], [nan, 0]])"),
    *((np.array([True, False]), "array([1, 0])"), (np.array(2.5), "array(2.5)"), (np.int64(3), "np.int64(3)")),
    *((np.float64(0.25), "0.25"), (Opaque("deque"), "<deque>"), ("a\nb", r"'a\nb'"), ("\ud800\x1b", r"'\ud800\x1b'")),
    *(([], "[]"), ({}, "{}"), (list(range(1000)), str(list(range(1000))))),
]


@MANY
@given(plain, st.integers(1, 200))
def test_what_is_shown_fits_on_one_line_and_can_be_written_to_a_file(value: Any, width: int) -> None:
    text = shown(value, width)
    assert len(text) <= width and "\n" not in text and text.encode()


ALIKE = [([0.75], [0.75 + 1e-8]), (np.array([0.1]), np.array([0.1 + 1e-15])), (0.3, 0.1 + 0.2)]


def test_values_are_shown_the_short_way_odd_ones_too_and_never_two_alike_that_differ() -> None:
    assert [(shown(value, 9999), text) for value, text in SHOWN if shown(value, 9999) != text] == []
    assert [pair for pair in ALIKE if len(set(shown_apart(*pair))) < 2] == []
    cycle: list[Any] = []
    cycle.append(cycle)
    assert shown(cycle) and shown(Refuses()) == "<Refuses>" and "\x1b" not in shown(Opaque("\x1b[2J"))
    assert shown(list(range(1000)), 20) == "[0, 1, 2, 3, 4, 5, …"


def test_a_long_text_among_numbers_does_not_make_every_entry_as_long() -> None:
    tracemalloc.start()
    try:
        assert not same_value([0] * 1001, ["x" * 100_000, *[0] * 1000])
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
