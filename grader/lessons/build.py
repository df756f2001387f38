"""`dspark-mini build`: from one source per lesson to everything that is handed out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from dspark_mini.language import ENGLISH
from dspark_mini.workspace import own_files
from grader.lessons import translation
from grader.lessons.fitness import check_lesson
from grader.lessons.hosted import install_cell, with_badges
from grader.lessons.mistake_tables import table_file
from grader.lessons.paths import NBGRADER_SOURCE, NOTEBOOKS, ROOT, SOLUTIONS
from grader.lessons.sources import Cell, cells_of, fill, solved_for_nbgrader, stubbed
from grader.lessons.stubs import BuildError

HIDDEN_TESTS = "### BEGIN HIDDEN TESTS\nfrom grader import points as check\n### END HIDDEN TESTS\n"


@dataclass(frozen=True)
class Built:
    """One file that a build makes, and what belongs in it."""

    path: Path
    content: bytes

    @property
    def is_current(self) -> bool:
        """Whether the file already holds this content."""
        return self.path.exists() and self.path.read_bytes() == self.content


def build(check: bool = False) -> list[Built]:
    """Derive every file from the lessons' sources.

    Args:
        check: write nothing; the nbgrader sources, which are not kept, are left out.

    Returns:
        The files that were out of date (and, unless check is set, have been written).

    Raises:
        BuildError: a lesson that breaks a rule; nothing is written then.
    """
    files = [file for source in _sources() for file in lesson_files(source)]
    files += [_readme(), *(Built(*file) for file in translation.document_files())]
    if check:
        files = [file for file in files if not file.path.is_relative_to(NBGRADER_SOURCE)]
    changed = [file for file in files if not file.is_current]
    for file in changed if not check else ():
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(file.content)
    return changed


def _sources() -> list[Path]:
    return [*sorted(SOLUTIONS.glob("[0-9]*.py")), *own_files("lesson.py")]


def _readme() -> Built:
    """Return the README, with the minutes that each of the kit's lessons names in its header, and badges."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    for source in SOLUTIONS.glob("[0-9]*.py"):
        minutes = re.search(r"\*\*Time\*\* \| (?:about )?(\d+) minutes", source.read_text(encoding="utf-8"))
        row = re.compile(rf"^(\| {source.stem.replace('_', ' ', 1)} (?:\|[^|]*){{2}}\|) \d+ ", re.M)
        if minutes is None or not row.search(text):
            raise BuildError(f"{source.name} names no minutes in its header, or the README has no row for it.")
        text = row.sub(rf"\1 {minutes[1]} ", text)
    return Built(path, with_badges(text).encode())


def lesson_files(source: Path) -> list[Built]:
    """Return the files of one lesson: its source with the bodies filled in, and its notebooks."""
    is_own = source.name == "lesson.py"  # kept outside the kit
    lesson, folder = (source.parent.name, source.parent) if is_own else (source.stem, NOTEBOOKS)
    solved = fill(source.read_text(encoding="utf-8"), lesson)
    cells = list(cells_of(solved))
    check_lesson(lesson, cells)
    table, mistakes = table_file(lesson)
    files = [
        Built(source, solved.encode()),
        Built(folder / f"{lesson}.ipynb", notebook(cells, for_nbgrader=False).encode()),
        Built(NBGRADER_SOURCE / lesson / f"{lesson}.ipynb", notebook(cells, for_nbgrader=True).encode()),
        Built(table, mistakes.encode()),
    ]
    return files if is_own else [*files, *_in_other_languages(lesson, cells, json.loads(mistakes))]


def _in_other_languages(lesson: str, cells: list[Cell], mistakes: dict[str, Any]) -> Iterator[Built]:
    """Yield the translations of a lesson, brought up to date, and its notebook in each language."""
    prose = [cell.source for cell in cells if cell.kind == "markdown"]
    drawing = [cell.source for cell in cells if cell.kind == "code" and "viz." in cell.source]
    for language in translation.languages():
        catalog = translation.updated(language, lesson, translation.lesson_messages(lesson, prose, drawing, mistakes))
        yield from (Built(*file) for file in translation.files(catalog))
        translate = translation.translator(catalog)
        translated = [replace(cell, source=translate(cell.source), english=cell.source) for cell in cells]
        text = notebook(translated, for_nbgrader=False, language=language)
        yield Built(NOTEBOOKS / language / f"{lesson}.ipynb", text.encode())


def notebook(cells: list[Cell], for_nbgrader: bool, language: str = ENGLISH) -> str:
    """Return a notebook as text: the learner's with stubs, or nbgrader's with solutions and hidden tests."""
    made = [_notebook_cell(cell, for_nbgrader, language) for cell in cells]
    made[1:1] = [] if for_nbgrader else install_cell()  # below the title
    identities = [cell.id for cell in made]
    if len(set(identities)) < len(identities):
        raise BuildError("Two cells of a lesson have the same content, so they cannot be told apart.")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    if language != ENGLISH:
        metadata["dspark"] = {"language": language}
    document = new_notebook(cells=made, metadata=metadata)
    nbformat.validate(document)
    return str(nbformat.writes(document)) + "\n"


def _notebook_cell(cell: Cell, for_nbgrader: bool, language: str) -> Any:
    name = f"{cell.role}-{cell.task.id.replace('.', '-')}" if cell.task else _content_name(cell)
    if cell.kind == "markdown":
        return new_markdown_cell(cell.source, id=name, metadata={"lang": language})
    source = cell.source
    if cell.task and cell.role == "task":
        source = solved_for_nbgrader(cell) if for_nbgrader else stubbed(cell)
    if cell.role == "check" and for_nbgrader:
        source = HIDDEN_TESTS + source
    metadata: dict[str, Any] = {"dspark": {"role": cell.role} | ({"task": cell.task.id} if cell.task else {})}
    if cell.role in ("task", "given", "check", "setup"):
        metadata["nbgrader"] = _nbgrader_metadata(cell, name)
    return new_code_cell(source.rstrip("\n"), id=name, metadata=metadata)


def _nbgrader_metadata(cell: Cell, name: str) -> dict[str, Any]:
    """Return complete nbgrader metadata, schema 3: a solution to fill in, a graded test, or a read-only cell."""
    metadata = {
        "grade": cell.role == "check",
        "grade_id": name,
        "locked": cell.role != "task",
        "schema_version": 3,
        "solution": cell.role == "task",
        "task": False,
    }
    if cell.role == "check" and cell.task:
        metadata["points"] = cell.task.max_points
    return metadata


def _content_name(cell: Cell) -> str:
    return f"{cell.role or cell.kind}-{hashlib.sha256((cell.english or cell.source).encode()).hexdigest()[:8]}"
