"""The sources of the lessons: jupytext percent files in solutions/, and their cells in the versions that are built.

A cell carries at most one mark:

    # %% task="2.1"        the reference of the task, with a solution region that learners get as a stub
    # %% bug="8.3"         likewise, but learners get the code with a bug in place of the solution region
    # %% given="record"    the reference of a task whose solution is given
    # %% check="2.1"       the cell that checks the learner's function
    # %% role="setup"      imports; handed out as they stand (likewise "show" and "picture")

The bodies of the first four are written by the build, from the library and from the checks. The lines with the bug
are the body of the function of the same name in dspark_mini/clinic_bugs.py.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from dspark_mini.paper import SAYS
from grader.lessons.checks import TASKS
from grader.lessons.stubs import REGION, BuildError, buggy_lines, contract_imports, short_docstring
from grader.lessons.tasks import Task

STUB_COMMENT = "# YOUR CODE HERE, in place of what follows"  # the same text stands in grader/nbgrader_config.py
PAPER = re.compile(r"\{paper:(\w+)\}")  # stands for a sentence of dspark_mini.paper
MARKS = ("task", "bug", "given", "check")


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson: prose or code, with the role it plays and the task it belongs to."""

    kind: str  # 'markdown' or 'code'
    role: str  # 'task', 'given', 'check', 'setup', 'show', 'picture' or ''
    source: str
    task: Task | None = None
    has_bug: bool = False  # learners get a bug to repair, not a stub
    english: str = ""  # of a translated cell, by which it is named


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


def cells_of(text: str) -> Iterator[Cell]:
    """Read the cells of a percent source."""
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


def _left_over(indent: str, cell: Cell) -> str:
    """Return what learners find in place of the solution region: the line that raises, or the lines with the bug."""
    assert cell.task is not None
    return textwrap.indent(buggy_lines(cell.task), indent) if cell.has_bug else _raise_line(indent, cell.task)


def _raise_line(indent: str, task: Task) -> str:
    count = solution_lines(inspect.getsource(task.reference))
    lines = "1 line" if count == 1 else f"{count} lines"
    return f'{indent}raise NotImplementedError("TODO {task.id} (about {lines}): {task.todo}.")\n'
