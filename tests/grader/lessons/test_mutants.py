"""The checks are themselves checked: every wrong solution is caught by the property it names, alone."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from grader.check.diagnosis import ENDLESS, UNSTEADY
from grader.lessons.checking import evidence_against
from grader.lessons.checks import TASKS
from grader.lessons.checks.cases import SUFFIX
from grader.lessons.mistake_tables import as_if
from grader.lessons.mistakes import table_of
from grader.lessons.mutants import Variant, all_variants
from grader.run.child import calling

SEED = 20260
VARIANTS = list(all_variants())
WRONG = [v for v in VARIANTS if v.caught_by]
RIGHT = [v for v in VARIANTS if not v.caught_by]


def label(variant: Variant) -> str:
    return f"{variant.task}-{variant.name}"


@pytest.mark.parametrize("task", TASKS)
def test_reference_agrees_with_its_oracle(task: str) -> None:
    report = TASKS[task].check(TASKS[task].reference, SEED)
    assert report.passed, str(report)


@pytest.mark.parametrize("variant", WRONG, ids=label)
def test_wrong_solution_fails_on_its_named_property_alone(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_SECONDS", 0.5)  # some never end
    task = TASKS[variant.task]
    (named,) = [p for p in task.properties if p.name == variant.caught_by]
    session = task.session(variant.make(), SEED)
    assert evidence_against(named, session) is not None, variant.about
    answers = session.answered or task.check(variant.make(), SEED).status != "error"
    assert answers, f"{label(variant)} never returns a value: is its patch at fault?"


@pytest.mark.parametrize("variant", RIGHT, ids=label)
def test_right_solution_gets_full_marks(variant: Variant) -> None:
    report = TASKS[variant.task].check(variant.make(), SEED)
    assert report.passed and report.points == report.max_points, f"{variant.about}\n{report}"


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if task.hidden and task.hidden.oracle])
def test_a_diagnosis_names_the_mistake(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_SECONDS", 0.5)
    known = {entry.as_if: (entry.answers, entry.laws) for entry in table_of(TASKS[task].lesson, task).known}
    wrong = [v for v in WRONG if v.task == task and v.generated is None]
    unnamed = [v for v in wrong if not names(TASKS[task].diagnosis(v.make(), SEED).says, v, known)]
    unnamed = [v for v in unnamed if not names(TASKS[task].check(v.make(), SEED).diagnosis, v, known)]  # the slow ones
    assert len(unnamed) <= 0.05 * len(wrong), unnamed


def names(says: str, variant: Variant, known: Mapping[str, Any]) -> bool:
    """Tell whether a diagnosis is a variant's own mistake, or one that gives the same answers."""
    if says in (ENDLESS, UNSTEADY) or variant.caught_by == "same_seed_same_result":  # which says it all
        return True
    named, own = says.removeprefix("Your function answers as if "), as_if(variant.about)
    return named == own or (named in known and own in known and known[named][0] == known[own][0])


def test_every_task_has_enough_variants() -> None:
    wrong, right = Counter(v.task for v in WRONG), Counter(v.task for v in RIGHT)
    for task in TASKS:
        assert wrong[task] >= 8 and right[task] >= (2 if task.endswith(SUFFIX) else 3), task


def test_variants_are_told_apart_and_explained() -> None:
    assert max(Counter(map(label, VARIANTS)).values()) == 1
    assert all(variant.about.endswith(".") for variant in VARIANTS)


BOUND = re.compile(r"\b[Hh]ere\b|By hand: |[Tt]his (example|block|case)|[Tt]hese cases|\b(Token|Row|Request|Draft) \d")


@pytest.mark.parametrize("task", TASKS)
def test_a_hint_helps_in_every_case_of_its_property(task: str) -> None:
    for p in TASKS[task].core:
        cases = len(getattr(p.judge, "examples", ())) + bool(getattr(p.judge, "hidden", None))
        assert cases < 2 or not BOUND.search(p.hint), f"{p.name}: its hint speaks of one example"
