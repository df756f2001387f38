"""The leaderboard of scored tasks: a page, and the same as CSV; with names, or with pseudonyms that a file keeps."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.check.text import as_number
from grader.export.pages import render
from grader.export.rosters import ExportError, Result, csv_text, inert, write_whole

COLUMNS = ("student", "pseudonym")  # of the file that keeps pseudonyms
FIRST = ("amber", "brisk", "calm", "clever", "copper", "eager", "gentle", "lucky", "quiet", "silver", "swift", "warm")
SECOND = ("badger", "crane", "falcon", "fox", "hare", "heron", "lynx", "otter", "owl", "robin", "seal", "wren")


@dataclass(frozen=True)
class Entry:
    """One line of a board."""

    rank: int  # equal scores share a rank
    name: str
    score: float
    scores: dict[str, float]  # by machine


@dataclass(frozen=True)
class Board:
    """The submissions that have a score in one task, the highest first."""

    task: str
    function: str
    machines: tuple[str, ...]
    entries: list[Entry]

    @property
    def highest(self) -> float:
        """Where the bars of the page end: the best score, or 100 if nobody has that."""
        return max(100.0, *(entry.score for entry in self.entries))


def write_leaderboard(results: Sequence[Result], page: Path, pseudonyms: Path | None = None) -> str:
    """Write the page and the CSV beside it.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        page: the page to write.
        pseudonyms: a CSV file that keeps who is who; names that it lacks are added. Without it, names are shown.

    Returns:
        A line for the user.

    Raises:
        ExportError: no submission has a score, or a file cannot be read or written.
    """
    scored = {result["submission"] for result in results if any("score" in task for task in result["tasks"])}
    if not scored:
        raise ExportError("No submission has a score for the leaderboard; lesson 10 is the one that is scored.")
    names = {name: name for name in scored} if pseudonyms is None else kept_pseudonyms(pseudonyms, sorted(scored))
    found = boards(results, names)
    write_whole(page, render("leaderboard.html", {"boards": found}))
    table = page.with_suffix(".csv")
    write_whole(table, as_csv(found))
    return f"{page} and {table.name}: {len(scored)} {'entry' if len(scored) == 1 else 'entries'}."


def boards(results: Iterable[Result], names: dict[str, str]) -> list[Board]:
    """Rank the submissions, one board per scored task.

    Args:
        results: the results; those without a score are left out.
        names: what to show for each submission.
    """
    by_task: dict[str, list[tuple[str, Result]]] = {}
    for result in results:
        for task in (task for task in result["tasks"] if "score" in task):
            by_task.setdefault(task["task"], []).append((names[result["submission"]], task))
    found = []
    for name, pairs in sorted(by_task.items()):
        pairs.sort(key=lambda pair: (-pair[1]["score"], pair[0]))
        levels = [task["score"] for _, task in pairs]
        ranked = (Entry(1 + levels.index(task["score"]), who, task["score"], task["scores"]) for who, task in pairs)
        first = pairs[0][1]
        found.append(Board(name, first["function"], tuple(first["scores"]), list(ranked)))
    return found


def as_csv(found: Sequence[Board]) -> str:
    """Return the boards as CSV: one row per entry."""
    machines = list(dict.fromkeys(machine for board in found for machine in board.machines))
    rows: list[list[object]] = [["task", "rank", "name", "score", *machines]]
    for board in found:
        for entry in board.entries:
            by_machine = (as_number(entry.scores[name]) if name in entry.scores else "" for name in machines)
            rows.append([board.task, entry.rank, inert(entry.name), as_number(entry.score), *by_machine])
    return csv_text(rows)


def kept_pseudonyms(path: Path, students: Sequence[str]) -> dict[str, str]:
    """Return a pseudonym for each student, and keep them in a file, so that they stay the same.

    Pseudonyms are drawn at random: nobody can compute who is who.

    Raises:
        ExportError: the file cannot be used.
    """
    names = _read_pseudonyms(path)
    for student in students:
        if student not in names:
            names[student] = _new_pseudonym(set(names.values()))
    write_whole(path, csv_text([COLUMNS, *names.items()]))
    return names


def _read_pseudonyms(path: Path) -> dict[str, str]:
    try:
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8")))) if path.exists() else [list(COLUMNS)]
    except (OSError, UnicodeError, csv.Error) as error:
        raise ExportError(f"{path} cannot be read: {error}.") from None
    header, *others = rows or [[]]
    others = [row for row in others if row]
    if tuple(header) != COLUMNS or any(len(row) != len(COLUMNS) for row in others):
        raise ExportError(f"{path} does not hold pseudonyms: its columns must be {' and '.join(COLUMNS)}.")
    return {student: pseudonym for student, pseudonym in others}


def _new_pseudonym(taken: set[str]) -> str:
    """Draw a name that is not taken: two words, and a number where these are used up."""
    for number in range(1, len(taken) + 2):
        free = [
            name for a in FIRST for b in SECOND if (name := f"{a} {b}{f' {number}' if number > 1 else ''}") not in taken
        ]
        if free:
            return secrets.choice(free)
    raise AssertionError("there are more numbers than names taken")
