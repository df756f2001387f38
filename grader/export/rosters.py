"""Student lists of an LMS: read one, find each result's student, write it back. All text is data."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from dspark_mini.files import atomic_write
from grader.check.report import overall
from grader.check.text import as_number, printable
from grader.lessons.checks import TASKS

Result = dict[str, Any]  # one object of the list that `dspark-mini grade --json` writes
FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"
NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?%?|-")  # a lone dash is how an LMS writes "no value"
# The number that an LMS puts into the names of what it lets you download: "smithbob_LATE_340934_208490284_work.ipynb"
# (Canvas, where the second number is the file's) and "Bob Smith_657737_assignsubmission_file_" (Moodle). A lookahead
# finds all of them: a name that a student has made up to look like another's then names two students, not that one.
DOWNLOAD_NUMBER = re.compile(r"(?=_(\d+)(?:_\d+_|_assignsubmission_|$))")


class ExportError(Exception):
    """A list or target that cannot be used; the message is a sentence that says why."""


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file, and how it was written."""

    rows: list[list[str]]
    delimiter: str
    byte_order_mark: bool


@dataclass(frozen=True)
class Transfer:
    """What became of the results: how many were written, which were not and why, and who has none."""

    written: int
    left_out: tuple[tuple[str, str], ...]
    without_result: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.written} {'grade' if self.written == 1 else 'grades'} written."]
        lines += [f"Not written: {submission}: {why}" for submission, why in self.left_out]
        lines += [f"Without a submission: {', '.join(self.without_result)}."] if self.without_result else []
        return "\n".join(map(printable, lines))


class Assigned(NamedTuple):
    """The result of each row that gets one, the submissions left out, each with the reason, and the rows of both."""

    results: dict[int, Result]
    left_out: list[tuple[str, str]]
    handed_in: set[int]


@dataclass
class Roster:
    """The students of a list, by the numbers that the LMS gives them and by names, logins and addresses."""

    by_number: dict[str, int]
    by_name: dict[str, set[int]]

    def add(self, row: int, number: str, names: Iterable[str]) -> None:
        """Enter the student of a row, under a number and under names, some of which may be empty."""
        self.by_number[number] = row
        for name in {_plain(name) for name in names} - {""}:
            self.by_name.setdefault(name, set()).add(row)

    def rows_of(self, submission: str) -> set[int]:
        """Find the rows that the name of a submission can stand for; only a single one is an answer."""
        stem = re.sub(r"\.(ipynb|py)$", "", submission)
        numbers = DOWNLOAD_NUMBER.findall(stem) or DOWNLOAD_NUMBER.findall(stem.partition("/")[0])  # "Bob_657737/a"
        rows = {self.by_number[n] for n in numbers if n in self.by_number}
        if rows:
            return rows
        path = PurePosixPath(stem)
        names = {submission, stem, *(() if path.is_absolute() else path.parts)}  # /home/ada is not Ada's submission
        return set().union(*(self.by_name.get(_plain(name), set()) for name in names))

    def assign(self, results: list[Result], lesson: str | None) -> Assigned:
        """Give each row its result.

        Args:
            results: the results, of any lesson.
            lesson: the lesson that is meant; None takes every result.

        Returns:
            The result of each row that gets one, the submissions that were left out, and the rows of both.
        """
        wanted = [cut for result in results if (cut := cut_to_lesson(result, lesson)) is not None]
        found = [(self.rows_of(result["submission"]), result) for result in wanted]
        counts = Counter(row for rows, _ in found if len(rows) == 1 for row in rows)
        assigned: dict[int, Result] = {}
        left_out: list[tuple[str, str]] = []
        for rows, result in found:
            row = next(iter(rows), -1)
            if len(rows) != 1:
                why = "its name fits several students of the list." if rows else "no student of the list has this name."
                left_out.append((result["submission"], why))
            elif counts[row] > 1:
                why = f"the student has {counts[row]} submissions; grade the one meant."
                left_out.append((result["submission"], why))
            elif result["score"] is None:
                left_out.append((result["submission"], why_no_score(result)))
            else:
                assigned[row] = result
        return Assigned(assigned, left_out, set(counts))


def cut_to_lesson(result: Result, lesson: str | None) -> Result | None:
    """Return the part of a result that belongs to a lesson: of a .py file, which may hold any task, the lesson's tasks.

    Args:
        result: one result.
        lesson: the lesson that is meant; None means all of the result.

    Returns:
        The result, or None where it is of another lesson.
    """
    nobody_knows = result["lesson"] is None and "reason" in result
    if lesson is None or result["lesson"] == lesson or nobody_knows:
        return result
    if result["lesson"] is not None:
        return None
    tasks = [task for task in result["tasks"] if task["task"] in TASKS and TASKS[task["task"]].lesson == lesson]
    score, most = (sum(task[key] for task in tasks) for key in ("points", "max_points"))
    status = overall([task["status"] for task in tasks], score) if tasks else result["status"]
    return result | {"lesson": lesson, "tasks": tasks, "score": score, "max_score": most, "status": status}


def why_no_score(result: Mapping[str, Any]) -> str:
    """Say why nothing is written for a result that has no score."""
    if result["status"] == "unreadable":
        return f"{result['reason']} With --unreadable-as-zero it gets a 0."
    return f"it was not graded. {result['reason']}"


def scaled(result: Result, maximum: str) -> str:
    """Write a score as a cell, on the scale of the list: its own points where the list names no other maximum."""
    try:
        most = float(maximum.replace(",", "."))
    except ValueError:
        most = 0.0
    if most <= 0 or not result["max_score"]:
        return as_number(result["score"])
    return as_number(round(result["score"] / result["max_score"] * most, 2))


def inert(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would read as a formula; numbers stay as they are."""
    risky = cell[:1] in FORMULA_STARTS or cell.lstrip()[:1] in FORMULA_STARTS
    return f"'{cell}" if cell and risky and not NUMBER.fullmatch(cell) else cell


def read_table(path: Path) -> Table:
    """Read a CSV file, with commas, semicolons or tabs between its cells; short rows are filled up.

    Raises:
        ExportError: There is no such file, or it is not CSV in UTF-8.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
        delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise ExportError(f"{path} is not a CSV file in UTF-8.") from None
    width = max(map(len, rows), default=0)
    filled = [row + [""] * (width - len(row)) for row in rows]
    return Table(filled, delimiter, data.startswith("\ufeff".encode()))


def write_table(table: Table, target: Path) -> None:
    """Write a CSV file whole, in the manner of the one that was read, with every cell inert."""
    text = csv_text(([inert(cell) for cell in row] for row in table.rows), table.delimiter)
    write_whole(target, ("\ufeff" if table.byte_order_mark else "") + text)


def csv_text(rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Write rows as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def write_whole(target: Path, text: str) -> None:
    """Write a file atomically; what UTF-8 cannot encode becomes a question mark.

    Raises:
        ExportError: the file cannot be written.
    """
    try:
        with atomic_write(target) as part:
            part.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error.strerror}.") from None


def _plain(name: str) -> str:
    """Make names comparable: one case, one form of accents, single blanks, the family name last."""
    last, comma, first = unicodedata.normalize("NFC", name).partition(",")
    return " ".join(re.split(r"[\s_]+", f"{first} {last}" if comma else last)).strip().casefold()
