"""`dspark-mini grade`: from paths to a table and files of results."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dspark_mini.terminal import folded, plain_table
from dspark_mini.workspace import UserError
from grader.account import PassedOver, account_of, what_to_repeat
from grader.check.text import fix_first, printable
from grader.export.files import whole_file, write_csv, write_json
from grader.export.outputs import refuse_impossible, write_outputs
from grader.export.rosters import cut_to_lesson
from grader.grade_options import GradeOptions
from grader.lessons.checks import TASKS
from grader.read.collect import BadRequest, find_submissions
from grader.read.submissions import Source, lessons
from grader.run.batch import Interrupted, grade_batch, jobs_of
from grader.run.cluster import NoCluster, cluster_pool
from grader.run.grading import UNREADABLE
from grader.run.journal import Journal, JournalInUse, Results, TargetInUse, locked
from grader.run.pools import Pool, local_pool
from grader.run.sandbox import NoSandbox, require_sandbox
from grader.run.scratch import scratch_folder
from grader.run.user_sandbox import require_user

if TYPE_CHECKING:
    from grader.export.regrading import Regrading  # left out of a bundle

Rows = Sequence[dict[str, Any]]
GRADED, NOT_ALL_GRADED = 0, 1  # exit codes


def grade_paths(paths: list[Path], options: GradeOptions, out: Console, regrading: Regrading | None = None) -> int:
    """Grade what lies at some paths, show a table, and write the files that were asked for.

    Args:
        paths: notebooks, .py files, folders and zips.
        options: how to grade, and where the results go.
        out: where the table is shown.
        regrading: what comes between grading and writing.

    Returns:
        The exit code: 0 when all is graded, whatever the scores, 1 when something was not: unreadable, a fault of the
        grader, or Ctrl-C, after which the files are not written and --resume goes on.

    Raises:
        UserError: what was asked for cannot be done; what was written before stays.
    """
    refuse_impossible(options)
    try:
        with scratch_folder() as scratch:
            if options.isolation and options.dask is None:
                _require_sandbox(options)
            passed_over: PassedOver = []
            sources = _sources(paths, scratch, options, passed_over)
            with locked(options.targets), _journal(options, scratch) as journal:
                try:
                    graded = _grade(sources, scratch, journal, options)
                except Interrupted:
                    out.print(_interrupted(journal, options), soft_wrap=True)
                    return NOT_ALL_GRADED
                results, kept = _of_lesson(graded, sources, options, passed_over)
                return _report(results, kept, passed_over, options, out, regrading)
    except TargetInUse as error:
        raise UserError(f"Another grading is writing {error}; wait for its end, or name another file.") from None
    except OSError as error:
        raise UserError(f"The results cannot be saved: {error.strerror}.{_resume_hint(options)}") from error


def _report(
    results: Rows,
    sources: list[Source],
    passed_over: PassedOver,
    options: GradeOptions,
    out: Console,
    regrading: Regrading | None,
) -> int:
    """Write all files, then show the table and what was said on the way: a terminal that fails costs no file."""
    lines, unrecorded = list[str](), list[str]()
    written = results
    try:
        if regrading:
            results, written, lines = regrading.apply(results, sources, options.lesson)
        _write(results, options)
        notebooks = [source.path for source in sources]
        all_well = write_outputs(written, notebooks, options, lines.append, unrecorded)
    except UserError as error:
        raise UserError(f"{error}{_resume_hint(options)}") from error
    finally:
        if not options.ci:
            out.print(_table(results, out.width))
            out.print()
            lines.insert(0, account_of(results, passed_over))
            if not any(task.hidden for task in TASKS.values()):
                lines.append("This is a class's copy, without hidden cases: grade in the complete repository.")
        for line in lines:
            _say(line, options, out)
    if last := what_to_repeat(results, unrecorded, _same_command(options)):
        _say(last, options, out, style="bold red")
    return GRADED if all_well and not any("reason" in result for result in results) else NOT_ALL_GRADED


def _same_command(options: GradeOptions) -> str:
    """The command that makes up for what a fault of the machine has left out."""
    if not options.targets:
        return "the same command again"
    words = [*sys.argv[1:], *([] if options.resume else ["--resume"])]
    return f"dspark-mini {shlex.join(words)}" if sys.argv[1:2] == ["grade"] else "the same command with --resume"


def _require_sandbox(options: GradeOptions) -> None:
    try:
        if isinstance(options.isolation, str):
            require_user(options.isolation, options.targets)
            os.umask(0o077)  # that user reads nothing that is written from now on
        else:
            require_sandbox()
    except NoSandbox as error:
        raise UserError(str(error)) from None


def _sources(paths: list[Path], scratch: Path, options: GradeOptions, passed_over: PassedOver) -> list[Source]:
    try:
        sources = find_submissions(paths, scratch, lambda path, why: passed_over.append((path, why)))
        _refuse_bad_targets(options, [source.path for source in sources])
    except BadRequest as error:
        raise UserError(str(error)) from None
    lesson = options.lesson
    if lesson is None:
        return sources
    others = {id(source) for source in sources if source.path.stem in lessons() and source.path.stem != lesson}
    passed_over += [(source.name, f"of {source.path.stem}") for source in sources if id(source) in others]
    return [source for source in sources if id(source) not in others]


def _refuse_bad_targets(options: GradeOptions, submissions: list[Path]) -> None:
    if options.resume and not options.targets:
        raise UserError("Name the --json FILE or --csv FILE that the interrupted grading was to write.")
    for target in options.targets:
        refusal = f"The results cannot be written to {target}, because"
        if not target.parent.is_dir():
            raise UserError(f"{refusal} there is no folder {target.parent}.")
        if target.is_dir() or any(target.exists() and target.samefile(path) for path in submissions if path.exists()):
            raise UserError(f"{refusal} it is a folder or one of the submissions.")
    if len({target.resolve() for target in options.targets}) < len(options.targets):
        raise UserError(f"{options.targets[0]} is named twice; every kind of results needs a file of its own.")


def _of_lesson(
    graded: Results, sources: list[Source], options: GradeOptions, passed_over: PassedOver
) -> tuple[Rows, list[Source]]:
    """Take the results of one lesson, with their files: of a .py file, which may solve any task, the lesson's part."""
    rows: Rows = [_completed(result, source, options) for result, source in zip(graded, sources, strict=True)]
    lesson = options.lesson
    if lesson is None:
        return rows, sources
    cuts = [(cut_to_lesson(result, lesson), source) for result, source in zip(rows, sources, strict=True)]
    passed_over += [(row["submission"], f"of {row['lesson']}") for row, cut in zip(rows, cuts) if cut[0] is None]
    pairs = [(cut, source) for cut, source in cuts if cut is not None]
    return [cut for cut, _ in pairs], [source for _, source in pairs]


def _completed(result: dict[str, Any], source: Source, options: GradeOptions) -> dict[str, Any]:
    """Add what the journal does not know: how the file was chosen, and what the instructor makes of unreadable ones."""
    zero = {"score": 0} if options.unreadable_as_zero and result["status"] == UNREADABLE else {}
    return result | zero | ({"notes": [source.note, *result.get("notes", ())]} if source.note else {})


def _journal(options: GradeOptions, scratch: Path) -> Journal:
    target = options.targets[0] if options.targets else scratch / "results"
    path = target.with_name(target.name + ".journal")
    try:
        return Journal(path)
    except JournalInUse:
        raise UserError(f"Another grading is writing {target}; wait for its end, or name another file.") from None
    except OSError as error:
        raise UserError(f"The results cannot be saved in {path}: {error.strerror}.") from None


def _grade(sources: list[Source], scratch: Path, journal: Journal, options: GradeOptions) -> Results:
    jobs = jobs_of(sources, options.isolation)
    try:
        with _progress(len(jobs)) as on_result, _stop_on_interrupt() as stopping, _pool(options, scratch) as pool:
            return grade_batch(jobs, pool, journal, options.resume, on_result, stopping.is_set)
    except NoCluster as error:
        raise UserError(str(error)) from None


def _pool(options: GradeOptions, scratch: Path) -> contextlib.AbstractContextManager[Pool]:
    if options.dask is not None:
        return cluster_pool(options.dask, options.isolation)
    return local_pool(options.workers, scratch, options.isolation)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=total)
        yield lambda number: progress.advance(bar, number)


@contextlib.contextmanager
def _stop_on_interrupt() -> Iterator[Event]:
    """Turn Ctrl-C into an event, so that it never cuts through the saving of a result."""
    stopping = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(number, lambda *_: stopping.set()) for number in signals]
    try:
        yield stopping
    finally:
        for number, handler in zip(signals, previous):
            signal.signal(number, handler)


def _resume_hint(options: GradeOptions) -> str:
    return " To go on, type the same command with --resume." if options.targets else ""


def _interrupted(journal: Journal, options: GradeOptions) -> str:
    if not options.targets:
        return "Interrupted; nothing was saved. With --json FILE or --csv FILE, a grading can be resumed."
    return (
        f"Interrupted. The results known so far are kept in {journal.path}; "
        "type the same command with --resume to go on."
    )


def _write(results: Rows, options: GradeOptions) -> None:
    for target, write in ((options.json_file, write_json), (options.csv_file, write_csv)):
        if target is not None:
            with whole_file(target) as file:
                write(results, file)


def _say(line: str, options: GradeOptions, out: Console, style: str | None = None) -> None:
    """Print a line; in a workflow of GitHub so that nothing in it is a command there."""
    text = "\n".join(map(printable, line.split("\n")))
    if options.ci:
        text = "\n".join(f"| {one}" for one in text.replace("::", ": :").replace("##[", "# #[").split("\n"))
    out.print(escape(text), soft_wrap=True, style=style)


def _table(results: Rows, width: int) -> Table:
    table = plain_table(*(headers := ("submission", "lesson", "score", "status", "fix first")))
    rows = [tuple(_cells(result)) for result in results]
    longest = [max(map(len, cells)) for cells in zip(headers, *rows)]
    left = width - sum(longest[1:4]) - 2 * len(headers)
    last = min(longest[4], max(left - longest[0], left // 2))
    for column in table.columns[1:4]:
        column.no_wrap = True
    for name, *middle, first in rows:
        table.add_row(escape(folded(name, left - last)), *middle, escape(folded(first, last)))
    return table


def _cells(result: dict[str, Any]) -> Iterator[str]:
    yield printable(result["submission"])
    yield (result["lesson"] or "–").partition("_")[0]
    yield f"{'–' if result['score'] is None else result['score']}/{result['max_score']}"
    yield result["status"]
    first = result.get("reason") or _fix_first(result)
    notes = result.get("notes", ())
    yield printable(" ".join([f"{first.rstrip('.')}." if first and notes else first, *notes]).strip())


def _fix_first(result: dict[str, Any]) -> str:
    for task in result["tasks"]:
        if first := fix_first(task):
            return f"{task['task']} {first}"
    return next((f"{task['task']} not started" for task in result["tasks"] if task["status"] == "missing"), "")
