"""The command line: `dspark-mini learn`, `check`, `hint`, `reset`, `race`, `grade`, `bundle`, `build`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dspark_mini.appendix import commands as appendix_commands
from dspark_mini.corpus import DOMAINS
from dspark_mini.tables import plain_table
from dspark_mini.workspace import UserError, copy_lessons, count_hint, find_lesson, lesson_names, reset_lesson

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build DFlash and DSpark speculative decoding, lesson by lesson.",
)
app.add_typer(appendix_commands.app, name="appendix")
out = Console(highlight=False)
Folder = Annotated[Path, typer.Option("--folder", help="Your folder with the lessons.")]
WORK = Path("work")


def main() -> None:
    """Run the command line; what the user cannot have is told in one sentence, with exit code 2."""
    try:
        app()
    except UserError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(escape(str(error)))
        sys.exit(2)


@app.command()
def learn(folder: Folder = WORK, browser: Annotated[bool, typer.Option(help="Open a browser.")] = True) -> None:
    """Copy the lessons to your folder (never over your work) and open JupyterLab there."""
    from dspark_mini.lab import open_lab

    for lesson, copied in copy_lessons(folder).items():
        out.print(f"{folder / lesson}.ipynb: {'copied' if copied else 'yours is kept as it is'}")
    out.print("Starting JupyterLab …")
    open_lab(
        folder,
        browser,
        lambda address: out.print(
            f"JupyterLab answers at\n\n    {address}\n\nPress Ctrl-C here to stop it.", soft_wrap=True
        ),
    )


@app.command()
def check(
    lesson: Annotated[str | None, typer.Argument(help="02, a name, or a notebook; without it, all.")] = None,
    folder: Folder = WORK,
) -> None:
    """Check your notebooks: one table, and the next step."""
    notebooks = _notebooks(lesson, folder)
    table = plain_table("task", "function", "status", "points", "first to mend")
    words, next_step = _grader("findings").findings.STATUS_WORDS, ""
    for notebook in notebooks:
        for report in _grade_one(notebook).reports:
            failure = report.first_failure if report.status != "missing" else None
            table.add_row(
                report.task,
                report.function,
                words[report.status],
                f"{report.points}/{report.max_points}",
                _told(report) if report.status in ("error", "timeout") else failure.name if failure else "",
            )
            if not report.passed and not next_step:
                next_step = f"Next: TODO {report.task} in {notebook}; `dspark-mini hint {report.task}` helps."
    out.print(table)
    out.print(f"\n{next_step or 'All tasks pass.'}", soft_wrap=True)


@app.command()
def hint(task: Annotated[str, typer.Argument(help="A task, such as 2.1.")], folder: Folder = WORK) -> None:
    """Show the next hint for a task: the property, a line of attack, then pseudo-code."""
    found = _grader().checks.TASKS.get(task)
    if found is None:
        raise UserError(f"There is no task {task!r}; the tasks are {', '.join(_grader().checks.TASKS)}.")
    report = _report_of(found, folder)
    if report is not None and report.passed:
        out.print(f"Task {task} passes." + (" The reference, to compare with yours:\n" if report.reference else ""))
        out.print(escape(report.reference), soft_wrap=True)
        return
    number = min(count_hint(task, folder), len(found.hints))
    if number == 1 and report is not None and report.status != "missing":
        out.print(escape(str(report)) + "\n", soft_wrap=True)
    out.print(
        f"Hint {number} of {len(found.hints)} for task {task}, {found.function}:\n\n{escape(found.hints[number - 1])}"
    )


@app.command()
def reset(lesson: Annotated[str, typer.Argument(help="02, or a lesson's name.")], folder: Folder = WORK) -> None:
    """Start a lesson afresh; the old notebook is kept aside."""
    name = find_lesson(lesson)
    kept = reset_lesson(name, folder)
    out.print(f"{folder / name}.ipynb is a fresh copy." + (f" Your old one is {kept}." if kept else ""), soft_wrap=True)


@app.command()
def race(
    domain: Annotated[list[str] | None, typer.Option(help="math, code or chat; may be repeated; all of them.")] = None,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts a domain.")] = 4,
    prompt: Annotated[
        str | None, typer.Option(help="Words of your own to continue, such as '<math> add 1 2 3 + 4 5 6 .'")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="autoregressive, dflash, dspark, dspark-rnn or dspark-tree, against plain; may be repeated."),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.")] = 1.0,
    tokens: Annotated[int, typer.Option(min=1, max=256, help="Most tokens of a text.")] = 160,
    seed: Annotated[int, typer.Option(min=0, help="Of prompts and draws.")] = 0,
    backend: Annotated[str, typer.Option(help="numpy or torch.")] = "numpy",
    device: Annotated[str, typer.Option(help="cpu; with torch also cuda or mps.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="With torch: compile the target's forward.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    picture_file: Annotated[Path | None, typer.Option("--picture", help="Draw them: a .png or .svg file.")] = None,
) -> None:
    """Race plain decoding against the drafters on the small language model."""
    from dspark_mini.backends import model_errors, restart_on_one_thread

    restart_on_one_thread()
    from dspark_mini.race import RACERS, Rules
    from dspark_mini.race_view import Wishes, hold_race

    with model_errors(device):
        rules = Rules(tuple(method or RACERS), temperature, tokens, seed)
        domains = tuple(domain or DOMAINS)
        wishes = Wishes(rules, domains, prompts, prompt, backend, device, compiled, json_file, picture_file)
    try:
        hold_race(wishes, out)
    except NotImplementedError as error:
        if "lesson" not in str(error):  # what the bundle has in place of solutions
            raise
        raise UserError(
            "The race runs on the solutions, which were cut out of this copy of the kit; lesson 07 races with your own."
        ) from None


@app.command()
def grade(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, .py files, folders or zips of them.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results to this file.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write a table of the points to this file.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Submissions at a time.")] = os.cpu_count() or 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted grading stopped.")] = False,
    dask: Annotated[str | None, typer.Option(help="Grade on the Dask cluster at this address.")] = None,
    pages: Annotated[
        Path | None, typer.Option("--html", help="Write a report a student and one for the class.")
    ] = None,
    canvas: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in the list exported from Canvas.")
    ] = None,
    moodle: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in Moodle's grading worksheet.")
    ] = None,
    lesson: Annotated[str | None, typer.Option(help="Only this lesson: 02, or its name.")] = None,
    column: Annotated[str | None, typer.Option(help="The column of the list from Canvas.")] = None,
    gradescope: Annotated[Path | None, typer.Option(help="Write Gradescope's results.json.")] = None,
    gradebook: Annotated[bool, typer.Option("--gradebook", help="Record in nbgrader's gradebook.")] = False,
    course: Annotated[Path | None, typer.Option(help="nbgrader's course folder; build/nbgrader by default.")] = None,
    db: Annotated[str | None, typer.Option(help="The gradebook's address: postgresql+psycopg://…")] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Print points for a workflow of GitHub.")] = False,
    min_score: Annotated[float, typer.Option(help="With --ci: fail below these points.")] = 0.0,
    unsafe_no_sandbox: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run the code with your own rights: for code that you trust.")
    ] = False,
) -> None:
    """Grade submissions: a table, with --json every property of every task, with --csv the points."""
    command = _grader("command").command
    outputs = command.Outputs(
        canvas,
        moodle,
        find_lesson(lesson) if lesson else None,
        column,
        gradescope,
        pages,
        gradebook,
        course,
        db,
        ci,
        min_score,
    )
    options = command.Options(json_file, csv_file, jobs, resume, dask, not unsafe_no_sandbox, outputs)
    raise typer.Exit(command.grade_paths(paths, options, out))


@app.command()
def bundle(
    target: Annotated[Path, typer.Argument(help="The zip file to write.")] = Path("dspark-mini-lessons.zip"),
) -> None:
    """Write the learner's zip: lessons and kit, without solutions and hidden tests."""
    if not target.parent.is_dir():
        raise UserError(f"The bundle cannot be written to {target}, because there is no folder {target.parent}.")
    _grader("bundle").bundle.write_bundle(target)
    out.print(f"{target} is ready to be handed out.", soft_wrap=True)


@app.command()
def build(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail on any difference.")] = False,
) -> None:
    """Derive the notebooks from solutions/."""
    builder = _grader("build").build
    try:
        changed = builder.build(check=check)
    except builder.BuildError as error:
        out.print(escape(str(error)), soft_wrap=True)
        raise typer.Exit(1) from None
    for file in changed:
        out.print(f"{'out of date' if check else 'written'}: {file.path}", soft_wrap=True)
    if not changed:
        out.print("Every notebook is up to date.")
    raise typer.Exit(1 if check and changed else 0)


def _grader(part: str = "grading") -> Any:
    """Import the instructor's side, which stands beside this package and is not part of the wheel."""
    if importlib.util.find_spec("grader") is None or importlib.util.find_spec(f"grader.{part}") is None:
        raise UserError(
            f"grader/{part}.py is not here; this command needs the repository, installed with `pip install -e`."
        )
    importlib.import_module(f"grader.{part}")
    return importlib.import_module("grader")


def _notebooks(lesson: str | None, folder: Path) -> list[Path]:
    """List the learner's notebooks that are meant."""
    if lesson is not None and lesson.endswith(".ipynb") and Path(lesson).is_file():
        return [Path(lesson)]
    names = lesson_names() if lesson is None else [find_lesson(lesson)]
    found = [path for name in names if (path := folder / f"{name}.ipynb").is_file()]
    if not found:
        raise UserError(f"There is no lesson in {folder} yet; `dspark-mini learn` copies them there.")
    return found


def _told(report: Any) -> str:
    """What a function said in place of an answer, such as a NameError with its line."""
    return escape(dict(report.first_failure.evidence).get("got", report.first_failure.name))


def _grade_one(notebook: Path) -> Any:
    grading = _grader().grading
    with _grader().process.child_library() as library:
        result = grading.grade(_grader().submissions.Source(str(notebook), notebook), library, sandbox=False)
    if result.reason:
        raise UserError(f"{notebook} cannot be checked. {result.reason}")
    return result


def _report_of(task: Any, folder: Path) -> Any:
    """Check the learner's own notebook for one task, where there is one."""
    notebook = folder / f"{task.lesson}.ipynb"
    if not notebook.is_file():
        return None
    return next((report for report in _grade_one(notebook).reports if report.task == task.id), None)


if __name__ == "__main__":
    main()
