"""The outputs of `dspark-mini grade`: each option writes its file, and what cannot be had is refused first."""

import csv
import io
import json
import re
import shutil
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from dspark_mini.cli import app
from dspark_mini.workspace import UserError
from grader import grade_paths
from grader.export.outputs import refuse_impossible
from grader.export.rosters import cut_to_lesson
from grader.grade_options import GradeOptions
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS

ROLL = "def rollback_rows(verified_rows, accepted):\n    return verified_rows - 1 - accepted\n"
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,07 end to end (12)\n,,,,,\nAda,11,a1,ada,S,\nBob,12,b1,bob,S,\n"
MOODLE = "Identifier,Full name,Email address,Grade,Maximum Grade,Last modified (grade),Feedback comments\n"


@pytest.fixture
def submitted(tmp_path: Path) -> Path:
    folder = tmp_path / "submitted"
    folder.mkdir()
    (folder / "ada.py").write_text(ROLL)
    (tmp_path / "canvas.csv").write_text(CANVAS)
    (tmp_path / "moodle.csv").write_text(MOODLE + "Participant 7,Ada,ada@example.org,,100,-,\n")
    return folder


def grade(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["grade", *map(str, arguments), "--jobs", "1"])
    if isinstance(done.exception, UserError):
        raise done.exception
    return done.exit_code, done.output


def test_every_output_is_written_and_a_result_without_a_row_is_not_a_success(submitted: Path, tmp_path: Path) -> None:
    code, said = grade(
        submitted,
        *("--json", tmp_path / "all.json", "--csv", tmp_path / "all.csv", "--html", tmp_path / "pages"),
        *("--canvas", tmp_path / "canvas.csv", tmp_path / "to_canvas.csv"),
        *("--moodle", tmp_path / "moodle.csv", tmp_path / "to_moodle.csv"),
        *("--gradescope", tmp_path / "results.json", "--lesson", "07"),
    )
    (result,) = json.loads((tmp_path / "all.json").read_text())
    assert code == 0 and result["score"] > 0, said
    assert "1 grade written" in said and "Without a submission: Bob" in said
    with (tmp_path / "to_canvas.csv").open(newline="") as file:
        assert [row[5] for row in csv.reader(file)][2] == str(result["score"])
    assert (tmp_path / "to_moodle.csv").is_file() and (tmp_path / "pages" / "index.html").is_file()
    assert json.loads((tmp_path / "results.json").read_text())["score"] == result["score"]
    (submitted / "zoe.py").write_text(ROLL)
    code, said = grade(submitted, "--canvas", tmp_path / "canvas.csv", tmp_path / "to.csv", "--lesson", "07")
    assert code == 1 and "Not written: zoe.py" in said


def test_a_lesson_cuts_files_that_may_solve_any_task(submitted: Path, tmp_path: Path) -> None:
    assert grade(submitted, "--lesson", "07", "--json", tmp_path / "all.json")[0] == 0
    (result,) = json.loads((tmp_path / "all.json").read_text())
    assert result["lesson"] == "07_end_to_end" and {task["task"][0] for task in result["tasks"]} == {"7"}
    assert result["status"] == "partial"


def test_all_tasks_of_a_lesson_pass_it_whatever_the_file_lacks_of_others() -> None:
    task = {"points": 2, "max_points": 2, "status": "pass"}
    other = {"task": "1.1", "points": 0, "max_points": 2, "status": "missing"}
    tasks = [*({"task": one.id} | task for one in TASKS.values() if one.lesson == "07_end_to_end"), other]
    result = {"submission": "ada", "lesson": None, "status": "partial", "tasks": tasks, "score": 10, "max_score": 12}
    cut = cut_to_lesson(result, "07_end_to_end")
    assert cut is not None and (cut["status"], cut["score"]) == ("pass", cut["max_score"])


def test_the_last_lines_account_for_everything_given(submitted: Path, tmp_path: Path) -> None:
    (submitted / ".eve").mkdir()
    shutil.copy(NOTEBOOKS / "07_end_to_end.ipynb", submitted / ".eve" / "07_end_to_end.ipynb")
    shutil.copy(NOTEBOOKS / "06_draft_trees.ipynb", submitted / "06_draft_trees.ipynb")
    for name in (".eve/help.py", "notes.txt", "broken.IPYNB"):
        (submitted / name).write_text("")
    code, said = grade(submitted, "--lesson", "07", "--json", tmp_path / "all.json")
    last = said.split("\n\n")[-1].strip().split("\n")
    assert code == 1 and last == [
        "2 graded, 1 unreadable, 3 not looked at:",
        "  .eve/help.py: a notebook is graded: 07_end_to_end.ipynb",
        "  06_draft_trees: of 06_draft_trees",
        "  notes.txt: neither a notebook nor a .py file",
    ]
    names = [result["submission"] for result in json.loads((tmp_path / "all.json").read_text())]
    assert sorted(names) == [".eve", "ada.py", "broken"]


def test_assignments_named_by_a_pattern_keep_their_students(submitted: Path, tmp_path: Path) -> None:
    lesson = "00_why_speculate"
    for student in ("bob", "carol"):
        (tmp_path / "course" / student / lesson).mkdir(parents=True)
        shutil.copy(NOTEBOOKS / f"{lesson}.ipynb", tmp_path / "course" / student / lesson)
    grade(*sorted((tmp_path / "course").glob(f"*/{lesson}")), "--json", tmp_path / "all.json")
    assert [result["submission"] for result in json.loads((tmp_path / "all.json").read_text())] == ["bob", "carol"]


def test_a_table_of_80_columns_breaks_lines_between_words_and_parts_of_names_only() -> None:
    name, reason = "Maximiliane Musterfrau-Schneider_12345", "It is not a notebook: its content is not in the format."
    rows = [
        {"submission": name, "lesson": "02_parallel_drafting", "score": None, "max_score": 73, "status": "unreadable"}
        | {"tasks": [], "reason": reason}
    ]
    out = Console(width=80, record=True, file=io.StringIO())
    out.print(grade_paths._table(rows, out.width))
    lines = out.export_text().splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) > 2
    pieces = {*re.split(r"[\s_-]+", name), *reason.split()}
    assert pieces <= {piece for line in lines for piece in (*line.split(), *re.split(r"[\s_-]+", line))}


def test_a_workflow_sees_points_and_no_table_and_fails_below_its_threshold(
    submitted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = grade(submitted, "--ci", "--min-score", "5000")
    assert code == 1 and "fewer than the 5000 points that are needed" in said and "fix first" not in said
    assert [line for line in said.splitlines() if line.startswith("Points ")]
    grade_paths._say("::add-mask::x\n##[debug]y", GradeOptions(ci=True), Console(soft_wrap=True))
    assert capsys.readouterr().out == "| : :add-mask: :x\n| # #[debug]y\n"  # no line is a command


UNSAFE = replace(GradeOptions(), unsafe_no_sandbox=True)
NOT_UNSAFE = "--unsafe-no-sandbox .* leave {} out"  # a submission could write it itself


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (replace(UNSAFE, gradescope=Path("results.json")), NOT_UNSAFE.format("--gradescope")),
        (replace(UNSAFE, canvas=(Path("list.csv"), Path("to.csv"))), NOT_UNSAFE.format("--canvas")),
        (replace(UNSAFE, moodle=(Path("list.csv"), Path("to.csv"))), NOT_UNSAFE.format("--moodle")),
        (replace(UNSAFE, gradebook=True), NOT_UNSAFE.format("--gradebook")),
        (replace(UNSAFE, course=Path(".")), NOT_UNSAFE.format("--course")),
        (replace(UNSAFE, db="sqlite:///book.db"), NOT_UNSAFE.format("--db")),
        (GradeOptions(canvas=(Path("no.csv"), Path("to.csv"))), "--canvas takes"),
        (GradeOptions(moodle=(Path("no.csv"), Path("to.csv"))), "--moodle takes"),
        (GradeOptions(min_score=3), "--min-score"),
        (GradeOptions(course=Path("nowhere")), "no folder nowhere of a course"),
        (GradeOptions(pages=Path(__file__)), "not a folder"),
    ],
)
def test_what_is_impossible_is_refused_before_anything_is_graded(options: GradeOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        refuse_impossible(options)


def test_neither_the_list_nor_a_submission_is_written_over(submitted: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="would write over"):
        grade(submitted, "--canvas", tmp_path / "canvas.csv", tmp_path / "canvas.csv")
    assert (tmp_path / "canvas.csv").read_text() == CANVAS
    with pytest.raises(UserError, match="one of the submissions"):
        grade(submitted, "--gradescope", submitted / "ada.py")
    assert (submitted / "ada.py").read_text() == ROLL


def test_gradescope_gets_nothing_for_what_has_no_score(submitted: Path, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("before")
    (submitted / "ada.py").unlink()
    (submitted / "07_end_to_end.ipynb").write_text("{")
    code, said = grade(submitted, "--gradescope", tmp_path / "results.json")
    assert code == 1 and "not written" in said and (tmp_path / "results.json").read_text() == "before"
    grade(submitted, "--gradescope", tmp_path / "results.json", "--unreadable-as-zero")
    assert json.loads((tmp_path / "results.json").read_text())["score"] == 0


def test_a_locked_gradebook_is_named_with_the_way_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbgrader_gradebook = pytest.importorskip("grader.export.nbgrader_gradebook")
    impatient = partial(nbgrader_gradebook.Recorder, patience=0.3)
    monkeypatch.setattr(nbgrader_gradebook, "Recorder", impatient)
    lesson, course = "00_why_speculate", tmp_path / "course"
    for place in (course / "source" / lesson, tmp_path / "all" / "ada"):
        place.mkdir(parents=True)
        shutil.copy(NOTEBOOKS / f"{lesson}.ipynb", place)
    words = (tmp_path / "all", "--course", course, "--json", tmp_path / "out.json")
    assert "1 of 1 results recorded" in grade(*words)[1]
    with sqlite3.connect(course / "gradebook.db", isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        code, said = grade(*words)
        holder.execute("ROLLBACK")
    assert code == 1 and "held it for more than 0.3 s" in said
    assert "Not recorded in the gradebook, through no fault of theirs: ada." in said.split("\n")
    assert said.strip().endswith("with --resume")
    assert "1 of 1 results recorded" in grade(*words, "--resume")[1]
