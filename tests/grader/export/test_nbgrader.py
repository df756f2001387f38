"""Plain nbgrader, with a kernel: full marks for solved lessons, none for stubs, partial credit in between."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

import grader.lessons.build as build
import grader.lessons.fitness as fitness
import grader.lessons.sources as sources
from grader.export.nbgrader_cells import known_cells
from grader.export.nbgrader_database import default_url
from grader.export.nbgrader_gradebook import Recorder
from grader.export.nbgrader_notebook import check_cell
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT, SOLUTIONS
from grader.read.submissions import lessons, tasks_of

LESSON, CLINIC, ALL = "02_parallel_drafting", "08_bug_clinic", "all_lessons"
GRADED = ("setup", "task", "given", "check")
NOISE = """import logging, os, sys, warnings
logging.basicConfig()
"""
NOISY_LINE = """    print("note", file=sys.stderr); warnings.warn("care"); logging.warning("log"); os.write(2, b"raw")
"""


def nbgrader(course: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command of nbgrader as an instructor would, in the course's folder, whose settings are plain."""
    tool = Path(sys.executable).with_name("nbgrader")
    return subprocess.Popen(
        [tool, *arguments], cwd=course, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def finished(*commands: subprocess.Popen[str]) -> None:
    for command in commands:
        _, said = command.communicate()
        assert command.returncode == 0, said[-3000:]


def lay_out(course: Path) -> None:
    """Lay out a course with one lesson, and with what is graded of all lessons in one notebook: a kernel a student."""
    cells: dict[str, list[sources.Cell]] = {ALL: []}
    for lesson in lessons():
        cells[lesson] = list(sources.cells_of((SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8")))
        cells[ALL] += [cell for cell in cells[lesson] if cell.role in GRADED and cell not in cells[ALL]]
    for assignment in (LESSON, ALL):
        source = course / "source" / assignment / f"{assignment}.ipynb"
        source.parent.mkdir(parents=True)
        source.write_text(build.notebook(cells[assignment], for_nbgrader=True), encoding="utf-8")
    settings = ROOT / "grader" / "nbgrader_config.py"
    lines = ["c = get_config()", "del c.Autograde", f"c.CourseDirectory.root = {str(course)!r}"]
    (course / "nbgrader_config.py").write_text("\n".join([f"load_subconfig({str(settings)!r})", *lines]))


def hand_in(course: Path, student: str, lesson: str, edits: dict[str, str]) -> None:
    """Hand a submission in: the released notebook with some cells replaced."""
    notebook = nbformat.read(course / "release" / lesson / f"{lesson}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = edits.get(cell.id, cell.source)
    target = course / "submitted" / student / lesson / f"{lesson}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course that has been through generate_assignment and autograde.

    Kernels take most of the time, so two halves of the students run side by side, each with a gradebook of its own.
    """
    course = tmp_path_factory.mktemp("course")
    lay_out(course)
    finished(nbgrader(course, "generate_assignment", "*"))
    references = {f"task-{task.id.replace('.', '-')}": task.reference_source for task in TASKS.values()}
    solved = {name: sources.contract_imports(source) + source for name, source in references.items()}
    hand_in(course, "solved", ALL, solved)
    hand_in(course, "untouched", ALL, {})
    hand_in(
        course,
        "noisy",
        LESSON,
        solved | {"task-2-1": NOISE + solved["task-2-1"].replace("    ### BEGIN SOLUTION\n", NOISY_LINE)},
    )
    tie = solved["task-2-3"].replace(">= threshold", "> threshold")
    hand_in(course, "partial", LESSON, solved | {"task-2-3": tie, "task-2-4": "def block_mask(:"})
    shutil.copy(course / "gradebook.db", course / "others.db")
    others = f"--CourseDirectory.db_url={others_url(course)}"
    finished(
        nbgrader(course, "autograde", "*", "--student=solved"),
        nbgrader(course, "autograde", "*", "--student=[!s]*", others),
    )
    return course


def others_url(course: Path) -> str:
    return f"sqlite:///{course / 'others.db'}"


@pytest.fixture(scope="module")
def scores(course: Path) -> dict[str, dict[str, float]]:
    """The score of each graded cell, by student."""
    found: dict[str, dict[str, float]] = {}
    for url in (default_url(course), others_url(course)):
        with Gradebook(url) as gradebook:
            for submission in [*gradebook.assignment_submissions(LESSON), *gradebook.assignment_submissions(ALL)]:
                grades = [grade for book in submission.notebooks for grade in book.grades]
                found[submission.student.id] = {grade.name: grade.score for grade in grades}
    return found


def test_release_is_the_notebook_that_learners_get(course: Path) -> None:
    release = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    notebook = nbformat.read(NOTEBOOKS / f"{LESSON}.ipynb", as_version=4)
    assert [(cell.id, cell.source) for cell in release.cells] == [(cell.id, cell.source) for cell in notebook.cells]


@pytest.mark.parametrize("lesson", lessons())
def test_solved_gets_full_marks_and_the_stub_none(scores: dict[str, dict[str, float]], lesson: str) -> None:
    points = {check_cell(task.id): task.max_points for task in tasks_of(lesson)}
    assert {name: scores["solved"][name] for name in points} == points
    most = sum(points.values()) / fitness.FREE_SHARE if lesson == CLINIC else 0
    assert sum(scores["untouched"][name] for name in points) <= most


def test_partial_credit_is_given_by_property(scores: dict[str, dict[str, float]]) -> None:
    partial = scores["partial"]
    assert 0 < partial["check-2-3"] < TASKS["2.3"].max_points
    assert partial["check-2-4"] == 0
    assert partial["check-2-1"] == TASKS["2.1"].max_points and partial["check-2-5"] == TASKS["2.5"].max_points


def test_stderr_of_a_right_solution_costs_nothing(scores: dict[str, dict[str, float]]) -> None:
    assert scores["noisy"] == {name: scores["solved"][name] for name in scores["noisy"]}


def test_a_lesson_is_set_up_in_the_gradebook_as_nbgrader_does(course: Path, tmp_path: Path) -> None:
    with Recorder(course, default_url(tmp_path)) as recorder, Gradebook(default_url(course)) as nbgraders:
        books = (recorder.book, nbgraders)
        ours, theirs = (known_cells(book, LESSON, course) for book in books)
        assert ours == theirs
        assert len({book.find_notebook(LESSON, LESSON).kernelspec for book in books}) == 1


def test_nothing_is_left_in_the_repository(course: Path) -> None:
    assert not (ROOT / "grader" / "gradebook.db").exists()
    shutil.rmtree(course)
