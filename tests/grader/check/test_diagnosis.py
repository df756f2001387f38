"""Diagnosis: the known mistake that explains all answers is named, whatever else fails."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.check import text
from grader.check.diagnosis import Known, Probe, Table, diagnosis, fingerprint, table_from_json, table_to_json
from grader.check.structure import part_fault, structure_fault
from grader.lessons.checks import TASKS
from grader.run.child.calling import Seed, call

PROBES = (Probe("values", call([1, 2], rows={3: [0.5, -np.inf]})), Probe("more", call(2, rng=Seed(0, (0.0,)))))
GENERAL, SPECIAL = Known("it doubles.", "values", ("a", "x")), Known("it doubles and keeps.", "more", ("a", "x"))
TABLE = Table(PROBES, ("r", "x"), (GENERAL, SPECIAL, Known("it halves.", "more", ("b", "y"))))


def test_a_table_is_plain_json_and_comes_back_as_it_was() -> None:
    assert table_from_json(json.loads(json.dumps(table_to_json(TABLE)))) == TABLE


def test_of_several_that_fit_the_most_general_speaks() -> None:
    assert diagnosis(TABLE, ("a", "x"), ()).says == "Your function answers as if it doubles."


def test_a_near_miss_only_says_where_to_look() -> None:
    found = diagnosis(TABLE, ("b", "x"), ())
    assert (found.says, found.look_at) == ("", "more")


@pytest.mark.parametrize("other, says", [("abyyy", "as if it halves."), ("abyzr", "")])
def test_a_near_miss_speaks_if_it_explains_the_right_answers_too(other: str, says: str) -> None:
    known = (Known("it halves all.", "values", tuple(other)), Known("it halves.", "more", tuple("abcxr")))
    assert diagnosis(Table((), tuple("rrrrr"), known), tuple("abczr"), ()).says[-16:] == says


@pytest.mark.parametrize("heads, says", [(200, "it is fair."), (300, "it is bent."), (400, "")])
def test_laws_are_compared_as_laws(heads: int, says: str) -> None:
    laws = {"it is fair.": 0.5, "it is bent.": 0.75}
    table = Table((), (), tuple(Known(name, "law", (), ({"h": p, "t": 1 - p},)) for name, p in laws.items()))
    found = diagnosis(table, (), [Counter(h=heads, t=400 - heads)])
    assert found.says == (says and f"Your function answers as if {says}")


def test_equal_results_have_one_fingerprint() -> None:
    alike = ([1, 2.0], (1.0, 2), np.array([1, 2]), [True, 2 + 1e-12])
    assert len(set(map(fingerprint, alike))) == 1 and fingerprint([1, 2]) != fingerprint([[1, 2]])


@pytest.mark.parametrize(
    "expected, got, words",
    [
        (0.5, [0.5, 0.1, 0.2], "a list of 3 where one number"),
        (np.zeros((2, 3)), np.zeros((3, 2)), "exchanged"),
        ([1, 2], [1], "a list of 1 where a list of 2"),
        ({"a": 1}, {}, "lacks the key 'a'"),
        ({"a": 1}, [1], "a list of 1 where a dict"),
        ([1, 2], np.array([2, 1]), ""),
    ],
)
def test_structure_is_spoken_of_before_values(expected: Any, got: Any, words: str) -> None:
    fault = structure_fault(expected, got)
    assert words in fault and bool(words) == bool(fault)


@pytest.mark.parametrize(
    "pairs, words",
    [
        ([({"a": 1, "b": 2}, {"a": 1, "b": 3}), ({"a": 1, "b": 0}, {"a": 1, "b": 1})], "only b is wrong: always 1 too"),
        ([({"a": 1, "b": "x"}, {"a": 1, "b": "y"})], "this alone is wrong: b."),
        ([(([1], [0.5, 0.5]), ([1], [0.25, 0.75]))], "this alone is wrong: the second part."),
        ([([0.5, 0.25], [0.5000001, 0.25])], "almost right"),
        ([({"a": 1, "b": 2}, {"a": 2, "b": 1})], ""),
        ([([1, 2], [1, 2])], ""),
    ],
)
def test_the_part_that_is_wrong_is_named(pairs: list[tuple[Any, Any]], words: str) -> None:
    assert words in part_fault(pairs) and bool(words) == bool(part_fault(pairs))


def one_row_less(*args: Any) -> dict[str, Any]:
    right: dict[str, Any] = TASKS["7.2"].reference(*args)
    return {**right, "verified_rows": right["verified_rows"] - 1}


@pytest.mark.parametrize(
    "task, function, words",
    [
        ("2.1", lambda rows: map(int, rows.argmax(axis=1)), "make a list of it"),
        ("2.1", lambda rows: rows.argmax(axis=1)[::-1].tolist(), "answers as if"),
        ("2.4", lambda *args: ~TASKS["2.4"].reference(*args), "answers as if"),
        ("7.2", one_row_less, "only verified_rows is wrong: always 1 too low"),
        ("2.4", lambda context, anchors, length: anchors - context, "Every call ends in an error"),
        ("2.1", lambda rows: [int(np.random.default_rng().integers(9)) for _ in rows], "answers differently"),
    ],
)
def test_a_report_begins_with_the_mistake(task: str, function: Callable[..., Any], words: str) -> None:
    report = TASKS[task].check(function)
    assert words in report.diagnosis and words in str(report).splitlines()[1]
    assert words in " ".join(text.to_mend(report.to_json())) and words in report.to_json()["diagnosis"]
