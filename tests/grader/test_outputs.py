"""The outputs of `dspark-mini grade`: each option writes its file, and what cannot be had is refused first."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from dspark_mini.cli import app
from dspark_mini.workspace import UserError
from grader import command
from grader.outputs import Outputs, refuse_missing, write_outputs

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
    done = CliRunner().invoke(app, ["grade", *map(str, arguments), "--unsafe-no-sandbox", "--jobs", "1"])
    if isinstance(done.exception, UserError):
        raise done.exception
    return done.exit_code, done.output


def test_every_output_is_written_in_one_go(submitted: Path, tmp_path: Path) -> None:
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


def test_a_workflow_sees_points_and_no_table(submitted: Path) -> None:
    code, said = grade(submitted, "--ci")
    assert code == 0 and "first to mend" not in said
    assert [line for line in said.splitlines() if line.startswith("Points ")]


def test_a_workflow_fails_below_its_threshold(submitted: Path) -> None:
    assert grade(submitted, "--ci", "--min-score", "2")[0] == 0
    code, said = grade(submitted, "--ci", "--min-score", "5000")
    assert code == 1 and "5000 points are needed" in said


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (Outputs(canvas=(Path("no.csv"), Path("to.csv"))), "--canvas takes"),
        (Outputs(moodle=(Path("no.csv"), Path("to.csv"))), "--moodle takes"),
        (Outputs(min_score=3), "--min-score"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_graded(outputs: Outputs, message: str) -> None:
    with pytest.raises(UserError, match=message):
        refuse_missing(outputs)


def test_the_list_itself_is_not_written_over(submitted: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="would write over"):
        grade(submitted, "--canvas", tmp_path / "canvas.csv", tmp_path / "canvas.csv")
    assert (tmp_path / "canvas.csv").read_text() == CANVAS


def test_no_line_in_a_workflow_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = command.Options(None, None, 1, False, None, False, Outputs(ci=True))
    command._say("::add-mask::x\n##[debug]y", options, Console(soft_wrap=True))
    assert capsys.readouterr().out == "| : :add-mask: :x\n| # #[debug]y\n"


def test_a_target_that_is_a_submission_is_refused(submitted: Path) -> None:
    with pytest.raises(UserError, match="one of the submissions"):
        grade(submitted, "--gradescope", submitted / "ada.py")
    assert (submitted / "ada.py").read_text() == ROLL


def test_a_list_that_is_none_is_told_in_a_sentence(submitted: Path, tmp_path: Path) -> None:
    (tmp_path / "canvas.csv").write_text("Name,Points\nAda,3\n")
    with pytest.raises(UserError, match="no gradebook of Canvas"):
        grade(submitted, "--canvas", tmp_path / "canvas.csv", tmp_path / "to.csv")
    assert not (tmp_path / "to.csv").exists()


def test_results_without_a_place_in_the_gradebook_are_told(tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    said: list[str] = []
    result = {"submission": "ada.py", "lesson": None, "score": 1, "max_score": 2, "status": "partial", "tasks": []}
    assert not write_outputs([result], [tmp_path / "ada.py"], Outputs(course=tmp_path), said.append)
    assert said[-1] == "Gradebook: 0 of 1 results recorded." and "ada.py" in said[0]
