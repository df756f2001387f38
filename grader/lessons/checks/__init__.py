"""The visible half of the checks, one or two files per lesson: every graded task with its properties and examples."""

import importlib
import pkgutil

from grader.lessons.own import own_tasks
from grader.lessons.tasks import Task

try:
    from grader.lessons.hidden import HIDDEN
except ModuleNotFoundError:  # a learner's bundle
    HIDDEN = {}

_LESSONS = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lesson_"))

TASKS: dict[str, Task] = {
    task.id: task.with_hidden(HIDDEN.get(task.id))
    for name in _LESSONS
    for task in importlib.import_module(f"{__name__}.{name}").TASKS
}
TASKS |= own_tasks(TASKS)
