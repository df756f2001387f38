"""The command line: `dspark-mini learn`, `reset`, `race` and `appendix`, and the commands that the grader adds."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dspark_mini.appendix import commands as appendix_commands
from dspark_mini.language import LANGUAGES, VARIABLE, _, current, speak
from dspark_mini.race_command import race
from dspark_mini.terminal import WorkFolder, console, flush_output, replace_unknown_letters, say
from dspark_mini.workspace import (
    WORK,
    UserError,
    copy_lessons,
    find_lesson,
    is_fresh,
    reset_lesson,
    take_lessons_option,
)

COMMAND_GROUP = "dspark_mini.commands"  # entry points: functions that add commands to the app
# What pyproject.toml declares, for a copy on PYTHONPATH or an installation older than the declaration.
GRADER = EntryPoint("grader", "grader.command:mount", COMMAND_GROUP)
GRADER_COMMANDS = ("check", "hint", "grade", "bundle", "build", "new-lesson", "site")
NO_GRADER = (
    "`dspark-mini COMMAND` needs the directory grader/, which the wheel does not contain; "
    "install dspark_mini from its repository with `pip install -e`."
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build DFlash and DSpark speculative decoding, lesson by lesson.",
    epilog="--lessons DIR, or DSPARK_MINI_LESSONS=DIR, adds the lessons in a directory of yours to every command.",
)


def main() -> None:
    """Run the command line; a UserError becomes one sentence on stderr and exit code 2."""
    replace_unknown_letters()
    try:
        try:
            app()
        finally:
            flush_output()
    except UserError as error:
        say(str(error), Console(stderr=True, highlight=False))
        sys.exit(2)


@app.command()
def learn(
    folder: WorkFolder = WORK,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    lang: Annotated[
        str | None, typer.Option(help=f"{' or '.join(LANGUAGES)}. Default: that of your lessons, or of your system.")
    ] = None,
) -> None:
    """Copy the lessons to your directory and open JupyterLab there.

    A lesson that you already have is never overwritten.
    """
    from dspark_mini.lab import open_lab

    if lang is not None and lang not in LANGUAGES:
        raise UserError(f"lang is {lang!r}, but it must be {' or '.join(LANGUAGES)}.")
    speak(lang)
    os.environ[VARIABLE] = current()  # for JupyterLab's kernels and terminals
    for lesson, copied in copy_lessons(folder, current()).items():
        notebook = folder / f"{lesson}.ipynb"
        kept = _("not started") if not copied and is_fresh(notebook, lesson) else _("kept, it is your own")
        state = _("copied") if copied else kept
        say(f"{notebook}: {state}")
    console.print(_("Starting JupyterLab …"))
    open_lab(folder, browser, lambda: _next_notebook(folder), _print_address)


def _next_notebook(folder: Path) -> Path | None:
    """Return the first notebook that is not solved; None without the grader, which finds it."""
    try:
        from grader.own_work import next_notebook
    except ModuleNotFoundError:
        return None
    return next_notebook(folder)


def _print_address(address: str) -> None:
    console.print(
        _("JupyterLab is running at\n\n    {address}\n\nPress Ctrl-C here to stop it.", address=address), soft_wrap=True
    )


@app.command()
def reset(
    lesson: Annotated[str, typer.Argument(help="Number or name of a lesson, such as 02.")], folder: WorkFolder = WORK
) -> None:
    """Replace a lesson by a fresh copy; yours is kept beside it."""
    name = find_lesson(lesson)
    if not folder.is_dir():
        raise UserError(
            _(
                "There is no directory {folder}; type this where your lessons are, or name their directory with "
                "--folder.",
                folder=folder.resolve(),
            )
        )
    notebook, kept = folder / f"{name}.ipynb", reset_lesson(name, folder)
    say(
        _("{notebook} is a fresh copy.", notebook=notebook)
        + (_(" Your notebook is now {kept}.", kept=kept) if kept else "")
    )
    if kept:
        say(_("If it is open in JupyterLab, choose File > Reload Notebook from Disk, then Kernel > Restart Kernel."))


app.command()(race)


def mount_commands(app: typer.Typer) -> None:
    """Let every entry point of COMMAND_GROUP add its commands; without a grader that loads, its commands say why."""
    for entry_point in entry_points(group=COMMAND_GROUP) or (GRADER,):
        try:
            mount = entry_point.load()
        except ModuleNotFoundError as error:
            if error.name not in ("grader", GRADER.module):
                raise
            _add_refusals(app, NO_GRADER)
        except UserError as error:  # a lesson kept outside the kit that cannot be loaded
            _add_refusals(app, str(error))
        else:
            mount(app)


def _add_refusals(app: typer.Typer, why: str) -> None:
    def refuse(context: typer.Context) -> None:
        raise UserError(why.replace("COMMAND", str(context.info_name)))

    for name in GRADER_COMMANDS:
        app.command(name, hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
            refuse
        )


app.add_typer(appendix_commands.app, name="appendix")
take_lessons_option(sys.argv)  # before the grader is imported, which loads these lessons
mount_commands(app)

if __name__ == "__main__":
    main()
