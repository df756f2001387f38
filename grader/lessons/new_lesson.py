"""`dspark-mini new-lesson`: a lesson outside the kit, made from the files in template/."""

from __future__ import annotations

import keyword
from pathlib import Path

from dspark_mini.workspace import UserError, own_lessons
from grader.lessons.checks import TASKS
from grader.lessons.own import NAME

TEMPLATE = Path(__file__).parent / "template"


def new_lesson(name: str) -> Path:
    """Write a lesson with one task, which builds, checks and grades as it stands.

    Args:
        name: Of the lesson, such as 11_my_topic; the task's function is called my_topic.

    Returns:
        The lesson's directory.

    Raises:
        UserError: The name is not one of a lesson, or is taken.
    """
    number, function, folder = name[:2], name[3:], own_lessons() / name
    if not NAME.fullmatch(name) or keyword.iskeyword(function):
        raise UserError(f"A lesson is named like 11_my_topic (10 to 99, small letters), not {name!r}.")
    for task in TASKS.values():
        if task.lesson[:2] == number or task.function == function:
            raise UserError(f"{name} cannot be made: task {task.id}, {task.function}, has this number or name already.")
    try:
        folder.mkdir(parents=True)
        for file in sorted(TEMPLATE.glob("*.*")):
            text = file.read_text(encoding="utf-8").replace("99", number).replace("my_topic", function)
            title = text.replace("My topic", function.replace("_", " ").capitalize())
            (folder / file.name).write_text(title, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from error
    return folder
