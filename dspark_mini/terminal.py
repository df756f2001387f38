"""What all commands share on the terminal: the console, the look of a table, and the option --folder."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dspark_mini.language import speak
from dspark_mini.workspace import UserError, folder_language, work_folder

console = Console(highlight=False)


def _opened(folder: Path) -> Path:
    """Find the learner's directory, and go on in the language of its lessons."""
    found = work_folder(folder)
    speak(folder_language(found))
    return found


WorkFolder = Annotated[Path, typer.Option("--folder", callback=_opened, help="Directory with your lessons.")]


def say(text: str, to: Console = console) -> None:
    """Print text: a terminal breaks its lines between words, anything else gets them as they are."""
    to.print(escape(wrapped(text, to.width) if to.is_terminal else text), soft_wrap=True)


def wrapped(text: str, width: int) -> str:
    """Break long lines between words; they go on below their first word, or below what follows a padded label."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = " " * cell_len(re.match(r" *(\S+ {2,}|also open )?", line)[0])  # type: ignore[index]
        lines += _WRAPPER(width=width, subsequent_indent=indent).wrap(line) or [""]
    return "\n".join(lines)


_WRAPPER = partial(textwrap.TextWrapper, replace_whitespace=False, break_long_words=False, break_on_hyphens=False)


def plain_table(*headers: str) -> Table:
    """Return a table without borders that wraps long names instead of cutting them."""
    table = Table(*headers, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    return table


def folded(text: str, width: int) -> str:
    """Break text for a column: between words, or after a sign in a name, such as an underscore."""
    lines = [""]
    for part in re.findall(r"[^\s_/.-]+[\s_/.-]*|[\s_/.-]+", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(map(str.rstrip, lines))


def flush_output() -> None:
    """Write what is left, where Python would do so at its end and fail with another exit code.

    Raises:
        UserError: It cannot be written; what a pipe no longer takes is let go.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UserError(f"The output cannot be written: {error.strerror}.") from error


def replace_unknown_letters() -> None:
    """Let the standard streams replace a letter that their encoding lacks, as that of a pipe on Windows may."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
