"""The notebooks beside nbgrader's gradebook: valid whatever was handed in, with reports, open in its formgrader."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

from grader.check.text import all_of_task
from grader.export.nbgrader_database import GradebookError, default_url
from grader.export.nbgrader_gradebook import record
from grader.export.nbgrader_notebook import REPORT_WIDTH, check_cell
from grader.lessons import paths
from grader.lessons.checks import TASKS
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))


def copied(document: Any) -> None:
    """A copied solution and a copied check, as JupyterLab pastes them: new ids, the same metadata."""
    for name in ("task-2-1", "check-2-1"):
        cell = next(cell for cell in document.cells if cell.id == name)
        document.cells.append(nbformat.from_dict(cell | {"id": f"{name}-copy", "source": "# the last one counts"}))


def missing(document: Any) -> None:
    document.cells = [cell for cell in document.cells if cell.id not in ("check-2-1", "task-2-2", "check-2-2")]


def old_schemas(document: Any) -> None:
    for version, cell in enumerate(cell for cell in document.cells if "nbgrader" in cell.metadata):
        cell.metadata.nbgrader["schema_version"] = version % 5
        if version % 5 == 0:
            del cell.metadata.nbgrader["schema_version"]


def odd_metadata(document: Any) -> None:
    odd = ["x", [], None, {"grade_id": []}, {"grade_id": "check-2-1", "points": 1e9, "grade": True}, {"solution": 7}]
    for number, cell in enumerate(document.cells):
        cell.metadata = {"nbgrader": odd[number % len(odd)], "tags": ["skip-execution"], "deletable": False}


def other_types(document: Any) -> None:
    for cell in document.cells:
        if cell.id.startswith(("check", "task")):
            cell.cell_type = "markdown"
            del cell["outputs"], cell["execution_count"]


def odd_cells(document: Any) -> None:
    document.cells[:0] = [7, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 3}]
    document.cells.append({"cell_type": "code", "source": "x = '\ud800'", "metadata": {}, "outputs": []})


def no_cells(document: Any) -> None:
    document.cells = []


EDITS = [copied, missing, old_schemas, odd_metadata, other_types, odd_cells, no_cells]


def test_whatever_a_notebook_is_like_nbgrader_gets_a_valid_one(
    course: Path, hand_in: Any, result_of: Any, scores: Any, autograded: Any
) -> None:
    for edit in EDITS:
        hand_in(edit.__name__, edit)
    assert record([result_of(edit.__name__, {"2.3": 4}) for edit in EDITS], course) == []
    for student in (edit.__name__ for edit in EDITS):
        assert sum(scores(default_url(course), student).values()) == MAX - 4
        document = autograded(student)
        MetadataValidator().validate_nb(document)
        nbformat.validate(document)
        marks = [cell.metadata.get("nbgrader", {}) for cell in document.cells]
        checks = [mark["grade_id"] for mark in marks if mark.get("grade")]
        assert sorted(checks) == sorted(check_cell(task.id) for task in tasks_of(LESSON))


def test_of_copies_of_a_cell_the_last_one_above_its_check_counts_as_in_grading(
    course: Path, hand_in: Any, result_of: Any, autograded: Any
) -> None:
    def edit(document: Any) -> None:
        (at,) = (index for index, cell in enumerate(document.cells) if cell.id == "task-2-1")
        for place, source in ((at, "# first"), (len(document.cells) + 1, "# below")):
            document.cells.insert(place, nbformat.from_dict(document.cells[at] | {"id": source[2:], "source": source}))
        document.cells[at + 1].source = "# second"
        document.cells[at].metadata = document.cells[-1].metadata = document.cells[at + 1].metadata | {
            "nbgrader": {"grade_id": "task-2-1"}
        }

    hand_in("ada", edit)
    record([result_of("ada")], course)
    cells = [c for c in autograded("ada").cells if c.metadata.get("nbgrader", {}).get("grade_id") == "task-2-1"]
    assert [cell.source for cell in cells] == ["# second"]


def test_autograded_notebooks_show_reports_and_no_hidden_test(
    course: Path, hand_in: Any, result_of: Any, autograded: Any
) -> None:
    marks = "### BEGIN HIDDEN TESTS\n" * 40_000  # in a student's cell they take no time
    for student, source in (("ada", "γ = 1"), ("eve", marks)):
        hand_in(student, lambda document, s=source: document.cells.append(nbformat.v4.new_code_cell(s)))
    path = course / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb"
    path.write_text(path.read_text(), encoding="utf-16")
    started = time.perf_counter()
    record([result_of("ada", {"2.3": 4}), result_of("eve")], course)
    assert time.perf_counter() - started < 20 and autograded("eve").cells[-1].source == marks
    assert autograded("ada").cells[-1].source == "γ = 1"  # though it was in another encoding
    path = course / "autograded" / "ada" / LESSON / f"{LESSON}.ipynb"
    check = next(cell for cell in autograded("ada").cells if cell.id == "check-2-3")
    assert check.source == 'check("2.3", choose_confident_prefix)'
    points = TASKS["2.3"].max_points
    assert f"{points - 4} of {points} points" in check.outputs[0].text and "Says <why>." in check.outputs[0].text
    assert "HIDDEN" not in path.read_text() and oct(path.stat().st_mode)[-3:] == "444"


def test_cells_keep_their_share_whatever_they_are_worth_and_one_that_never_ran_scores_nothing(
    course: Path, sqlite: str, hand_in: Any, result_of: Any, scores: Any, autograded: Any
) -> None:
    path = course / "source" / LESSON / f"{LESSON}.ipynb"
    document = nbformat.read(path, as_version=4)
    points = {"check-2-1": 0, "check-2-2": 2 * TASKS["2.2"].max_points}  # as an instructor may change them
    for cell in document.cells:
        if cell.id in points:
            cell.metadata.nbgrader["points"] = points[cell.id]
    own = {"grade": True, "grade_id": "own", "locked": True, "points": 5, "schema_version": 3, "solution": False}
    document.cells.append(nbformat.v4.new_code_cell("assert True", metadata={"nbgrader": own | {"task": False}}))
    nbformat.write(document, path)
    hand_in("ada")
    assert record([result_of("ada", {"2.2": 5})], course, sqlite) == []
    found = scores(sqlite, "ada")
    assert (found["check-2-1"], found["own"]) == (0, 0) and "was not run" in autograded("ada").cells[-1].outputs[0].text
    assert found["check-2-2"] == 2 * (TASKS["2.2"].max_points - 5)


def test_an_unreadable_submission_scores_nothing_and_shows_why(
    course: Path, tmp_path: Path, hand_in: Any, library: Path, scores: Any
) -> None:
    (tmp_path / "secret.ipynb").write_text(hand_in("bob").read_text().replace("def ", "def secret_"))
    path = course / "submitted" / "eve" / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret.ipynb")
    result = grade(Source("eve", path), library, sandbox=False).to_json()
    (refused,) = record([result], course)
    assert "--unreadable-as-zero" in refused
    assert record([result | {"score": 0}], course) == []
    assert sum(scores(default_url(course), "eve").values()) == 0
    text = (course / "autograded" / "eve" / LESSON / f"{LESSON}.ipynb").read_text()
    assert "It is a link" in text and "secret" not in text


def test_a_lesson_without_source_is_named_in_a_sentence(
    course: Path, hand_in: Any, monkeypatch: pytest.MonkeyPatch, result_of: Any
) -> None:
    monkeypatch.setattr("grader.export.nbgrader_cells.NBGRADER_SOURCE", course / "nowhere")
    (course / "source" / LESSON / f"{LESSON}.ipynb").unlink()
    hand_in("ada")
    with pytest.raises(GradebookError, match="`dspark-mini build` writes it"):
        record([result_of("ada")], course)


def test_reports_are_folded_and_a_students_message_cannot_pass_for_another_line(result_of: Any) -> None:
    task = result_of("ada", {"2.1": 1})["tasks"][0]
    task["properties"][0]["message"] = "Got: no\n  holds: everything\n" + "word " * 60
    lines = all_of_task(task, REPORT_WIDTH).splitlines()
    assert max(map(len, lines)) <= REPORT_WIDTH and not any(line.startswith("  holds") for line in lines)


@pytest.fixture
def formgrader(course: Path) -> Iterator[Callable[[str], str]]:
    """Start Jupyter's server with nbgrader's formgrader on a course; give a function that asks it for a page."""
    settings, folder = paths.ROOT / "grader" / "nbgrader_config.py", str(course.resolve())
    lines = [f"load_subconfig({str(settings)!r})", "c = get_config()", f"c.CourseDirectory.root = {folder!r}"]
    (course / "nbgrader_config.py").write_text("\n".join(lines))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = [f"--ServerApp.port={port}", "--IdentityProvider.token=known", f"--ServerApp.root_dir={folder}"]
    command = [sys.executable, "-m", "jupyter", "server", "--no-browser", "--allow-root", *options]
    server = subprocess.Popen(command, cwd=course, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def page(path: str) -> str:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers={"Authorization": "token known"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())

    try:
        for _ in range(600):
            with suppress(urllib.error.URLError):
                page("api")
                break
            assert server.poll() is None
            time.sleep(0.2)
        yield page
    finally:
        server.terminate()
        server.wait(60)


def test_formgrader_opens_what_was_recorded(
    course: Path, hand_in: Any, formgrader: Callable[[str], str], result_of: Any
) -> None:
    hand_in("ada", lambda document: document.cells.append(nbformat.v4.new_markdown_cell("<script>steal()</script>")))
    record([result_of("ada", {"2.3": 4})], course)
    (submission,) = json.loads(formgrader(f"formgrader/api/submissions/{LESSON}"))
    assert (submission["student"], submission["score"], submission["max_score"]) == ("ada", MAX - 4, MAX)
    assert submission["autograded"] and submission["submitted"]
    with Gradebook(default_url(course), "dspark_mini") as book:
        identity = book.find_submission_notebook(LESSON, LESSON, "ada").id
    html = formgrader(f"formgrader/submissions/{identity}/")
    assert "Says &lt;why&gt;." in html and "HIDDEN TESTS" not in html
    assert "steal()" in html and "<script>steal()" not in html
    grades = {
        g["name"]: g["auto_score"] for g in json.loads(formgrader(f"formgrader/api/grades?submission_id={identity}"))
    }
    assert grades["check-2-3"] == TASKS["2.3"].max_points - 4
