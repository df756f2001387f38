"""Submissions for the tests: lesson notebooks, solved, untouched, or edited cell by cell."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.lessons.build import notebook
from grader.lessons.paths import NOTEBOOKS, SOLUTIONS
from grader.lessons.sources import cells_of
from grader.run.process import child_library

LESSON = "02_parallel_drafting"
MakeNotebook = Callable[..., Path]


@pytest.fixture(scope="session")
def library() -> Iterator[Path]:
    with child_library() as folder:
        yield folder


@cache
def solved_sources(lesson: str) -> dict[str, str]:
    """The sources of a solved lesson by cell id."""
    cells = list(cells_of((SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8")))
    return {cell.id: cell.source for cell in nbformat.reads(notebook(cells, for_nbgrader=True), as_version=4).cells}


@pytest.fixture
def make_notebook(tmp_path: Path) -> MakeNotebook:
    """Return a function that writes a submission: the handed-out notebook, solved if wanted, with edited cells."""

    def make(
        name: str = "student/lesson.ipynb",
        solved: bool = True,
        edits: dict[str, Any] | None = None,
        lesson: str = LESSON,
    ) -> Path:
        document = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4)
        sources = solved_sources(lesson)
        for cell in document.cells:
            if solved and cell.id.startswith("task-"):
                cell.source = sources[cell.id]
            if edits and cell.id in edits:
                edit = edits[cell.id]
                cell.source = edit(cell.source) if callable(edit) else edit
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(document, path)
        return path

    return make
