"""Rosters of Canvas and Moodle: the right grade at the right student, everybody else named, no formula in a cell."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grader.check.text import printable
from grader.export.lms import write_canvas, write_moodle
from grader.export.rosters import ExportError, Transfer, inert
from tests.grader.export.conftest import NASTY, result, task, ungraded, unreadable

LESSON = "02_parallel_drafting"
PEOPLE = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
HEADINGS = [*PEOPLE, "02 Parallel Drafting (77)", "Lab (78)", "Final Score"]


def write_rows(path: Path, rows: list[list[str]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def read_rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file, delimiter=delimiter))


def gradebook(folder: Path, *students: list[str], most: str = "14.00", **manner: str) -> Path:
    rows = [
        HEADINGS,
        ["", "", "", "", "", "Manual Posting", "", ""],
        ["    Points Possible", "", "", "", "", most, "20", "(read only)"],
    ]
    return write_rows(folder / "gradebook.csv", [*rows, *students], **manner)


def student(name: str, number: str, login: str = "", grade: str = "", sis: str = "") -> list[str]:
    return [name, number, sis, login, "A", grade, "-3", "50"]


def canvas(folder: Path, results: list[Any], *students: list[str], **options: Any) -> tuple[Transfer, dict[str, str]]:
    manner = {key: options.pop(key) for key in ("most", "delimiter", "encoding") if key in options}
    target = folder / "out.csv"
    done = write_canvas(results, gradebook(folder, *students, **manner), target, **({"lesson": LESSON} | options))
    return done, {row[1]: row[-1] for row in read_rows(target, manner.get("delimiter", ","))}


OF_ADA = ["parkada_1001_208490284_02_parallel_drafting.ipynb", "parkada_LATE_1001_208490284_work-1.ipynb"]
OF_ADA += ["parkada_1001", "ada@uni.edu", "Ada Park", "park, ada", "Ada_Park.ipynb", "S7", "1001"]
OF_ADA += ["submitted/ada/02_parallel_drafting/02_parallel_drafting.ipynb"]


@pytest.mark.parametrize("submission", OF_ADA)
def test_canvas_finds_a_student_by_download_name_number_login_and_name(tmp_path: Path, submission: str) -> None:
    people = [student("Park, Ada", "1001", "ada@uni.edu", sis="S7"), student("Li, Jun", "1002", "jun")]
    done, grades = canvas(tmp_path, [result(submission)], *people)
    assert (done.written, done.left_out, done.without_result) == (1, (), ("Li, Jun",))
    assert grades["1001"] == "9" and grades["1002"] == ""


def test_canvas_scores_are_scaled_to_the_points_possible_and_written_as_the_list_is(tmp_path: Path) -> None:
    people = [student("Park, Ada", "1", "ada"), student("Li, Jun", "2", "jun"), student("Roy, Bo", "3", "bo")]
    results = [result("ada", 14), result("jun", 9), unreadable("bo") | {"score": 0}]
    assert list(canvas(tmp_path, results, *people, most="100")[1].values())[2:] == ["100", "64.29", "0"]
    german = {"most": "28,00", "delimiter": ";", "encoding": "utf-8-sig"}
    assert list(canvas(tmp_path, results, *people, **german)[1].values())[2:] == ["28", "18", "0"]
    assert (tmp_path / "out.csv").read_bytes()[:3] == b"\xef\xbb\xbf"
    assert list(canvas(tmp_path, results, *people, most="")[1].values())[2:] == ["14", "9", "0"]


def test_what_has_no_score_and_who_is_excused_or_not_assigned_stays_as_it_was(tmp_path: Path) -> None:
    people = [student("Park, Ada", "1", "ada", "EX"), student("Li, Jun", "2", "jun", "N/A")]
    people += [student("Roy, Bo", "3", "bo", "50"), student("Orr, Cy", "4", "cy", "5")]
    for no_score in (unreadable("bo"), ungraded("bo")):
        done, grades = canvas(tmp_path, [result("ada"), result("jun"), no_score], *people)
        assert [grades[number] for number in "1234"] == ["EX", "N/A", "50", "5"] and done.written == 0
        assert done.without_result == ("Orr, Cy",) and "EX" in str(done) and no_score["reason"] in str(done.left_out)


def test_a_name_that_could_be_two_students_gets_nobody_a_grade(tmp_path: Path) -> None:
    people = [student("Lee, Kim", "11", "kim1"), student("Lee, Kim", "12", "kim2"), student("Eve, E", "13", "eve")]
    forged = "eve_11_5_lab_13_900_x.ipynb"  # a file name, or a display name, made to look like another student's
    done, grades = canvas(tmp_path, [result("Kim Lee"), result(forged), result("kim2/eve.ipynb")], *people)
    assert done.written == 0 and {grades[n] for n in ("11", "12", "13")} == {""}
    assert [why for _, why in done.left_out] == ["its name fits several students of the list."] * 3


@pytest.mark.parametrize("names", [("a_1_7_x.ipynb", "a_1_8_y.ipynb"), ("Ada P_1/x", "Ada P_1/y")])
def test_two_submissions_of_one_student_are_left_to_the_instructor(tmp_path: Path, names: tuple[str, str]) -> None:
    results = [result(names[0], 14), result(names[1], 2)]
    done, grades = canvas(tmp_path, results, student("Park, Ada", "1", "ada"))
    assert grades["1"] == "" and len(done.left_out) == 2 and "2 submissions" in str(done)


def test_results_of_another_lesson_are_passed_over_and_a_py_file_counts_for_the_lesson_only(tmp_path: Path) -> None:
    script = result("jun", lesson=None, score=23, max_score=99, tasks=[task("2.1", 9), task("1.1", 14)])
    people = [student("Park, Ada", "1", "ada"), student("Li, Jun", "2", "jun")]
    done, grades = canvas(tmp_path, [result("ada", lesson="01_verification"), script], *people)
    assert (grades["1"], grades["2"]) == ("", "9") and done.written == 1 and not done.left_out


@pytest.mark.parametrize(
    ("column", "says"),
    [("Quiz", "No column fits 'Quiz'; name one with --column"), ("a", "Several columns"), ("Final Score", "computed")],
)
def test_a_column_that_cannot_be_meant_is_refused(tmp_path: Path, column: str, says: str) -> None:
    with pytest.raises(ExportError, match=re.escape(says)):
        canvas(tmp_path, [result("ada")], student("Park, Ada", "1", "ada"), column=column)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("column", ["Lesson 02 (14)", "Parallel drafting", "02_parallel_drafting", "HW: 02 - drafting"])
def test_a_column_is_found_by_the_lessons_words_or_number(tmp_path: Path, column: str) -> None:
    rows = [[*PEOPLE, column, "07 other"], ["Park, Ada", "1", "", "ada", "A", "", ""]]
    done = write_canvas([result("ada")], write_rows(tmp_path / "list.csv", rows), tmp_path / "to.csv", LESSON)
    assert done.written == 1 and read_rows(tmp_path / "to.csv")[1][5] == "9"


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\xff\xfe\x00", b'"' + b"x" * 200_000])
def test_a_file_that_is_not_a_roster_is_refused_with_a_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ExportError, match="cannot be read"):
        write_canvas([], tmp_path / "none.csv", tmp_path / "out.csv")
    with pytest.raises(ExportError, match="cannot be written"):
        write_canvas([], gradebook(tmp_path), tmp_path / "none" / "out.csv", LESSON)
    (tmp_path / "roster.csv").write_bytes(data)
    for write in (write_canvas, write_moodle):
        with pytest.raises(ExportError, match=r"roster\.csv is not .*\."):
            write([result("ada")], tmp_path / "roster.csv", tmp_path / "out.csv")


def test_what_a_spreadsheet_would_compute_gets_an_apostrophe_and_other_text_stays() -> None:
    for cell in ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "-x", "--"):
        assert inert(cell) == "'" + cell
    assert printable("a\x1b[2Jb\nc ä") == "a\ufffd[2Jb\ufffdc ä"  # in a terminal
    for cell in ("", "-", "-3", "-3.5", "-3,5", "12%", "'=1", "a=1", "    Points Possible"):
        assert inert(cell) == cell


def test_canvas_gets_one_column_and_a_student_whose_name_is_a_formula_stays_the_same(tmp_path: Path) -> None:
    canvas(tmp_path, [result("@eve")], student("=HYPERLINK(1)", "1", "@eve"))
    rows = read_rows(tmp_path / "out.csv")
    assert rows[0] == HEADINGS[:6] and rows[1][-1] == "Manual Posting" and rows[2][0] == "    Points Possible"
    assert rows[3] == ["'=HYPERLINK(1)", "1", "", "'@eve", "A", "9"]


SHEET = ["Identifier", "Full name", "Email address", "Grade", "Maximum Grade"]
SHEET += ["Last modified (grade)", "Feedback comments"]


def moodle(folder: Path, results: list[dict[str, Any]], *rows: list[str]) -> tuple[Transfer, list[list[str]]]:
    sheet = write_rows(folder / "sheet.csv", [SHEET, *rows])
    done = write_moodle(results, sheet, folder / "out.csv", LESSON)
    return done, read_rows(folder / "out.csv")[1:]


def participant(number: int, name: str, feedback: str = "") -> list[str]:
    return [f"Participant {number}", name, f"{name.split()[0].lower()}@uni.edu", "", "28.00", "-", feedback]


FOLDER = "Ada Park_657737_assignsubmission_file_"


@pytest.mark.parametrize("submission", [FOLDER, f"{FOLDER}/x.ipynb", "Participant 657737", "ada", "Ada Park"])
def test_moodle_finds_a_participant_and_scales_the_grade(tmp_path: Path, submission: str) -> None:
    people = participant(657737, "Ada Park"), participant(657738, "Jun Li")
    done, rows = moodle(tmp_path, [result(submission)], *people)
    assert (done.written, done.without_result) == (1, ("Jun Li",))
    later = [[heading.replace("Maximum Grade", "Maximum grade") for heading in SHEET], *people]  # as newer versions say
    write_moodle([result(submission)], write_rows(tmp_path / "later.csv", later), tmp_path / "out.csv", LESSON)
    assert read_rows(tmp_path / "out.csv")[1][3] == "18"
    assert rows[0][:6] == ["Participant 657737", "Ada Park", "ada@uni.edu", "18", "28.00", "-"] and rows[1][3] == ""


def test_a_grade_that_moodle_has_locked_is_left_as_it_is(tmp_path: Path) -> None:
    rows = [[*SHEET, "Grade can be changed"], [*participant(1, "Ada Park"), "No"]]
    sheet = write_rows(tmp_path / "sheet.csv", rows)
    done = write_moodle([result("ada")], sheet, tmp_path / "out.csv", LESSON)
    assert done.written == 0 and "cannot be changed" in str(done) and read_rows(tmp_path / "out.csv")[1][3] == ""


GERMAN = ["ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung"]
GERMAN += ["Bewertung kann geändert werden", "Zuletzt geändert (Abgabe)", "Zuletzt geändert (Bewertung)"]
WHEN = "Dienstag, 2. Dezember 2025, 10:37"


@pytest.mark.parametrize("comments", [["Feedback als Kommentar"], []])
def test_a_worksheet_in_another_language_is_filled_in_by_order_and_numbers(tmp_path: Path, comments: list[str]) -> None:
    people = [("Teilnehmer/in657737", "Ada Park", "ada"), ("Teilnehmer/in657738", "Jun Li", "jun")]
    rows = [
        [number, name, f"{login}@uni.de", "Abgegeben", "", "28,00", "Ja", WHEN, "-", *("" for _ in comments)]
        for number, name, login in people
    ]
    sheet = write_rows(tmp_path / "sheet.csv", [GERMAN + comments, *rows])
    done = write_moodle([result(FOLDER), result("jun", 14)], sheet, tmp_path / "out.csv", LESSON)
    written = read_rows(tmp_path / "out.csv")
    assert done.written == 2 and written[0] == GERMAN + comments and [row[4] for row in written[1:]] == ["18", "28"]
    assert [row[8] for row in written[1:]] == ["-", "-"] and all("points" in row[9] for row in written[1:] if comments)
    for cells in (("5,00", "28,00"), ("", "Skala")):  # two numbers that are the same; a scale
        row = ["Teilnehmer/in1", "Ada Park", "7", "8", *cells, "Ja", WHEN, "-"]
        with pytest.raises(ExportError, match="told apart"):
            write_moodle([result("Ada Park")], write_rows(sheet, [GERMAN, row]), tmp_path / "out.csv", LESSON)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags += [tag, *(name for name, _ in attributes)]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_moodle_feedback_is_html_in_which_a_learners_text_is_text(tmp_path: Path) -> None:
    bad = result("ada", tasks=[task(got=f"{NASTY};=cmd|x")])
    _, [row] = moodle(tmp_path, [bad], participant(1, "Ada Park"))
    page = Tags()
    page.feed(row[6])
    assert set(page.tags) == {"p", "ul", "li", "br"} and "<script>&lt;=1|x`;=cmd|x" in "".join(page.texts)
    assert "Hint: Use >." in page.texts
    assert not set("=+-@") & set(row[6]), "a spreadsheet that splits at semicolons would find a formula"


def test_feedback_of_a_person_is_kept_and_our_own_is_replaced(tmp_path: Path) -> None:
    people = participant(1, "Ada Park", "Well done"), participant(2, "Jun Li")
    _, rows = moodle(tmp_path, [result("ada"), result("jun")], *people)
    assert rows[0][6] == "Well done" and "9 of 14 points" in rows[1][6]
    _, rows = moodle(tmp_path, [result("jun", 14)], rows[1])
    assert rows[0][6] == "<p>dspark_mini: 14 of 14 points.</p>"
