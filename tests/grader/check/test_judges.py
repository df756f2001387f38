"""Judges: what each of them notices, what a report says of it, and what it keeps to itself."""

from __future__ import annotations

import json
import math
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.check.judges import (
    Bad,
    EitherForm,
    Example,
    Judge,
    Law,
    LawCase,
    NotStarted,
    PlainTypes,
    Raises,
    Repeatable,
    SameSeed,
    Session,
    Stopped,
    Unchanged,
    Values,
    is_improbable,
    names_offender,
    told,
    with_seed,
)
from grader.check.report import Report
from grader.lessons.tasks import Property, Task, manners
from grader.run.child import calling
from grader.run.child.calling import Call, LocalCaller, Outcome, Seed, call

MANY = settings(max_examples=60, deadline=None)
SECRET = 86428642  # stands in every hidden case
Function = Callable[..., Any]


# --- A small task: double every number ---------------------------------------------------------------


def doubled(numbers: Any) -> list[int]:
    """The reference of the tests."""
    numbers = [int(n) for n in numbers]
    for i, n in enumerate(numbers):
        if n < 0:
            raise ValueError(f"numbers[{i}] must not be negative, not {n}.")
    return [2 * n for n in numbers]


EXAMPLES = (Example(call([1, 2]), [2, 4]), Example(call([5]), [10]))
BAD = (Bad(call([3, 4, -5]), "numbers", 2, "a number is negative"),)
HIDDEN_BAD = (Bad(call([7, 8, 9, -SECRET]), "numbers", 3, "a number is negative"),)


def hidden_calls(rng: np.random.Generator) -> list[Call]:
    return [call([SECRET]), call([SECRET, 1, 2])]


def prop(name: str, judge: Judge, weight: int = 1, after_values: bool = False) -> Property:
    return Property(name, f"About {name}.", weight, f"Mind {name}.", judge, after_values)


PROPERTIES = (
    prop("values", Values(EXAMPLES, hidden_calls), 3),
    prop("more_values", Values(hidden=hidden_calls), 2),
    *manners("plain ints in a list", EXAMPLES, BAD, HIDDEN_BAD),
)
MAX = 3 + 2 + 7


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the reference importable as a task names it."""
    module = types.ModuleType("kit_for_tests")
    module.__dict__.update(doubled=doubled)
    monkeypatch.setitem(sys.modules, "kit_for_tests", module)


def task(properties: tuple[Property, ...] = PROPERTIES) -> Task:
    return Task("9.9", "99_tests", "kit_for_tests", "doubled", "double them", ("a", "b", "c"), properties)


class Counting:
    """A caller that counts, and answers from a list of outcomes, the last of them for ever."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.answers, self.calls = list(outcomes), 0

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        done: list[Outcome] = []
        for _ in calls:
            self.calls += 1
            done.append(self.answers[min(self.calls, len(self.answers)) - 1])
            if done[-1].timed_out or done[-1].died:
                break
        return done


def failing(report: Report) -> set[str]:
    return {result.name for result in report.properties if not result.passed}


def session_of(function: Any) -> Session:
    caller = function if hasattr(function, "outcomes") else LocalCaller(function)
    return Session(caller, doubled, ("numbers",), np.random.default_rng(0))


def checked(numbers: Any) -> list[int]:
    """Raise as the reference does."""
    doubled(numbers)
    return [int(n) for n in numbers]


# --- Wrong and right solutions -----------------------------------------------------------------------


def right(numbers: Any) -> Any:
    return [2 * n for n in checked(numbers)]


def noisy(numbers: Any) -> Any:
    print("thinking", numbers)
    np.array([1.0]) / 0
    return right(numbers)


def raises_a_subclass(numbers: Any) -> Any:
    try:
        return right(numbers)
    except ValueError as error:
        raise type("Mine", (ValueError,), {})(*error.args) from None


def numpy_ints(numbers: Any) -> Any:
    return list(np.array(right(numbers)))


def an_array(numbers: Any) -> Any:
    return np.array(right(numbers))


def a_tuple(numbers: Any) -> Any:
    return tuple(right(numbers))


def floats(numbers: Any) -> Any:
    return [float(n) for n in right(numbers)]


def arrays_only(numbers: Any) -> Any:
    return right(numbers.tolist())


def plain_for_lists_only(numbers: Any) -> Any:
    return right(numbers) if isinstance(numbers, list) else numpy_ints(numbers)


def remembers() -> Function:
    seen: list[Any] = []

    def function(numbers: Any) -> Any:
        seen.append(1)
        return right(numbers) if len(seen) < 13 else [*right(numbers), 0]

    return function


def shares_one_list(numbers: Any, shared: list[int] = []) -> Any:  # noqa: B006
    shared[:] = right(numbers)
    return shared


def keeps_what_it_returned(numbers: Any, past: list[Any] = []) -> Any:  # noqa: B006
    past.append(right(numbers))
    return past[-1]


def changes_lists(numbers: Any) -> Any:
    result = right(numbers)
    if isinstance(numbers, list):
        numbers.append(0)
    return result


def changes_arrays(numbers: Any) -> Any:
    result = right(numbers)
    if isinstance(numbers, np.ndarray):
        numbers *= 2
    return result


def guesses(numbers: Any) -> Any:
    return [2 * int(n) for n in numbers]


def wrong_exception(numbers: Any) -> Any:
    try:
        return right(numbers)
    except ValueError:
        raise KeyError("numbers[2]") from None


def no_position(numbers: Any) -> Any:
    try:
        return right(numbers)
    except ValueError:
        raise ValueError("numbers must not be negative") from None


def counts_from_one(numbers: Any) -> Any:
    for i, n in enumerate(numbers, 1):
        if n < 0:
            raise ValueError(f"numbers[{i}] is negative")
    return right(numbers)


def no_name(numbers: Any) -> Any:
    for i, n in enumerate(numbers):
        if n < 0:
            raise ValueError(f"entry {i} is negative")
    return right(numbers)


def always_position_two(numbers: Any) -> Any:
    if min(numbers) < 0:
        raise ValueError("numbers[2] is negative")
    return right(numbers)


def small_only(numbers: Any) -> Any:
    return [n % 1000 for n in right(numbers)]


def constant(numbers: Any) -> Any:
    return [2, 4]


def raises_on_large(numbers: Any) -> Any:
    if max(numbers) > 1000:
        raise OverflowError(f"I have seen {list(numbers)}")
    return right(numbers)


GATED = {"input_unchanged", "bad_input_raises", "error_names_offender"}
HIDDEN_VALUES = {"values", "more_values"}
SOLUTIONS: dict[Function, set[str]] = {
    right: set(),
    noisy: set(),
    raises_a_subclass: set(),
    numpy_ints: {"plain_types"},
    an_array: {"plain_types"},
    a_tuple: {"plain_types"},
    floats: {"plain_types"},
    plain_for_lists_only: {"plain_types"},
    shares_one_list: {"no_memory"},
    keeps_what_it_returned: set(),
    arrays_only: {"lists_and_arrays", "bad_input_raises", "error_names_offender"},
    changes_lists: {"input_unchanged"},
    changes_arrays: {"input_unchanged"},
    guesses: {"bad_input_raises", "error_names_offender"},
    wrong_exception: {"bad_input_raises", "error_names_offender"},
    no_position: {"error_names_offender"},
    counts_from_one: {"error_names_offender"},
    no_name: {"error_names_offender"},
    always_position_two: {"error_names_offender"},
    small_only: HIDDEN_VALUES | GATED,
    raises_on_large: HIDDEN_VALUES | GATED,
    constant: HIDDEN_VALUES | GATED | {"lists_and_arrays", "plain_types", "no_memory"},
}


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.__name__)
def test_each_mistake_costs_the_properties_that_it_breaks_and_no_others(solution: Function) -> None:
    report = task().check(solution)
    assert failing(report) == SOLUTIONS[solution]
    assert report.points == MAX - sum(p.weight for p in PROPERTIES if p.name in SOLUTIONS[solution])
    assert report.max_points == MAX
    assert report.status == ("pass" if not SOLUTIONS[solution] else "partial" if report.points else "fail")


def test_a_function_that_remembers_costs_the_property_of_memory() -> None:
    assert "no_memory" in failing(task().check(remembers()))
    assert failing(task((prop("memory", Repeatable(EXAMPLES)),)).check(right)) == set()


def test_evidence_of_a_shared_result_says_that_a_later_call_has_changed_it() -> None:
    (result,) = task((prop("memory", Repeatable(EXAMPLES)),)).check(shares_one_list).properties
    assert dict(result.evidence)["got"] == "one that a later call has changed"


def test_a_check_leaves_its_own_examples_as_they_were() -> None:
    for solution in (changes_lists, changes_arrays, right):
        task().check(solution)
        assert [example.call for example in EXAMPLES] == [call([1, 2]), call([5])]
        assert failing(task().check(right)) == set()


# --- What a report says ------------------------------------------------------------------------------


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.__name__)
def test_no_report_shows_a_hidden_case(solution: Function) -> None:
    report = task().check(solution)
    text = str(report) + repr(report.properties) + json.dumps(report.to_json()) + report._repr_html_()
    assert str(SECRET) not in text and str(2 * SECRET) not in text


def test_evidence_of_a_hidden_case_is_empty_and_that_of_a_visible_one_is_not() -> None:
    by_name = {result.name: result for result in task().check(small_only).properties}
    assert by_name["values"].evidence == () == by_name["more_values"].evidence
    assert "found by" in str(task().check(small_only)) and "a hidden case" in str(task().check(small_only))
    visible = {result.name: result for result in task().check(lambda numbers: [0]).properties}["values"]
    assert visible.evidence == (("input", "numbers = [1, 2]"), ("expected", "[2, 4]"), ("got", "[0]"))


def test_evidence_of_hidden_bad_input_is_empty() -> None:
    (result,) = task((prop("bad", Raises(BAD, HIDDEN_BAD, sentences=True)),)).check(always_position_two).properties
    assert not result.passed and result.evidence == ()


def test_evidence_of_visible_bad_input_says_what_is_wrong_and_what_is_wanted() -> None:
    (result,) = task((prop("bad", Raises(BAD, HIDDEN_BAD, sentences=True)),)).check(no_position).properties
    evidence = dict(result.evidence)
    assert evidence["input"] == "numbers = [3, 4, -5]"
    assert evidence["expected"] == (
        "a ValueError whose sentence names numbers and position 2, because a number is negative"
    )
    assert evidence["got"].startswith("ValueError") and "numbers must not be negative" in evidence["got"]


def test_evidence_of_types_names_the_type_and_the_form_of_the_call() -> None:
    (result,) = task((prop("types", PlainTypes(EXAMPLES)),)).check(plain_for_lists_only).properties
    evidence = dict(result.evidence)
    assert evidence["input"] == "numbers = array([1, 2])" and "the result[0] is of type np.int64" in evidence["got"]


def test_keyword_arguments_are_shown_by_their_names() -> None:
    example = Example(call(numbers=[4]), [8])
    (result,) = task((prop("values", Values((example,))),)).check(lambda numbers: 1).properties
    assert dict(result.evidence)["input"] == "numbers = [4]"


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(value=[1, 0.5]), "[1, 0.5]"),
        (Outcome(error="KeyError"), "KeyError"),
        (Outcome(error="KeyError", line=3), "KeyError in line 3 of your code"),
        (Outcome(error="KeyError", message="x", line=3), "KeyError in line 3 of your code: x"),
        (Outcome(error="KeyError", message="a\nb\x1b"), r"KeyError: a\nb\x1b"),
    ],
)
def test_an_outcome_is_told_as_value_or_as_exception_with_its_line(outcome: Outcome, text: str) -> None:
    assert told(outcome) == text


def test_long_messages_are_cut() -> None:
    assert len(told(Outcome(error="KeyError", message="x" * 10_000))) < 200


# --- Gates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solution", [small_only, constant, raises_on_large, lambda numbers: None])
def test_manners_count_only_where_the_values_are_right(solution: Function) -> None:
    for result in task().check(solution).properties:
        if result.name in GATED:
            assert not result.passed
            assert result.evidence == (("got", "not looked at, because the values are not right yet"),)


def test_a_gate_is_not_closed_by_types() -> None:
    order = (
        prop("types", PlainTypes(EXAMPLES)),
        prop("gated", Unchanged(EXAMPLES), after_values=True),
    )
    assert failing(task(order).check(an_array)) == {"types"}
    closed = (prop("values", Values(EXAMPLES)), prop("more", Values(hidden=hidden_calls)), *order)
    assert failing(task(closed).check(constant)) == {"values", "more", "types", "gated"}


def test_nothing_is_called_for_a_gated_property() -> None:
    wrong = Counting(Outcome(value=0))
    task((prop("values", Values(EXAMPLES)),)).check(wrong)
    before = wrong.calls
    task((prop("values", Values(EXAMPLES)), prop("gated", Raises(BAD), after_values=True))).check(wrong)
    assert wrong.calls == 2 * before


# --- Stubs, hung functions, errors -------------------------------------------------------------------


def stub(numbers: Any) -> Any:
    raise NotImplementedError("TODO 9.9: double them")


def test_a_stub_is_missing_and_gets_nothing() -> None:
    report = task().check(stub)
    assert (report.status, report.points, report.max_points) == ("missing", 0, MAX)
    assert "TODO 9.9 is not started." in str(report)
    assert all("double them" in result.message for result in report.properties)


def test_a_stub_is_called_once() -> None:
    caller = Counting(Outcome(error="NotImplementedError"))
    assert task().check(caller).status == "missing" and caller.calls == 1


def test_the_given_checks_of_a_stub_may_run_before_it_is_found_to_be_one() -> None:
    def checks_first(numbers: Any) -> Any:
        checked(numbers)
        raise NotImplementedError

    assert task().check(checks_first).status == "missing"


@MANY
@given(st.integers(0, 14), st.booleans())
def test_nothing_is_asked_behind_a_call_that_hangs_or_dies(number: int, dies: bool) -> None:
    good = [LocalCaller(right).outcome(call([1, 2])), LocalCaller(right).outcome(call([5]))]
    examples = tuple(EXAMPLES[i % 2] for i in range(16))
    last = Outcome(error="ProcessEnded", died=True) if dies else Outcome(error="TimeoutError", timed_out=True)
    caller = Counting(*[good[i % 2] for i in range(number)], last)
    properties = tuple(prop(f"p{i}", Values((example,))) for i, example in enumerate(examples))
    report = task(properties).check(caller)
    assert caller.calls == number + 1
    assert [result.passed for result in report.properties] == [True] * number + [False] * (16 - number)
    assert report.status == ("timeout" if not dies else "partial" if number else "error")
    reason = "a call ended the whole process" if dies else "the calls took too long"
    assert report.properties[number].evidence == (("got", f"no answer: {reason}"),)
    for result in report.properties[number + 1 :]:
        assert result.evidence == (("got", f"not looked at, because {reason} before"),)


def test_a_function_that_hangs_on_a_hidden_case_does_not_show_it() -> None:
    caller = Counting(Outcome(value=[2, 4]), Outcome(value=[10]), Outcome(error="TimeoutError", timed_out=True))
    report = task().check(caller)
    assert report.status == "timeout" and report.points == 0 and str(SECRET) not in repr(report)


def test_a_hung_function_in_this_process_gives_timeout_after_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_SECONDS", 0.15)
    calls: list[int] = []

    def hangs(numbers: Any) -> Any:
        calls.append(1)
        time.sleep(60)

    report = task().check(hangs)
    assert (report.status, report.points, len(calls)) == ("timeout", 0, 1)


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("numbers[2]"), SystemExit(1), RecursionError()])
def test_a_function_that_always_raises_gives_error(error: BaseException) -> None:
    def raises(numbers: Any) -> Any:
        raise error

    report = task().check(raises)
    assert (report.status, report.points) == ("error", 0)
    name = type(error).__name__
    assert all(name in result.message for result in report.properties if result.name not in GATED | {"more_values"})


def test_a_function_that_answers_wrongly_gives_fail_and_one_that_is_partly_right_partial() -> None:
    assert task().check(lambda numbers: None).status == "fail"
    assert task().check(guesses).status == "partial"
    assert task().check(right).status == "pass"


def test_a_passing_report_has_no_failure_and_a_task_can_fail_as_a_whole() -> None:
    report = task().check(right)
    assert report.passed and report.first_failure is None and report.rows() == []
    whole = task().failed("error", "SyntaxError in line 3 of your code")
    assert (whole.points, whole.max_points) == (0, MAX)
    assert "SyntaxError in line 3" in str(whole) and not whole.passed


# --- Forms -------------------------------------------------------------------------------------------


def test_values_count_in_whichever_form_they_come_right() -> None:
    assert Values(EXAMPLES, hidden_calls)(session_of(arrays_only)) is None
    assert EitherForm(EXAMPLES)(session_of(arrays_only)) is not None


def test_large_inputs_are_tried_in_one_form_only() -> None:
    caller = Counting(Outcome(value=0))
    assert Values(hidden=hidden_calls, one_form=True)(session_of(caller)) == ()
    assert caller.calls == 2


def test_a_property_without_cases_is_left_out() -> None:
    empty = prop("empty", Values(), 5)
    assert task((*PROPERTIES, empty)).max_points == MAX and failing(task((*PROPERTIES, empty)).check(right)) == set()
    assert Values().is_empty and not Values(EXAMPLES).is_empty and not Values(hidden=hidden_calls).is_empty


def test_bad_input_may_be_given_as_arrays() -> None:
    bads = tuple(Bad(call(np.array([1.0, -float(n)])), "numbers", 1, "negative") for n in (3, 4, 5))
    for visible, hidden in ((bads, ()), ((), bads), (bads[:1], bads[1:])):
        assert Raises(visible, hidden)(session_of(right)) is None
        assert Raises(visible, hidden)(session_of(guesses)) is not None


# --- Chance ------------------------------------------------------------------------------------------

COIN = LawCase(call(Seed(0), 0.25), {0: 0.75, 1: 0.25})
LAW = Law((COIN,), outcome_of=lambda value: value, samples=500)
SAME = SameSeed((COIN.call,))


def coin(rng: Any, p: float) -> Any:
    return int(rng.random() < p)


def test_any_right_use_of_a_generator_follows_the_law() -> None:
    others = (lambda rng, p: int(rng.choice(2, p=[1 - p, p])), lambda rng, p: int(rng.uniform(size=9)[7] >= 1 - p))
    for function in (coin, *others):
        assert LAW(session_of(function)) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda rng, p: int(rng.random() < p + 0.1),
        lambda rng, p: 0,
        lambda rng, p: 1 - coin(rng, p),
        lambda rng, p: 2,
        lambda rng, p: None,
        lambda rng, p: [coin(rng, p)],
        lambda rng, p: 1 / 0,
        lambda rng, p: int(np.random.default_rng(7).random() < p),
    ],
)
def test_other_laws_are_noticed(function: Function) -> None:
    evidence = LAW(session_of(function))
    assert evidence is not None and [label for label, _ in evidence] == ["input", "expected", "got"]


def binomial(draws: int, probability: float) -> np.ndarray:
    """Return the exact probability of every number of hits, 0 to draws."""
    log_probability = [
        math.lgamma(draws + 1)
        - math.lgamma(k + 1)
        - math.lgamma(draws - k + 1)
        + k * math.log(probability)
        + (draws - k) * math.log1p(-probability)
        for k in range(draws + 1)
    ]
    return np.exp(log_probability)


def chance_of_alarm(draws: int, claimed: float, true: float) -> float:
    """Return with which probability a rule that hits with one probability is refused where another is claimed."""
    refused = [is_improbable(hits, draws, claimed) for hits in range(draws + 1)]
    return float(binomial(draws, true)[refused].sum())


@MANY
@given(st.integers(50, 3000), st.floats(-9.0, -0.31).map(lambda digits: 10.0**digits), st.booleans())
def test_a_right_law_is_refused_once_in_a_hundred_million_checks(draws: int, rare: float, is_rare: bool) -> None:
    probability = rare if is_rare else 1.0 - rare
    assert chance_of_alarm(draws, probability, probability) < 1e-8


@pytest.mark.parametrize("claimed", [0.001, 0.1, 0.25, 0.46, 0.5, 0.7, 0.9])
def test_a_law_that_is_off_by_0_08_is_refused(claimed: float) -> None:
    assert chance_of_alarm(Law((), str).samples, claimed, claimed + 0.08) > 0.99


@pytest.mark.parametrize(("claimed", "hits", "is_refused"), [(0.0, 0, 0), (0.0, 1, 1), (1.0, 600, 0), (1.0, 599, 1)])
def test_what_is_impossible_or_certain_is_judged_by_a_single_draw(claimed: float, hits: int, is_refused: int) -> None:
    assert is_improbable(hits, 600, claimed) == is_refused
    assert is_improbable(hits, 600, np.nextafter(claimed, 2.0)) == is_refused  # laws are sums of rounded products


def test_rare_outcomes_may_come_once_or_twice() -> None:
    assert [is_improbable(hits, 600, 1e-4) for hits in range(8)] == [False] * 6 + [True] * 2


def test_evidence_of_a_hidden_law_is_empty() -> None:
    law = Law((), outcome_of=lambda value: value, hidden=lambda rng: [COIN], samples=500)
    assert law(session_of(lambda rng, p: 1)) == () and law(session_of(coin)) is None


@pytest.mark.parametrize("judge", [LAW, SAME])
def test_a_gate_is_closed_by_a_wrong_law_and_by_chance_of_its_own(judge: Judge) -> None:
    unseeded = np.random.default_rng()
    properties = (prop("chance", judge), prop("gated", Raises(()), after_values=True))
    assert failing(task(properties).check(lambda rng, p: unseeded.random())) == {"chance", "gated"}
    assert failing(task(properties).check(coin)) == set()


def test_the_same_seed_must_give_the_same_result() -> None:
    assert SAME(session_of(lambda rng, p: rng.random(3).tolist())) is None
    unseeded = np.random.default_rng()
    assert SAME(session_of(lambda rng, p: unseeded.random(3).tolist())) is not None
    assert SAME(session_of(lambda rng, p: 1 / 0)) is not None


def test_a_seed_is_put_where_a_seed_stands() -> None:
    assert with_seed(call([1], Seed(3), key=2), 9) == call([1], Seed(9), key=2)


# --- Direct use of a session -------------------------------------------------------------------------


def test_a_session_raises_for_a_stub_and_for_a_hung_function() -> None:
    with pytest.raises(NotStarted):
        session_of(stub).outcome(call([1]))
    session = session_of(Counting(Outcome(error="TimeoutError", timed_out=True)))
    with pytest.raises(Stopped):
        session.outcome(call([1]))
    assert session.timed_out and session.stopped and not session.answered


def test_a_learners_own_timeout_error_is_no_timeout() -> None:
    def raises(numbers: Any) -> Any:
        raise TimeoutError

    assert task().check(raises).status == "error"


# --- Naming the offender -----------------------------------------------------------------------------

NAMES = ["confidences", "block_logits", "markov_bias", "accepted_counts", "w1"]
PHRASINGS = [
    "{name}[{i}] must lie between 0.0 and 1.0",
    "{name} at position {i} is bad",
    "{name} row {i} holds a NaN",
    "{name} row {i}.",
    "Row {i} of {name} holds +inf",
    "position {i}: {name} is ragged",
    "{i}: {name}",
    "{name}, index={i}, is out of range",
    "bad {name} (position {i}): 7.25",
    "{name} #{i} is no number",
    "the entry {i} in '{name}' is 1.5",
    "{NAME}[{i}] IS BAD",
    "{spaced} has a bad row {i}",
    "{name} of token {i} is too short",
    "{name}[{i}, 77777] is nan",
    "{name}[{i}][77777] is nan",
    "{name}\n{i}",
    "{i}",
]
POSITIONS = st.integers(0, 40)


def message(phrasing: str, name: str, position: int) -> str:
    return phrasing.format(name=name, NAME=name.upper(), spaced=name.replace("_", " "), i=position)


def bad(argument: str | tuple[str, ...], position: int | None) -> Bad:
    return Bad(call(), argument, position, "it is bad")


@MANY
@given(st.sampled_from(PHRASINGS[:-1]), st.sampled_from(NAMES), POSITIONS)
def test_name_and_position_are_found_in_any_phrasing(phrasing: str, name: str, position: int) -> None:
    assert names_offender(message(phrasing, name, position), bad(name, position))
    assert names_offender(message(phrasing, name, position), bad(("other", name), position))
    assert names_offender(message(phrasing, name, position), bad(name, None))


@MANY
@given(st.sampled_from(PHRASINGS), st.sampled_from(NAMES), POSITIONS, POSITIONS)
def test_another_position_is_not_enough(phrasing: str, name: str, position: int, other: int) -> None:
    text = message(phrasing, name, position)
    for wrong in {other, position + 1, position - 1, 10 * position + 1, position + 100} - {position, -1}:
        assert not names_offender(text, bad(name, wrong))


@MANY
@given(st.sampled_from(PHRASINGS), st.sampled_from(NAMES), st.sampled_from(NAMES), POSITIONS)
def test_another_name_is_not_enough(phrasing: str, name: str, other: str, position: int) -> None:
    text = message(phrasing, name, position)
    assert name == other or not names_offender(text, bad(other, position))
    assert not names_offender(
        text.lower().replace(name, "it").replace(name.replace("_", " "), "it"), bad(name, position)
    )


@MANY
@given(st.sampled_from(NAMES), st.integers(0, 9), st.integers(1, 9))
def test_a_position_inside_of_another_number_is_not_enough(name: str, position: int, digit: int) -> None:
    for number in (
        f"{position}{digit}{digit}" if position else f"{digit}{digit}0",
        f"{digit}{position}",
        f"{digit}.{position}",
        f"0.{digit}{position}" if digit != position else "0.55",
        f"{position}.{digit}",
        f"-{digit}{position}",
    ):
        assert not names_offender(f"{name} must not hold {number}", bad(name, position)), number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bad input",
        "confidences",
        "confidences is bad",
        "position 2",
        "2",
        "confidence[2]",
        "conf[2]",
        "confidences[3]",
    ],
)
def test_silence_is_not_enough(text: str) -> None:
    assert not names_offender(text, bad("confidences", 2))


def test_the_digits_in_a_name_are_no_position() -> None:
    assert not names_offender("w1 is ragged", bad("w1", 1))
    assert names_offender("w1 row 1 is ragged", bad("w1", 1))


def test_any_of_several_names_will_do() -> None:
    pair = ("min_tokens", "max_tokens")
    assert names_offender("max_tokens is too small", bad(pair, None))
    assert names_offender("min tokens is too large", bad(pair, None))
    assert not names_offender("tokens are wrong", bad(pair, None))


@pytest.mark.parametrize(
    ("text", "name", "position"),
    [
        ("accepted_counts must not be negative, not -1", "accepted_counts", 1),
        ("the rows of p must sum to 1 within 1e-6", "p", 6),
        ("p does not sum up: 2e3", "p", 2),
        ("counts must stay below 1,000", "counts", 1),
        ("w2 must match w1", "w2", 1),
        ("confidences must hold float64", "confidences", 64),
    ],
)
def test_digits_of_other_things_are_no_position(text: str, name: str, position: int) -> None:
    assert not names_offender(text, bad(name, position))


@pytest.mark.parametrize(
    ("text", "name"),
    [("the model is unknown", "mode"), ("the output is wrong", "p"), ("draft_tokens are bad", "tokens")],
)
def test_a_name_is_a_word_of_its_own(text: str, name: str) -> None:
    assert not names_offender(text, bad(name, None))
