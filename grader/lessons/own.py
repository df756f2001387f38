"""Lessons kept outside the kit, one directory each: `reference`, `checks` and `hidden` import as modules from there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from dspark_mini.workspace import UserError, own_files, own_lessons
from grader.lessons.tasks import Task
from grader.run.child.calling import line_in

__path__ = [str(own_lessons())]  # makes this module a package, whose parts are the lessons
NAME = re.compile(r"[1-9]\d_[a-z][a-z0-9_]*")  # of a lesson


def own_tasks(kit: Mapping[str, Task]) -> dict[str, Task]:
    """Load the tasks of every lesson kept outside the kit.

    Args:
        kit: Tasks of the kit, by id.

    Raises:
        UserError: A lesson cannot be loaded, or has a number, an id or a function's name that is taken.
    """
    found: dict[str, Task] = {}
    for path in own_files("checks.py"):
        tasks = list(_tasks_in(path))
        for task in tasks:
            if fault := _fault(task, path.parent.name, [*kit.values(), *found.values()]):
                raise UserError(f"{path} cannot be used: {fault}.")
            found[task.id] = task
    return found


def _tasks_in(path: Path) -> Iterator[Task]:
    here = path
    try:
        tasks = importlib.import_module(f"{__name__}.{path.parent.name}.checks").TASKS
        here, hidden = path.with_name("hidden.py"), {}
        if here.is_file():  # a learner's bundle has none
            hidden = importlib.import_module(f"{__name__}.{path.parent.name}.hidden").HIDDEN
        if unknown := set(hidden) - {task.id for task in tasks}:
            raise ValueError(f"there is no task {min(unknown)!r}")
        yield from (task.with_hidden(hidden.get(task.id)) for task in tasks)
    except Exception as error:
        line = line_in(error, str(here))
        where = f"{here}, line {line}," if line else str(here)
        raise UserError(f"{where} cannot be used: {type(error).__name__}: {error}") from error


def _fault(task: Task, lesson: str, others: list[Task]) -> str:
    """Say why a task cannot stand beside the others, if it cannot."""
    number = lesson[:2]
    if not NAME.fullmatch(lesson):
        return f"a lesson's directory is named like 11_my_topic, not {lesson}"
    if task.lesson != lesson or not task.id.startswith(f"{number}."):
        return f"task {task.id} of lesson {task.lesson} stands in the directory of lesson {lesson}"
    for other in others:
        if other.lesson != lesson and other.lesson[:2] == number:
            return f"number {number} is that of lesson {other.lesson}"
        if other.id == task.id:
            return f"there are two tasks {task.id}"
        if other.function == task.function:
            return f"task {task.id} has the function {task.function}, which is that of task {other.id}"
    return "" if hasattr(task.reference, "contract") else f"the function of task {task.id} needs @takes(…) above it"
