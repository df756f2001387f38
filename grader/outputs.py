"""Where results go besides a table: lists of an LMS, pages, a workflow of GitHub, nbgrader's gradebook."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dspark_mini.workspace import UserError
from grader.rosters import ExportError, Result

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outputs:
    """What was asked for; None or False where it was not."""

    canvas: tuple[Path, Path] | None = None  # the list from Canvas, and the file to write
    moodle: tuple[Path, Path] | None = None  # the worksheet from Moodle, and the file to write
    lesson: str | None = None  # the one that the list is for; by default the only one there is
    gradescope: Path | None = None
    pages: Path | None = None  # a folder
    gradebook: bool = False
    course: Path | None = None  # nbgrader's; None is the kit's own
    db_url: str | None = None
    ci: bool = False
    min_score: float = 0.0

    @property
    def files(self) -> list[Path]:
        """The files that will be written."""
        pairs = [pair[1] for pair in (self.canvas, self.moodle) if pair is not None]
        return [*pairs, *([self.gradescope] if self.gradescope else [])]

    @property
    def records(self) -> bool:
        """Whether the results go into a gradebook of nbgrader."""
        return self.gradebook or self.course is not None or self.db_url is not None


def refuse_missing(outputs: Outputs) -> None:
    """Refuse what cannot be had before anything is graded.

    Raises:
        UserError: a list that is not there, or a threshold without a workflow.
    """
    for option, pair in (("--canvas", outputs.canvas), ("--moodle", outputs.moodle)):
        if pair is not None and not pair[0].is_file():
            raise UserError(f"There is no file {pair[0]}; {option} takes the list of your LMS and the file to write.")
        if pair is not None and pair[1].exists() and pair[0].samefile(pair[1]):
            raise UserError(f"{option} would write over the list {pair[0]}; name another file to write.")
    if outputs.min_score and not outputs.ci:
        raise UserError("--min-score is the threshold of --ci; give both.")
    if outputs.records:
        _require_nbgrader()


def write_outputs(results: Iterable[Result], notebooks: Sequence[Path], outputs: Outputs, say: Say) -> bool:
    """Write what was asked for, and say what became of it.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        notebooks: the submitted files, in the same order.
        outputs: what was asked for.
        say: called with each line for the user.

    Returns:
        Whether every result has found its place, and a workflow of GitHub its points.

    Raises:
        UserError: something could not be written; what was written before stays.
    """
    rows = list(results)
    try:
        _export(rows, outputs, say)
        all_recorded = _record(rows, notebooks, outputs, say)
        return _reaches_threshold(rows, outputs) and all_recorded
    except ExportError as error:
        raise UserError(str(error)) from None


def _export(rows: list[Result], outputs: Outputs, say: Say) -> None:
    from grader.exports import write_canvas, write_gradescope, write_moodle

    lessons = {row["lesson"] for row in rows if row["lesson"] is not None}
    lesson = outputs.lesson or (lessons.pop() if len(lessons) == 1 else None)
    if outputs.canvas is not None:
        say(f"Canvas, {outputs.canvas[1]}: {write_canvas(rows, *outputs.canvas, lesson)}")
    if outputs.moodle is not None:
        say(f"Moodle, {outputs.moodle[1]}: {write_moodle(rows, *outputs.moodle, lesson)}")
    if outputs.gradescope is not None:
        write_gradescope(rows, outputs.gradescope)
    if outputs.pages is not None:
        from grader.pages import write_pages

        say(f"Reports: {write_pages(rows, outputs.pages)}")


def _record(rows: list[Result], notebooks: Sequence[Path], outputs: Outputs, say: Say) -> bool:
    if not outputs.records:
        return True
    from grader.database import GradebookError
    from grader.gradebook import COURSE, record

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
    from grader.workflow import report_to_ci

    return report_to_ci(rows, print, outputs.min_score)


def _require_nbgrader() -> None:
    if importlib.util.find_spec("nbgrader") is None:
        raise UserError('The gradebook needs nbgrader: install it with `pip install -e ".[grade]"`.')
