"""Calling a learner's function: copies of the arguments, every kind of exception, time, and silence."""

import copy
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dspark_mini.contracts import BiasRows, logits, takes
from grader.run.child.calling import Call, LocalCaller, Outcome, Seed, call, unchanged

MANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAN = float("nan")
Function = Callable[..., Any]

arrays = npst.arrays(st.sampled_from(["d", "f", "l", "?"]), npst.array_shapes(min_dims=0, max_dims=2, min_side=0))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(), st.text(max_size=4), arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


def outcome(function: Function, *args: Any, **kwargs: Any) -> Outcome:
    (only,) = LocalCaller(function).outcomes([call(*args, **kwargs)])
    return only


def written(source: str, name: str = "f") -> Function:
    """A function out of a file of its own, as a learner's cell is one."""
    namespace: dict[str, Any] = {"np": np, "time": time}
    exec(compile(source, "cell", "exec"), namespace)
    function: Function = namespace[name]
    return function


@MANY
@given(plain, plain)
def test_arguments_arrive_as_they_are_and_count_as_unchanged(a: Any, b: Any) -> None:
    got = outcome(lambda x, *, key: (x, key), a, key=b)
    assert got.error is None and not got.changed and unchanged((a, b), got.value)


def poke(x: Any) -> None:
    x[0] = 99


CHANGES: list[tuple[Any, Function]] = [
    ([1, 2], lambda x: x.append(3)),
    (([1],), lambda x: x[0].append(1)),
    ([1.0], lambda x: x.__setitem__(0, 1)),
    ([1], lambda x: x.__setitem__(0, True)),
    ([1], lambda x: x.__setitem__(0, np.int64(1))),
    ([0.0], lambda x: x.__setitem__(0, -0.0)),
    ([NAN], lambda x: x.__setitem__(0, 0.0)),
    ({1: [2]}, lambda x: x[1].append(3)),
    ({1: 2, 3: 4}, lambda x: x.update({1: x.pop(1)})),
    ({1: np.zeros(2)}, lambda x: poke(x[1])),
    (np.zeros(3), poke),
    (np.zeros((3, 3)), lambda x: x.T[1:].__iadd__(1)),
    (np.arange(6), lambda x: x.__setattr__("shape", (2, 3))),
    (np.array([0.0]), lambda x: x.__imul__(-1)),
    (np.array([1, 256]), lambda x: x.byteswap(inplace=True)),
    ([np.arange(3)], lambda x: x.__setitem__(0, x[0].astype(float))),
    (BiasRows("bias", {1: np.ones(2)}, 2), lambda x: poke(x.rows[1])),
]


@pytest.mark.parametrize(("value", "change"), CHANGES)
def test_a_change_of_an_argument_is_reported_and_does_not_reach_the_callers_data(value: Any, change: Function) -> None:
    before = copy.deepcopy(value)
    for got in (outcome(change, value), outcome(change, x=value)):
        assert got.error is None and got.changed
    assert unchanged(Call((before,)), Call((value,)))


class Key:
    def __eq__(self, other: object) -> bool:
        raise KeyError

    def __hash__(self) -> int:
        return 1


def test_neither_a_contract_on_the_function_nor_a_hostile_key_hides_a_change_or_a_line() -> None:
    source = "def f(row):\n    row[0] = 7\n    return 1 / 0\n"
    got = outcome(takes(row=logits("V"))(written(source)), np.zeros(2))
    assert (got.error, got.line) == ("ZeroDivisionError", 3)
    assert outcome(takes(x=logits("V"))(poke), np.zeros(2)).changed
    assert outcome(lambda x: (x.clear(), x.update({Key(): 1})), {1: 2}).changed


@MANY
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_a_seed_becomes_a_fresh_generator_for_every_call(seed: int, size: int) -> None:
    given_call, caller = call(Seed(seed), size), LocalCaller(lambda rng, n: rng.random(n))
    for got in caller.outcomes([given_call, given_call]):
        assert got.value.tolist() == np.random.default_rng(seed).random(size).tolist() and not got.changed
    assert given_call == call(Seed(seed), size)


def test_chosen_uniforms_come_first_however_they_are_drawn() -> None:
    top = 1.0 - 2.0**-53

    def draws(rng: np.random.Generator) -> list[Any]:
        single = rng.random(dtype=np.float32)
        return [rng.random(), rng.uniform(2.0, 4.0), rng.choice(3, p=[0.25, 0.5, 0.25]), single, rng.random(2).tolist()]

    got = outcome(draws, Seed(5, (top, 0.0, 0.5, 0.25, 0.75)))
    first, between, token, single, (fourth, drawn) = got.value
    assert (first, between, token, fourth) == (0.0, 3.0, 1, 0.75) and single < 1.0 and not got.changed
    assert 0.0 < drawn < 1.0 and drawn != 0.75
    others = outcome(lambda rng: (isinstance(rng, np.random.Generator), rng.gumbel(size=3)), Seed(5, (0.0,))).value
    assert others[0] and others[1].tolist() == np.random.default_rng(5).gumbel(size=3).tolist()


def test_a_result_is_a_copy_that_later_calls_cannot_change() -> None:
    memory: list[Any] = [0, np.zeros(2)]

    def remembers() -> list[Any]:
        memory[0] += 1
        memory[1] += 1
        return memory

    first, second = LocalCaller(remembers).outcomes([call(), call()])
    assert (first.value[0], second.value[0]) == (1, 2)
    assert first.value[1].tolist() == [1, 1] and second.value[1].tolist() == [2, 2]


@pytest.mark.parametrize("result", [(n for n in "ab"), threading.Lock(), sys, map(str, [1]), len, sys._getframe()])
def test_a_result_that_cannot_be_copied_is_not_an_error(result: Any) -> None:
    got = outcome(lambda: result)
    assert got.error is None and not got.timed_out and not got.changed
    assert not isinstance(got.value, (int, float, str, tuple, dict, np.ndarray))


class Unspeakable(Exception):
    """Cannot say what is wrong."""

    def __str__(self) -> str:
        raise KeyError("no")


class NoText(Exception):
    """Says something that is no text."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]


class OwnValueError(ValueError):
    """A ValueError all the same."""


class OwnError(BaseException):
    """Not an Exception."""


def raising(error: BaseException | type[BaseException]) -> Function:
    def function(*args: Any) -> None:
        raise error

    return function


NOT_FUNCTIONS = (len, np.argmax, 7, None, type("C", (), {"__call__": lambda self: 1 / 0})())


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (KeyError("x"), "KeyError", "'x'"),
        (NotImplementedError("TODO 2.1: go"), "NotImplementedError", "TODO 2.1: go"),
        (OwnValueError("own"), "ValueError", "own"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), "ValueError", "'utf-8' codec can't decode byte"),
        (np.linalg.LinAlgError("singular"), "ValueError", "singular"),
        (SystemExit(3), "SystemExit", "3"),
        (Unspeakable(), "Unspeakable", ""),
        (NoText(), "NoText", ""),
        (OwnError("mine"), "OwnError", "mine"),
        (TimeoutError("mine"), "TimeoutError", "mine"),
    ],
)
def test_every_exception_becomes_an_outcome(error: Any, name: str, message: str) -> None:
    got = outcome(raising(error))
    assert got.error == name and got.message.startswith(message) and not got.timed_out and not got.died
    assert got.value is None and not got.changed
    for interrupted in (raising(KeyboardInterrupt), lambda: signal.raise_signal(signal.SIGINT)):  # not swallowed
        with pytest.raises(KeyboardInterrupt):
            outcome(interrupted)


@pytest.mark.parametrize(
    ("source", "argument", "error", "line"),
    [
        ("def helper(x):\n    y = x\n    return np.zeros(y)\n\ndef f(x):\n    return helper(x)\n", -1, "ValueError", 3),
        ("\n\ndef f(x):\n    return np.linalg.inv(x)\n", np.zeros((2, 2)), "ValueError", 4),
        ("def f(x):\n    return f(x)", 1, "RecursionError", 2),
        ("def f(x):\n    try: 1 / 0\n    except Exception as e:\n        raise KeyError from e", 1, "KeyError", 4),
    ],
)
def test_the_line_is_the_last_one_in_the_learners_own_code(source: str, argument: Any, error: str, line: int) -> None:
    got = outcome(written(source), argument)
    assert (got.error, got.line) == (error, line)
    for got in map(outcome, NOT_FUNCTIONS):
        assert got.error in ("TypeError", "ZeroDivisionError") and got.line is None


@pytest.mark.parametrize("row", [[0, 0], np.zeros(2)])
def test_a_row_that_stands_twice_in_a_call_is_two_rows_for_the_function(row: Any) -> None:
    def writes(rows: Any) -> float:
        rows[0][1] = 1
        return float(rows[1][1])

    assert outcome(writes, [row] * 2) == Outcome(value=0.0, changed=True)
    assert row[1] == 0


@pytest.mark.parametrize(
    ("kept", "function", "is_changed"),
    [
        ([], lambda kept, x: (kept.clear(), kept.append(x), kept)[-1], True),
        ({}, lambda kept, x: (kept.update(x=x), kept)[-1], True),
        (np.zeros(1), lambda kept, x: (kept.fill(x), kept)[-1], True),
        (([0], 1), lambda kept, x: (kept[0].append(x), kept)[-1], True),
        (np.zeros(2), lambda kept, x: (kept.fill(x), kept[:1])[-1], True),
        ([1, np.nan, np.float32("nan")], lambda kept, x: kept, False),
        ([], lambda kept, x: (kept.append([x]), kept[-1])[-1], False),
        (object(), lambda kept, x: kept if x else np.array([x]), False),
    ],
)
def test_a_result_that_a_later_call_changes_is_noticed_at_the_end(kept: Any, function: Any, is_changed: bool) -> None:
    caller = LocalCaller(lambda x: function(kept, x))
    assert [one.changed_results for one in caller.outcomes([call(0), call(1), call(2)])] == [False, False, is_changed]
    assert not caller.outcomes([call(3)])[0].changed_results
