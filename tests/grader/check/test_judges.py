"""Judges and reports: what each judge notices, what a report says of it, and what it keeps to itself."""

import ast
import dataclasses
import inspect
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dspark_mini.contracts import generator, integers, number, takes
from grader.check import text
from grader.check.judges import Law, LawCase, SameSeed, Session, Values, is_improbable, outcome_text
from grader.check.report import Report
from grader.lessons.checking import evidence_against
from grader.lessons.checks import TASKS
from grader.lessons.checks.cases import HINTS, SUFFIX
from grader.lessons.tasks import Hidden, Property, Task, example, values
from grader.run.child.calling import Call, Outcome, Seed, call

SECRET = 86428642  # stands in every hidden case
Function = Callable[..., Any]


@takes(amounts=integers("n", empty=True))
def doubled(amounts: list[int]) -> list[int]:
    """Return the doubles."""
    return [2 * n for n in amounts]


def hidden_calls(rng: np.random.Generator) -> list[Call]:
    return [call([SECRET]), call([SECRET, 1, 2])]


TASK = Task(
    id="9.9",
    lesson="99_tests",
    reference=doubled,
    todo="double them",
    hints=("a", "b", "c"),
    returns="plain ints in a list",
    core=(
        values("values", 3)("About values.", "Mind values.", example([1, 2], gives=[2, 4]), example([5], gives=[10])),
        values("more_values", 2)("About more.", "Mind more."),
    ),
).with_hidden(Hidden(lambda amounts: [n + n for n in amounts], {"values": hidden_calls, "more_values": hidden_calls}))
MANNERS = {"plain_types", "no_memory", "input_unchanged"}


def failing(report: Report) -> set[str]:
    return {result.name for result in report.properties if not result.passed}


def grown(amounts: list[int], kept: list[int] = []) -> list[int]:  # noqa: B006
    kept[:] = [2 * n for n in amounts]
    return kept


def used_up(amounts: list[int]) -> list[int]:
    return [2 * amounts.pop(0) for _ in range(len(amounts))]


def small_only(amounts: list[int]) -> list[int]:
    return [2 * n if n < 99 else 0 for n in amounts]


def raises_on_large(amounts: list[int]) -> list[int]:
    return [2 * n if n < 99 else [][n] for n in amounts]


SEEN: dict[int, list[int]] = {}
MISTAKES: list[tuple[Function, set[str]]] = [
    (doubled, set()),
    (lambda amounts: [2 * n for n in amounts], set()),  # the contract holds for a function without the decorator
    (lambda amounts: list(amounts), {"values", "more_values", *MANNERS}),
    (lambda amounts: [2, 4], {"values", "more_values", *MANNERS}),
    (lambda amounts: None, {"values", "more_values", *MANNERS}),
    (small_only, {"values", "more_values", *MANNERS}),
    (raises_on_large, {"values", "more_values", *MANNERS}),
    (lambda amounts: tuple(2 * n for n in amounts), {"plain_types"}),
    (lambda amounts: [np.int64(2 * n) for n in amounts], {"plain_types"}),
    (lambda amounts: [2.0 * n for n in amounts], {"plain_types"}),
    (grown, {"no_memory"}),
    (lambda amounts: SEEN.setdefault(len(amounts), [2 * n for n in amounts]), {"values", "more_values", *MANNERS}),
    (used_up, {"input_unchanged"}),
]


@pytest.mark.parametrize(("function", "broken"), MISTAKES)
def test_each_mistake_costs_the_properties_that_it_breaks_and_no_others(function: Function, broken: set[str]) -> None:
    SEEN.clear()
    report = TASK.check(function, seed=1)
    assert failing(report) == broken
    assert report.points == sum(result.weight for result in report.properties if result.name not in broken)


def test_grading_never_shows_a_hidden_case_and_a_notebook_does() -> None:
    for function, _ in MISTAKES:
        report = TASK.check(function, seed=1)
        shown = str(report) + repr(report.properties) + json.dumps(report.to_json()) + report._repr_html_()
        assert str(SECRET) not in shown
    assert "found by: a hidden case" not in str(TASK.check(small_only))
    assert f"amounts = [{SECRET}]" in str(TASK.check(small_only)) and "IndexError" in str(TASK.check(raises_on_large))


def test_a_report_shows_one_failure_in_full_and_the_others_by_name() -> None:
    report = TASK.check(lambda amounts: [n + 1 for n in amounts], seed=1)
    assert str(report).splitlines() == [
        "TODO 9.9 does not pass yet: 0 of 2 properties (3 more are looked at after these), 0 of 8 points.",
        "  property  values: About values.",
        "  input     amounts = [1, 2]",
        "  expected  [2, 4]",
        "  got       [2, 3]",
        "  hint      Mind values.",
        "  also open more_values",
    ]
    task = report.to_json()
    assert [found["skipped"] for found in task["properties"]] == ["", "", *["the values are not right yet"] * 3]
    assert text.to_mend(task) == [
        "values: About values. Input: amounts = [1, 2]. Expected: [2, 4]. Got: [2, 3].",
        "Hint: Mind values.",
        "Also open: more_values.",
    ]
    html = report._repr_html_()
    assert "✗" in html and "amounts = [1, 2]" in html


def test_a_passing_report_says_so_and_shows_the_reference() -> None:
    report = TASK.check(doubled, seed=1)
    assert str(report) == "TODO 9.9 passes: 5 of 5 properties, 8 of 8 points."
    assert report.status == "pass" and text.to_mend(report.to_json()) == []
    assert report.reference == "" and "details" not in report._repr_html_()  # doubled has no solution region


def test_an_outcome_is_told_as_value_or_as_exception_with_its_line() -> None:
    assert outcome_text(Outcome([1, 2])) == "[1, 2]"
    assert outcome_text(Outcome(None)) == "nothing (None): is there a return?"
    assert outcome_text(Outcome(error="KeyError", message="9", line=3)) == "KeyError in line 3 of your code: 9"


def test_a_part_of_the_result_is_compared_alone() -> None:
    part = Values((example([1], gives={"n": 1, "rest": 0}),), part=lambda result: result["n"])
    task = Task("9", "9", doubled, "", ("", "", ""), "a dict", (Property("n", 1, "", "", part),))
    assert "n" not in failing(task.check(lambda amounts: {"n": 1, "rest": 99}))
    assert "n" in failing(task.check(lambda amounts: {"n": 2, "rest": 0}))
    assert "n" in failing(task.check(lambda amounts: {"m": 1}))


def test_a_property_without_cases_is_left_out() -> None:
    bundled = Task("9.9", "99_tests", doubled, "", ("", "", ""), "", (TASK.core[0], values("more", 2)("", "")))
    assert [p.name for p in bundled.properties][:1] == ["values"] and len(bundled.properties) == 4


class Counting:
    """A caller that counts its calls and gives the same outcome for each."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome, self.calls = outcome, 0

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        self.calls += 1
        return [self.outcome] if self.outcome.timed_out or self.outcome.died else [self.outcome] * len(calls)


CALLS_A_STUB = "it calls your function of task 9.1, which is not started"


@pytest.mark.parametrize(
    ("outcome", "status", "says"),
    [
        (Outcome(error="TimeoutError", timed_out=True), "timeout", "not looked at"),
        (Outcome(error="ProcessEnded", died=True), "error", "not looked at"),
        (Outcome(error="NotImplementedError"), "missing", "todo 9.9 is not started."),
        (Outcome(error="NotImplementedError", message="TODO 9.1 (about 2 lines): do it."), "error", CALLS_A_STUB),
    ],
)
def test_nothing_more_is_asked_of_a_function_that_hangs_or_dies_or_is_a_stub(
    outcome: Outcome, status: str, says: str
) -> None:
    caller = Counting(outcome)
    report = TASK.check(caller, seed=1)
    assert (report.status, report.points, caller.calls) == (status, 0, 1)
    assert says in f"{report} {report.to_json()['properties'][1]['message']}".lower()


class Drawing:
    """A judge that only draws, in both halves."""

    def __init__(self) -> None:
        self.drawn: dict[bool, list[float]] = {False: [], True: []}
        self.hidden = self

    def __call__(self, session: Session) -> None:
        self.drawn[session.hidden].append(session.rng.random())


def test_what_a_visible_half_draws_tells_nothing_of_the_seed() -> None:
    judge = Drawing()
    for seed in (1, 2):
        evidence_against(Property("p", 1, "", "", judge), TASK.session(doubled, seed))
    visible, hidden = judge.drawn.values()
    assert visible[0] == visible[1] and len({visible[0], *hidden}) == 3


@takes(share=number(), rng=generator())
def coin(share: float, rng: np.random.Generator) -> int:
    """Return 1 with the probability share."""
    return int(rng.random() < share)


LAW = LawCase(call(0.25, Seed(0)), {0: 0.75, 1: 0.25})
COIN = Task(
    id="9.8",
    lesson="99_tests",
    reference=coin,
    todo="toss it",
    hints=("a", "b", "c"),
    returns="a plain int",
    core=(
        Property("law", 2, "The law.", "Mind it.", Law(int, (LAW,))),
        Property("same_seed", 1, "The seed.", "Use rng.", SameSeed((call(0.5, Seed(0)),) * 4)),
    ),
)


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        (coin, set()),
        (lambda share, rng: int(rng.choice(2, p=[1 - share, share])), set()),
        (lambda share, rng: int(rng.random(9)[3] >= 1 - share), set()),
        (lambda share, rng: int(rng.random() < share + 0.07), {"law"}),
        (lambda share, rng: 1, {"law"}),
        (lambda share, rng: 2, {"law"}),
        (lambda share, rng: int(np.random.default_rng().random() < share), {"same_seed"}),
    ],
)
def test_laws_and_seeds(function: Function, broken: set[str]) -> None:
    assert failing(COIN.check(function, seed=1)) & {"law", "same_seed"} == broken


def test_a_right_law_is_refused_once_in_a_hundred_million_checks() -> None:
    for draws, rare in [(1000, 0.01), (2000, 0.3)]:
        ways = [math.lgamma(draws + 1) - math.lgamma(k + 1) - math.lgamma(draws - k + 1) for k in range(draws + 1)]
        logs = [way + k * math.log(rare) + (draws - k) * math.log(1 - rare) for k, way in enumerate(ways)]
        assert sum(math.exp(log) for k, log in enumerate(logs) if is_improbable(k, draws, rare)) < 1e-8
    assert is_improbable(400, 2000, 0.28) and not is_improbable(2, 1000, 1e-3)
    for claimed, hits, refused in ((0.0, 0, False), (0.0, 1, True), (1.0, 600, False), (1.0, 599, True)):
        assert is_improbable(hits, 600, claimed) == refused  # what is impossible or certain, by a single draw


# What a stub of the clinic shows is no failing case, and a call costs the grader nothing.
EVERYWHERE = "8.13"  # its bug shows on every call, so its stub gives the form alone


def verdict(task: str, case: Any) -> str:
    return str(TASKS[task + SUFFIX].check(lambda: case, seed=0))


@pytest.mark.parametrize("task", [task for task in HINTS if task != EVERYWHERE])
def test_bug_does_not_show_on_the_call_in_the_stub(task: str) -> None:
    text = inspect.getdoc(TASKS[task + SUFFIX].reference) or ""
    arguments, right = ast.literal_eval(f"({text.split('does not show:')[1]})")
    assert "a call on which the function is wrong" in verdict(task, (arguments, right))


@pytest.mark.parametrize(
    ("arguments", "right", "says"),
    [
        ({"anchor_positions": [0, 10**9], "block_length": 10**9}, None, "numbers up to 1000"),
        ({"anchor_positions": [0] * 40, "block_length": 2}, None, "at most 32 of them"),
        ({"anchor_positions": [], "block_length": 2}, None, "at least 1"),
        ({"anchors": [0, 1]}, None, "anchors"),
        ({"anchor_positions": [0, 1], "block_length": 2}, [[0] * 4] * 2, "the result that the docstring demands"),
    ],
)
def test_case_that_proves_nothing_says_why(arguments: dict[str, Any], right: Any, says: str) -> None:
    assert says in verdict("8.1", (arguments, right))


def test_bundle_without_oracles_still_tells_whether_the_bug_shows_and_that_this_is_not_all() -> None:
    task = dataclasses.replace(TASKS["8.3.case"], hidden=None)
    case = {"cached_positions": [0], "block_size": 2}
    assert not task.check(lambda: (case, [0, 1])).passed
    for result in ([1, 2], [7, 7]):
        report = task.check(lambda result=result: (case, result))  # type: ignore[misc]
        assert report.passed and "Provisional" in str(report)
    assert "Provisional" not in verdict("8.3", (case, [1, 2]))
