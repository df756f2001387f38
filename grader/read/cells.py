"""From the text of a notebook to the pieces of code that are run. Nothing in the text is trusted.

The lesson's own setup is run first, wherever the learner's is. Then every code cell is run in its order, as in the
notebook itself. A cell's name (nbgrader's grade_id, else the cell's id) only says which cells are as they were handed
out: a given one is run in its original, a check or an untouched picture not at all. All other metadata, outputs and
attachments are ignored.

Where several cells define the same function, the one counts that its check cell sees: the last one above that check,
or the last one of all where the check cell is gone.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from dspark_mini.workspace import handed_out, lesson_names
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.run.process import MAX_PIECE, Piece

MAX_CELLS = 20_000
MAX_CODE = MAX_PIECE  # characters of all cells that are not too long for themselves
PICTURE_ROLES = ("picture", "show")  # run only where the learner has changed them
GIVEN_ROLES = ("setup", "given")  # run as they were handed out, whatever the learner's hold
FORMER_STUBS = "dspark_mini.inputs"  # imported by the setup of notebooks from before @takes, for their stubs
DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(|^(\w+)[ \t]*=[^=]", re.M)

FUNCTION = re.compile(r"^def[ \t]+(\w+)[ \t]*\(", re.M)


class Unreadable(Exception):
    """A submission that cannot be read; the message is a sentence that says why."""


@dataclass(frozen=True)
class Cell:
    """A code cell of a submission: its names, the likeliest first, its code, and what that seems to define."""

    names: tuple[str, ...]
    source: str
    defined: frozenset[str]


@dataclass(frozen=True)
class Original:
    """A cell as it was handed out."""

    role: str = ""
    task: str = ""
    source: str = ""

    @property
    def has_bug(self) -> bool:
        """Whether learners repair a bug here; a stub raises instead."""
        return self.role == "task" and "raise NotImplementedError" not in self.source


def read_cells(text: str) -> list[Cell]:
    """Take the code cells out of a notebook of any format version.

    Args:
        text: the notebook's JSON.

    Returns:
        The cells that hold code, in their order.

    Raises:
        Unreadable: It is not a notebook, or holds more cells or code than is read.
    """
    try:
        document = json.loads(text, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("cells", document.get("worksheets")), list):
        raise Unreadable("It is not a notebook: its content is not in the notebook format.")
    raw = list(islice(_raw_cells(document), MAX_CELLS + 1))
    if len(raw) > MAX_CELLS:
        raise Unreadable(f"It has more than {MAX_CELLS:,} cells.")
    cells = [cell for made in raw if (cell := _cell(made)) is not None]
    if sum(len(cell.source) for cell in cells if len(cell.source) <= MAX_PIECE) > MAX_CODE:
        raise Unreadable(f"Its cells hold more than {MAX_CODE >> 20} MiB of code.")
    return cells


def lesson_of(cells: list[Cell]) -> str:
    """Find the lesson that most of the tasks in the cells belong to.

    Raises:
        Unreadable: there is no task in the cells.
    """
    names = frozenset[str]().union(*(cell.names for cell in cells))
    defined = frozenset[str]().union(*(cell.defined for cell in cells))
    found = [t.lesson for t in TASKS.values() if t.function in defined or f"task-{t.id.replace('.', '-')}" in names]
    if not found:
        raise Unreadable("It is a notebook without tasks: no cell of it defines a function of any lesson.")
    return max(sorted(set(found)), key=found.count)


def pieces_of(cells: list[Cell], lesson: str) -> list[Piece]:
    """Return what is run of a notebook, in its order."""
    originals, known = originals_of(lesson), _as_handed_out(cells, lesson)
    checks = {original.task: at for at, original in enumerate(known) if original.role == "check"}
    kept = {at: _kept_there(cells, known, at, TASKS[task]) for task, at in checks.items()}
    pieces = [Piece(original.source, "setup") for original in originals.values() if original.role == "setup"]
    for at, (cell, original) in enumerate(zip(cells, known)):
        pieces += [Piece(source, f"cell {at + 1}") for source in _run_of(cell, original)]
        pieces += [Piece(f"_graded_{function} = {function}", f"check {at + 1}") for function in kept.get(at, ())]
    for function in (function for functions in kept.values() for function in functions):
        pieces.append(Piece(f"if True:\n    {function} = _graded_{function}", "checks"))  # as it was at its check
    return pieces


def defined_again(cells: list[Cell], lesson: str) -> dict[int, str]:
    """Return the functions that a cell defines below their check, by the number of the cell; the check's counts."""
    known, found = _as_handed_out(cells, lesson), dict[int, str]()
    for at, original in enumerate(known):
        if original.role == "check":
            for function in _kept_there(cells, known, at, TASKS[original.task]):
                below = range(at + 1, len(cells))
                found[next(n for n in below if function in cells[n].defined)] = function
    return found


def untouched_bugs(cells: list[Cell], lesson: str) -> frozenset[str]:
    """The tasks handed out with a bug whose function stands nowhere but in the cell as it was handed out."""
    handed_out = {original.task: original.source for original in originals_of(lesson).values() if original.has_bug}
    defining = {task: [c.source for c in cells if TASKS[task].function in c.defined] for task in handed_out}
    return frozenset(task for task, sources in defining.items() if set(sources) == {handed_out[task]})


def is_untouched(task: Task, function: Callable[..., Any]) -> bool:
    """Tell whether a function of a notebook has the bug, and all other lines, that it was handed out with."""
    try:
        source = inspect.getsource(function).strip()
    except (OSError, TypeError):
        return False
    originals = originals_of(task.lesson).values()
    return any(original.has_bug and original.task == task.id and source in original.source for original in originals)


def is_picture(source: str) -> bool:
    """Tell whether this is a cell of a lesson that shows something, as it was handed out."""
    originals = (original for lesson in lesson_names() for original in originals_of(lesson).values())
    return any(original.role in PICTURE_ROLES and original.source == source for original in originals)


def other_names(cells: list[Cell], lesson: str) -> dict[str, str]:
    """For each task whose own cell was changed and defines functions, but not the task's: what it defines."""
    found = dict[str, str]()
    for cell, original in zip(cells, _as_handed_out(cells, lesson)):
        names = FUNCTION.findall(cell.source)
        if original.role == "task" and names and TASKS[original.task].function not in cell.defined:
            found[original.task] = ", ".join(name[:60] for name in names[:3])
    return found


def _as_handed_out(cells: list[Cell], lesson: str) -> list[Original]:
    """Return what each cell was when it was handed out; nothing for a learner's own."""
    originals = originals_of(lesson)
    return [next((originals[name] for name in cell.names if name in originals), Original()) for cell in cells]


@cache
def originals_of(lesson: str) -> Mapping[str, Original]:
    """The code cells of a lesson as it is handed out, by name."""
    path = handed_out(lesson)
    # The kit's own notebook is plain JSON; importing nbformat would take longer than grading a submission.
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
    marked = ((cell, cell["metadata"].get("dspark", {})) for cell in cells if cell["cell_type"] == "code")
    return {
        cell["id"]: Original(mark.get("role", ""), mark.get("task", ""), "".join(cell["source"]))
        for cell, mark in marked
    }


def _no_number(digits: str) -> None:
    """Numbers are never looked at; one of a million digits would take its time."""


def _raw_cells(document: dict[str, Any]) -> Iterator[Any]:
    """Yield all cells; up to version 3 of the format they stand in worksheets."""
    if isinstance(document.get("cells"), list):
        yield from document["cells"]
        return
    for sheet in document["worksheets"]:
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
            yield from sheet["cells"]


def _cell(made: Any) -> Cell | None:
    """Take what is needed out of one cell, or nothing if it is not a code cell."""
    if not isinstance(made, dict) or made.get("cell_type") != "code":
        return None
    source = made.get("source", made.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    metadata = made.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    names = (nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None, made.get("id"))
    too_long = len(source) > MAX_PIECE  # never run
    defined = frozenset(name for found in DEFINITION.findall("" if too_long else source) for name in found if name)
    return Cell(tuple(name for name in names if isinstance(name, str)), source, defined)


def _run_of(cell: Cell, original: Original) -> Iterator[str]:
    """Yield the code to run for one cell: the learner's, the original, both or none."""
    if original.role in (*GIVEN_ROLES, "check"):
        # Cells that were merged go by the name of one of them; the learner's answer may stand in a locked one.
        holds_answer = any(t.function in cell.defined for t in TASKS.values() if t.id != original.task)
        if holds_answer or FORMER_STUBS in cell.source:
            yield cell.source
        if original.role == "given":
            yield original.source
    elif original.role not in PICTURE_ROLES or cell.source != original.source:
        yield cell.source


def _kept_there(cells: list[Cell], known: list[Original], at: int, task: Task) -> list[str]:
    """Name the function of a check cell, where a cell below defines it anew; an untouched stub does not count."""
    written = [
        task.function in cell.defined and (cell.source != original.source or original.has_bug)
        for cell, original in zip(cells, known)
    ]
    return [task.function] if any(written[: at + 1]) and any(written[at + 1 :]) else []
