"""nbgrader's own `autograde` with the sandboxed preprocessors: the grader's scores, and no notebook stops the batch."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

from grader.lessons import build, paths
from grader.lessons.sources import cells_of
from grader.lessons.stubs import contract_imports
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))
NBGRADER = Path(sys.executable).with_name("nbgrader")
NOISE = "import sys, warnings\nprint('x', file=sys.stderr)\nwarnings.warn('w')\n"


pytestmark = pytest.mark.usefixtures("needs_sandbox")


def nbgrader(
    command: str, course: Path, *arguments: str, programs: str = os.defpath
) -> subprocess.CompletedProcess[str]:
    """Run a command of nbgrader in the folder with its configuration, in an environment that is not activated."""
    return subprocess.run(
        [NBGRADER, command, LESSON, f"--CourseDirectory.root={course}", *arguments],
        cwd=paths.ROOT / "grader",
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
    )


def cell_of(document: Any, name: str) -> Any:
    return next(cell for cell in document.cells if cell.id == name)


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


def partial(document: Any) -> None:
    task = cell_of(document, "task-2-3")
    task.source = task.source.replace(">= threshold", "> threshold")
    cell_of(document, "task-2-4").source = "import os\nos._exit(0)\ndef block_mask(*a): return []"


def noisy(document: Any) -> None:
    cell_of(document, "task-2-1").source = NOISE + cell_of(document, "task-2-1").source


def with_script(document: Any) -> None:
    document.cells.insert(0, nbformat.v4.new_markdown_cell("<script>steal()</script><img src=x onerror=steal()>"))


EDITS = [copied, never_run, partial, noisy, with_script]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A course with a submission for each edit, one that is no notebook and one that is a link, all autograded."""
    course = tmp_path_factory.mktemp("course")
    cells = list(cells_of((paths.SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(build.notebook(cells, for_nbgrader=True), encoding="utf-8")
    assert nbgrader("generate_assignment", course).returncode == 0
    sources = {f"task-{task.id.replace('.', '-')}": task.reference_source for task in tasks_of(LESSON)}
    solved = {name: contract_imports(source) + source for name, source in sources.items()}
    for edit in EDITS:
        document = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
        for cell in document.cells:
            cell.source = solved.get(cell.id, cell.source)
        edit(document)
        nbformat.write(document, submitted(course, edit.__name__))
    submitted(course, "broken").write_text("no notebook")
    submitted(course, "link").symlink_to(submitted(course, "noisy"))
    done = nbgrader("autograde", course)
    assert set(re.findall(r"assignment '.*?' for student '(.*?)'", done.stderr)) == {"broken"}, done.stderr[-3000:]
    yield course


def submitted(course: Path, student: str) -> Path:
    path = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def autograded(course: Path, student: str) -> Any:
    return nbformat.read(course / "autograded" / student / LESSON / f"{LESSON}.ipynb", as_version=4)


def scores(course: Path, student: str) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        grades = book.find_submission_notebook(LESSON, LESSON, student).grades
        assert not any(grade.needs_manual_grade for grade in grades)
        return {grade.name: grade.score for grade in grades}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_every_notebook_gets_the_grader_s_own_scores(course: Path, library: Path, edit: Callable[[Any], None]) -> None:
    result = grade(Source(edit.__name__, submitted(course, edit.__name__)), library)
    expected = {f"check-{report.task.replace('.', '-')}": report.points for report in result.reports}
    assert scores(course, edit.__name__) == expected
    assert edit in (never_run, partial) or sum(expected.values()) == MAX
    MetadataValidator().validate_nb(autograded(course, edit.__name__))


def test_a_check_that_would_never_run_scores_what_the_solution_is_worth(course: Path) -> None:
    assert scores(course, "never_run")["check-2-1"] == 0
    assert sum(scores(course, "never_run").values()) == MAX - next(t.max_points for t in tasks_of(LESSON))


def test_autograded_notebooks_show_reports_and_no_hidden_test(course: Path) -> None:
    check = next(cell for cell in autograded(course, "partial").cells if cell.id == "check-2-3")
    assert "fails: equal_passes" in check.outputs[0].text
    for edit in EDITS:
        assert not any("HIDDEN" in cell.source for cell in autograded(course, edit.__name__).cells)
    assert sum(scores(course, "link").values()) == 0  # and nothing of its target is shown
    assert not any("def " in cell.source and cell.id.startswith("task") for cell in autograded(course, "link").cells)


def test_feedback_shows_properties_and_runs_nothing_of_a_student(course: Path) -> None:
    assert nbgrader("generate_feedback", course).returncode == 0
    pages = {edit: (course / "feedback" / edit / LESSON / f"{LESSON}.html") for edit in ("partial", "with_script")}
    assert "equal_passes" in pages["partial"].read_text() and "HIDDEN TESTS" not in pages["partial"].read_text()
    text = pages["with_script"].read_text()
    assert "steal()" in text and "<script>steal()" not in text and "onerror=" not in text


def test_without_a_sandbox_nothing_is_graded_and_the_reason_is_reported(course: Path, tmp_path: Path) -> None:
    for name in ("source", "release", "submitted"):
        (tmp_path / name).symlink_to(course / name)
    script = (
        "import sys, grader.run.sandbox as s\n"
        "s._program = lambda: (_ for _ in ()).throw(s.NoSandbox('Install bubblewrap.'))\n"
        "from nbgrader.apps.nbgraderapp import main\nsys.argv = ['nbgrader', *sys.argv[1:]]\nmain()\n"
    )
    database = f"--CourseDirectory.db_url=sqlite:///{course / 'gradebook.db'}"
    arguments = ["autograde", LESSON, "--student=partial", f"--CourseDirectory.root={tmp_path}", database]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=paths.ROOT / "grader", capture_output=True, text=True
    )
    assert done.returncode == 1 and "Install bubblewrap." in done.stderr
    assert not (tmp_path / "autograded" / "partial" / LESSON).exists()


def test_a_sandbox_that_fails_leaves_the_grade_as_it_was(course: Path, tmp_path: Path) -> None:
    before = scores(course, "noisy")
    starts, bwrap = tmp_path / "starts", tmp_path / "bwrap"
    bwrap.write_text(f'#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) = 1 ] && exec /usr/bin/bwrap "$@"\nexit 1\n')
    bwrap.chmod(0o755)
    programs = f"{tmp_path}:{os.defpath}"
    done = nbgrader("autograde", course, "--student=noisy", "--force", programs=programs)
    assert done.returncode != 0 and "NoSandbox" in done.stderr and scores(course, "noisy") == before
