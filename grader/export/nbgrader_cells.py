"""The cells of a lesson that nbgrader knows by name, as its gradebook keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import MissingEntry
from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from grader.export.nbgrader_database import GradebookError
from grader.lessons.paths import NBGRADER_SOURCE
from grader.lessons.sources import STUB_COMMENT

SCHEMA_VERSION = 3  # of nbgrader's metadata


@dataclass(frozen=True)
class KnownCell:
    """One cell that was handed out and that nbgrader knows by name."""

    name: str
    cell_type: str  # 'code' or 'markdown'
    source: str  # as it was handed out, with the hidden tests where it has some
    checksum: str | None
    locked: bool  # the source is restored, whatever the student made of it
    grade: bool
    solution: bool
    task: bool  # a task that only a person can grade
    points: float = 0.0

    def metadata(self) -> dict[str, Any]:
        """The cell's complete nbgrader metadata."""
        metadata: dict[str, Any] = {
            "cell_type": self.cell_type,
            "grade": self.grade,
            "grade_id": self.name,
            "locked": self.locked,
            "schema_version": SCHEMA_VERSION,
            "solution": self.solution,
            "task": self.task,
        }
        points = {"points": self.points} if self.grade or self.task else {}
        return metadata | points | ({"checksum": self.checksum} if self.checksum else {})


def known_cells(book: Any, lesson: str, course: Path) -> dict[str, KnownCell]:
    """Return the cells of a lesson that a gradebook knows, by name; a lesson that it does not know is added to it.

    Args:
        book: nbgrader's gradebook.
        lesson: the name of the assignment and of its notebook.
        course: the course's folder, in whose source/ a new lesson is looked up.
    """
    try:
        notebook = book.find_notebook(lesson, lesson)
    except MissingEntry:
        notebook = _add_lesson(book, lesson, _source(lesson, course))
    return cells_of(notebook)


def cells_of(notebook: Any) -> dict[str, KnownCell]:
    """Return the cells that the gradebook knows of one notebook, by name."""
    points = {cell.name: cell.max_score for cell in [*notebook.grade_cells, *notebook.task_cells]}
    grades, solutions = {cell.name for cell in notebook.grade_cells}, {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    return {
        cell.name: KnownCell(
            cell.name,
            cell.cell_type,
            cell.source,
            cell.checksum,
            cell.locked,
            cell.name in grades,
            cell.name in solutions,
            cell.name in tasks,
            points.get(cell.name, 0.0),
        )
        for cell in notebook.source_cells
    }


def _source(lesson: str, course: Path) -> Any:
    """Read the notebook with solutions and hidden tests that a lesson is handed out from."""
    paths = [folder / lesson / f"{lesson}.ipynb" for folder in (course / "source", NBGRADER_SOURCE)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise GradebookError(f"There is no {paths[0]}, from which to set up the lesson; `dspark-mini build` writes it.")
    return nbformat.read(path, as_version=4)


def _add_lesson(book: Any, lesson: str, source: Any) -> Any:
    """Add an assignment with one notebook, as `nbgrader generate_assignment` does."""
    resources: dict[str, Any] = {}
    stub = ClearSolutions(code_stub={"python": STUB_COMMENT})
    for step in (LockCells(), stub, ClearOutput(), ComputeChecksums()):
        source, resources = step.preprocess(source, resources)
    book.update_or_create_assignment(lesson)
    book.add_notebook(lesson, lesson, kernelspec=json.dumps(source.metadata.get("kernelspec", {})))
    for cell in source.cells:
        about = cell.metadata.get("nbgrader", {})
        name, worth = about.get("grade_id"), {"max_score": about.get("points"), "cell_type": cell.cell_type}
        if is_grade(cell):
            book.add_grade_cell(name, lesson, lesson, **worth)
        if is_solution(cell):
            book.add_solution_cell(name, lesson, lesson)
        if is_task(cell):
            book.add_task_cell(name, lesson, lesson, **worth)
        if is_grade(cell) or is_solution(cell) or is_locked(cell) or is_task(cell):
            known = {"locked": is_locked(cell), "source": cell.source, "checksum": about.get("checksum")}
            book.add_source_cell(name, lesson, lesson, cell_type=cell.cell_type, **known)
    return book.find_notebook(lesson, lesson)
