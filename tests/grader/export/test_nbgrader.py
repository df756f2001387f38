"""nbgrader's own commands, with a kernel as it comes and with the sandboxed preprocessors: the grader's scores."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

from grader.export.nbgrader_cells import known_cells
from grader.export.nbgrader_database import default_url
from grader.export.nbgrader_gradebook import Recorder
from grader.export.nbgrader_notebook import check_cell
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade
from tests.grader.conftest import solved_sources

LESSON = "02_parallel_drafting"
MAX = {check_cell(task.id): task.max_points for task in tasks_of(LESSON)}
SETTINGS = ROOT / "grader" / "nbgrader_config.py"
NOISE = "import logging, os, sys, warnings\nlogging.basicConfig()\nprint('x', file=sys.stderr)\nwarnings.warn('w')\n"
NOISY_LINE = '    print("note", file=sys.stderr); warnings.warn("care"); logging.warning("log"); os.write(2, b"raw")\n'

pytestmark = pytest.mark.usefixtures("needs_sandbox")


def nbgrader(folder: Path, command: str, *arguments: object, programs: str = os.defpath) -> Any:
    """Run a command of nbgrader in the folder with its settings, in an environment that is not activated."""
    words = [Path(sys.executable).with_name("nbgrader"), command, LESSON, *map(str, arguments)]
    return subprocess.run(words, cwd=folder, env=os.environ | {"PATH": programs}, capture_output=True, text=True)


def sandboxed(course: Path, command: str, *arguments: object, **options: str) -> Any:
    """Run a command of nbgrader with the settings of the repository."""
    return nbgrader(SETTINGS.parent, command, f"--CourseDirectory.root={course}", *arguments, **options)


def cell_of(document: Any, name: str) -> Any:
    return next(cell for cell in document.cells if cell.id == name)


def partial(document: Any) -> None:
    """Noise, a tie that is decided wrongly, a cell that cannot be read, and a script in the text."""
    noisy = cell_of(document, "task-2-1")
    noisy.source = NOISE + noisy.source.replace("    ### BEGIN SOLUTION\n", NOISY_LINE)
    tie = cell_of(document, "task-2-3")
    tie.source = tie.source.replace(">= threshold", "> threshold")
    cell_of(document, "task-2-4").source = "def block_mask(:"
    document.cells.insert(0, nbformat.v4.new_markdown_cell("<script>steal()</script><img src=x onerror=steal()>"))


def copied(document: Any) -> None:
    """Copied cells, as JupyterLab pastes them: new ids, the same metadata."""
    for name in ("task-2-1", "check-2-1", "given-record"):
        document.cells.append(nbformat.from_dict(cell_of(document, name) | {"id": f"{name}-copy"}))


def never_run(document: Any) -> None:
    """Checks that nothing would run: skipped by tag, or turned into text; and a solution that is wrong."""
    cell_of(document, "task-2-1").source = "def dflash_parallel_candidates(block_logits): return []"
    cell_of(document, "check-2-1").metadata["tags"] = ["skip-execution"]
    check = cell_of(document, "check-2-2")
    check.cell_type = "markdown"
    del check["outputs"], check["execution_count"]


EDITS = [partial, copied, never_run]


def submitted(course: Path, student: str) -> Path:
    path = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, source_text: str) -> Path:
    """A course through generate_assignment and autograde: two students in a kernel, the others in the sandbox.

    Of these one has handed in no notebook, and one a link.
    """
    course = tmp_path_factory.mktemp("course")
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(source_text, encoding="utf-8")
    lines = [f"load_subconfig({str(SETTINGS)!r})", "c = get_config()", "del c.Autograde"]
    (course / "nbgrader_config.py").write_text("\n".join([*lines, f"c.CourseDirectory.root = {str(course)!r}"]))
    done = nbgrader(course, "generate_assignment")
    assert done.returncode == 0, done.stderr[-3000:]
    release, solved = course / "release" / LESSON / f"{LESSON}.ipynb", solved_sources(LESSON)
    for edit in EDITS:
        document = nbformat.read(release, as_version=4)
        for cell in document.cells:
            cell.source = solved[cell.id] if cell.id.startswith("task-") else cell.source
        edit(document)
        nbformat.write(document, submitted(course, edit.__name__))
    shutil.copy(release, submitted(course, "kernel_untouched"))
    shutil.copy(submitted(course, "partial"), submitted(course, "kernel_partial"))
    done = nbgrader(course, "autograde", "--student=kernel_*")
    assert done.returncode == 0, done.stderr[-3000:]
    submitted(course, "broken").write_text("no notebook")
    submitted(course, "link").symlink_to(submitted(course, "copied"))
    done = sandboxed(course, "autograde", "--student=[!k]*")
    assert set(re.findall(r"assignment '.*?' for student '(.*?)'", done.stderr)) == {"broken"}, done.stderr[-3000:]
    return course


def autograded(course: Path, student: str) -> Any:
    return nbformat.read(course / "autograded" / student / LESSON / f"{LESSON}.ipynb", as_version=4)


def scores(course: Path, student: str) -> dict[str, float]:
    with Gradebook(default_url(course)) as book:
        grades = book.find_submission_notebook(LESSON, LESSON, student).grades
        assert not any(grade.needs_manual_grade for grade in grades)
        return {grade.name: grade.score for grade in grades}


def test_release_is_the_notebook_that_learners_get(course: Path) -> None:
    folders = (course / "release" / LESSON, NOTEBOOKS)
    release, notebook = (nbformat.read(folder / f"{LESSON}.ipynb", as_version=4) for folder in folders)
    assert [(cell.id, cell.source) for cell in release.cells] == [(cell.id, cell.source) for cell in notebook.cells]


def test_a_kernel_gives_points_by_property_none_for_stubs_and_takes_none_for_noise(course: Path) -> None:
    found = scores(course, "kernel_partial")
    assert 0 < found.pop("check-2-3") < TASKS["2.3"].max_points and found.pop("check-2-4") == 0
    assert 0 < found.pop("check-record") < TASKS["record"].max_points  # it calls 2.3
    assert found == {name: MAX[name] for name in found}
    assert scores(course, "kernel_untouched") == dict.fromkeys(MAX, 0)


@pytest.mark.parametrize("student", [edit.__name__ for edit in EDITS])
def test_in_the_sandbox_every_notebook_gets_the_grader_s_own_scores(course: Path, library: Path, student: str) -> None:
    result = grade(Source(student, submitted(course, student)), library)
    expected = {check_cell(report.task): report.points for report in result.reports}
    assert scores(course, student) == expected
    assert student != "partial" or expected == scores(course, "kernel_partial")
    assert student != "copied" or expected == MAX
    assert student != "never_run" or expected == MAX | {"check-2-1": 0}
    MetadataValidator().validate_nb(autograded(course, student))


def test_autograded_notebooks_show_reports_no_hidden_test_and_nothing_of_what_a_link_leads_to(course: Path) -> None:
    assert "fails: equal_passes" in cell_of(autograded(course, "partial"), "check-2-3").outputs[0].text
    for edit in EDITS:
        assert not any("HIDDEN" in cell.source for cell in autograded(course, edit.__name__).cells)
    assert sum(scores(course, "link").values()) == 0
    assert not any("def " in cell.source and cell.id.startswith("task") for cell in autograded(course, "link").cells)


def test_feedback_shows_properties_and_runs_nothing_of_a_student(course: Path) -> None:
    assert sandboxed(course, "generate_feedback", "--student=partial").returncode == 0
    page = (course / "feedback" / "partial" / LESSON / f"{LESSON}.html").read_text()
    assert "equal_passes" in page and "HIDDEN TESTS" not in page
    assert "steal()" in page and "<script>steal()" not in page and "onerror=" not in page


def test_without_a_sandbox_nothing_is_graded_and_the_reason_is_reported(course: Path, tmp_path: Path) -> None:
    for name in ("source", "release", "submitted"):
        (tmp_path / name).symlink_to(course / name)
    script = (
        "import sys, grader.run.sandbox as s\n"
        "s._program = lambda: (_ for _ in ()).throw(s.NoSandbox('Install bubblewrap.'))\n"
        "from nbgrader.apps.nbgraderapp import main\nsys.argv = ['nbgrader', *sys.argv[1:]]\nmain()\n"
    )
    places = [f"--CourseDirectory.root={tmp_path}", f"--CourseDirectory.db_url={default_url(course)}"]
    words = [sys.executable, "-c", script, "autograde", LESSON, "--student=partial", *places]
    done = subprocess.run(words, cwd=SETTINGS.parent, capture_output=True, text=True)
    assert done.returncode == 1 and "Install bubblewrap." in done.stderr
    assert not (tmp_path / "autograded" / "partial" / LESSON).exists()


def test_a_sandbox_that_fails_leaves_the_grade_as_it_was(course: Path, tmp_path: Path) -> None:
    before = scores(course, "copied")
    starts, bwrap = tmp_path / "starts", tmp_path / "bwrap"
    bwrap.write_text(f'#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) = 1 ] && exec /usr/bin/bwrap "$@"\nexit 1\n')
    bwrap.chmod(0o755)
    programs = f"{tmp_path}:{os.defpath}"
    done = sandboxed(course, "autograde", "--student=copied", "--force", programs=programs)
    assert done.returncode != 0 and "NoSandbox" in done.stderr and scores(course, "copied") == before


def test_a_lesson_is_set_up_in_the_gradebook_as_nbgrader_does(course: Path, tmp_path: Path) -> None:
    with Recorder(course, default_url(tmp_path)) as recorder, Gradebook(default_url(course)) as nbgraders:
        books = (recorder.book, nbgraders)
        ours, theirs = (known_cells(book, LESSON, course) for book in books)
        assert ours == theirs
        assert len({book.find_notebook(LESSON, LESSON).kernelspec for book in books}) == 1


def test_nothing_is_left_in_the_repository(course: Path) -> None:
    assert not (SETTINGS.parent / "gradebook.db").exists()
