"""The grader's commands: `dspark-mini check`, `hint`, `grade`, `bundle` and `build`.

The command line of dspark_mini mounts them through an entry point. `grade`, `bundle` and `build` import what they need
when they run: it takes time to load, and a learner's bundle does not contain all of it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dspark_mini.terminal import WORK, WorkFolder, console, plain_table
from dspark_mini.workspace import UserError, count_hint, find_lesson, lesson_names
from grader.check.report import MISSING, Report
from grader.check.text import STATUS_WORDS, fix_first
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.run.grading import Result, grade_own_notebook


def mount(app: typer.Typer) -> None:
    """Add the grader's commands to the command line of dspark_mini."""
    for command in (check, hint, grade, bundle, build):
        app.command()(command)


def check(
    lesson: Annotated[str | None, typer.Argument(help="Number, name or notebook of a lesson. Default: all.")] = None,
    folder: WorkFolder = WORK,
) -> None:
    """Check your notebooks: a table of all tasks, and your next step."""
    table, next_step = plain_table("task", "function", "status", "points", "fix first"), ""
    for notebook in _notebooks(lesson, folder):
        for report in _check_notebook(notebook).reports:
            points = f"{report.points}/{report.max_points}"
            table.add_row(
                report.task, report.function, STATUS_WORDS[report.status], points, escape(fix_first(report.to_json()))
            )
            if not report.passed and not next_step:
                next_step = f"Next: TODO {report.task} in {notebook}; `dspark-mini hint {report.task}` helps."
    console.print(table)
    console.print(f"\n{escape(next_step) or 'All tasks pass.'}", soft_wrap=True)


def hint(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task, such as 2.1.")], folder: WorkFolder = WORK
) -> None:
    """Show the next hint for a task.

    There are three: the idea, a line of attack, pseudo-code. If your task passes, the reference is shown instead.
    """
    task = TASKS.get(task_id)
    if task is None:
        raise UserError(f"There is no task {task_id!r}; the tasks are {', '.join(TASKS)}.")
    report = _own_report(task, folder)
    if report is not None and report.passed:
        console.print(f"Task {task.id} passes." + (" Compare with the reference:\n" if report.reference else ""))
        console.print(escape(report.reference), soft_wrap=True)
        return
    number, total = min(count_hint(task.id, folder), len(task.hints)), len(task.hints)
    if number == 1 and report is not None and report.status != MISSING:
        console.print(escape(str(report)) + "\n", soft_wrap=True)
    console.print(f"Hint {number} of {total} for task {task.id}, {task.function}:\n\n{escape(task.hints[number - 1])}")


def grade(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, .py files, directories or zip files of them.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results to this file.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the points to this file.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Submissions graded at the same time.")] = os.cpu_count() or 1,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    dask: Annotated[str | None, typer.Option(help="Grade on the Dask cluster at this address.")] = None,
    pages: Annotated[
        Path | None, typer.Option("--html", help="Write a page per student, and one for the class, to this directory.")
    ] = None,
    canvas: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in the list exported from Canvas.")
    ] = None,
    moodle: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in Moodle's grading worksheet.")
    ] = None,
    lesson: Annotated[str | None, typer.Option(help="Grade only this lesson, given by number or name.")] = None,
    column: Annotated[str | None, typer.Option(help="Column to fill in, in the list from Canvas.")] = None,
    gradescope: Annotated[Path | None, typer.Option(help="Write Gradescope's results.json to this file.")] = None,
    gradebook: Annotated[bool, typer.Option("--gradebook", help="Record the grades in nbgrader's gradebook.")] = False,
    course: Annotated[Path | None, typer.Option(help="nbgrader's course directory. Default: build/nbgrader.")] = None,
    db: Annotated[str | None, typer.Option(help="URL of the gradebook, such as postgresql+psycopg://…")] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Print the points for a GitHub workflow.")] = False,
    min_score: Annotated[float, typer.Option(help="With --ci: fail below this score.")] = 0.0,
    unsafe_no_sandbox: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run the code with your own rights; only for code you trust.")
    ] = False,
) -> None:
    """Grade submissions: a table, and the files that you ask for."""
    if importlib.util.find_spec("fcntl") is None:
        raise UserError("`dspark-mini grade` needs Linux, for its sandbox; on Windows, type it in WSL.")
    from grader.export.outputs import Outputs
    from grader.grade_paths import GradeOptions, grade_paths

    outputs = Outputs(
        canvas=canvas,
        moodle=moodle,
        lesson=find_lesson(lesson) if lesson else None,
        column=column,
        gradescope=gradescope,
        pages=pages,
        gradebook=gradebook,
        course=course,
        db_url=db,
        ci=ci,
        min_score=min_score,
    )
    options = GradeOptions(json_file, csv_file, jobs, resume, dask, not unsafe_no_sandbox, outputs)
    raise typer.Exit(grade_paths(paths, options, console))


def bundle(
    target: Annotated[Path, typer.Argument(help="The zip file to write.")] = Path("dspark-mini-lessons.zip"),
) -> None:
    """Write a zip file of the lessons for your class.

    It contains the lessons and their checks, without solutions and hidden tests.
    """
    with _instructor_modules("bundle"):
        from grader.lessons.bundle import write_bundle

    if not target.parent.is_dir():
        raise UserError(f"{target} cannot be written, because there is no directory {target.parent}.")
    write_bundle(target)
    console.print(f"{target} is ready to hand out.", soft_wrap=True)


def build(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a notebook is out of date.")] = False,
) -> None:
    """Build the notebooks from solutions/."""
    with _instructor_modules("build"):
        from grader.lessons.build import BuildError, build

    try:
        changed = build(check=check)
    except BuildError as error:
        console.print(escape(str(error)), soft_wrap=True)
        raise typer.Exit(1) from None
    for file in changed:
        console.print(f"{'out of date' if check else 'written'}: {escape(str(file.path))}", soft_wrap=True)
    if not changed:
        console.print("Every notebook is up to date.")
    raise typer.Exit(1 if check and changed else 0)


@contextmanager
def _instructor_modules(command: str) -> Iterator[None]:
    """Explain the failed import of a module that a learner's bundle does not contain."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("grader."):
            raise
        raise UserError(
            f"`dspark-mini {command}` needs the complete repository; a learner's bundle does not contain {error.name}."
        ) from None


def _notebooks(lesson: str | None, folder: Path) -> list[Path]:
    """Return the learner's notebooks of one lesson or of all."""
    if lesson is not None and lesson.endswith(".ipynb") and Path(lesson).is_file():
        return [Path(lesson)]
    names = lesson_names() if lesson is None else [find_lesson(lesson)]
    notebooks = [path for name in names if (path := folder / f"{name}.ipynb").is_file()]
    if not notebooks:
        missing = "are no lessons" if lesson is None else f"is no {names[0]}.ipynb"
        raise UserError(f"There {missing} in {folder} yet; `dspark-mini learn` copies the lessons there.")
    return notebooks


def _check_notebook(notebook: Path) -> Result:
    result = grade_own_notebook(notebook)
    if result.reason:
        raise UserError(f"{notebook} cannot be checked. {result.reason}")
    return result


def _own_report(task: Task, folder: Path) -> Report | None:
    """Check one task in the learner's notebook; None if there is no notebook yet."""
    notebook = folder / f"{task.lesson}.ipynb"
    if not notebook.is_file():
        return None
    return next((report for report in _check_notebook(notebook).reports if report.task == task.id), None)
