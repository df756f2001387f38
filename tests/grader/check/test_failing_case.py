"""Failing cases of the clinic: what a stub shows is no answer, and a call costs the grader nothing."""

import ast
import dataclasses
import inspect
from typing import Any

import pytest

from grader.lessons.checks import TASKS
from grader.lessons.checks.cases import HINTS, SUFFIX

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
