"""Outputs of grading besides the table: LMS lists, pages, a GitHub workflow, nbgrader's gradebook."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dspark_mini.workspace import UserError
from grader.export.lms import check_lists, write_canvas, write_gradescope, write_moodle
from grader.export.rosters import ExportError, Result, why_no_score

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outputs:
    """The outputs asked for; None or False for those that were not."""

    canvas: tuple[Path, Path] | None = None  # the list from Canvas, and the file to write
    moodle: tuple[Path, Path] | None = None  # the worksheet from Moodle, and the file to write
    lesson: str | None = None  # the only one that is graded; by default all of them
    column: str | None = None  # of the list from Canvas; by default the lesson's
    gradescope: Path | None = None
    pages: Path | None = None  # a folder
    leaderboard: Path | None = None  # a page; a CSV file goes beside it
    pseudonyms: Path | None = None  # the file that keeps those of the leaderboard; without it, names
    similarity: Path | None = None  # a page
    gradebook: bool = False
    course: Path | None = None  # nbgrader's; None is the kit's own
    db_url: str | None = None
    ci: bool = False
    min_score: float = 0.0

    @property
    def files(self) -> list[Path]:
        """The files that will be written."""
        pairs = [pair[1] for pair in (self.canvas, self.moodle) if pair is not None]
        boards = [self.leaderboard, self.leaderboard.with_suffix(".csv")] if self.leaderboard else []
        return [*pairs, *filter(None, (self.gradescope, self.similarity)), *boards]

    @property
    def grade_books(self) -> list[str]:
        """The options that put grades where they count."""
        asked = {"gradescope": self.gradescope, "canvas": self.canvas, "moodle": self.moodle}
        recorded = {"gradebook": self.gradebook or None, "course": self.course, "db": self.db_url}
        return [f"--{option}" for option, value in [*asked.items(), *recorded.items()] if value is not None]

    @property
    def records(self) -> bool:
        """Whether the results go into a gradebook of nbgrader."""
        return self.gradebook or self.course is not None or self.db_url is not None


def refuse_impossible(outputs: Outputs, sandbox: bool = True) -> None:
    """Refuse impossible requests before anything is graded.

    Raises:
        UserError: A list is missing or unusable, a course is missing, a threshold is given without --ci, or a grade
            book is to be written without a sandbox.
    """
    if not sandbox and outputs.grade_books:
        raise UserError(
            f"--unsafe-no-sandbox runs submissions with your rights, so that one could itself write what "
            f"{outputs.grade_books[0]} writes; grade in the sandbox, or leave {outputs.grade_books[0]} out."
        )
    for option, pair in (("--canvas", outputs.canvas), ("--moodle", outputs.moodle)):
        if pair is not None and not pair[0].is_file():
            raise UserError(f"There is no file {pair[0]}; {option} takes the list of your LMS and the file to write.")
        if pair is not None and pair[1].exists() and pair[0].samefile(pair[1]):
            raise UserError(f"{option} would write over the list {pair[0]}; name another file to write.")
    try:
        canvas, moodle = (pair[0] if pair is not None else None for pair in (outputs.canvas, outputs.moodle))
        check_lists(canvas, moodle, outputs.column or outputs.lesson)
    except ExportError as error:
        raise UserError(str(error)) from None
    if outputs.course is not None and not outputs.course.is_dir():
        raise UserError(f"There is no folder {outputs.course} of a course; `dspark-mini build` makes build/nbgrader.")
    if outputs.pages is not None and outputs.pages.exists() and not outputs.pages.is_dir():
        raise UserError(f"The reports cannot be written to {outputs.pages}, because it is not a folder.")
    if outputs.leaderboard is not None and outputs.leaderboard.suffix == ".csv":
        raise UserError(f"{outputs.leaderboard} is to be a page, such as board.html; the CSV file goes beside it.")
    if outputs.pseudonyms is not None and outputs.leaderboard is None:
        raise UserError("--pseudonyms is for --leaderboard; give both.")
    if outputs.similarity is not None and importlib.util.find_spec("grader.similarity") is None:
        raise UserError("--similarity needs the complete repository; a learner's bundle does not contain it.")
    if outputs.min_score and not outputs.ci:
        raise UserError("--min-score is the threshold of --ci; give both.")
    if outputs.records:
        _require_nbgrader()


def write_outputs(results: Iterable[Result], notebooks: Sequence[Path], outputs: Outputs, say: Say) -> bool:
    """Write the outputs that were asked for, and report on each.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        notebooks: the submitted files, in the same order.
        outputs: what was asked for.
        say: called with each line for the user.

    Returns:
        Whether every result has found its place, and every submission the points that a workflow of GitHub asks for.

    Raises:
        UserError: something could not be written; what was written before stays.
    """
    rows = list(results)
    try:
        all_well = [
            _export(rows, notebooks, outputs, say),
            _record(rows, notebooks, outputs, say),
            _reaches_threshold(rows, outputs),
        ]
        return all(all_well)
    except ExportError as error:
        raise UserError(str(error)) from None


def _export(rows: list[Result], notebooks: Sequence[Path], outputs: Outputs, say: Say) -> bool:
    lessons = {row["lesson"] for row in rows if row["lesson"] is not None}
    lesson = outputs.lesson or (lessons.pop() if len(lessons) == 1 else None)
    transfers = {}
    if outputs.canvas is not None:
        transfers[outputs.canvas[1]] = write_canvas(rows, *outputs.canvas, lesson, outputs.column)
    if outputs.moodle is not None:
        transfers[outputs.moodle[1]] = write_moodle(rows, *outputs.moodle, lesson)
    for target, transfer in transfers.items():
        say(f"{target}: {transfer}")
    if outputs.gradescope is not None:
        _gradescope(rows, outputs.gradescope, say)
    if outputs.pages is not None:
        from grader.export.pages import write_pages

        say(f"Reports: {write_pages(rows, outputs.pages)}")
    if outputs.leaderboard is not None:
        from grader.export.leaderboard import write_leaderboard

        say(f"Leaderboard: {write_leaderboard(rows, outputs.leaderboard, outputs.pseudonyms)}")
    if outputs.similarity is not None:
        from grader.similarity.report import write_similarity

        say(f"Similarity: {write_similarity(rows, notebooks, outputs.similarity)}")
    has_one = outputs.gradescope is None or (len(rows) == 1 and rows[0]["score"] is not None)
    return has_one and not any(transfer.left_out for transfer in transfers.values())


def _gradescope(rows: list[Result], target: Path, say: Say) -> None:
    """Write nothing for a submission without a score: Gradescope then says that the autograder has failed."""
    if len(rows) == 1 and rows[0]["score"] is None:
        say(f"{target}: not written. {why_no_score(rows[0])}")
    else:
        write_gradescope(rows, target)


def _record(rows: list[Result], notebooks: Sequence[Path], outputs: Outputs, say: Say) -> bool:
    if not outputs.records:
        return True
    from grader.export.nbgrader_database import GradebookError
    from grader.export.nbgrader_gradebook import COURSE, record

    try:
        refused = record(rows, outputs.course or COURSE, outputs.db_url, notebooks)
    except GradebookError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"The course's folder cannot be written: {error.strerror} ({error.filename}).") from None
    for sentence in refused:
        say(sentence)
    say(f"Gradebook: {len(rows) - len(refused)} of {len(rows)} results recorded.")
    return not refused


def _reaches_threshold(rows: list[Result], outputs: Outputs) -> bool:
    if not outputs.ci:
        return True
    from grader.export.github import report_to_ci

    return report_to_ci(rows, print, outputs.min_score)


def _require_nbgrader() -> None:
    if importlib.util.find_spec("nbgrader") is None:
        raise UserError('The gradebook needs nbgrader: install it with `pip install -e ".[grade]"`.')
