"""A submitted notebook as nbgrader keeps it: with repaired metadata, and a report and points in each graded cell.

What a student's metadata says is used for one thing only: to find the cells that were handed out. Everything else
about those cells comes from the gradebook, and every other cell is kept as plain text or code, without output.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_notebook, new_output
from nbgrader.utils import parse_utc

from grader.check.text import all_of_task
from grader.export.nbgrader_cells import KnownCell
from grader.read.submissions import plain_text

HIDDEN_REGION = re.compile(r"^ *### BEGIN HIDDEN TESTS\n.*?^ *### END HIDDEN TESTS\n", re.M | re.S)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
CELL_TYPES = ("code", "markdown", "raw")
READ_ONLY = 0o444  # as nbgrader leaves its autograded files
MAX_TIMESTAMP = 200  # bytes
REPORT_WIDTH = 100  # columns, which fit into a page of the formgrader
NO_TASK = "This cell belongs to no task of the kit. It was not run, so it gets no points until somebody grades it."


def check_cell(task: str) -> str:
    """Name the cell that checks a task, as `dspark-mini build` does."""
    return f"check-{task.replace('.', '-')}"


def read_notebook(path: Path) -> Any:
    """Read a submitted notebook of any format version, however odd; None if that is impossible."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for every cell that was copied with its id
            return nbformat.reads(plain_text(path), as_version=4)
    except Exception:  # a notebook can be wrong in any way; the grader has already said so
        return None


def repaired(notebook: Any, known: Mapping[str, KnownCell]) -> Any:
    """Return a submitted notebook with the cells and metadata that nbgrader needs.

    Args:
        notebook: what the student handed in, which is left as it is.
        known: the cells that were handed out, by name.

    Returns:
        A new notebook. Of cells with the same name the one counts that its check sees: the last one above it, or
        else the last one. The others become plain cells, so does a cell that nobody knows. Graded cells that are
        missing are added after the cell of their task.
    """
    cells = [cell for cell in notebook.get("cells", []) if _is_cell(cell)]
    names = [_name(cell, known) for cell in cells]
    counting = _counting(names)
    made = [
        _restored(cell.source, known[name]) if name and counting[name] == index else _plain(cell)
        for index, (cell, name) in enumerate(zip(cells, names))
    ]
    for index, cell in enumerate(made := _with_missing(made, known.values())):
        cell.id = _grade_id(cell) or f"other-{index}"
    return new_notebook(cells=made, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})


def _counting(names: list[str]) -> dict[str, int]:
    """Tell for each name which of its cells counts."""
    last, counting = {name: index for index, name in enumerate(names)}, dict[str, int]()
    for index, name in enumerate(names):
        check = last.get(f"check-{name.partition('-')[2]}", len(names))
        if index <= check or counting.get(name, index) > check:
            counting[name] = index
    return counting


def mark(notebook: Any, result: Mapping[str, Any]) -> None:
    """Write the report of each task, and its points in the way that nbgrader reads them, below the cell that checks it.

    Args:
        notebook: a repaired notebook; it is changed. Hidden tests are cut out of it.
        result: one object of the list that `dspark-mini grade --json` writes.
    """
    tasks = {check_cell(task["task"]): task for task in result["tasks"]}
    notes = list(result.get("notes", ()))
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        about = cell.metadata.get("nbgrader", {})
        cell.outputs, cell.execution_count = [], None
        if about.get("locked"):  # as it was handed out; only such a cell holds hidden tests, and this is slow on others
            cell.source = HIDDEN_REGION.sub("", cell.source + "\n")[:-1]
        if about.get("grade") and not about.get("solution"):
            task = tasks.get(about["grade_id"])
            text = all_of_task(task, REPORT_WIDTH) if task else str(result.get("reason") or NO_TASK)
            text, notes = "\n".join([*notes, text]), []  # once, at the top
            points = _points(task, about["points"]) if task else 0.0
            cell.outputs = [
                new_output("stream", name="stdout", text=text + "\n"),
                new_output("execute_result", data={"text/plain": repr(points)}, execution_count=None),
            ]


def timestamp_beside(notebook: Path) -> str | None:
    """Read when a notebook was handed in, where nbgrader has written that down beside it."""
    path = notebook.with_name("timestamp.txt")
    with contextlib.suppress(OSError, ValueError, TypeError, OverflowError):
        if not path.is_symlink() and path.stat().st_size <= MAX_TIMESTAMP:
            text = path.read_text(encoding="utf-8").strip()
            return text if text and parse_utc(text) else None
    return None


@contextlib.contextmanager
def part_file(folder: Path) -> Iterator[Path]:
    """Give an empty file whose name nbgrader does not look at, and take it away unless it was moved."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def publish(part: Path, target: Path, timestamp: str | None) -> None:
    """Move a complete notebook to where nbgrader looks for it, with the time at which it was handed in."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if timestamp:
        stamp = part.with_suffix(".timestamp")
        stamp.write_text(timestamp + "\n", encoding="utf-8")
        stamp.replace(target.with_name("timestamp.txt"))
    part.chmod(READ_ONLY)
    part.replace(target)


def _points(task: Mapping[str, Any], worth: float) -> float:
    """Return a task's points on the scale of its cell, which an instructor may have made worth more or nothing."""
    return float(task["points"] * worth / task["max_points"]) if task["max_points"] else 0.0


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") in CELL_TYPES and isinstance(cell.get("source"), str)


def _name(cell: Any, known: Mapping[str, KnownCell]) -> str:
    """Find out which of the known cells a cell is: by nbgrader's id, or else by its own."""
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    names = [about.get("grade_id") if isinstance(about, dict) else None, cell.get("id")]
    return next((name for name in names if isinstance(name, str) and name in known), "")


def _grade_id(cell: Any) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _new(cell_type: str, source: str, about: dict[str, Any] | None = None) -> Any:
    """Make a cell; half a surrogate pair in its source, which no file can hold, becomes a question mark."""
    cell = {
        "cell_type": cell_type,
        "metadata": {"nbgrader": about} if about else {},
        "source": source.encode(errors="replace").decode(),
    }
    return nbformat.from_dict(cell | ({"execution_count": None, "outputs": []} if cell_type == "code" else {}))


def _plain(cell: Any) -> Any:
    return _new(cell.cell_type, cell.source)


def _restored(source: str, known: KnownCell) -> Any:
    source = known.source if known.locked else source
    return _new(known.cell_type, source, known.metadata())


def _with_missing(cells: list[Any], known: Iterable[KnownCell]) -> list[Any]:
    """Add the graded cells that are missing, each after the cell of the same task, or at the end."""
    for cell in known:
        names = [_grade_id(other) for other in cells]
        if (cell.grade or cell.task) and cell.name not in names:
            tail = cell.name.partition("-")[2]
            after = [index for index, name in enumerate(names, 1) if tail and name.partition("-")[2] == tail]
            at = after[-1] if after else len(cells)
            cells = [*cells[:at], _restored(cell.source, cell), *cells[at:]]
    return cells
