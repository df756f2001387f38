"""Calling a learner's function: copies of the arguments, every kind of exception, time, and silence."""

from __future__ import annotations

import copy
import io
import logging
import signal
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.run.child import calling
from grader.run.child.calling import Call, LocalCaller, Outcome, Seed, TimeLimit, call, line_in, time_limit, unchanged

MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    return LocalCaller(function).outcome(call(*args, **kwargs))


def written(source: str, name: str = "f") -> Function:
    """A function out of a file of its own, as a learner's cell is one."""
    namespace: dict[str, Any] = {"np": np, "time": time}
    exec(compile(source, "cell", "exec"), namespace)
    function: Function = namespace[name]
    return function


# --- Arguments ---------------------------------------------------------------------------------------


@MANY
@given(plain, plain)
def test_arguments_arrive_as_they_are_and_count_as_unchanged(a: Any, b: Any) -> None:
    got = outcome(lambda x, *, key: (x, key), a, key=b)
    assert got.error is None and not got.changed and unchanged((a, b), got.value)


def poke(x: Any) -> None:
    x[0] = 99


CHANGES: list[tuple[Any, Function]] = [
    ([1, 2], poke),
    ([1, 2], lambda x: x.append(3)),
    ([2, 1], lambda x: x.sort()),
    ([1, 2], lambda x: x.clear()),
    ([[1], [2]], lambda x: x[1].append(3)),
    (([1],), lambda x: x[0].append(1)),
    ([1.0], lambda x: x.__setitem__(0, 1)),
    ([1], lambda x: x.__setitem__(0, True)),
    ([1], lambda x: x.__setitem__(0, np.int64(1))),
    ([NAN], lambda x: x.__setitem__(0, 0.0)),
    ([None], lambda x: x.__setitem__(0, NAN)),
    ({1: [2]}, lambda x: x[1].append(3)),
    ({1: 2}, lambda x: x.pop(1)),
    ({1: 2, 3: 4}, lambda x: x.update({1: x.pop(1)})),
    ({1: 2}, lambda x: x.setdefault(5, 0)),
    ({1: np.zeros(2)}, lambda x: poke(x[1])),
    (np.zeros(3), poke),
    (np.zeros((2, 2)), lambda x: x.sort() or x.__iadd__(1)),
    (np.array([2, 1]), lambda x: x.sort()),
    (np.arange(6), lambda x: x.__setattr__("shape", (2, 3))),
    (np.array([NAN]), poke),
    (np.array([0.0]), lambda x: x.__imul__(-1)),
    (np.array([1, 256]), lambda x: x.byteswap(inplace=True)),
    (np.arange(3), lambda x: x.resize(2, refcheck=False)),
    ([np.arange(3)], lambda x: x.__setitem__(0, x[0].astype(float))),
    ([np.arange(3)], lambda x: x.__setitem__(0, x[0].tolist())),
]


@pytest.mark.parametrize(("value", "change"), CHANGES)
def test_a_change_of_an_argument_is_reported_and_does_not_reach_the_callers_data(value: Any, change: Function) -> None:
    before = copy.deepcopy(value)
    for given_call in (call(value), call(x=value)):
        got = LocalCaller(change).outcome(given_call)
        assert got.error is None and got.changed
        assert unchanged(value, before)


def test_views_of_an_argument_do_not_reach_the_callers_data() -> None:
    value = np.zeros((3, 3))
    assert outcome(lambda x: x.T.ravel(order="F").__iadd__(1) is None, value).changed
    assert not value.any()


def test_the_same_call_can_be_made_twice_with_the_same_result() -> None:
    given_call, caller = call([3, 1, 2]), LocalCaller(lambda x: [x.pop(), x.sort(), x])
    assert caller.outcome(given_call) == caller.outcome(given_call)
    assert given_call == call([3, 1, 2])


def test_wrong_numbers_of_arguments_are_a_type_error_without_a_line() -> None:
    got = outcome(written("def f(a): pass"), 1, 2)
    assert (got.error, got.line) == ("TypeError", None)


def test_a_hostile_key_in_an_argument_counts_as_a_change() -> None:
    class Key:
        def __eq__(self, other: object) -> bool:
            raise KeyError

        def __hash__(self) -> int:
            return 1

    def hostile(x: dict[Any, int]) -> None:
        x.clear()
        x[Key()] = 1

    assert outcome(hostile, {1: 2}).changed


@pytest.mark.parametrize(("a", "b"), [({1: 0}, {True: 0}), ({1: 0}, {1.0: 0}), ([0.0], [-0.0])])
def test_changes_between_equal_values_of_other_types_or_signs_are_noticed(a: Any, b: Any) -> None:
    assert not unchanged(a, b)


# --- Random sources ----------------------------------------------------------------------------------


@MANY
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_a_seed_becomes_a_fresh_generator_for_every_call(seed: int, size: int) -> None:
    given_call, caller = call(Seed(seed), size), LocalCaller(lambda rng, n: rng.random(n))
    for got in caller.outcomes([given_call, given_call]):
        assert got.value.tolist() == np.random.default_rng(seed).random(size).tolist() and not got.changed
    assert given_call == call(Seed(seed), size)


def test_forms_leave_seeds_as_they_are() -> None:
    assert call(Seed(1), [1]).as_arrays().args[0] == Seed(1) == call(Seed(1), [1]).as_lists().args[0]


def test_a_seed_becomes_a_generator_as_a_keyword_too() -> None:
    got = outcome(lambda x, rng: type(rng).__name__, 1, rng=Seed(1))
    assert got.value == "Generator"


def test_chosen_uniforms_come_first_however_they_are_drawn() -> None:
    top = 1.0 - 2.0**-53

    def draws(rng: np.random.Generator) -> list[Any]:
        single = rng.random(dtype=np.float32)
        return [rng.random(), rng.uniform(2.0, 4.0), rng.choice(3, p=[0.25, 0.5, 0.25]), single, rng.random(2).tolist()]

    got = outcome(draws, Seed(5, (top, 0.0, 0.5, 0.25, 0.75)))
    first, between, token, single, (fourth, drawn) = got.value
    assert (first, between, token, fourth) == (0.0, 3.0, 1, 0.75) and single < 1.0 and not got.changed
    assert 0.0 < drawn < 1.0 and drawn != 0.75


def test_a_scripted_generator_is_a_generator_in_all_other_ways() -> None:
    got = outcome(lambda rng: (isinstance(rng, np.random.Generator), rng.gumbel(size=3), rng.random()), Seed(5, (0.0,)))
    real = np.random.default_rng(5).gumbel(size=3)
    assert got.value[0] and got.value[1].tolist() == real.tolist() and got.value[2] == 0.0
    assert outcome(lambda rng: rng.uniform([0.0, 2.0], 4.0), Seed(0, (0.5, 0.25))).value.tolist() == [2.0, 2.5]


# --- Comparing before and after ----------------------------------------------------------------------


@MANY
@given(plain)
def test_a_copy_is_unchanged(value: Any) -> None:
    assert unchanged(value, copy.deepcopy(value)) and unchanged(Call((value,)), Call((copy.deepcopy(value),)))


@MANY
@given(plain, plain)
def test_wrapping_or_doubling_is_a_change(a: Any, b: Any) -> None:
    assert not unchanged(a, [a]) and not unchanged([a], (a,)) and not unchanged([a], [a, b])
    assert not unchanged({0: a}, {1: a}) and not unchanged([a, b], [a]) and not unchanged({0: a, 1: b}, {0: a})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (1, np.int64(1)),
        (0.0, NAN),
        ("a", "b"),
        (None, False),
        (np.zeros(2), np.zeros(2, "f")),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2, "<i4"), np.zeros(2, ">i4")),
        (np.zeros(2), [0.0, 0.0]),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (Call((1,)), Call((2,))),
        (Call((1,), {"a": 1}), Call((1,), {"a": 2})),
        (Call((1,), {}), Call((1,), {"a": 2})),
    ],
)
def test_values_types_shapes_and_order_are_compared(a: Any, b: Any) -> None:
    assert not unchanged(a, b) and not unchanged(b, a) and unchanged(a, a)


# --- Results -----------------------------------------------------------------------------------------


@MANY
@given(plain)
def test_any_plain_result_comes_back_as_it_is(value: Any) -> None:
    got = outcome(lambda: value)
    assert got.error is None and unchanged(value, got.value)


def test_a_result_is_a_copy_that_later_calls_cannot_change() -> None:
    memory: list[Any] = [0, np.zeros(2)]

    def remembers() -> list[Any]:
        memory[0] += 1
        memory[1] += 1
        return memory

    first = outcome(remembers)
    second = outcome(remembers)
    assert (first.value[0], second.value[0]) == (1, 2)
    assert first.value[1].tolist() == [1, 1] and second.value[1].tolist() == [2, 2]


def test_an_argument_that_is_returned_does_not_tie_the_result_to_it() -> None:
    value = [1, 2]
    got = outcome(lambda x: x, value)
    got.value.append(3)
    assert value == [1, 2]


class NoCopy:
    """Refuses to be copied."""

    def __deepcopy__(self, memory: Any) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "result", [(n for n in "ab"), threading.Lock(), sys, NoCopy(), [NoCopy()], map(str, [1]), len, sys._getframe()]
)
def test_a_result_that_cannot_be_copied_is_no_error(result: Any) -> None:
    got = outcome(lambda: result)
    assert got.error is None and not got.timed_out and not got.changed
    assert not isinstance(got.value, (int, float, str, tuple, dict, np.ndarray))


def test_a_generator_function_gives_a_generator_and_its_body_is_not_run() -> None:
    ran: list[int] = []

    def generator(x: list[int]) -> Iterator[int]:
        ran.append(1)
        yield from x

    got = outcome(generator, [1])
    assert got.error is None and got.value != [1] and ran == []


def test_a_result_nested_too_deeply_to_copy_is_no_error() -> None:
    def deep() -> list[Any]:
        value: list[Any] = []
        for _ in range(20_000):
            value = [value]
        return value

    assert outcome(deep).error is None


# --- Exceptions --------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (KeyError("x"), "KeyError", "'x'"),
        (ZeroDivisionError, "ZeroDivisionError", ""),
        (NotImplementedError("TODO 2.1: go"), "NotImplementedError", "TODO 2.1: go"),
        (ValueError("confidences[2] is bad"), "ValueError", "confidences[2] is bad"),
        (OwnValueError("own"), "ValueError", "own"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), "ValueError", "'utf-8' codec can't decode byte"),
        (np.linalg.LinAlgError("singular"), "ValueError", "singular"),
        (SystemExit(3), "SystemExit", "3"),
        (SystemExit, "SystemExit", ""),
        (GeneratorExit, "GeneratorExit", ""),
        (StopIteration(1), "StopIteration", "1"),
        (Unspeakable(), "Unspeakable", ""),
        (NoText(), "NoText", ""),
        (AssertionError, "AssertionError", ""),
        (TimeoutError("mine"), "TimeoutError", "mine"),
        (MemoryError(), "MemoryError", ""),
    ],
)
def test_every_exception_becomes_an_outcome(error: Any, name: str, message: str) -> None:
    got = outcome(raising(error))
    assert got.error == name and got.message.startswith(message) and not got.timed_out and not got.died
    assert got.value is None and not got.changed


def test_exceptions_that_derive_from_base_exception_become_an_outcome() -> None:
    got = outcome(raising(OwnError("mine")))
    assert (got.error, got.message, got.died) == ("OwnError", "mine", False)


def test_an_interrupt_by_the_user_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        outcome(raising(KeyboardInterrupt))


def test_endless_recursion_is_an_error_like_any_other() -> None:
    got = outcome(written("def f(x):\n    return f(x)"), 1)
    assert (got.error, got.line) == ("RecursionError", 2)


def test_the_line_is_the_last_one_in_the_learners_own_code() -> None:
    source = "def helper(x):\n    y = x\n    return np.zeros(y)\n\ndef f(x):\n    return helper(x)\n"
    got = outcome(written(source), -1)
    assert (got.error, got.line) == ("ValueError", 3)


def test_an_exception_from_elsewhere_names_the_learners_line_that_led_there() -> None:
    got = outcome(written("\n\ndef f(x):\n    return np.linalg.inv(x)\n"), np.zeros((2, 2)))
    assert (got.error, got.line) == ("ValueError", 4)


@pytest.mark.parametrize("thing", [len, np.argmax, 7, None, type("C", (), {"__call__": lambda self: 1 / 0})()])
def test_things_that_are_no_plain_function_are_called_or_reported(thing: Any) -> None:
    got = outcome(thing)
    assert got.error in ("TypeError", "ZeroDivisionError") and got.line is None


def test_a_cause_chain_does_not_lead_the_line_astray() -> None:
    source = (
        "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise ValueError('x') from e\n"
    )
    assert outcome(written(source)).line == 5


def test_line_in_is_none_where_the_file_was_never_passed() -> None:
    assert line_in(ValueError(), "cell") is None


# --- Time --------------------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_SECONDS", 0.15)


HANGS = {
    "loop": "def f():\n    while True: pass",
    "sleep": "def f():\n    time.sleep(60)",
    "except Exception": "def f():\n    while True:\n        try: time.sleep(60)\n        except Exception: pass",
    "numpy": "def f():\n    while True: np.zeros(1000).sort()",
    "finally": "def f():\n    try:\n        while True: pass\n    finally:\n        [][0]",
    "generator": "def f():\n    return sum(1 for _ in iter(int, 1))",
    "swallows twice": "def f():\n    for _ in range(3):\n        try:\n            while True: pass\n"
    "        except BaseException: pass\n    while True: pass",
}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("how", HANGS)
def test_a_call_that_takes_too_long_is_interrupted(how: str) -> None:
    start = time.perf_counter()
    got = outcome(written(HANGS[how]))
    if how != "finally":  # there the learner's own error comes last
        assert got == Outcome(error="TimeoutError", timed_out=True)
    assert time.perf_counter() - start < 5


@pytest.mark.usefixtures("short")
def test_a_result_that_hangs_when_it_is_copied_does_not_hang_the_caller() -> None:
    source = "class R:\n    def __deepcopy__(self, memory):\n        while True: pass\ndef f(): return R()"
    got = outcome(written(source))
    assert got.timed_out or got.error is None


@pytest.mark.usefixtures("short")
def test_neither_alarm_nor_handler_is_left_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    for function in (lambda: 1, raising(KeyError), written(HANGS["loop"])):
        outcome(function)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0) and signal.getsignal(signal.SIGALRM) is before
    time.sleep(0.2)


@pytest.mark.usefixtures("short")
def test_the_next_call_after_a_hung_one_has_its_full_time() -> None:
    assert outcome(written(HANGS["loop"])).timed_out
    assert outcome(lambda: time.sleep(0.05)).error is None


def test_a_call_in_another_thread_works_without_a_limit() -> None:
    results: list[Outcome] = []
    thread = threading.Thread(target=lambda: results.append(outcome(lambda x: x + 1, 1)))
    thread.start()
    thread.join()
    assert results == [Outcome(value=2)]


def test_the_time_limit_raises_what_no_except_exception_catches() -> None:
    assert not issubclass(TimeLimit, Exception)
    with pytest.raises(TimeLimit), time_limit(0.05):
        time.sleep(5)


@pytest.mark.usefixtures("short")
def test_several_calls_stop_behind_one_that_hangs() -> None:
    def hangs(x: int) -> int:
        if x == 2:
            time.sleep(60)
        if x == 1:
            raise KeyError
        return x

    got = LocalCaller(hangs).outcomes([call(n) for n in range(5)])
    assert [one.error for one in got] == [None, "KeyError", "TimeoutError"] and got[-1].timed_out
    assert LocalCaller(hangs).outcomes([]) == []


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


# --- Silence -----------------------------------------------------------------------------------------


def noisy(x: Any) -> Any:
    print("printed")
    print("printed", file=sys.stderr)
    sys.stdout.write("written")
    sys.stderr.flush()
    warnings.warn("warned", stacklevel=1)
    np.array([1.0]) / 0
    np.float64(1e308) * 10
    logging.getLogger("learner").warning("logged")
    logging.error("logged")
    return x


def test_prints_warnings_and_logging_do_not_escape(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    streams = sys.stdout, sys.stderr
    assert outcome(noisy, 3) == Outcome(value=3)
    assert capfd.readouterr() == ("", "") and not recwarn.list
    assert (sys.stdout, sys.stderr) == streams


def test_logging_that_was_set_up_in_an_earlier_cell_does_not_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(stream)])
    assert outcome(noisy, 3) == Outcome(value=3)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("action", ["error", "always"])
def test_warnings_cost_nothing_even_where_they_are_errors(action: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="raise" if action == "error" else "warn"):
        warnings.simplefilter(action)
        before = list(warnings.filters)
        assert outcome(noisy, 3) == Outcome(value=3)
        assert list(warnings.filters) == before


def test_output_comes_back_after_an_exception_and_after_a_change_of_the_streams(
    capsys: pytest.CaptureFixture[str], short: None
) -> None:
    def replaces() -> None:
        sys.stdout = sys.stderr = None  # type: ignore[assignment]
        np.seterr(all="raise")
        raise KeyError

    for function in (raising(KeyError), replaces, written(HANGS["loop"]), lambda: sys.stdout.close()):
        before = np.geterr()
        outcome(function)
        assert np.geterr() == before
        print("back")
    assert capsys.readouterr().out == "back\n" * 4


def test_a_flood_of_prints_takes_no_memory() -> None:
    tracemalloc.start()
    assert outcome(lambda: any(print("x" * 2**16, n) for n in range(200))) == Outcome(value=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


# --- Forms of a call ---------------------------------------------------------------------------------

rectangles = npst.arrays(st.sampled_from(["d", "l"]), npst.array_shapes(max_dims=3, max_side=4))


@MANY
@given(rectangles, rectangles)
def test_forms_turn_numbers_into_arrays_and_back(a: Any, b: Any) -> None:
    original = call(a.tolist(), 3, "x", key={1: b.tolist()}, none=None)
    as_arrays = original.as_arrays()
    assert isinstance(as_arrays.args[0], np.ndarray) and isinstance(as_arrays.kwargs["key"][1], np.ndarray)
    assert as_arrays.args[1:] == (3, "x") and as_arrays.kwargs["none"] is None
    assert unchanged(as_arrays.as_lists().args[0], a.tolist())
    assert unchanged(as_arrays.as_lists().kwargs["key"], {1: b.tolist()})
    assert unchanged(original, call(a.tolist(), 3, "x", key={1: b.tolist()}, none=None))


@pytest.mark.parametrize("value", [[[1, 2], [3]], ["a", "b"], [], [None], [True, False], 3, "x", 2.5, None, [[1], 2]])
def test_what_is_no_array_of_numbers_stays_as_it_is_in_the_form_of_arrays(value: Any) -> None:
    assert call(value).as_arrays() == call(value) == call(value).as_lists()


def test_arrays_in_lists_and_dicts_become_lists() -> None:
    value = [np.arange(2), {1: np.zeros((1, 2)), 2: [np.arange(1)]}]
    assert call(value).as_lists() == call([[0, 1], {1: [[0.0, 0.0]], 2: [[0]]}])


def test_a_call_is_written_as_it_would_be_typed() -> None:
    assert call([1], 2, key=3) == Call(([1], 2), {"key": 3})
    assert LocalCaller(lambda x, y, key: (x, y, key)).outcome(call([1], 2, key=3)).value == ([1], 2, 3)
