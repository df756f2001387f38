"""Solved lessons as pages: the learner's stub, the solution folded below it, and what the cells show."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from dspark_mini.language import ENGLISH, VARIABLE, _
from dspark_mini.workspace import UserError
from grader.lessons import translation
from grader.lessons.paths import ROOT
from grader.lessons.sources import Cell, stubbed
from grader.lessons.stubs import REGION

SECONDS = 600  # for one cell
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
Outputs = Sequence[Sequence[Any]]  # of each code cell


def executed(lesson: str, cells: Sequence[Cell], language: str, kept: Path) -> Outputs:
    """Return the outputs of a solved lesson's code cells, from an earlier run of the same code by the same kit.

    Args:
        lesson: Name of the lesson.
        cells: Its cells, solved.
        language: Language of reports and pictures.
        kept: Directory for the outputs of executed lessons.
    """
    code = [new_code_cell(cell.source) for cell in cells if cell.kind == "code"]
    key = hashlib.sha256("\0".join([_kit(), *(cell.source for cell in code)]).encode()).hexdigest()[:16]
    file = kept / "executed" / f"{lesson}-{language}-{key}.ipynb"
    if not file.is_file():
        _execute(lesson, code, language)
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in file.parent.glob(f"{lesson}-{language}-*.ipynb"):
            old.unlink()
        nbformat.write(new_notebook(cells=code), file)
    return [cell.outputs for cell in nbformat.read(file, as_version=4).cells]


@cache
def _kit() -> str:
    """Return a name for the state of everything that a lesson can use."""
    digest = hashlib.sha256()
    for room in ("dspark_mini", "grader"):
        for path in sorted((ROOT / room).rglob("*.*")):
            name = path.relative_to(ROOT)
            if path.is_file() and not {"__pycache__", "site"} & set(name.parts):
                digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _execute(lesson: str, code: list[Any], language: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        notebook, quiet = new_notebook(cells=code, metadata=KERNEL), ["--IPKernelApp.log_level=ERROR"]
        client = NotebookClient(notebook, timeout=SECONDS, resources=place, extra_arguments=quiet)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        try:
            client.execute(env=os.environ | {VARIABLE: language, "PYTHONPATH": path, "IPYTHONDIR": folder})
        except CellExecutionError as error:
            raise UserError(f"The solved lesson {lesson} fails. {error}") from None


def translated(lesson: str, cells: Sequence[Cell], language: str) -> list[Cell]:
    """Return the cells of a lesson with their prose in a language."""
    if language == ENGLISH:
        return list(cells)
    prose = ((cell.source, translation.PROSE) for cell in cells if cell.kind == "markdown")
    translate = translation.translator(translation.updated(language, lesson, prose))
    return [replace(cell, source=translate(cell.source), english=cell.source) for cell in cells]


def lesson_page(cells: Sequence[Cell], outputs: Outputs) -> str:
    """Return a lesson as a notebook with outputs, of which myst-nb makes a page.

    Args:
        cells: Its cells, solved.
        outputs: The outputs of each code cell; empty if it was not executed.
    """
    shown, made, in_part = iter(outputs), [], False
    for number, cell in enumerate(cells):
        name = f"cell-{number}"
        if cell.kind == "markdown":
            in_part = in_part or (number > 0 and cell.source.startswith("# "))  # a page has one title
            made.append(
                new_markdown_cell(re.sub("^#", "##", cell.source, flags=re.M) if in_part else cell.source, id=name)
            )
            continue
        metadata: dict[str, Any] = {"mystnb": {"image": {"alt": _("What this code draws")}}}
        if cell.role == "task":
            made.append(new_markdown_cell(f"```python\n{stubbed(cell).rstrip()}\n```", id=f"{name}-stub"))
            metadata["tags"] = ["hide-input"]
        source = REGION.sub(lambda region: region[2], f"{cell.source}\n").rstrip()
        made.append(new_code_cell(source, id=name, metadata=metadata, outputs=next(shown, [])))
    return str(nbformat.writes(new_notebook(cells=made, metadata=KERNEL)))
