"""The checks are themselves checked: every wrong solution is caught by the property it names."""

from collections import Counter

import pytest

from grader.lessons.checks import TASKS
from grader.lessons.mutants import Variant, all_variants

VARIANTS = all_variants()
WRONG = [v for v in VARIANTS if v.caught_by]
RIGHT = [v for v in VARIANTS if not v.caught_by]


def label(variant: Variant) -> str:
    return f"{variant.task}-{variant.function.__name__}"


@pytest.mark.parametrize("variant", WRONG, ids=label)
def test_wrong_solution_fails_on_its_named_property(variant: Variant) -> None:
    report = TASKS[variant.task].check(variant.function)
    failed = [result.name for result in report.properties if not result.passed]
    assert variant.caught_by in failed, f"{variant.about} Failed: {failed}"
    assert report.points < report.max_points


@pytest.mark.parametrize("variant", RIGHT, ids=label)
def test_right_solution_gets_full_marks(variant: Variant) -> None:
    report = TASKS[variant.task].check(variant.function)
    assert report.passed, f"{variant.about}\n{report}"
    assert report.points == report.max_points


def test_there_are_enough_variants_of_every_task() -> None:
    assert len(WRONG) >= 60 and len(RIGHT) >= 25
    wrong, right = Counter(v.task for v in WRONG), Counter(v.task for v in RIGHT)
    for task in TASKS:
        assert wrong[task] >= 8 and right[task] >= 3, task


def test_variants_are_told_apart_and_explained() -> None:
    assert len({label(v) for v in VARIANTS}) == len(VARIANTS)
    for variant in VARIANTS:
        assert variant.about.endswith("."), f"{label(variant)}: what it is about is a sentence."
        names = [p.name for p in TASKS[variant.task].properties]
        assert not variant.caught_by or variant.caught_by in names, f"{label(variant)} names an unknown property."
