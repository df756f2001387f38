"""Checks as a notebook cell calls them: a report that teaches, and no traceback."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, TypeVar, cast

from rich.cells import set_cell_size

from dspark_mini.language import _, speaking
from dspark_mini.terminal import wrapped
from dspark_mini.workspace import lesson_language, record_check, recorded_checks
from grader.check.report import ERROR, MISSING, PASS, Report
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.own_work import after_lesson, next_hint, no_task
from grader.read.cells import is_picture, is_untouched
from grader.read.submissions import Source, Unreadable, read_submission, tasks_of
from grader.run.child.calling import without_contract
from grader.run.child.imports import foreign_modules
from grader.run.child.loader import new_namespace, run_piece
from grader.run.kit import grading_seed

WIDTH = 80  # columns of a report in a notebook


class _OwnText:
    """An exception that a notebook shows as its own text, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class CheckFailed(_OwnText, AssertionError):
    """A task that does not pass yet."""


class TodoOpen(_OwnText, NotImplementedError):
    """A task that is not started."""


class UnknownTask(_OwnText, ValueError):
    """There is no such task."""


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def in_its_language(function: Decorated) -> Decorated:
    """Let a function of a task speak the language of the lesson's notebook in this directory."""

    @wraps(function)
    def speaking_it(task: str, *arguments: Any) -> Any:
        with speaking(lesson_language(_task(task).lesson, Path())):
            return function(task, *arguments)

    return cast(Decorated, speaking_it)


@in_its_language
def check(task: str, function: Callable[..., Any]) -> None:
    """Check a function in a notebook: show the report, and stop 'run all' at a task that does not pass.

    Args:
        task: the task's id, such as "2.2".
        function: the learner's function.

    Raises:
        NotImplementedError: the function is still the stub.
        CheckFailed: a property does not hold; the text says which, on what input, and gives a hint.
        ValueError: there is no such task.
    """
    found = _task(task)
    report, todo = _report(found, function), _(found.todo)
    if not report.passed and is_untouched(found, function):
        todo = _("its cell is as it was handed out, bug included")
        report = found.failed(MISSING, todo)
    was_complete = _is_complete(found.lesson)
    record_check(task, report.status, report.points, Path())
    if report.status == MISSING:
        raise TodoOpen(_("TODO {task}: {todo}.", task=task, todo=todo))
    if not report.passed:
        next_line = (
            "  "
            + set_cell_size(_("next"), 9)
            + " "
            + _('hint("{task}") in a cell goes on from here, step by step.', task=task)
        )
        raise CheckFailed(wrapped(f"{report}\n{next_line}", WIDTH))
    _show(report)
    if _is_complete(found.lesson) and not was_complete:
        _show(_Text(after_lesson(found.lesson)))


def _is_complete(lesson: str) -> bool:
    checks = recorded_checks(Path())
    return all(checks.get(task.id, (MISSING,))[0] == PASS for task in tasks_of(lesson))


@in_its_language
def hint(task: str) -> None:
    """Show the next hint for a task in a notebook, or the reference once the function in the notebook passes.

    Args:
        task: the task's id, such as "2.2".

    Raises:
        ValueError: there is no such task.
    """
    found = _task(task)
    function = vars(sys.modules["__main__"]).get(found.function)
    passes = callable(function) and found.check(function).passed
    _show(_Text(next_hint(found, Path(), passes)))


@in_its_language
def own(task: str) -> Callable[..., Any]:
    """Return the learner's own function for a task of another lesson, so that a later lesson can run on it.

    It is taken from the lesson's notebook in this folder, if it passes its check there; else the kit's own stands
    in for it. A line says which it is.

    Args:
        task: the task's id, such as "2.2".

    Raises:
        NotImplementedError: the learner's does not pass, and the kit's has been cut out of this bundle.
        ValueError: there is no such task.
    """
    found = _task(task)
    notebook = Path(f"{found.lesson}.ipynb")
    function: Any = functions_in(notebook).get(found.function) if notebook.is_file() else None
    if function is not None and found.check(function).passed:
        print(_("{task} {function}: yours, from {notebook}", task=task, function=found.function, notebook=notebook))
        chosen: Callable[..., Any] = function
        return chosen
    if not found.reference_source:
        raise TodoOpen(
            _(
                "TODO {task}: this cell runs on your own {function}; write it in {notebook} first.",
                task=task,
                function=found.function,
                notebook=notebook,
            )
        )
    print(
        _(
            "{task} {function}: the kit's; yours takes its place once it passes in {notebook}",
            task=task,
            function=found.function,
            notebook=notebook,
        )
    )
    return found.reference


def functions_in(notebook: Path) -> dict[str, Any]:
    """Run the code of a notebook that defines tasks, in a namespace of its own, and return that."""
    try:
        pieces = read_submission(Source(str(notebook), notebook)).pieces
    except Unreadable:
        return {}
    namespace = new_namespace()
    for piece in pieces:
        run_piece(piece.source, piece.label, namespace, piece.statements)
    return namespace


@in_its_language
def points(task: str, function: Callable[..., Any]) -> float:
    """Check a function under nbgrader: print the report and return the points, which nbgrader reads.

    nbgrader gives no points to a cell with anything on stderr, so whatever a right solution wrote there is
    cleared away before the report is printed.
    """
    report = _task(task).check(function, grading_seed(task))
    sys.stdout.flush()
    sys.stderr.flush()
    _clear_output()
    print(report)
    return float(report.points)


def _one_line_todos() -> None:
    """Let a notebook show an open TODO, and what stops a picture that it gives, as one line without a traceback."""

    def show(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: int | None = None) -> None:
        if line := _one_line(error, traceback, shell.history_manager.input_hist_raw[-1]):
            kind, error = TodoOpen, TodoOpen(line)
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

    if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()) is not None:
        shell.set_custom_exc((Exception,), show)


def _one_line(error: Exception, traceback: TracebackType, cell: str) -> str:
    """Say in one line why a cell stopped; nothing where the learner needs the traceback."""
    if isinstance(error, NotImplementedError) and str(error).startswith("TODO "):
        return str(error)
    if not is_picture(cell):
        return ""
    in_notebook = [frame.f_code for frame, line in walk_tb(traceback) if frame.f_globals.get("__name__") == "__main__"]
    if isinstance(error, NameError) and len({code.co_filename for code in in_notebook}) == 1:
        return _("This cell waits for {name!r}, from a cell above: run that first.", name=error.name)
    return _(
        "This cell stopped in {function}, {kind}: {error}",
        function=in_notebook[-1].co_name,
        kind=type(error).__name__,
        error=error,
    )


def _report(task: Task, function: Callable[..., Any]) -> Report:
    """Check a function, unless it uses what grading does not have, which would be a surprise there."""
    foreign = ", ".join(sorted(foreign_modules(without_contract(function))))
    if not foreign:
        return task.check(function)
    return task.failed(
        ERROR,
        _("It uses {foreign}, which grading does not have: write it with NumPy and plain Python.", foreign=foreign),
    )


def _task(task: str) -> Task:
    if task not in TASKS:
        raise UnknownTask(wrapped(no_task(task), WIDTH))
    return TASKS[task]


class _Text(str):
    """Text that a notebook breaks between words, where it would break what is printed in mid-word."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre style='margin:0;padding:0;white-space:pre-wrap;word-break:normal'>{html.escape(self)}</pre>"


def _show(report: Report | _Text) -> None:
    """Display the report with its formats in a notebook, print it anywhere else."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        print(report)
        return
    if get_ipython() is None:
        print(report)
    else:
        display(report)


def _clear_output() -> None:
    try:
        from IPython.display import clear_output
    except ImportError:
        return
    clear_output()


_one_line_todos()
