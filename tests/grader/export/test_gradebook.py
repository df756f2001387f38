"""Results in nbgrader's gradebook, SQLite and PostgreSQL: whole or not at all, and nothing of a person's work lost.

The tests of PostgreSQL need a server: DSPARK_TEST_POSTGRESQL=postgresql+psycopg://user@host:port/postgres
"""

from __future__ import annotations

import datetime
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sqlalchemy as sa
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

import grader.export.nbgrader_gradebook
from grader.export.nbgrader_database import GradebookError, default_url
from grader.export.nbgrader_gradebook import NotRecorded, Recorder, record, student_of
from grader.export.nbgrader_notebook import check_cell, report_text
from grader.lessons import build, paths
from grader.lessons.checks import TASKS
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))
SERVER = os.environ.get("DSPARK_TEST_POSTGRESQL")
Result = dict[str, Any]


@pytest.fixture(scope="session")
def source_text() -> str:
    cells = list(build._cells((paths.SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    return build.notebook(cells, for_nbgrader=True)


@pytest.fixture
def course(tmp_path: Path, source_text: str) -> Path:
    """A course with the source of one lesson, and nothing else yet."""
    source = tmp_path / "course" / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(source_text, encoding="utf-8")
    return tmp_path / "course"


@pytest.fixture(params=["sqlite", "postgresql"])
def db_url(request: pytest.FixtureRequest, course: Path) -> Iterator[str]:
    """The address of a gradebook that is not there yet, or has no tables yet."""
    if request.param == "sqlite":
        yield default_url(course)
        return
    if SERVER is None:
        pytest.skip("DSPARK_TEST_POSTGRESQL names no server")
    name = f"dspark_{uuid.uuid4().hex}"
    server = sa.create_engine(SERVER, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(SERVER).set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    server.dispose()


@pytest.fixture
def hand_in(course: Path) -> Callable[..., Path]:
    """Return a function that puts a notebook where nbgrader collects it."""

    def put(student: str, edit: Callable[[Any], None] = lambda document: None) -> Path:
        document = nbformat.read(paths.NOTEBOOKS / f"{LESSON}.ipynb", as_version=4)
        edit(document)
        path = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return put


def result_of(student: str, lost: Mapping[str, int] = {}, **changes: Any) -> Result:
    """A result as `dspark-mini grade --json` writes it, with full points but for those lost by task."""
    tasks = []
    for task in tasks_of(LESSON):
        points = task.max_points - lost.get(task.id, 0)
        item = {"name": task.properties[0].name, "passed": False, "message": "Says <why>.", "hint": "Try this."}
        about = {"task": task.id, "function": task.function, "status": "pass", "properties": []}
        about |= {"points": points, "max_points": task.max_points}
        tasks.append(about | ({"status": "partial", "properties": [item]} if task.id in lost else {}))
    score = sum(task["points"] for task in tasks)
    common = {"submission": student, "lesson": LESSON, "status": "partial", "tasks": tasks}
    return common | {"score": score, "max_score": MAX} | changes


@contextmanager
def opened(db_url: str) -> Iterator[Any]:
    with Gradebook(db_url, "dspark_mini") as book:
        yield book


def scores(db_url: str, student: str) -> dict[str, float]:
    with opened(db_url) as book:
        grades = book.find_submission_notebook(LESSON, LESSON, student).grades
        return {grade.name: grade.score for grade in grades}


def students(db_url: str) -> list[str]:
    with opened(db_url) as book:
        return sorted(submission.student.id for submission in book.assignment_submissions(LESSON))


def autograded(course: Path, student: str) -> Any:
    return nbformat.read(course / "autograded" / student / LESSON / f"{LESSON}.ipynb", as_version=4)


def leftovers(course: Path) -> list[Path]:
    return [path for path in (course / "autograded").rglob("*") if path.name.startswith(".")]


def test_scores_in_the_gradebook_are_those_of_the_grader(
    course: Path, db_url: str, make_notebook: Callable[..., Path], library: Path
) -> None:
    edits = {"task-2-3": lambda source: source.replace(">= threshold", "> threshold"), "task-2-4": "def block_mask(:"}
    path = make_notebook(edits=edits)
    result = grade(Source("ada", path), library, sandbox=False).to_json()
    assert record([result], course, db_url, [path]) == []
    assert scores(db_url, "ada") == {check_cell(task["task"]): task["points"] for task in result["tasks"]}
    with opened(db_url) as book:
        submission = book.find_submission(LESSON, "ada")
        assert (submission.score, submission.max_score) == (result["score"], MAX)
        assert not submission.needs_manual_grade


def test_what_people_entered_survives_grading_again(course: Path, db_url: str, hand_in: Callable[..., Path]) -> None:
    hand_in("ada")
    record([result_of("ada")], course, db_url)
    with opened(db_url) as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, "ada")
        by_hand = next(grade for grade in notebook.grades if grade.name == "check-2-1")
        by_hand.manual_score, by_hand.extra_credit = 3.5, 0.5
        book.find_comment("task-2-1", LESSON, LESSON, "ada").manual_comment = "Well read."
        book.grant_extension(LESSON, "ada", days=2)
        notebook.flagged, notebook.late_submission_penalty = True, 2.0
        book.db.commit()
    record([result_of("ada", {"2.1": 10, "2.2": 4})], course, db_url)
    assert scores(db_url, "ada")["check-2-2"] == TASKS["2.2"].max_points - 4
    with opened(db_url) as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, "ada")
        by_hand = next(grade for grade in notebook.grades if grade.name == "check-2-1")
        assert (by_hand.auto_score, by_hand.manual_score) == (TASKS["2.1"].max_points - 10, 3.5)
        assert (by_hand.extra_credit, by_hand.score, by_hand.needs_manual_grade) == (0.5, 4.0, True)
        assert book.find_comment("task-2-1", LESSON, LESSON, "ada").comment == "Well read."
        assert (notebook.flagged, notebook.late_submission_penalty) == (True, 2.0)
        assert book.find_submission(LESSON, "ada").extension == datetime.timedelta(days=2)


def test_a_plugin_for_late_submissions_decides_on_the_penalty(
    course: Path, db_url: str, hand_in: Callable[..., Path]
) -> None:
    config = (paths.ROOT / "grader" / "nbgrader_config.py").read_text(encoding="utf-8")
    (course / "nbgrader_config.py").write_text(config + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    for student, day in (("early", 1), ("late", 3)):
        hand_in(student).with_name("timestamp.txt").write_text(f"2026-05-0{day} 12:00:00 UTC")
    results = [result_of("early", {"2.1": 2}), result_of("late", {"2.1": 2})]
    record(results, course, db_url)
    with opened(db_url) as book:
        book.update_or_create_assignment(LESSON, duedate="2026-05-02 12:00:00 UTC")
    record(results, course, db_url)
    with opened(db_url) as book:
        penalties = [book.find_submission(LESSON, name).late_submission_penalty for name in ("early", "late")]
    assert penalties == [0, MAX - 2]
    assert "2026-05-03" in (course / "autograded" / "late" / LESSON / "timestamp.txt").read_text()


def test_unchanged_cells_are_commented_as_no_response(course: Path, db_url: str, hand_in: Callable[..., Path]) -> None:
    def answer(document: Any) -> None:
        next(cell for cell in document.cells if cell.id == "task-2-1").source = "def mine(): ..."

    hand_in("ada", answer)
    record([result_of("ada")], course, db_url)
    with opened(db_url) as book:
        comments = {c.name: c.comment for c in book.find_submission_notebook(LESSON, LESSON, "ada").comments}
    assert comments.pop("task-2-1") is None and set(comments.values()) == {"No response."} and len(comments) == 4


def test_a_locked_gradebook_is_waited_for_and_then_named_in_a_sentence(
    course: Path, db_url: str, hand_in: Callable[..., Path]
) -> None:
    for student in ("ada", "bob"):
        hand_in(student)
    record([result_of("ada")], course, db_url)
    before = autograded(course, "ada")
    engine = sa.create_engine(db_url)
    with Recorder(course, db_url, patience=0.3) as recorder:
        with engine.connect() as holder, holder.begin():
            if engine.dialect.name == "postgresql":
                holder.exec_driver_sql("LOCK TABLE student, submitted_assignment, grade IN EXCLUSIVE MODE")
            else:
                holder.exec_driver_sql("BEGIN EXCLUSIVE")
            for student in ("ada", "bob"):
                with pytest.raises(GradebookError, match=r"held it for more than 0\.3 s.*record again"):
                    recorder.record(result_of(student, {"2.1": 5}))
        assert autograded(course, "ada") == before and not leftovers(course)
        assert students(db_url) == ["ada"] and sum(scores(db_url, "ada").values()) == MAX
        for student in ("ada", "bob"):
            recorder.record(result_of(student, {"2.1": 5}))
    engine.dispose()
    assert [sum(scores(db_url, student).values()) for student in ("ada", "bob")] == [MAX - 5] * 2


def test_nothing_is_left_of_a_submission_that_fails_on_the_way(
    course: Path, db_url: str, hand_in: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(document: Any) -> str:
        raise OSError("No space left on device")

    for student in ("ada", "bob"):
        hand_in(student)
    record([result_of("ada")], course, db_url)
    with monkeypatch.context() as patch:
        patch.setattr(grader.export.nbgrader_gradebook.nbformat, "writes", full_disk)
        with pytest.raises(OSError, match="No space"):
            record([result_of("ada", {"2.1": 5}), result_of("bob")], course, db_url)
    assert students(db_url) == ["ada"] and sum(scores(db_url, "ada").values()) == MAX
    assert not (course / "autograded" / "bob").exists() and not leftovers(course)


def test_several_threads_and_several_programs_may_record(
    course: Path, db_url: str, hand_in: Callable[..., Path]
) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        hand_in(name)
    with Recorder(course, db_url) as one, Recorder(course, db_url) as two:
        jobs = [(book, name) for book, mine in ((one, names[:5]), (two, names[3:])) for name in mine]
        threads = [threading.Thread(target=book.record, args=(result_of(name),)) for book, name in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert students(db_url) == names and not leftovers(course)
    assert {sum(scores(db_url, name).values()) for name in names} == {MAX}


def test_a_first_gradebook_is_whole_without_alembic_on_path(
    course: Path, db_url: str, hand_in: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in("ada")
    monkeypatch.setenv("PATH", "/nowhere")
    record([result_of("ada")], course, db_url)
    assert sum(scores(db_url, "ada").values()) == MAX
    with sa.create_engine(db_url).connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1


def test_half_a_gradebook_is_completed(
    course: Path, db_url: str, hand_in: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in("ada")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        with pytest.raises(FileNotFoundError, match="alembic"):
            Gradebook(db_url)  # nbgrader makes the tables, then fails
    record([result_of("ada")], course, db_url)
    assert sum(scores(db_url, "ada").values()) == MAX
    with sa.create_engine(db_url).connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1


def test_a_gradebook_of_another_version_is_left_alone(course: Path, db_url: str) -> None:
    Recorder(course, db_url).book.close()
    engine = sa.create_engine(db_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'b6d005d67074'")
    engine.dispose()
    with pytest.raises(GradebookError, match=r"another version of nbgrader.*`nbgrader db upgrade`"):
        Recorder(course, db_url)


def test_a_gradebook_from_before_versions_is_left_alone(course: Path) -> None:
    with sqlite3.connect(course / "gradebook.db") as old:
        old.execute("CREATE TABLE assignment (id VARCHAR(32), name VARCHAR(128))")
    old.close()
    with pytest.raises(GradebookError, match="another version"):
        Recorder(course)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nonsense", "'nonsense' is no address"),
        ("oracle+nothing://host/db", "is no address"),
        ("postgresql+psycopg://ada:secret@127.0.0.1:1/grades", "ada:\\*\\*\\*@127.0.0.1:1/grades cannot be used"),
        ("sqlite:////proc/grades/gradebook.db", "cannot be used"),
    ],
)
def test_a_gradebook_that_cannot_be_opened_is_named_in_a_sentence(course: Path, address: str, sentence: str) -> None:
    with pytest.raises(GradebookError, match=sentence) as caught:
        Recorder(course, address, patience=1)
    assert "secret" not in str(caught.value)


def test_a_course_that_is_not_there_is_named_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(GradebookError, match=r"no folder .*absent of a course"):
        Recorder(tmp_path / "absent")


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


@pytest.mark.parametrize(
    "edit",
    [copied, missing, old_schemas, odd_metadata, other_types, odd_cells, no_cells],
    ids=lambda edit: edit.__name__,
)
def test_whatever_a_notebook_is_like_nbgrader_gets_a_valid_one(
    course: Path, hand_in: Callable[..., Path], edit: Callable[[Any], None]
) -> None:
    hand_in("ada", edit)
    assert record([result_of("ada", {"2.3": 4})], course) == []
    assert sum(scores(default_url(course), "ada").values()) == MAX - 4
    document = autograded(course, "ada")
    MetadataValidator().validate_nb(document)
    nbformat.validate(document)
    checks = [c.metadata.nbgrader["grade_id"] for c in document.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert sorted(checks) == sorted(check_cell(task.id) for task in tasks_of(LESSON))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_notebook_in_another_encoding_is_shown_as_it_was_graded(
    course: Path, hand_in: Callable[..., Path], encoding: str
) -> None:
    path = hand_in("ada", lambda document: document.cells.append(nbformat.v4.new_markdown_cell("Mine: γ")))
    path.write_text(path.read_text(), encoding=encoding)
    assert record([result_of("ada")], course) == []
    assert autograded(course, "ada").cells[-1].source == "Mine: γ"


def test_the_last_copy_of_a_cell_counts(course: Path, hand_in: Callable[..., Path]) -> None:
    hand_in("ada", copied)
    record([result_of("ada")], course)
    cells = [c for c in autograded(course, "ada").cells if c.metadata.get("nbgrader", {}).get("grade_id") == "task-2-1"]
    assert [cell.source for cell in cells] == ["# the last one counts"]


def test_of_copies_of_a_cell_the_last_one_above_its_check_counts_as_in_grading(
    course: Path, hand_in: Callable[..., Path]
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
    cells = [c for c in autograded(course, "ada").cells if c.metadata.get("nbgrader", {}).get("grade_id") == "task-2-1"]
    assert [cell.source for cell in cells] == ["# second"]


def test_autograded_notebooks_show_reports_and_no_hidden_test(course: Path, hand_in: Callable[..., Path]) -> None:
    hand_in("ada")
    record([result_of("ada", {"2.3": 4})], course)
    path = course / "autograded" / "ada" / LESSON / f"{LESSON}.ipynb"
    check = next(cell for cell in autograded(course, "ada").cells if cell.id == "check-2-3")
    assert check.source == 'check("2.3", choose_confident_prefix)'
    points = TASKS["2.3"].max_points
    assert f"{points - 4} of {points} points" in check.outputs[0].text and "Says <why>." in check.outputs[0].text
    assert "HIDDEN" not in path.read_text() and oct(path.stat().st_mode)[-3:] == "444"


def test_marks_of_hidden_tests_in_a_students_cell_take_no_time(course: Path, hand_in: Callable[..., Path]) -> None:
    marks = "### BEGIN HIDDEN TESTS\n" * 40_000
    hand_in("eve", lambda document: document.cells.append(nbformat.v4.new_code_cell(marks)))
    started = time.perf_counter()
    assert record([result_of("eve")], course) == []
    assert time.perf_counter() - started < 20
    assert autograded(course, "eve").cells[-1].source == marks


def weighted(course: Path, **points: float) -> None:
    """Let an instructor change what cells are worth before the lesson is handed out."""
    path = course / "source" / LESSON / f"{LESSON}.ipynb"
    document = nbformat.read(path, as_version=4)
    for cell in document.cells:
        if cell.id.replace("-", "_") in points:
            cell.metadata.nbgrader["points"] = points[cell.id.replace("-", "_")]
    nbformat.write(document, path)


def test_cells_of_no_points_and_of_more_points_keep_their_share(
    course: Path, db_url: str, hand_in: Callable[..., Path]
) -> None:
    weighted(course, check_2_1=0, check_2_2=2 * TASKS["2.2"].max_points)
    hand_in("ada")
    assert record([result_of("ada", {"2.2": 5})], course, db_url) == []
    assert scores(db_url, "ada")["check-2-1"] == 0
    assert scores(db_url, "ada")["check-2-2"] == 2 * (TASKS["2.2"].max_points - 5)


def test_a_graded_cell_that_never_ran_scores_nothing(course: Path, hand_in: Callable[..., Path]) -> None:
    path = course / "source" / LESSON / f"{LESSON}.ipynb"
    document = nbformat.read(path, as_version=4)
    own = {"grade": True, "grade_id": "own", "locked": True, "points": 5, "schema_version": 3, "solution": False}
    document.cells.append(nbformat.v4.new_code_cell("assert True", metadata={"nbgrader": own | {"task": False}}))
    nbformat.write(document, path)
    hand_in("ada")
    record([result_of("ada")], course)
    assert scores(default_url(course), "ada")["own"] == 0
    assert "was not run" in autograded(course, "ada").cells[-1].outputs[0].text


def test_an_unreadable_submission_scores_nothing_and_shows_why(
    course: Path, tmp_path: Path, hand_in: Callable[..., Path], library: Path
) -> None:
    (tmp_path / "secret.ipynb").write_text(hand_in("bob").read_text().replace("def ", "def secret_"))
    path = course / "submitted" / "eve" / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret.ipynb")
    result = grade(Source("eve", path), library, sandbox=False).to_json()
    assert record([result], course) == []
    assert sum(scores(default_url(course), "eve").values()) == 0
    text = (course / "autograded" / "eve" / LESSON / f"{LESSON}.ipynb").read_text()
    assert "It is a link" in text and "secret" not in text


def test_results_without_a_place_are_refused_in_sentences(course: Path, hand_in: Callable[..., Path]) -> None:
    hand_in("ada")
    elsewhere = course / "submitted" / "ada" / "01_verification" / "01_verification.ipynb"
    cases: list[tuple[Result, Path | None, str]] = [
        (result_of("mine.py", lesson=None), None, "not the notebook of one lesson"),
        (result_of("nobody"), None, "there is no"),
        (result_of("bob"), elsewhere, "lies in a folder 01_verification"),
    ]
    with Recorder(course) as recorder:
        recorder.record(result_of("ada"))
        for result, path, sentence in [*cases, (result_of("ada"), None, "another submission")]:
            with pytest.raises(NotRecorded, match=sentence):
                recorder.record(result, path)
    assert students(default_url(course)) == ["ada"]


@pytest.mark.parametrize(
    ("submission", "student"),
    [
        ("ada", "ada"),
        ("ada/resubmitted", "ada"),
        ("O'Hara-Nu\u0301n\u0303ez, J. (b@x.org)_123", "O'Hara-Nu\u0301n\u0303ez, J. (b@x.org)_123"),
        ("हिन्दी", "हिन्दी"),
        (f"course/submitted/ada/{LESSON}/{LESSON}.ipynb", "ada"),
        (f"ada/{LESSON}.ipynb", "ada"),
        ("ada.ipynb", "ada"),
    ],
)
def test_students_go_by_the_name_of_their_submission(submission: str, student: str) -> None:
    assert student_of(submission, LESSON) == student


@pytest.mark.parametrize("name", ["", "..", ".", "../ada", "/etc", ".hidden", "a\nb", "a\0b", "\ud800", "x" * 129])
def test_names_that_cannot_name_a_folder_are_refused(name: str) -> None:
    with pytest.raises(NotRecorded, match="no name of a student"):
        student_of(name, LESSON)


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", '"; alert(1)', "a\\", "&lt;b&gt;", "{{ x }}", "a`b"])
def test_names_that_the_formgrader_would_run_as_script_are_refused(
    course: Path, hand_in: Callable[..., Path], name: str
) -> None:
    path = hand_in("ada")
    (refusal,) = record([result_of(name)], course, notebooks=[path])
    assert refusal.startswith(repr(name)) and students(default_url(course)) == []


def test_refusals_quote_the_name_that_a_student_chose(course: Path) -> None:
    (refusal,) = record([result_of("x.\nTraceback: ada.py", lesson=None)], course)
    assert "\n" not in refusal and refusal.startswith("'x.\\nTraceback")


def test_a_student_with_an_apostrophe_is_recorded_under_their_name(
    course: Path, db_url: str, hand_in: Callable[..., Path]
) -> None:
    name = "O' OR '1'+'1' (Ada)"
    hand_in(name)
    assert record([result_of(name)], course, db_url) == []
    assert students(db_url) == [name] and sum(scores(db_url, name).values()) == MAX


def test_a_lesson_without_source_is_named_in_a_sentence(
    course: Path, hand_in: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.export.nbgrader_cells.NBGRADER_SOURCE", course / "nowhere")
    (course / "source" / LESSON / f"{LESSON}.ipynb").unlink()
    hand_in("ada")
    with pytest.raises(GradebookError, match="`dspark-mini build` writes it"):
        record([result_of("ada")], course)


def test_reports_are_folded_and_a_students_message_cannot_pass_for_another_line() -> None:
    task = result_of("ada", {"2.1": 1})["tasks"][0]
    task["properties"][0]["message"] = "Got: no\n  holds: everything\n" + "word " * 60
    text = report_text(task)
    assert max(map(len, text.splitlines())) <= 100
    assert not any(line.startswith("  holds") for line in text.splitlines())


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
    course: Path, hand_in: Callable[..., Path], formgrader: Callable[[str], str]
) -> None:
    hand_in("ada", lambda document: document.cells.append(nbformat.v4.new_markdown_cell("<script>steal()</script>")))
    record([result_of("ada", {"2.3": 4})], course)
    (submission,) = json.loads(formgrader(f"formgrader/api/submissions/{LESSON}"))
    assert (submission["student"], submission["score"], submission["max_score"]) == ("ada", MAX - 4, MAX)
    assert submission["autograded"] and submission["submitted"]
    with opened(default_url(course)) as book:
        identity = book.find_submission_notebook(LESSON, LESSON, "ada").id
    html = formgrader(f"formgrader/submissions/{identity}/")
    assert "Says &lt;why&gt;." in html and "HIDDEN TESTS" not in html
    assert "steal()" in html and "<script>steal()" not in html
    grades = {
        g["name"]: g["auto_score"] for g in json.loads(formgrader(f"formgrader/api/grades?submission_id={identity}"))
    }
    assert grades["check-2-3"] == TASKS["2.3"].max_points - 4
