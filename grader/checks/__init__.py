"""The checks, one file a lesson: every graded task with its properties, visible examples and hidden cases."""

from grader.checks import lesson_02
from grader.tasks import Task

TASKS: dict[str, Task] = {task.id: task for lesson in (lesson_02,) for task in lesson.TASKS}
