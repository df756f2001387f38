"""The options of `dspark-mini grade`, each declared once: typer makes the command line from the fields of a class."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dspark_mini.workspace import UserError
from grader.run.process import Sandbox


@dataclass(frozen=True)
class GradeOptions:
    """How to grade, and where the results go.

    Raises:
        UserError: An unknown sandbox, or one that does not go with the other options.
    """

    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results to this file.")] = None
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the points to this file.")] = None
    jobs: Annotated[int, typer.Option(min=1, help="Submissions graded at the same time.")] = os.cpu_count() or 1
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False
    dask: Annotated[str | None, typer.Option(help="Grade on the Dask cluster at this address.")] = None
    pages: Annotated[
        Path | None, typer.Option("--html", help="Write a page per student, and one for the class, to this directory.")
    ] = None
    leaderboard: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Rank the scores of lesson 10 on this page, and in a .csv beside it."),
    ] = None
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show pseudonyms there; this file keeps who is who.")
    ] = None
    similarity: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Show on this page which submissions are alike, against chance.")
    ] = None
    canvas: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in the list exported from Canvas.")
    ] = None
    moodle: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="LIST FILE", help="Fill in Moodle's grading worksheet.")
    ] = None
    lesson: Annotated[str | None, typer.Option(help="Grade only this lesson, given by number or name.")] = None
    column: Annotated[str | None, typer.Option(help="Column to fill in, in the list from Canvas.")] = None
    gradescope: Annotated[Path | None, typer.Option(help="Write Gradescope's results.json to this file.")] = None
    gradebook: Annotated[bool, typer.Option("--gradebook", help="Record the grades in nbgrader's gradebook.")] = False
    course: Annotated[Path | None, typer.Option(help="nbgrader's course directory. Default: build/nbgrader.")] = None
    db: Annotated[str | None, typer.Option(help="URL of the gradebook, such as postgresql+psycopg://…")] = None
    ci: Annotated[bool, typer.Option("--ci", help="Print the points for a GitHub workflow.")] = False
    min_score: Annotated[float, typer.Option(help="With --ci: fail below this score.")] = 0.0
    secret_file: Annotated[
        Path | None,
        typer.Option(help="Draw the hidden cases with the secret in this file; it is made once. Default: your own."),
    ] = None
    unreadable_as_zero: Annotated[
        bool, typer.Option("--unreadable-as-zero", help="Give 0 points to what cannot be read; else it gets no score.")
    ] = False
    compare: Annotated[
        Path | None, typer.Option(metavar="OLD.json", help="Show who changed, and why, since --json wrote this file.")
    ] = None
    keep_higher: Annotated[
        bool, typer.Option("--keep-higher", help="With --compare: write the higher of both scores.")
    ] = False
    deadline: Annotated[str | None, typer.Option(help="Show who is late; such as 2026-12-01T23:59.")] = None
    late: Annotated[str | None, typer.Option(help='With --deadline: such as "10% per day, 0 after 5".')] = None
    points: Annotated[
        Path | None, typer.Option(metavar="POINTS.toml", help="Your own points per task, and of the course.")
    ] = None
    unsafe_no_sandbox: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Run the code with your own rights; only for code you trust.")
    ] = False
    sandbox: Annotated[
        str,
        typer.Option(metavar="user:NAME", help="In a container that forbids bubblewrap: run the code as this user."),
    ] = "bubblewrap"

    def __post_init__(self) -> None:
        kind, _, user = self.sandbox.partition(":")
        if self.sandbox != "bubblewrap" and (kind != "user" or not user):
            raise UserError(f"The sandbox is bubblewrap or user:NAME, not {self.sandbox!r}.")
        if user and (self.unsafe_no_sandbox or self.dask or self.records):
            raise UserError("--sandbox user:NAME goes with neither --unsafe-no-sandbox nor --dask nor a gradebook.")

    @property
    def isolation(self) -> Sandbox:
        """How the learner's code is isolated."""
        return self.sandbox.partition(":")[2] or not self.unsafe_no_sandbox

    @property
    def workers(self) -> int:
        """How many submissions run at a time; as a user, one, since its end is that of all the user's processes."""
        return 1 if isinstance(self.isolation, str) else self.jobs

    @property
    def targets(self) -> list[Path]:
        """The files that will be written, the JSON file first."""
        lists = [pair[1] for pair in (self.canvas, self.moodle) if pair is not None]
        boards = [self.leaderboard, self.leaderboard.with_suffix(".csv")] if self.leaderboard else []
        others = filter(None, (self.gradescope, self.similarity))
        return [*filter(None, (self.json_file, self.csv_file)), *lists, *others, *boards]

    @property
    def grade_books(self) -> list[str]:
        """The options that put grades where they count."""
        names = ("gradescope", "canvas", "moodle", "gradebook", "course", "db")
        return [f"--{name}" for name in names if getattr(self, name) not in (None, False)]

    @property
    def records(self) -> bool:
        """Whether the results go into a gradebook of nbgrader."""
        return self.gradebook or self.course is not None or self.db is not None

    @property
    def regrades(self) -> bool:
        """Whether anything comes between grading and writing."""
        return self.keep_higher or any(o is not None for o in (self.compare, self.deadline, self.late, self.points))


def with_options(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let typer read the options of a command from a dataclass, which the command gets as its last argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        *arguments, _ = inspect.signature(command, eval_str=True).parameters.values()
        hints = get_type_hints(kind, include_extras=True)
        options = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(kind)
        ]

        @functools.wraps(command)
        def run(**values: Any) -> None:
            command(*(values.pop(argument.name) for argument in arguments), kind(**values))

        run.__signature__ = inspect.Signature([*arguments, *options])  # type: ignore[attr-defined]
        return run

    return decorate
