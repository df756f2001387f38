"""Results for other systems: the lists of Canvas and Moodle, and Gradescope's results.json.

Whatever comes from a learner, such as names of files and messages of errors, is data there: no formula, no HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.check.text import points_of, title, to_mend
from grader.export.moodle_columns import moodle_columns
from grader.export.rosters import (
    ExportError,
    Result,
    Roster,
    Table,
    Transfer,
    read_table,
    scaled,
    write_table,
    write_whole,
)

KEPT_IN_CANVAS = ("EX", "N/A")  # excused, or not assigned to this student: decisions that a score must not undo
OURS = "<p>dspark_mini: "  # how feedback begins that may be replaced by newer feedback


def write_canvas(
    results: list[Result], roster_file: Path, target: Path, lesson: str | None = None, column: str | None = None
) -> Transfer:
    """Fill one column of the gradebook that Canvas exports, for Canvas to import.

    A student is found by the number that Canvas puts into the names of downloaded files, else by login, SIS number or
    name. The file holds who the students are and the one column, so that importing it touches no other grade. Scores
    are scaled to the column's points possible.

    Args:
        results: the results of a batch.
        roster_file: the CSV file from Canvas: Grades, Export.
        target: the CSV file to write.
        lesson: the lesson that is meant; None takes every result.
        column: the assignment's name or its heading in the file; None looks for the lesson's name.

    Returns:
        How many grades were written, and who was left out.

    Raises:
        ExportError: The roster is not a gradebook of Canvas or has no such column, or a file cannot be read or written.
    """
    table, people = _canvas_table(roster_file)
    header = table.rows[0]
    place = _canvas_column(header, people, column or lesson)
    limit = next((row[place] for row in table.rows if "Points Possible" in row[0]), "")
    if "read only" in limit:
        raise ExportError(f"The column {header[place]!r} is computed by Canvas; name the column of an assignment.")
    roster = _canvas_roster(table, people)
    assigned, left_out, handed_in = roster.assign(results, lesson)
    without = _without_result(roster, handed_in, lambda row: table.rows[row][0])
    for row, result in list(assigned.items()):
        if table.rows[row][place] in KEPT_IN_CANVAS:
            left_out.append((result["submission"], f"Canvas has {table.rows[row][place]} there, which is kept."))
            del assigned[row]
        else:
            table.rows[row][place] = scaled(result, limit)
    write_table(Table([[*r[:people], r[place]] for r in table.rows], table.delimiter, table.byte_order_mark), target)
    return Transfer(len(assigned), tuple(left_out), without)


def write_moodle(results: list[Result], worksheet: Path, target: Path, lesson: str | None = None) -> Transfer:
    """Fill in the offline grading worksheet of a Moodle assignment: grades, and feedback where it has that column.

    A student is found by the participant's number, which Moodle puts into the names of downloaded folders, else by
    name, address or ID number. Grades are scaled to the maximum grade, since Moodle silently passes over higher ones.
    Feedback that a person has written is kept.

    Args:
        results: the results of a batch.
        worksheet: the CSV file from Moodle: View all submissions, Download grading worksheet; in any language.
        target: the CSV file to write, for Moodle's Upload grading worksheet.
        lesson: the lesson that is meant; None takes every result.

    Returns:
        How many grades were written, and who was left out.

    Raises:
        ExportError: It is not a worksheet of Moodle, or a file cannot be read or written.
    """
    table, places = _moodle_table(worksheet)
    roster = _moodle_roster(table, places)
    assigned, left_out, handed_in = roster.assign(results, lesson)
    may_change = places.get("Grade can be changed")
    for row, result in list(assigned.items()):
        cells = table.rows[row]
        if may_change is not None and cells[may_change].strip().casefold() == "no":
            left_out.append((result["submission"], "Moodle says that this grade cannot be changed."))
            del assigned[row]
            continue
        cells[places["Grade"]] = scaled(result, cells[places["Maximum Grade"]] if "Maximum Grade" in places else "")
        place = places.get("Feedback comments")
        if place is not None and (not cells[place].strip() or cells[place].startswith(OURS)):
            cells[place] = _feedback(result)
    write_table(table, target)
    name = places.get("Full name", places["Identifier"])
    without = _without_result(roster, handed_in, lambda row: table.rows[row][name])
    return Transfer(len(assigned), tuple(left_out), without)


def write_gradescope(results: list[Result], target: Path) -> None:
    """Write Gradescope's results.json for one submission: one test per task, with its points and what to mend first.

    `dspark-mini bundle --gradescope` makes the autograder that calls it.

    Args:
        results: the results of one submission; of none or several, a score of 0 and a sentence are written.
        target: the file to write.

    Raises:
        ExportError: the file cannot be written.
    """
    found: dict[str, Any] = {"score": 0, "output_format": "text", "stdout_visibility": "hidden"}
    if len(results) != 1:
        found["output"] = f"Hand in exactly one notebook or .py file; there are {len(results)}."
    else:
        result = results[0]
        found["score"] = result["score"]
        points = points_of(result["score"], result["max_score"])
        found["output"] = " ".join([result.get("reason") or points, *result.get("notes", ())])
        found["tests"] = [_gradescope_test(task) for task in result["tasks"]]
    write_whole(target, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def check_lists(canvas: Path | None, moodle: Path | None, wanted: str | None) -> None:
    """Refuse lists that cannot be filled in, as long as nothing has been graded.

    Args:
        canvas: the CSV file from Canvas, where there is one.
        moodle: the worksheet from Moodle, where there is one.
        wanted: the column or the lesson that is meant, where that is known.

    Raises:
        ExportError: A file is not such a list, or lacks the column.
    """
    if canvas is not None:
        table, people = _canvas_table(canvas)
        if wanted is not None:
            _canvas_column(table.rows[0], people, wanted)
    if moodle is not None:
        _moodle_table(moodle)


def _canvas_table(roster_file: Path) -> tuple[Table, int]:
    """Read the list from Canvas; with it comes how many columns say who a student is."""
    table = read_table(roster_file)
    header = table.rows[0] if table.rows else []
    if not {"ID", "Section"} <= set(header):
        raise ExportError(f"{roster_file} is not a gradebook of Canvas: it lacks the columns ID and Section.")
    return table, header.index("Section") + 1


def _moodle_table(worksheet: Path) -> tuple[Table, dict[str, int]]:
    """Read the worksheet from Moodle, and where each of its columns stands."""
    table = read_table(worksheet)
    places = moodle_columns(table.rows)
    if not places:
        raise ExportError(
            f"{worksheet} is not a grading worksheet, or its columns cannot be told apart. Downloaded with Moodle's"
            " language set to English, it has the columns Identifier, Grade and Last modified (grade)."
        )
    return table, places


def _canvas_column(header: list[str], people: int, wanted: str | None) -> int:
    """Find the assignment: by its heading, without Canvas's number or with it, by its letters, words or number."""
    headings = {place: header[place] for place in range(people, len(header))}
    titles = {place: re.sub(r"\s*\(\d+\)$", "", heading) for place, heading in headings.items()}
    if not wanted:
        raise ExportError(
            "The results are of several lessons or of .py files; name the one that is meant with --lesson."
        )
    number, _, words = wanted.partition("_")
    by_number = re.compile(rf"(?<!\d){number}(?!\d)" if re.fullmatch(r"\d\d", number) and words else r"(?!)")
    ways: list[Callable[[int], object]] = [
        lambda place: wanted in (headings[place], titles[place]),
        lambda place: _letters(wanted) in _letters(titles[place]),
        lambda place: words and _letters(words) in _letters(titles[place]),
        lambda place: by_number.search(titles[place]),
    ]
    found = next((fits for way in ways if (fits := [place for place in headings if way(place)])), [])
    if len(found) != 1:
        reason = "Several columns fit" if found else "No column fits"
        raise ExportError(f"{reason} {wanted!r}; name one with --column: {', '.join(map(repr, titles.values()))}.")
    return found[0]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _canvas_roster(table: Table, people: int) -> Roster:
    header, roster = table.rows[0][:people], Roster({}, {})
    number = header.index("ID")
    named = [place for place, heading in enumerate(header) if heading in ("Student", "SIS User ID", "SIS Login ID")]
    for place, row in enumerate(table.rows[1:], 1):
        if row[number].strip():
            names = [row[n] for n in named]
            names += [f"{row[0]}, {row[1]}"] if header[0] == "LastName" else []
            roster.add(place, row[number].strip(), [*names, *_local_parts(names), row[number]])
    return roster


def _moodle_roster(table: Table, places: dict[str, int]) -> Roster:
    roster = Roster({}, {})
    headings = ("Full name", "Email address", "ID number", "Username")
    for place, row in enumerate(table.rows[1:], 1):
        number = re.search(r"\d+$", row[places["Identifier"]].strip())
        names = [row[places[heading]] for heading in headings if heading in places]
        if number:
            roster.add(place, number[0], [*names, *_local_parts(names), row[places["Identifier"]]])
    return roster


def _local_parts(names: list[str]) -> list[str]:
    """The part of each address in front of the @, which is a login in many places."""
    return [name.split("@")[0] for name in names if "@" in name]


def _without_result(roster: Roster, handed_in: set[int], name_of: Callable[[int], str]) -> tuple[str, ...]:
    return tuple(name_of(row) for row in roster.by_number.values() if row not in handed_in)


def _feedback(result: Result) -> str:
    """Feedback as HTML, which Moodle takes it for; what could begin a formula in a spreadsheet is an entity."""
    entities = {ord(sign): f"&#{ord(sign)};" for sign in "&<>\"'=+-@"}

    def safe(text: str) -> str:
        return " ".join(text.split()).translate(entities)

    items = "".join(
        f"<li>{'<br>'.join(safe(line) for line in (title(task), *to_mend(task)))}</li>"
        for task in result["tasks"]
        if task["status"] != "pass"
    )
    reason = f" {safe(result['reason'])}" if result.get("reason") else ""
    notes = "".join(f" {safe(note)}" for note in result.get("notes", ()))
    points = points_of(result["score"], result["max_score"])
    return f"{OURS}{points}{notes}{reason}</p>{f'<ul>{items}</ul>' if items else ''}"


def _gradescope_test(task: dict[str, Any]) -> dict[str, Any]:
    held = sum(found["passed"] for found in task["properties"])
    return {
        "name": f"TODO {task['task']} {task['function']}",
        "score": task["points"],
        "max_score": task["max_points"],
        "status": "passed" if task["status"] == "pass" else "failed",
        "output": "\n".join([f"{held} of {len(task['properties'])} properties hold.", *to_mend(task)]),
        "output_format": "text",
        "visibility": "visible",
    }
