"""Reading submissions: what is read is data, which is neither run here nor trusted."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dspark_mini.language import language_in
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.read.cells import Unreadable as Unreadable
from grader.read.cells import defined_again, lesson_of, other_names, pieces_of, read_cells, untouched_bugs
from grader.read.outputs import without_outputs
from grader.run.process import MAX_PIECE, Piece

SUFFIXES = (".ipynb", ".py")
MAX_BYTES = 20 << 20  # of a submission without its outputs
MAX_FILE = 100 << 20  # of a file with them


@dataclass(frozen=True)
class Source:
    """A submission's file, and its name in every result."""

    name: str
    path: Path
    unreadable: str = ""  # why it must not be read, where that is known before
    owner: tuple[str, ...] = ()  # the student's place below the folder or zip that was given
    member: str = ""  # the path in the zip that it came from
    note: str = ""  # what its student should know of how it was chosen


@dataclass(frozen=True)
class Submission:
    """A submission that has been read: the pieces of its code, and the tasks that it is graded for."""

    name: str
    lesson: str | None
    pieces: list[Piece] = field(repr=False)
    tasks: list[Task] = field(repr=False)
    untouched: frozenset[str] = frozenset()  # tasks with a bug that nobody has touched
    renamed: Mapping[str, str] = field(default_factory=dict)  # by task: what its cell defines instead
    language: str | None = None  # of its text, where that is a translation
    again: Mapping[int, str] = field(default_factory=dict)  # by cell: a function that it defines below its check


def read_submission(source: Source) -> Submission:
    """Read one submission.

    Raises:
        Unreadable: A link, or a file that is too large, is not text, is not a notebook, or holds no task.
    """
    if source.unreadable:
        raise Unreadable(source.unreadable)
    text = plain_text(source.path)
    if source.path.suffix.lower() == ".py":
        if len(text) > MAX_PIECE:
            raise Unreadable(f"It holds more than {MAX_PIECE >> 20} MiB of code.")
        return Submission(source.name, None, [Piece(text, "the file", statements=True)], list(TASKS.values()))
    cells = read_cells(text)
    lesson = lesson_of(cells)
    pieces, tasks = pieces_of(cells, lesson), tasks_of(lesson)
    untouched, renamed = untouched_bugs(cells, lesson), other_names(cells, lesson)
    return Submission(
        source.name, lesson, pieces, tasks, untouched, renamed, language_in(text), defined_again(cells, lesson)
    )


def lesson_in(path: Path) -> str:
    """Tell the lesson that a notebook holds, or nothing where it cannot be read or holds no task."""
    try:
        return lesson_of(read_cells(plain_text(path)))
    except Unreadable:
        return ""


def plain_content(source: Source) -> bytes | None:
    """Return what a submission's file holds, or None where it cannot be read as one."""
    try:
        return None if source.unreadable else _bytes(source.path)
    except Unreadable:
        return None


def plain_text(path: Path) -> str:
    """Read a plain file as text in UTF-8, or in UTF-16 where a mark says so; a large notebook without its outputs.

    Raises:
        Unreadable: Not a plain file, too large, or not text in these encodings.
    """
    data = _bytes(path)
    try:
        text = data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("It is not text in UTF-8.") from None
    if len(data) > MAX_BYTES:
        text = without_outputs(text)
    if len(text) > MAX_BYTES:
        raise Unreadable(f"It is larger than {MAX_BYTES >> 20} MiB, its outputs left out.")
    return text


def tasks_of(lesson: str) -> list[Task]:
    """The graded tasks of a lesson, in their order."""
    return [task for task in TASKS.values() if task.lesson == lesson]


def lessons() -> list[str]:
    """The names of all lessons that have tasks, in their order."""
    return sorted({task.lesson for task in TASKS.values()})


def _bytes(path: Path) -> bytes:
    """Read a plain file, whatever stands in its place: a link, a pipe, a folder, a device."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise Unreadable("It is a link or something else that is not a plain file.")
        with open(os.open(path, flags), "rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise Unreadable(f"It cannot be read: {error.strerror}.") from None
    if len(data) > MAX_FILE:
        raise Unreadable(f"It is larger than {MAX_FILE >> 20} MiB.")
    return data
