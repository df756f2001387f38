"""What all commands share on the terminal: the console, the look of a table, and the option --folder."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

console = Console(highlight=False)
WORK = Path("work")
WorkFolder = Annotated[Path, typer.Option("--folder", help="Directory with your lessons.")]


def plain_table(*headers: str) -> Table:
    """Return a table without borders that wraps long names instead of cutting them."""
    table = Table(*headers, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    return table


def replace_unknown_letters() -> None:
    """Let the standard streams replace a letter that their encoding lacks, as that of a pipe on Windows may."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
