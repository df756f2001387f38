"""Between grading and writing: points of one's own, late submissions, and the grading before this one.

The score of a result stays what the grader gave. Beside it, `final` of `final_max` is what lists and grade books get.
A result without a score gets no number here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dspark_mini.workspace import UserError
from grader.check.text import as_number
from grader.export.comparison import compared, pairs
from grader.export.late import LatePolicy, late_words, parse_policy
from grader.export.points import Points, read_points
from grader.export.rosters import cut_to_lesson
from grader.grade_options import GradeOptions
from grader.read.submissions import Source

Result = dict[str, Any]
NEEDED = ("submission", "lesson", "score", "max_score", "status", "tasks")
NEEDED_OF_TASK = ("task", "function", "points", "max_points", "status", "properties")
OURS = ("final", "final_max", "final_notes", "earlier")  # fields that are added here, besides late


@dataclass(frozen=True)
class Regrading:
    """What is asked for beyond the grader's own scores."""

    old: list[Result] | None = None  # the earlier results, to compare with
    old_name: str = ""
    keep_higher: bool = False
    late: LatePolicy | None = None
    points: Points | None = None

    def apply(self, results: Sequence[Result], sources: Sequence[Source], lesson: str | None = None) -> Regraded:
        """Work out what is written.

        Args:
            results: objects of the list that `dspark-mini grade --json` writes.
            sources: their submissions, in the same order.
            lesson: the only lesson that is graded, to which earlier results are cut.

        Returns:
            The results as they go into JSON and CSV, and as lists and grade books get them, and lines to show.
        """
        new = list(results)
        before = [cut for old in self.old or [] if (cut := cut_to_lesson(old, lesson)) is not None]
        matched = pairs(before, new)
        lines = compared(matched, self.old_name) if self.old is not None else []
        if not (self.keep_higher or self.late or self.points):
            return Regraded(new, new, lines)
        earlier = {id(now): old for old, now in matched if now is not None}
        rows = [self._final(now, by, earlier.get(id(now)), lesson) for now, by in zip(new, sources, strict=True)]
        for row in (row for row in rows if row["final_notes"]):
            counts = _of(row["final"], row["final_max"])
            lines.append(f"{row['submission']}: {counts} count. {' '.join(row['final_notes'])}")
        return Regraded(rows, [self._written(row) for row in rows], lines)

    def _final(self, now: Result, source: Source, old: Result | None, lesson: str | None) -> Result:
        """Return a result with `final`, `final_max`, `final_notes` and, where they matter, `late` and `earlier`."""
        row = now | ({"late": self.late.of(source)} if self.late else {})
        final, most = self._points(row)
        best = self._best_of(old, lesson) if self.keep_higher else None
        if final is None:  # the earlier one is only kept in mind, for the next grading
            kept = {"earlier": best} if best else {}
            return row | {"final": None, "final_max": _rounded(most), "final_notes": []} | kept
        notes = [late_words(row["late"])] if self.late else []
        had, of = self._points(best) if best else (None, 0.0)
        if had is not None and of and had / of > (final / most if most else 0):
            notes += [f"Kept from the earlier grading, which is higher: {_of(had, of)}, now {_of(final, most)}."]
            row["earlier"], final, most = best, had * (most or of) / of, most or of
        return row | {"final": _rounded(final), "final_max": _rounded(most), "final_notes": list(filter(None, notes))}

    def _points(self, result: Result) -> tuple[float | None, float]:
        """Return the points of a result, less what being late costs, and the most there are."""
        scheme = self.points or Points()
        if result["score"] is None:
            return None, scheme.most(result)
        earned = sum(task["points"] for task in scheme.of(result)) if result["tasks"] else 0
        return float(earned * (result.get("late") or {}).get("share", 1)), scheme.most(result)

    def _best_of(self, old: Result | None, lesson: str | None) -> Result | None:
        """Return the best of an earlier result and what that one had kept itself."""
        if old is None:
            return None
        kept = cut_to_lesson(old["earlier"], lesson) if "earlier" in old else None
        candidates = [one for one in (old, kept) if one is not None and one["score"] is not None]
        best = max(candidates, key=lambda one: self._points(one)[0] or 0, default=None)
        return best and {key: value for key, value in best.items() if key not in OURS}

    def _written(self, row: Result) -> Result:
        """Return a result as lists and grade books get it: of two, the tasks of the one that counts."""
        kept = row.get("earlier") if row["final"] is not None else None
        counts = kept or row
        tasks = (self.points or Points()).of(counts) if self.points else counts["tasks"]
        written = row | {"score": row["final"], "max_score": row["final_max"], "tasks": tasks}
        written["notes"] = [*row["final_notes"], *counts.get("notes", ())]
        written |= {"lesson": counts["lesson"], "status": counts["status"], "late": counts.get("late")}
        return {key: value for key, value in written.items() if not (kept and key == "reason")}


class Regraded(NamedTuple):
    """Results as they go into JSON and CSV, as lists and grade books get them, and what to say about them."""

    results: list[Result]
    written: list[Result]
    lines: list[str]


def read_regrading(options: GradeOptions) -> Regrading:
    """Read what the options of `grade` ask for.

    Raises:
        UserError: a file or an option cannot be used.
    """
    compare, points = options.compare, options.points
    if compare is not None and compare.resolve() in [target.resolve() for target in options.targets]:
        raise UserError(f"{compare} would be written over; write to another file than --compare reads.")
    if points is not None and options.records:
        raise UserError("--points is not for nbgrader's gradebook, where each cell has its points; change them there.")
    if options.keep_higher and compare is None:
        raise UserError("--keep-higher needs the earlier results: give --compare OLD.json, too.")
    if options.late is not None and options.deadline is None:
        raise UserError("--late needs --deadline, such as 2026-12-01T23:59.")
    try:
        return Regrading(
            old=None if compare is None else read_results(compare),
            old_name=str(compare),
            keep_higher=options.keep_higher,
            late=None if options.deadline is None else parse_policy(options.deadline, options.late),
            points=None if points is None else read_points(points),
        )
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def read_results(path: Path) -> list[Result]:
    """Read what `dspark-mini grade --json` wrote.

    Raises:
        ValueError: it is something else.
        OSError: it cannot be read.
    """
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{path} is not JSON; --compare takes a file from `grade --json`.") from None
    for place, result in enumerate(results if isinstance(results, list) else [None]):
        tasks = result.get("tasks") if isinstance(result, dict) else None
        missing = [*_missing(result, NEEDED), *(key for task in tasks or [] for key in _missing(task, NEEDED_OF_TASK))]
        if missing:
            raise ValueError(f"{path} is not from `grade --json`: result {place} has no {missing[0]}.")
    return list(results)


def _missing(entry: Any, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if not isinstance(entry, dict) or key not in entry]


def _of(points: float, most: float) -> str:
    return f"{as_number(round(points, 2))} of {as_number(round(most, 2))} points"


def _rounded(points: float) -> float:
    """Round to a hundredth; a whole number is written without a fraction."""
    rounded = round(points, 2)
    return int(rounded) if rounded == int(rounded) else rounded
