"""Grading again: who changed and why, the higher score, late submissions, points of one's own; null stays null."""

import csv
import json
import os
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from dspark_mini.cli import app
from grader.export.comparison import compared, pairs
from grader.export.late import handed_in, parse_policy
from grader.export.nbgrader_gradebook import record
from grader.export.points import read_points
from grader.export.regrading import Regrading, read_results
from grader.read.collect import find_submissions
from grader.read.submissions import Source, lessons
from tests.grader.export.conftest import LESSON, result, task, ungraded, unreadable

DEADLINE = "2026-12-01T23:59+00:00"
ROLL = "def rollback_rows(verified_rows, accepted):\n    return verified_rows - 1 - accepted\n"


def at(path: Path, moment: str, text: str = "{}") -> Source:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    seconds = datetime.fromisoformat(moment).timestamp()
    os.utime(path, (seconds, seconds))
    return Source(path.stem, path)


def test_a_comparison_names_who_changed_with_properties_and_who_is_new_gone_or_without_a_score() -> None:
    old = [result("ada", 9), result("bo", 9), result("cy", 9), result("gone", 14), result("eve", 14)]
    new = [result("ada", 14), result("bo", 9), ungraded("cy"), result("zoe", 9), unreadable("eve")]
    said = compared(pairs(old, new), "old.json")
    assert said == [
        "Compared with old.json: 3 changed, 1 as before, 1 new, 1 gone.",
        f"ada ({LESSON}): 9/14 → 14/14",
        "  2.1 f: partial 9/14 → pass 14/14; property gone: ties",
        f"cy ({LESSON}): 9/14 → ungraded. The sandbox does not start.",
        "eve: 14/14 → unreadable. It is not text in UTF-8.",
        f"zoe ({LESSON}): new, 9/14",
        f"gone ({LESSON}): gone, had 14/14",
    ]
    new[1]["tasks"][0]["properties"][1]["passed"] = True
    assert compared(pairs(old, new), "old.json")[4] == "  2.1 f: partial 9/14 → partial 9/14; now holds: ties"
    was = [result("bo", 9)]
    was[0]["tasks"][0]["properties"][1]["passed"] = True
    for skipped, says in (("", "no longer holds"), ("the values are not right yet", "not looked at any more")):
        old[1]["tasks"][0]["properties"][1]["skipped"] = skipped
        assert compared(pairs(was, [old[1]]), "old.json")[2].endswith(f"; {says}: ties")
    assert compared(pairs(new, new), "old.json") == [
        "Compared with old.json: 0 changed, 5 as before, 0 new, 0 gone.",
        f"cy ({LESSON}): still ungraded. The sandbox does not start.",
        "eve: still unreadable. It is not text in UTF-8.",
    ]


def test_the_higher_score_is_kept_over_several_gradings_and_no_score_never_becomes_a_number(tmp_path: Path) -> None:
    def again(old: list[dict[str, Any]], *new: dict[str, Any]) -> list[dict[str, Any]]:
        rows, written, _ = Regrading(old, "old.json", keep_higher=True).apply(new, [Source("x", tmp_path)] * len(new))
        assert [row["score"] for row in written] == [row["final"] for row in rows]
        return json.loads(json.dumps(rows))

    rows = again([result("ada", 14), result("bo", 4)], result("ada", 9), result("bo", 9))
    assert [(row["score"], row["final"]) for row in rows] == [(9, 14), (9, 9)]
    assert "higher: 14 of 14 points, now 9 of 14" in rows[0]["final_notes"][0] and not rows[1]["final_notes"]
    rows = again(rows, ungraded("ada"), unreadable("bo"))
    assert [(row["score"], row["final"]) for row in rows] == [(None, None)] * 2
    rows = again(rows, result("ada", 4), result("bo", 4))
    assert [(row["score"], row["final"]) for row in rows] == [(4, 14), (4, 9)]
    (row,) = again([unreadable("ada")], result("ada", 4))
    assert row["final"] == 4 and "earlier" not in row


def test_each_day_begun_after_the_deadlines_minute_costs_its_share(tmp_path: Path) -> None:
    policy = parse_policy(DEADLINE, "10% per day, 0 after 5")
    moments = ("01T23:59:59", "02T00:00:00", "02T23:59:59", "03T00:00:00", "06T23:59:59", "07T00:00:00")
    late = [policy.of(at(tmp_path / "ada.ipynb", f"2026-12-{moment}+00:00")) for moment in moments]
    assert [(one["days"], one["share"]) for one in late] == [(0, 1), (1, 0.9), (1, 0.9), (2, 0.8), (5, 0.5), (6, 0)]


def test_the_time_comes_from_nbgrader_or_the_zip_or_the_file_and_from_no_file_of_a_student(tmp_path: Path) -> None:
    real, forged = "2026-12-04T10:00:00+00:00", "2026-11-01 10:00:00.123456 UTC"
    lesson = tmp_path / "ada" / LESSON / f"{LESSON}.ipynb"
    moodle = tmp_path / "Bo_7_assignsubmission_file_" / LESSON / f"{LESSON}.ipynb"
    other = tmp_path / "cy" / "work.ipynb"
    for path in (lesson, moodle, other):
        at(path, real)
        path.with_name("timestamp.txt").write_text(forged)
    assert handed_in(Source("ada", lesson)) == (datetime(2026, 11, 1, 10, 0, 0, 123456, timezone.utc), "timestamp.txt")
    assert [handed_in(Source("x", path))[0] for path in (moodle, other)] == [datetime.fromisoformat(real)] * 2
    lesson.with_name("timestamp.txt").write_text("yesterday")
    assert handed_in(Source("ada", lesson))[0] is None


def test_a_zip_keeps_its_times_and_canvas_marks_lateness_only(tmp_path: Path) -> None:
    members = {
        "ada_LATE_1_2_w.ipynb": (2026, 12, 4, 10, 0, 0),
        "bo_LATE_3_4_w.ipynb": (2026, 1, 1, 0, 0, 0),
        "cy_5_6_x_LATE_7_8_w.ipynb": (1980, 1, 1, 0, 0, 0),  # no date, and the mark is the student's own
    }
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as packed:
        for name, moment in members.items():
            packed.writestr(zipfile.ZipInfo(name, moment), "{}")
    (tmp_path / "unpacked").mkdir()
    policy = parse_policy("2026-12-01T23:59", "10% per day")
    found = [policy.of(source) for source in find_submissions([tmp_path / "canvas.zip"], tmp_path / "unpacked")]
    known = [(late["days"], late["share"], late["marked_late"]) for late in found]
    assert known == [(3, 0.7, True), (0, 1, True), (0, 1, False)]
    assert "decide yourself" in found[1]["known_by"] and found[2]["handed_in"] is None


def test_points_of_tasks_and_course_scale_what_is_written_and_leave_the_score(tmp_path: Path) -> None:
    (tmp_path / "points.toml").write_text('[tasks]\n"2.1" = 28\n')
    points = read_points(tmp_path / "points.toml")
    one = result("ada", 7, tasks=[task("2.1", 7), task("2.2", 14)])
    rows, written, _ = Regrading(points=points).apply([one], [Source("ada", tmp_path)])
    assert (rows[0]["score"], rows[0]["final"], rows[0]["final_max"]) == (7, 28, 42)
    assert [each["max_points"] for each in written[0]["tasks"]] == [28, 14]
    (tmp_path / "points.toml").write_text("course = 100\n")
    whole = read_points(tmp_path / "points.toml")
    assert round(sum(whole.most(unreadable("x") | {"lesson": name}) for name in lessons()), 6) == 100


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    for deadline, rules in ((DEADLINE, ""), (DEADLINE, "10%"), (DEADLINE, "110% per day"), ("2026-12-01", None)):
        with pytest.raises(ValueError, match="takes a"):
            parse_policy(deadline, rules)
    wrong = ["x", "course = -1", "course = true", "lessons = 1", "[tasks]\n2.1 = 3", '[tasks]\n"99.1" = 3']
    for text in (*wrong, '[tasks]\n"2.1" = nan'):
        (tmp_path / "points.toml").write_text(text)
        with pytest.raises(ValueError, match=r"points\.toml"):
            read_points(tmp_path / "points.toml")
    (tmp_path / "old.json").write_text("[{}]")
    with pytest.raises(ValueError, match="result 0 has no submission"):
        read_results(tmp_path / "old.json")


def test_the_gradebook_takes_off_what_being_late_costs(course: Path, sqlite: str, hand_in: Any, result_of: Any) -> None:
    hand_in("ada")
    graded = result_of("ada")
    for share in (0.75, 1.0):
        assert record([graded | {"late": {"share": share}, "notes": ["1 day late."]}], course, sqlite) == []
        with Gradebook(sqlite, "dspark_mini") as book:
            found = book.find_submission(LESSON, "ada")
            assert found.score == graded["score"]
            assert (found.late_submission_penalty or 0) == graded["score"] * (1 - share)
    page = (course / "autograded" / "ada" / LESSON / f"{LESSON}.ipynb").read_text()
    assert page.count("1 day late.") == 1


def test_every_output_of_the_command_gets_the_final_score(tmp_path: Path) -> None:
    def grade(*more: object) -> tuple[int, str]:
        options = ["--lesson", "07", "--json", tmp_path / "new.json", "--jobs", "1", *more]
        done = CliRunner().invoke(app, ["grade", str(tmp_path / "in"), *map(str, options)])
        return done.exit_code, done.output + str(done.exception)

    at(tmp_path / "in" / "ada.py", "2026-12-03T10:00:00+00:00", ROLL)
    (tmp_path / "list.csv").write_text("Student,ID,SIS Login ID,Section,07 end to end (12)\nAda,11,ada,S,\n")
    policy = ("--deadline", DEADLINE, "--late", "25% per day", "--csv", tmp_path / "all.csv")
    code, said = grade(*policy, "--canvas", tmp_path / "list.csv", tmp_path / "to.csv")
    (row,) = json.loads((tmp_path / "new.json").read_text())
    assert code == 0 and row["final"] == row["score"] / 2 > 0 and "2 days late" in said
    cells, canvas = (next(csv.DictReader((tmp_path / name).read_text().splitlines())) for name in ("all.csv", "to.csv"))
    assert (float(cells["final"]), float(cells["score"])) == (row["final"], row["score"])
    assert "time of modification" in cells["final_notes"] and float(canvas["07 end to end (12)"]) == row["final"]
    assert "written over" in grade("--compare", tmp_path / "new.json")[1]
    assert "needs --deadline" in grade("--late", "10% per day")[1] and "give --compare" in grade("--keep-higher")[1]
    assert "not for nbgrader's gradebook" in grade("--points", tmp_path / "x.toml", "--gradebook")[1]
