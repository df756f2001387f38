"""Plain nbgrader on the lesson: full marks for the solved one, none for the stub, partial credit in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import grader.build as build
from grader.checks import TASKS
from grader.submissions import tasks_of

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))
NOISE = """import logging, os, sys, warnings
logging.basicConfig()
"""
NOISY_LINE = """    print("note", file=sys.stderr); warnings.warn("care"); logging.warning("log"); os.write(2, b"raw")
    logits ="""


def nbgrader(command: str, course: Path) -> None:
    """Run a command of nbgrader as an instructor would, in the folder with its configuration."""
    tool = Path(sys.executable).with_name("nbgrader")
    environment = os.environ | {
        "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    }  # nbgrader calls alembic by name
    done = subprocess.run(
        [tool, command, LESSON, f"--CourseDirectory.root={course}"],
        cwd=build.ROOT / "grader", env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def edited(course: Path, student: str, **edits: str) -> None:
    """Hand a submission in: the released notebook with some cells replaced."""
    notebook = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = edits.get(cell.id.replace("-", "_"), cell.source)
    target = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course that has been through generate_assignment, autograde and generate_feedback."""
    course = tmp_path_factory.mktemp("course")
    cells = list(build._cells((build.SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(build.notebook(cells, for_nbgrader=True), encoding="utf-8")
    nbgrader("generate_assignment", course)
    solved = {f"task_{task.id.replace('.', '_')}": task.reference_source for task in tasks_of(LESSON)}
    edited(course, "solved", **solved)
    edited(course, "stub")
    noisy = NOISE + solved["task_2_1"].replace("    logits =", NOISY_LINE)
    edited(course, "noisy", **(solved | {"task_2_1": noisy}))
    tie = solved["task_2_3"].replace(">= threshold", "> threshold")
    edited(course, "partial", **(solved | {"task_2_3": tie, "task_2_4": "def block_mask(:"}))
    nbgrader("autograde", course)
    nbgrader("generate_feedback", course)
    return course


@pytest.fixture(scope="module")
def scores(course: Path) -> dict[str, dict[str, float]]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            submission.student.id: {grade.name: grade.score for book in submission.notebooks for grade in book.grades}
            for submission in gradebook.assignment_submissions(LESSON)
        }


def test_release_is_the_notebook_that_learners_get(course: Path) -> None:
    release = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    notebook = nbformat.read(build.NOTEBOOKS / f"{LESSON}.ipynb", as_version=4)
    assert [(cell.id, cell.source) for cell in release.cells] == [(cell.id, cell.source) for cell in notebook.cells]


def test_solved_gets_full_marks_and_the_stub_none(scores: dict[str, dict[str, float]]) -> None:
    assert sum(scores["solved"].values()) == MAX
    assert sum(scores["stub"].values()) == 0


def test_partial_credit_is_given_by_property(scores: dict[str, dict[str, float]]) -> None:
    partial = scores["partial"]
    assert 0 < partial["check-2-3"] < TASKS["2.3"].max_points
    assert partial["check-2-4"] == 0
    assert partial["check-2-1"] == TASKS["2.1"].max_points and partial["check-2-5"] == TASKS["2.5"].max_points


def test_stderr_of_a_right_solution_costs_nothing(scores: dict[str, dict[str, float]]) -> None:
    assert scores["noisy"] == scores["solved"]


def test_feedback_shows_properties_and_no_hidden_test(course: Path) -> None:
    feedback = (course / "feedback" / "partial" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "equal_passes" in feedback
    assert "hidden=" not in feedback and "def random_blocks" not in feedback


def test_nothing_is_left_in_the_repository(course: Path) -> None:
    assert not (build.ROOT / "grader" / "gradebook.db").exists()
    shutil.rmtree(course)
