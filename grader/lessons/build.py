"""`dspark-mini build`: from one source per lesson to everything that is handed out.

A lesson is a jupytext percent file in solutions/. Its cells carry at most one mark:

    # %% task="2.1"        the reference of the task, with a solution region that learners get as a stub
    # %% bug="8.3"         likewise, but learners get the code with a bug in place of the solution region
    # %% given="record"    the reference of a task whose solution is given
    # %% check="2.1"       the cell that checks the learner's function
    # %% role="setup"      imports; handed out as they stand (likewise "show" and "picture")

The bodies of the first four are written by the build, from the library and from the checks. The lines with the bug
are the body of the function of the same name in dspark_mini/clinic_bugs.py.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from dspark_mini.language import ENGLISH
from dspark_mini.paper import SAYS
from dspark_mini.workspace import own_files
from grader.check.report import FAIL, MISSING, PARTIAL
from grader.lessons import translation
from grader.lessons.checks import TASKS
from grader.lessons.mistake_tables import table_file
from grader.lessons.paths import NBGRADER_SOURCE, NOTEBOOKS, SOLUTIONS
from grader.lessons.stubs import REGION, BuildError, buggy_lines, contract_imports, short_docstring
from grader.lessons.tasks import Task

STUB_COMMENT = "# YOUR CODE HERE, in place of what follows"  # the same text stands in grader/nbgrader_config.py
HIDDEN_TESTS = "### BEGIN HIDDEN TESTS\nfrom grader import points as check\n### END HIDDEN TESTS\n"
PAPER = re.compile(r"\{paper:(\w+)\}")  # stands for a sentence of dspark_mini.paper
MARKS = ("task", "bug", "given", "check")
FREE_SHARE = 3  # a bug that nobody has touched earns at most one point in so many


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
    files += [Built(*file) for file in translation.document_files()]
    if check:
        files = [file for file in files if not file.path.is_relative_to(NBGRADER_SOURCE)]
    changed = [file for file in files if not file.is_current]
    for file in changed if not check else ():
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(file.content)
    return changed


def _sources() -> list[Path]:
    return [*sorted(SOLUTIONS.glob("[0-9]*.py")), *own_files("lesson.py")]


def lesson_files(source: Path) -> list[Built]:
    """Return the files of one lesson: its source with the bodies filled in, and its notebooks."""
    is_own = source.name == "lesson.py"  # kept outside the kit
    lesson, folder = (source.parent.name, source.parent) if is_own else (source.stem, NOTEBOOKS)
    solved = fill(source.read_text(encoding="utf-8"), lesson)
    cells = list(_cells(solved))
    _check_lesson(lesson, cells)
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
    for language in translation.languages():
        catalog = translation.updated(language, lesson, translation.lesson_messages(lesson, prose, mistakes))
        yield from (Built(*file) for file in translation.files(catalog))
        translate = translation.translator(catalog)
        translated = [replace(cell, source=translate(cell.source), english=cell.source) for cell in cells]
        text = notebook(translated, for_nbgrader=False, language=language)
        yield Built(NOTEBOOKS / language / f"{lesson}.ipynb", text.encode())


def fill(text: str, lesson: str) -> str:
    """Write the reference or the check call into every marked cell of a percent source."""
    parts = re.split(r"^(?=# %%)", text, flags=re.M)
    filled = []
    for part in parts:
        header, _, body = part.partition("\n")
        mark = re.fullmatch(rf'# %% ({"|".join(MARKS)})="([^"]*)"', header.strip())
        if mark:
            body = _body(mark[1], _task(mark[2], lesson)) + "\n"
        if header == '# %% role="setup"':
            body = re.sub(r"^from grader import check$", "from grader import check, hint", body, flags=re.M)
        filled.append(f"{header}\n{body}" if part else "")
    return "".join(filled).rstrip("\n") + "\n"


def stubbed(cell: Cell) -> str:
    """Replace the solution region of a task's cell by a stub that raises at the very place, or by the bug."""
    return REGION.sub(lambda m: f"{m[1]}{STUB_COMMENT}\n{_left_over(m[1], cell)}", cell.source + "\n")


def solved_for_nbgrader(cell: Cell) -> str:
    """Let what learners get follow the solution, where nbgrader leaves it when it cuts the solution out.

    The solution ends in a return, so that nothing after it runs before it is cut out.
    """
    return REGION.sub(lambda m: m[0] + _left_over(m[1], cell), cell.source + "\n")


def solution_lines(solution: str) -> int:
    """Count the lines that the learner has to write: code of the solution region, comments left out."""
    region = REGION.search(solution)
    lines = region[2].splitlines() if region else []
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def notebook(cells: list[Cell], for_nbgrader: bool, language: str = ENGLISH) -> str:
    """Return a notebook as text: the learner's with stubs, or nbgrader's with solutions and hidden tests."""
    made = [_notebook_cell(cell, for_nbgrader, language) for cell in cells]
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


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson: prose or code, with the role it plays and the task it belongs to."""

    kind: str  # 'markdown' or 'code'
    role: str  # 'task', 'given', 'check', 'setup', 'show', 'picture' or ''
    source: str
    task: Task | None = None
    has_bug: bool = False  # learners get a bug to repair, not a stub
    english: str = ""  # of a translated cell, by which it is named


def _cells(text: str) -> Iterator[Cell]:
    import jupytext

    for cell in jupytext.reads(text, fmt="py:percent").cells:
        mark = next((m for m in MARKS if m in cell.metadata), "")
        task = TASKS[cell.metadata[mark]] if mark else None
        role = "task" if mark == "bug" else mark or cell.metadata.get("role", "")
        yield Cell(cell.cell_type, role, PAPER.sub(_paper_says, cell.source), task, mark == "bug")


def _paper_says(mark: re.Match[str]) -> str:
    if mark[1] not in SAYS:
        raise BuildError(f"A lesson says {mark[0]}; dspark_mini.paper has {', '.join(SAYS)}.")
    return SAYS[mark[1]]


def _task(identity: str, lesson: str) -> Task:
    if identity not in TASKS or TASKS[identity].lesson != lesson:
        raise BuildError(f"Lesson {lesson} names the task {identity!r}, but no check of this lesson has that id.")
    return TASKS[identity]


def _body(mark: str, task: Task) -> str:
    """Return what belongs into a marked cell of the solved lesson."""
    if mark == "check":
        return f'check("{task.id}", {task.function})\n'
    source = inspect.getsource(task.reference)
    body = short_docstring(REGION.sub(lambda m: m[2], source) if mark == "given" else source)
    return contract_imports(source) + body


def _left_over(indent: str, cell: Cell) -> str:
    """Return what learners find in place of the solution region: the line that raises, or the lines with the bug."""
    assert cell.task is not None
    return textwrap.indent(buggy_lines(cell.task), indent) if cell.has_bug else _raise_line(indent, cell.task)


def _raise_line(indent: str, task: Task) -> str:
    count = solution_lines(inspect.getsource(task.reference))
    lines = "1 line" if count == 1 else f"{count} lines"
    return f'{indent}raise NotImplementedError("TODO {task.id} (about {lines}): {task.todo}.")\n'


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


def _check_lesson(lesson: str, cells: list[Cell]) -> None:
    """Refuse a lesson whose stubs pass, whose solutions fail, or that is otherwise not fit to be handed out."""
    tasks = [task for task in TASKS.values() if task.lesson == lesson]
    for task in tasks:
        roles = [cell.role for cell in cells if cell.task is task]
        if sorted(roles) not in (["check", "task"], ["check", "given"]):
            raise BuildError(f"Lesson {lesson} needs one cell with task {task.id} and one with its check, not {roles}.")
        texts = [*task.hints, task.todo, *(text for p in task.properties for text in (p.hint, p.says))]
        if not all(text.strip() for text in texts):
            raise BuildError(f"Task {task.id} has an empty hint or an empty property.")
    _check_needs(lesson, cells)
    _check_stubs(cells, tasks)
    _check_solutions(cells, tasks)


def _check_needs(lesson: str, cells: list[Cell]) -> None:
    later = {task.function: task for task in TASKS.values() if task.lesson > lesson}
    for cell in cells:
        if cell.kind != "code":
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(cell.source))):
            name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
            if name in later:
                raise BuildError(f"Lesson {lesson} uses {name}, which is task {later[name].id} of a later lesson.")


def _check_stubs(cells: list[Cell], tasks: list[Task]) -> None:
    namespace = _run(cells, stubbed)
    with_bug = [cell.task for cell in cells if cell.has_bug]
    for task in tasks:
        report = task.check(namespace[task.function])
        if task not in with_bug and report.status != MISSING:
            raise BuildError(f"The stub of task {task.id} must raise NotImplementedError, but it got: {report}")
        if task in with_bug and report.status not in (FAIL, PARTIAL):
            raise BuildError(f"The bug of task {task.id} must run and fail its check, but it got: {report}")
        if task in with_bug and report.points * FREE_SHARE > report.max_points:
            raise BuildError(f"The bug of task {task.id} earns too much as it stands. {report}")


def _check_solutions(cells: list[Cell], tasks: list[Task]) -> None:
    namespace = _run(cells, solved_for_nbgrader)
    for task in tasks:
        report = task.check(namespace[task.function])
        if not report.passed:
            raise BuildError(f"The solved lesson fails its own check. {report}")


def _run(cells: list[Cell], version: Callable[[Cell], str]) -> dict[str, Any]:
    """Run the cells that define something, setup and tasks, in one namespace; the tasks in the version given."""
    namespace: dict[str, Any] = {"__name__": "lesson"}
    for cell in cells:
        if cell.role in ("setup", "task", "given"):
            source = version(cell) if cell.role == "task" else cell.source
            exec(compile(source, f"cell {cell.role}", "exec"), namespace)
    return namespace
