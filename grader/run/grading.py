"""Grading submissions: from a file to points, one child process per submission."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspark_mini.language import ENGLISH, N_, _, speaking
from grader.check.report import ERROR, MISSING, TIMEOUT, Report, overall
from grader.lessons.checking import Check
from grader.lessons.tasks import Task
from grader.read.submissions import Source, Submission, Unreadable, lessons, read_submission, tasks_of
from grader.run.child.calling import Call, Outcome
from grader.run.child.loader import UNFINISHED, CellError, defines
from grader.run.kit import grading_seed
from grader.run.process import Child, NoProcess, Sandbox, child_library
from grader.run.scratch import scratch_folder

UNREADABLE, UNGRADED = "unreadable", "ungraded"  # without a score: nothing is written for them anywhere


class RemoteCaller:
    """Calls one function of a child; a check cannot tell it from a function in this process."""

    def __init__(self, child: Child, function: str) -> None:
        self.child, self.function = child, function

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls in order; stop after one that hangs or ends its process."""
        return self.child.outcomes(self.function, calls)


@dataclass(frozen=True)
class Result:
    """What one submission got."""

    submission: str
    lesson: str | None
    status: str
    reports: tuple[Report, ...]
    max_score: int
    reason: str = ""  # why it is unreadable, or was not graded
    notes: tuple[str, ...] = ()  # the cells that did not finish
    language: str | None = None  # of the notebook, where it is a translation; its report is in the same language

    @property
    def score(self) -> int | None:
        """Points of all tasks together; None where nothing could be graded."""
        return None if self.reason else sum(report.points for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """One object of the list that `dspark-mini grade --json` writes."""
        return {
            "submission": self.submission,
            "lesson": self.lesson,
            "score": self.score,
            "max_score": self.max_score,
            "status": self.status,
            "tasks": [report.to_json() for report in self.reports],
            **({"reason": self.reason} if self.reason else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"language": self.language} if self.language else {}),
        }


def grade(source: Source, library: Path, sandbox: Sandbox = True) -> Result:
    """Grade one submission; whatever is wrong with it becomes part of the result.

    Args:
        source: the submission's file and name.
        library: folder from child_library(), the files that a child may import.
        sandbox: how the code is isolated; without it, the code has the rights of whoever grades.

    Returns:
        The result; where the file could not be read, or no process for its code started, it has a reason.
    """
    try:
        submission = read_submission(source)
    except Unreadable as error:
        return not_graded(source, str(error), UNREADABLE)
    try:
        with (
            contextlib.closing(Child(library, submission.pieces, sandbox)) as child,
            speaking(submission.language or ENGLISH),
        ):
            begun = [_begin(task, submission, child) for task in submission.tasks]
            notes = tuple(_notes(submission, child))  # no code has seen a hidden case so far
            child.renew_clocks()
            reports = tuple(finish() for finish in begun)
    except NoProcess as error:
        return not_graded(source, str(error))
    return Result(
        source.name,
        submission.lesson,
        overall([report.status for report in reports], sum(report.points for report in reports)),
        reports,
        sum(r.max_points for r in reports),
        notes=notes,
        language=submission.language,
    )


def grade_own_notebook(path: Path) -> Result:
    """Grade a learner's own notebook without a sandbox: its code has the rights that it has in Jupyter."""
    with scratch_folder(), child_library() as library:
        return grade(Source(path.name, path), library, sandbox=False)


def not_graded(source: Source, reason: str, status: str = UNGRADED) -> Result:
    """Return the result of a submission that has no score, with the reason: a fault that is not the learner's."""
    lesson = next((lesson for lesson in lessons() if source.path.stem.endswith(lesson)), None)
    most = sum(task.max_points for task in tasks_of(lesson)) if lesson else 0
    return Result(source.name, lesson, status, (), most, reason)


def _begin(task: Task, submission: Submission, child: Child) -> Callable[[], Report]:
    """Make the calls of a task that everybody may know; return what makes the hidden ones and reports."""
    if task.function not in child.defined:
        report = _without_function(task, submission, child)
        return lambda: report
    check = Check(task, RemoteCaller(child, task.function), grading_seed(task.id))
    check.visible()

    def finish() -> Report:
        report = check.report()
        if task.id in submission.untouched and not report.passed:
            return task.failed(
                MISSING, _("TODO {task} is not started: its cell is as it was handed out.", task=task.id)
            )
        return report

    return finish


def _without_function(task: Task, submission: Submission, child: Child) -> Report:
    """Say why a task's function is not there."""
    error = next(_errors_of(task, submission, child), None) or _end_of_file(submission, child)
    if error is None and task.id in submission.renamed:
        others = submission.renamed[task.id]
        renamed = N_("There is no {function}; its cell defines {others}: under another name?")
        return task.failed(ERROR, _(renamed, function=task.function, others=others))
    if error is None:
        missing = N_("There is no function {function} in what was handed in.")
        return task.failed(MISSING, _(missing, function=task.function))
    line = _(" in line {line} of your code", line=error.line) if error.line else ""
    status = TIMEOUT if error.error == "TimeoutError" else ERROR
    return task.failed(status, ": ".join(filter(None, (f"{error.error}{line}", error.message))))


def _end_of_file(submission: Submission, child: Child) -> CellError | None:
    """Return why a .py file did not finish, where it has got to no function of any task."""
    error = None if submission.lesson else child.errors.get(0)
    has_one = any(task.function in child.defined for task in submission.tasks)
    return error if error and error.error in UNFINISHED and not has_one else None


def _notes(submission: Submission, child: Child) -> Iterator[str]:
    """Name the cells that did not finish, whose functions are graded all the same, and those that come too late."""
    for at, function in sorted(submission.again.items()):
        says = N_(
            "Code cell {cell} defines {function} again, below its check; what counts is the function at its check."
        )
        yield _(says, cell=at + 1, function=function)
    for index, error in sorted(child.errors.items()):
        if error.error in UNFINISHED:
            label, line = submission.pieces[index].label, f" (line {error.line})" if error.line else ""
            place = label.replace("cell", _("Code cell")).capitalize()
            why = _(UNFINISHED[error.error])
            yield _("{place} did not finish: it {why}{line}.", place=place, why=why, line=line)


def _errors_of(task: Task, submission: Submission, child: Child) -> Iterator[CellError]:
    """The errors of the pieces that were meant to define a task's function."""
    for index, error in sorted(child.errors.items()):
        if defines(submission.pieces[index].source, task.function):
            yield error
