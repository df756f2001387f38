"""The checks, one file a lesson: every graded task with its properties, visible examples and hidden cases."""

import importlib
import pkgutil

from grader.lessons.tasks import Task

_LESSONS = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lesson_"))

TASKS: dict[str, Task] = {
    task.id: task for name in _LESSONS for task in importlib.import_module(f"{__name__}.{name}").TASKS
}
