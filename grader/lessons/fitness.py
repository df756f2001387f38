"""What is refused: a lesson whose stubs pass, whose solutions fail, or that needs a later one."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

from grader.check.report import FAIL, MISSING, PARTIAL
from grader.lessons.checks import TASKS
from grader.lessons.sources import Cell, solved_for_nbgrader, stubbed
from grader.lessons.stubs import BuildError
from grader.lessons.tasks import Task

FREE_SHARE = 3  # a bug that nobody has touched earns at most one point in so many


def check_lesson(lesson: str, cells: list[Cell]) -> None:
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
    check_stubs(cells, tasks)
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


def check_stubs(cells: list[Cell], tasks: list[Task]) -> None:
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
