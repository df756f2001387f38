"""Reading submissions. What is read is data: nothing of it is run here, and nothing trusted."""

from __future__ import annotations

import json
import logging
import stat
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from grader.checks import TASKS
from grader.child.loader import defines
from grader.process import ROOT, Piece
from grader.tasks import Task

SUFFIXES = (".ipynb", ".py")
MAX_BYTES = 20 << 20
SKIPPED_ROLES = ("check", "picture", "show")  # given cells that a child need not run
GIVEN_ROLES = ("setup", "given")  # given cells that are run as they were handed out


class Unreadable(Exception):
    """A submission that cannot be read; the message says why, as a sentence."""


@dataclass(frozen=True)
class Source:
    """Where a submission lies, and the name it goes by in every result."""

    name: str
    path: Path
    unreadable: str = ""  # why it must not be read, where that is known before


@dataclass(frozen=True)
class Submission:
    """A submission that has been read: the pieces of its code, and the tasks that it is graded for."""

    name: str
    lesson: str | None
    pieces: list[Piece] = field(repr=False)
    tasks: list[Task] = field(repr=False)


def read_submission(source: Source) -> Submission:
    """Read one submission.

    Raises:
        Unreadable: a link, a file that is too large, is no text or no notebook, or holds no task.
    """
    if source.unreadable:
        raise Unreadable(source.unreadable)
    text = _text(source.path)
    if source.path.suffix == ".py":
        label = source.path.name
        return Submission(source.name, None, [Piece(text, label, statements=True)], list(TASKS.values()))
    cells = _code_cells(text)
    lesson = _lesson_of(cells)
    if lesson is None:
        raise Unreadable("It is a notebook without tasks: no cell of it defines a function of any lesson.")
    known = known_cells(lesson)
    pieces = [piece for cell in cells if (piece := _piece(cell, known)) is not None]
    return Submission(source.name, lesson, pieces, tasks_of(lesson))


def plain_content(source: Source) -> bytes | None:
    """Return what a submission's file holds, or None where it cannot be read as one."""
    try:
        information = source.path.lstat()
        plain = stat.S_ISREG(information.st_mode) and information.st_size <= MAX_BYTES
        return source.path.read_bytes() if plain and not source.unreadable else None
    except OSError:
        return None


def tasks_of(lesson: str) -> list[Task]:
    """The graded tasks of a lesson, in their order."""
    return [task for task in TASKS.values() if task.lesson == lesson]


def lessons() -> list[str]:
    """The names of all lessons that have tasks, in their order."""
    return sorted({task.lesson for task in TASKS.values()})


@cache
def known_cells(lesson: str) -> dict[str, tuple[str, str]]:
    """The cells of a lesson as it is handed out: cell id → (role, source)."""
    path = ROOT / "notebooks" / f"{lesson}.ipynb"
    if not path.exists():
        return {}
    notebook = nbformat.read(path, as_version=4)
    return {cell.id: (cell.metadata.get("dspark", {}).get("role", ""), cell.source) for cell in notebook.cells}


def _text(path: Path) -> str:
    try:
        information = path.lstat()
        if not stat.S_ISREG(information.st_mode):
            raise Unreadable("It is a link or something else that is no plain file.")
        if information.st_size > MAX_BYTES:
            raise Unreadable(f"It is larger than {MAX_BYTES >> 20} MiB.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("It is no text in UTF-8.") from None
    except OSError as error:
        raise Unreadable(f"It cannot be read: {error.strerror}.") from None


def _code_cells(text: str) -> list[Any]:
    """Parse a notebook of any format version and return its code cells."""
    try:
        if not isinstance(json.loads(text), dict):
            raise ValueError
        logging.getLogger("traitlets").disabled = True  # a notebook that breaks the schema is read all the same
        notebook = nbformat.reads(text, as_version=4)
        return [cell for cell in notebook.cells if cell.cell_type == "code" and isinstance(cell.source, str)]
    except Exception:
        raise Unreadable("It is no notebook: its content is not in the notebook format.") from None
    finally:
        logging.getLogger("traitlets").disabled = False


def _lesson_of(cells: list[Any]) -> str | None:
    """Find the lesson that most of the tasks in the cells belong to."""
    found = [task.lesson for task in TASKS.values() if any(defines(cell.source, task.function) for cell in cells)]
    return max(sorted(set(found)), key=found.count) if found else None


def _piece(cell: Any, known: dict[str, tuple[str, str]]) -> Piece | None:
    """Turn a cell into what will be run: the learner's source, the original of a given cell, or nothing."""
    identity = str(cell.get("id", ""))
    role, original = known.get(identity, ("", ""))
    if role in SKIPPED_ROLES:
        return None
    return Piece(original if role in GIVEN_ROLES else cell.source, f"cell {identity or 'without id'}")
