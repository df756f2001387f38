"""Outputs of grading besides the table: LMS lists, pages, a GitHub workflow, nbgrader's gradebook."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from dspark_mini.workspace import UserError
from grader.export.lms import check_lists, write_canvas, write_gradescope, write_moodle
from grader.export.rosters import ExportError, Result, why_no_score
from grader.grade_options import GradeOptions

Say = Callable[[str], None]


def refuse_impossible(options: GradeOptions) -> None:
    """Refuse impossible requests before anything is graded.

    Raises:
        UserError: A list is missing or unusable, a course is missing, a threshold is given without --ci, or a grade
            book is to be written without a sandbox.
    """
    for why in chain(_bad_combinations(options), _bad_paths(options)):
        raise UserError(why)
    try:
        canvas, moodle = (pair[0] if pair is not None else None for pair in (options.canvas, options.moodle))
        check_lists(canvas, moodle, options.column or options.lesson)
    except ExportError as error:
        raise UserError(str(error)) from None


def _bad_combinations(options: GradeOptions) -> Iterator[str]:
    """Say which options do not go together, or need what is not installed."""
    if not options.isolation and options.grade_books:
        book = options.grade_books[0]
        yield (
            "--unsafe-no-sandbox runs submissions with your rights, so that one could itself write what "
            f"{book} writes; grade in the sandbox, or leave {book} out."
        )
    if options.pseudonyms and not options.leaderboard:
        yield "--pseudonyms is for --leaderboard; give both."
    if options.min_score and not options.ci:
        yield "--min-score is the threshold of --ci; give both."
    if options.similarity and importlib.util.find_spec("grader.similarity") is None:
        yield "--similarity needs the complete repository; a learner's bundle does not contain it."
    if options.records and importlib.util.find_spec("nbgrader") is None:
        yield 'The gradebook needs nbgrader: install it with `pip install -e ".[grade]"`.'


def _bad_paths(options: GradeOptions) -> Iterator[str]:
    """Say which files and folders cannot be what an option takes them for."""
    for option, pair in (("--canvas", options.canvas), ("--moodle", options.moodle)):
        if pair is not None and not pair[0].is_file():
            yield f"There is no file {pair[0]}; {option} takes the list of your LMS and the file to write."
        if pair is not None and pair[1].exists() and pair[0].samefile(pair[1]):
            yield f"{option} would write over the list {pair[0]}; name another file to write."
    if options.course and not options.course.is_dir():
        yield f"There is no folder {options.course} of a course; `dspark-mini build` makes build/nbgrader."
    if options.pages and options.pages.exists() and not options.pages.is_dir():
        yield f"The reports cannot be written to {options.pages}, because it is not a folder."
    if options.leaderboard and options.leaderboard.suffix == ".csv":
        yield f"{options.leaderboard} is to be a page, such as board.html; the CSV file goes beside it."


def write_outputs(
    results: Iterable[Result], notebooks: Sequence[Path], options: GradeOptions, say: Say, unrecorded: list[str]
) -> bool:
    """Write the outputs that were asked for, and report on each.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        notebooks: the submitted files, in the same order.
        options: what was asked for.
        say: called with each line for the user.
        unrecorded: gets the submissions that a gradebook could not take now, and can later.

    Returns:
        Whether every result has found its place, and every submission the points that a workflow of GitHub asks for.

    Raises:
        UserError: something could not be written; what was written before stays.
    """
    rows = list(results)
    try:
        all_well = [
            _export(rows, notebooks, options, say),
            _record(rows, notebooks, options, say, unrecorded),
            _reaches_threshold(rows, options),
        ]
        return all(all_well)
    except ExportError as error:
        raise UserError(str(error)) from None


def _export(rows: list[Result], notebooks: Sequence[Path], options: GradeOptions, say: Say) -> bool:
    lessons = {row["lesson"] for row in rows if row["lesson"] is not None}
    lesson = options.lesson or (lessons.pop() if len(lessons) == 1 else None)
    transfers = {}
    if options.canvas is not None:
        transfers[options.canvas[1]] = write_canvas(rows, *options.canvas, lesson, options.column)
    if options.moodle is not None:
        transfers[options.moodle[1]] = write_moodle(rows, *options.moodle, lesson)
    for target, transfer in transfers.items():
        say(f"{target}: {transfer}")
    if options.gradescope is not None:
        _gradescope(rows, options.gradescope, say)
    if options.pages is not None:
        from grader.export.pages import write_pages

        say(f"Reports: {write_pages(rows, options.pages)}")
    if options.leaderboard is not None:
        from grader.export.leaderboard import write_leaderboard

        say(f"Leaderboard: {write_leaderboard(rows, options.leaderboard, options.pseudonyms)}")
    if options.similarity is not None:
        from grader.similarity.report import write_similarity

        say(f"Similarity: {write_similarity(rows, notebooks, options.similarity)}")
    has_one = options.gradescope is None or (len(rows) == 1 and rows[0]["score"] is not None)
    return has_one and not any(transfer.left_out for transfer in transfers.values())


def _gradescope(rows: list[Result], target: Path, say: Say) -> None:
    """Write nothing for a submission without a score: Gradescope then says that the autograder has failed."""
    if len(rows) == 1 and rows[0]["score"] is None:
        say(f"{target}: not written. {why_no_score(rows[0])}")
    else:
        write_gradescope(rows, target)


def _record(
    rows: list[Result], notebooks: Sequence[Path], options: GradeOptions, say: Say, unrecorded: list[str]
) -> bool:
    if not options.records:
        return True
    from grader.export.nbgrader_database import GradebookBusy, GradebookError
    from grader.export.nbgrader_gradebook import COURSE, record

    try:
        refused = record(rows, options.course or COURSE, options.db, notebooks)
    except GradebookBusy as busy:
        say(str(busy))
        unrecorded += busy.left_out
        return False
    except GradebookError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"The course's folder cannot be written: {error.strerror} ({error.filename}).") from None
    for sentence in refused:
        say(sentence)
    say(f"Gradebook: {len(rows) - len(refused)} of {len(rows)} results recorded.")
    return not refused


def _reaches_threshold(rows: list[Result], options: GradeOptions) -> bool:
    if not options.ci:
        return True
    from grader.export.github import report_to_ci

    return report_to_ci(rows, print, options.min_score)
