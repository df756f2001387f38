"""The grader's commands: `dspark-mini check`, `hint`, `grade`, `bundle`, `build`, `new-lesson` and `site`.

The command line of dspark_mini mounts them through an entry point. The last five import what they need when they run:
it takes time to load, and a learner's bundle does not contain all of it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from dspark_mini.language import ENGLISH, LANGUAGES, N_, _
from dspark_mini.terminal import WorkFolder, console, folded, plain_table, say
from dspark_mini.workspace import WORK, UserError, find_lesson, hints_shown, lesson_names
from grader.check.report import MISSING, Report
from grader.check.text import STATUS_WORDS, fix_first, function_name
from grader.grade_options import GradeOptions, with_options
from grader.lessons.checks import TASKS
from grader.own_work import OwnWork, after_lesson, next_hint, no_task, own_work, unsaved, when_saved, why_unreadable
from grader.run.grading import Result
from grader.run.kit import secret_from, use_secret


def mount(app: typer.Typer) -> None:
    """Add the grader's commands to the command line of dspark_mini."""
    for command in (check, hint, grade, bundle, build, new_lesson, site):
        app.command()(command)


def check(
    lesson: Annotated[
        str | None, typer.Argument(help="Number, name or notebook of a lesson, or a task. Default: all.")
    ] = None,
    folder: WorkFolder = WORK,
) -> None:
    """Check your notebooks: a table of all tasks, and your next step."""
    if lesson is not None and lesson.endswith(".ipynb") and Path(lesson).is_file():
        folder = Path(lesson).parent
    with own_work(folder) as work:
        results = [(notebook, work.check(notebook)) for notebook in _notebooks(lesson, work)]
    unreadable = [why_unreadable(notebook, result.reason) for notebook, result in results if result.reason]
    if len(unreadable) == len(results):
        raise UserError(" ".join(unreadable))
    reports = [report for _, result in results for report in result.reports]
    console.print(_table([report for report in reports if report.task == lesson] or reports))
    console.print()
    latest = max((notebook for notebook, _ in results), key=lambda notebook: notebook.stat().st_mtime)
    say(_("{notebook}: {when}.", notebook=latest, when=when_saved(latest)))
    notes = [f"{notebook}: {note}" for notebook, result in results for note in result.notes]
    for sentence in (
        *unreadable,
        *notes,
        *_report_notes(reports),
        *filter(None, (_unsaved_note(notebook, result) for notebook, result in results)),
    ):
        say(sentence)
    say(_next_step(results))


def hint(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task, such as 2.1.")], folder: WorkFolder = WORK
) -> None:
    """Show the next hint for a task.

    There are three: the idea, a line of attack, pseudo-code. If your task passes, the reference is shown instead.
    """
    task = TASKS.get(task_id)
    if task is None:
        raise UserError(no_task(task_id))
    with own_work(folder) as work:
        report = work.report(task)
    passes = report is not None and report.passed
    if not passes and not hints_shown(task.id, folder) and report is not None and report.status != MISSING:
        say(f"{report}\n")
    text = next_hint(task, folder, passes)
    if passes:
        console.print(escape(text), soft_wrap=True)  # code stays as it is
    else:
        say(text)


@with_options(GradeOptions)
def grade(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, .py files, directories or zip files of them.")],
    options: GradeOptions,
) -> None:
    """Grade submissions: a table, and the files that you ask for."""
    if importlib.util.find_spec("fcntl") is None:
        raise UserError("`dspark-mini grade` needs Linux, for its sandbox; on Windows, type it in WSL.")
    from grader.grade_paths import grade_paths

    try:
        use_secret(secret_from(options.secret_file))
    except (OSError, ValueError) as error:
        raise UserError(f"The secret of the hidden cases cannot be used. {error}") from None
    options = replace(options, lesson=find_lesson(options.lesson) if options.lesson else None)
    regrading = None
    if options.regrades:
        with _instructor_modules("grade"):
            from grader.export.regrading import read_regrading
        regrading = read_regrading(options)
    raise typer.Exit(grade_paths(paths, options, console, regrading))


def bundle(
    target: Annotated[Path, typer.Argument(help="The zip file to write.")] = Path("dspark-mini-lessons.zip"),
    classroom: Annotated[
        Path | None,
        typer.Option("--github-classroom", metavar="DIRECTORY", help="Write a template repository instead."),
    ] = None,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="ZIP", help="Write an autograder instead; it holds hidden cases and secret.")
    ] = None,
    lesson: Annotated[str | None, typer.Option(help="With --gradescope: grade only this lesson.")] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help="With --gradescope: the secret of the hidden cases. Default: your own.")
    ] = None,
) -> None:
    """Write a zip file of the lessons for your class.

    It contains the lessons and their checks, without solutions and hidden tests.
    """
    with _instructor_modules("bundle"):
        from grader.deploy import write_classroom, write_gradescope_zip
        from grader.lessons.bundle import write_bundle

    target = classroom or gradescope or target
    if not target.parent.is_dir():
        raise UserError(f"{target} cannot be written, because there is no directory {target.parent}.")
    try:
        if classroom:
            write_classroom(target)
        elif gradescope:
            write_gradescope_zip(target, secret_from(secret_file), find_lesson(lesson) if lesson else None)
        else:
            write_bundle(target)
    except (OSError, ValueError) as error:
        raise UserError(f"{target} cannot be written. {error}") from None
    what = "to be uploaded; keep it from students" if gradescope and not classroom else "to hand out"
    console.print(f"{target} is ready {what}.", soft_wrap=True)


def build(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a notebook or a translation is out of date.")
    ] = False,
) -> None:
    """Build the notebooks from solutions/."""
    with _instructor_modules("build"):
        from grader.lessons.build import build
        from grader.lessons.stubs import BuildError
        from grader.lessons.translation import all_faults

    try:
        changed = build(check=check)
    except BuildError as error:
        console.print(escape(str(error)), soft_wrap=True)
        raise typer.Exit(1) from None
    faults = all_faults()
    for fault in faults:
        console.print(escape(fault), soft_wrap=True)
    for file in changed:
        console.print(f"{'out of date' if check else 'written'}: {escape(str(file.path))}", soft_wrap=True)
    if not changed and not faults:
        console.print("Every notebook is up to date.")
    raise typer.Exit(1 if check and (changed or faults) else 0)


def new_lesson(
    name: Annotated[str, typer.Argument(help="Two digits and the name of its first function, such as 11_my_topic.")],
) -> None:
    """Write a lesson of your own, with one task to start from, into the directory that --lessons DIR names."""
    with _instructor_modules("new-lesson"):
        from grader.lessons.new_lesson import new_lesson

    say(f"{new_lesson(name)} is a lesson that builds, checks and grades as it stands; docs/contributing.md goes on.")
    say("Next: `dspark-mini build`.")


def site(
    folder: Annotated[Path, typer.Argument(help="The directory to write to.")] = Path("public"),
    lang: Annotated[list[str] | None, typer.Option(help=f"{' or '.join(LANGUAGES)}; repeatable. Default: all.")] = None,
    lesson: Annotated[list[str] | None, typer.Option(help="Number of a lesson; repeatable. Default: all.")] = None,
    execute: Annotated[bool, typer.Option(help="Show what the solved lessons print and draw.")] = True,
    repository: Annotated[
        str,
        typer.Option(
            envvar="GITHUB_REPOSITORY", help="owner/name on GitHub, to link lessons to Colab, Codespaces and Binder."
        ),
    ] = "",
) -> None:
    """Write the site: README, docs, solved lessons and the library's reference, as pages that need no server."""
    for name in set(lang or ()) - set(LANGUAGES):
        raise UserError(f"lang is {name!r}, but it must be {' or '.join(LANGUAGES)}.")
    if importlib.util.find_spec("myst_nb") is None:
        raise UserError("`dspark-mini site` needs a few more packages; install them with `pip install -e '.[site]'`.")
    with _instructor_modules("site"):
        from grader.site import build_site

    languages = [language for language in LANGUAGES if language in (lang or LANGUAGES)]
    build_site(folder, languages, [find_lesson(name) for name in lesson or ()], execute, repository)
    first = folder if ENGLISH in languages else folder / languages[0]
    say(f"Open {first / 'index.html'} in a browser.")


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


def _notebooks(lesson: str | None, work: OwnWork) -> list[Path]:
    """Return the learner's notebooks of one lesson or of all."""
    if lesson is not None and lesson.endswith(".ipynb") and Path(lesson).is_file():
        return [Path(lesson)]
    names = lesson_names() if lesson is None else [_lesson_of(lesson)]
    notebooks = [notebook for name in names if (notebook := work.notebook(name)) is not None]
    if not notebooks:
        missing = _("are no lessons") if lesson is None else _("is no notebook of lesson {lesson}", lesson=names[0])
        raise UserError(
            _(
                "There {missing} in {folder}; `dspark-mini learn` copies the lessons to work/ in the current "
                "directory, and --folder names another one.",
                missing=missing,
                folder=work.folder.resolve(),
            )
        )
    return notebooks


def _lesson_of(text: str) -> str:
    """Return the name of a lesson that was given by a name or number of its own, or by a task."""
    if "." in text.removesuffix(".ipynb") and text not in TASKS:
        raise UserError(no_task(text))
    return TASKS[text].lesson if text in TASKS else find_lesson(text)


def _table(reports: list[Report]) -> Table:
    """Return the table of all tasks; names are broken after a sign in them only."""
    fix = _("fix first")
    table = plain_table(_("task"), _("function"), _("status"), _("points"), fix)
    for column in table.columns[:4]:
        column.no_wrap = True
    rows = [
        (r.task, function_name(r.to_json()), _(STATUS_WORDS[r.status]), f"{r.points}/{r.max_points}") for r in reports
    ]
    widths = [max(map(cell_len, (str(column.header), *cells))) for column, cells in zip(table.columns, zip(*rows))]
    left = max(console.width - sum(widths) - 2 * len(widths), cell_len(fix))
    for row, report in zip(rows, reports):
        table.add_row(*row, escape(folded(fix_first(report.to_json()), left)))
    return table


def _unsaved_note(notebook: Path, result: Result) -> str:
    tasks = unsaved(notebook, result.reports)
    says = N_("{tasks}: another result in the notebook than in {notebook}; save first (Ctrl+S).")
    return _(says, tasks=", ".join(tasks), notebook=notebook) if tasks else ""


def _report_notes(reports: list[Report]) -> Iterator[str]:
    """Yield what a pass does not tell, each with the tasks that it is about; a score is not in the table."""
    passed = [report for report in reports if report.passed and not report.scores]
    for note in dict.fromkeys(report.note for report in passed if report.note):
        yield f"{', '.join(report.task for report in passed if report.note == note)}: {note}"


def _next_step(results: list[tuple[Path, Result]]) -> str:
    for notebook, result in results:
        for report in result.reports:
            if not report.passed:
                return _(
                    "Next: TODO {task} in {notebook}; `dspark-mini hint {task}` helps.",
                    task=report.task,
                    notebook=notebook,
                )
    lessons = [result.lesson for _, result in results if result.lesson]
    return after_lesson(lessons[0]) if len(lessons) == 1 else _("All tasks pass.")
