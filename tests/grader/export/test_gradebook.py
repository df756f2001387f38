"""Results in nbgrader's gradebook, SQLite and PostgreSQL: whole or not at all, and nothing of a person's work lost.

The tests of PostgreSQL need a server: DSPARK_TEST_POSTGRESQL=postgresql+psycopg://user@host:port/postgres
"""

import datetime
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from nbgrader.api import Gradebook

import grader.export.nbgrader_gradebook
from grader.export.nbgrader_database import GradebookBusy, GradebookError, default_url
from grader.export.nbgrader_gradebook import NotRecorded, Recorder, record, student_of
from grader.export.nbgrader_notebook import check_cell
from grader.lessons import paths
from grader.lessons.checks import TASKS
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))
Result = dict[str, Any]


def opened(db_url: str) -> Any:
    return Gradebook(db_url, "dspark_mini")


def students(db_url: str) -> list[str]:
    with opened(db_url) as book:
        return sorted(submission.student.id for submission in book.assignment_submissions(LESSON))


def leftovers(course: Path) -> list[Path]:
    return [path for path in (course / "autograded").rglob("*") if path.name.startswith(".")]


def test_scores_in_the_gradebook_are_those_of_the_grader(
    course: Path, db_url: str, make_notebook: Any, library: Path, scores: Any
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


def test_what_people_entered_survives_grading_again(
    course: Path, sqlite: str, hand_in: Any, result_of: Any, scores: Any
) -> None:
    hand_in("ada")
    record([result_of("ada")], course, sqlite)
    with opened(sqlite) as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, "ada")
        by_hand = next(grade for grade in notebook.grades if grade.name == "check-2-1")
        by_hand.manual_score, by_hand.extra_credit = 3.5, 0.5
        book.find_comment("task-2-1", LESSON, LESSON, "ada").manual_comment = "Well read."
        book.grant_extension(LESSON, "ada", days=2)
        notebook.flagged, notebook.late_submission_penalty = True, 2.0
        book.db.commit()
    record([result_of("ada", {"2.1": 5, "2.2": 4})], course, sqlite)
    assert scores(sqlite, "ada")["check-2-2"] == TASKS["2.2"].max_points - 4
    with opened(sqlite) as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, "ada")
        by_hand = next(grade for grade in notebook.grades if grade.name == "check-2-1")
        assert (by_hand.auto_score, by_hand.manual_score) == (TASKS["2.1"].max_points - 5, 3.5)
        assert (by_hand.extra_credit, by_hand.score, by_hand.needs_manual_grade) == (0.5, 4.0, True)
        assert book.find_comment("task-2-1", LESSON, LESSON, "ada").comment == "Well read."
        assert (notebook.flagged, notebook.late_submission_penalty) == (True, 2.0)
        assert book.find_submission(LESSON, "ada").extension == datetime.timedelta(days=2)


def test_a_plugin_for_late_submissions_decides_on_the_penalty(
    course: Path, sqlite: str, hand_in: Any, result_of: Any
) -> None:
    config = (paths.ROOT / "grader" / "nbgrader_config.py").read_text(encoding="utf-8")
    (course / "nbgrader_config.py").write_text(config + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    for student, day in (("early", 1), ("late", 3)):
        hand_in(student).with_name("timestamp.txt").write_text(f"2026-05-0{day} 12:00:00 UTC")
    results = [result_of("early", {"2.1": 2}), result_of("late", {"2.1": 2})]
    record(results, course, sqlite)
    with opened(sqlite) as book:
        book.update_or_create_assignment(LESSON, duedate="2026-05-02 12:00:00 UTC")
    record(results, course, sqlite)
    with opened(sqlite) as book:
        penalties = [book.find_submission(LESSON, name).late_submission_penalty for name in ("early", "late")]
    assert penalties == [0, MAX - 2]
    assert "2026-05-03" in (course / "autograded" / "late" / LESSON / "timestamp.txt").read_text()


def test_unchanged_cells_are_commented_as_no_response(course: Path, sqlite: str, hand_in: Any, result_of: Any) -> None:
    def answer(document: Any) -> None:
        next(cell for cell in document.cells if cell.id == "task-2-1").source = "def mine(): ..."

    hand_in("ada", answer)
    record([result_of("ada")], course, sqlite)
    with opened(sqlite) as book:
        comments = {c.name: c.comment for c in book.find_submission_notebook(LESSON, LESSON, "ada").comments}
    assert comments.pop("task-2-1") is None and set(comments.values()) == {"No response."} and len(comments) == 5


def test_what_was_not_graded_leaves_the_grade_as_it_was(
    course: Path, sqlite: str, hand_in: Any, result_of: Any, scores: Any, autograded: Any
) -> None:
    hand_in("ada")
    record([result_of("ada")], course, sqlite)
    before = autograded("ada")
    (refused,) = record([result_of("ada", score=None, status="ungraded", tasks=[], reason="No disk.")], course, sqlite)
    assert refused == "'ada' is not recorded: it was not graded. No disk."
    assert sum(scores(sqlite, "ada").values()) == MAX and autograded("ada") == before


def test_a_locked_gradebook_is_waited_for_and_then_named_in_a_sentence(
    course: Path, db_url: str, hand_in: Any, result_of: Any, scores: Any, autograded: Any
) -> None:
    for student in ("ada", "bob"):
        hand_in(student)
    record([result_of("ada")], course, db_url)
    before = autograded("ada")
    engine = sa.create_engine(db_url)
    with Recorder(course, db_url, patience=0.3) as recorder:
        with engine.connect() as holder, holder.begin():
            if engine.dialect.name == "postgresql":
                holder.exec_driver_sql("LOCK TABLE student, submitted_assignment, grade IN EXCLUSIVE MODE")
            else:
                holder.exec_driver_sql("BEGIN EXCLUSIVE")
            for student in ("ada", "bob"):
                with pytest.raises(GradebookBusy, match=r"held it for more than 0\.3 s"):
                    recorder.record(result_of(student, {"2.1": 5}))
        assert autograded("ada") == before and not leftovers(course)
        assert students(db_url) == ["ada"] and sum(scores(db_url, "ada").values()) == MAX
        for student in ("ada", "bob"):
            recorder.record(result_of(student, {"2.1": 5}))
    engine.dispose()
    assert [sum(scores(db_url, student).values()) for student in ("ada", "bob")] == [MAX - 5] * 2


def test_nothing_is_left_of_a_submission_that_fails_on_the_way(
    course: Path, db_url: str, hand_in: Any, monkeypatch: pytest.MonkeyPatch, result_of: Any, scores: Any
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
    course: Path, db_url: str, hand_in: Any, result_of: Any, scores: Any
) -> None:
    names = [f"s{number}" for number in range(4)]
    for name in names:
        hand_in(name)
    with Recorder(course, db_url) as one, Recorder(course, db_url) as two:
        jobs = [(book, name) for book, mine in ((one, names[:3]), (two, names[1:])) for name in mine]
        threads = [threading.Thread(target=book.record, args=(result_of(name),)) for book, name in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert students(db_url) == names and not leftovers(course)
    assert {sum(scores(db_url, name).values()) for name in names} == {MAX}


def test_half_a_gradebook_is_completed_without_alembic_on_path(
    course: Path, db_url: str, hand_in: Any, monkeypatch: pytest.MonkeyPatch, result_of: Any, scores: Any
) -> None:
    hand_in("ada")
    monkeypatch.setenv("PATH", "/nowhere")
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


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nonsense", "'nonsense' is not the address"),
        ("oracle+nothing://host/db", "is not the address"),
        ("postgresql+psycopg://ada:secret@127.0.0.1:1/grades", "ada:\\*\\*\\*@127.0.0.1:1/grades cannot be used"),
        ("sqlite:////proc/grades/gradebook.db", "cannot be used"),
    ],
)
def test_a_gradebook_that_cannot_be_opened_is_named_in_a_sentence(course: Path, address: str, sentence: str) -> None:
    with pytest.raises(GradebookError, match=sentence) as caught:
        Recorder(course, address, patience=1)
    assert "secret" not in str(caught.value)
    with pytest.raises(GradebookError, match=r"no folder .*absent of a course"):
        Recorder(course / "absent")


def test_results_without_a_place_are_refused_in_sentences(course: Path, hand_in: Any, result_of: Any) -> None:
    hand_in("ada")
    elsewhere = course / "submitted" / "ada" / "01_verification" / "01_verification.ipynb"
    cases: list[tuple[Result, Path | None, str]] = [
        (result_of("mine.py", lesson=None), None, "not the notebook of one lesson"),
        (result_of("<b>ada</b>"), None, "no name of a student"),
        (result_of("nobody"), None, "there is no"),
        (result_of("bob"), elsewhere, "lies in a folder 01_verification"),
    ]
    with Recorder(course) as recorder:
        recorder.record(result_of("ada"))
        for result, path, sentence in [*cases, (result_of("ada"), None, "another submission")]:
            with pytest.raises(NotRecorded, match=sentence):
                recorder.record(result, path)
    assert students(default_url(course)) == ["ada"]


CANNOT_NAME_A_FOLDER = ["", "..", ".", "../ada", "/etc", ".hidden", "a\nb", "a\0b", "\ud800", "x" * 129]
WOULD_RUN_AS_SCRIPT = ["<img src=x onerror=alert(1)>", '"; alert(1)', "a\\", "&lt;b&gt;", "{{ x }}", "a`b"]


def test_students_go_by_the_name_of_their_submission_unless_it_would_do_harm() -> None:
    for name in ("ada", "O'Hara-Nu\u0301n\u0303ez, J. (b@x.org)_123", "हिन्दी"):
        assert student_of(name, LESSON) == name
    path = f"ada/{LESSON}/{LESSON}.ipynb"
    for submission in ("ada/resubmitted", f"course/submitted/{path}", f"ada/{LESSON}.ipynb", "ada.ipynb"):
        assert student_of(submission, LESSON) == "ada"
    for name in (*CANNOT_NAME_A_FOLDER, *WOULD_RUN_AS_SCRIPT):
        with pytest.raises(NotRecorded, match="no name of a student") as refusal:
            student_of(name, LESSON)
        assert str(refusal.value).startswith(repr(name)) and "\n" not in str(refusal.value)
