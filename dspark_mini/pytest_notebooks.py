"""A pytest plugin for lessons: `pytest work/02_parallel_drafting.ipynb` runs one test per task.

The checks are in grader/, which the wheel does not contain; so they are imported only when a notebook is collected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a lesson's notebook that was named on the command line.

    Its code runs without a sandbox, so a notebook that pytest only finds in a directory, such as somebody else's
    submission, is not collected.
    """
    if file_path.suffix != ".ipynb" or not parent.session.isinitpath(file_path):
        return None
    try:
        from grader.read.submissions import Source, Unreadable, read_submission
    except ImportError:
        return None
    try:
        tasks = read_submission(Source(file_path.name, file_path)).tasks
    except Unreadable:
        return None
    notebook: LessonFile = LessonFile.from_parent(parent, path=file_path)
    notebook.tasks = tasks
    return notebook


class LessonFile(pytest.File):
    """A learner's notebook; it is graded once, in a process of its own, when its first test runs."""

    tasks: Sequence[Any] = ()
    result: Any = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test per task."""
        for task in self.tasks:
            yield TaskItem.from_parent(self, name=f"{task.id} {task.function}", task=task.id)

    def report(self, task: str) -> Any:
        """Return the report of one task, or why there is none."""
        from grader.run.grading import grade_own_notebook

        if self.result is None:
            self.result = grade_own_notebook(self.path)
        return next((report for report in self.result.reports if report.task == task), self.result.reason)


class TaskItem(pytest.Item):
    """One task of a notebook; it passes if all properties of the task hold."""

    def __init__(self, *, task: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.task = task

    def runtest(self) -> None:
        """Fail with the task's report as the message."""
        report = self.parent.report(self.task)  # type: ignore[union-attr]
        if isinstance(report, str) or not report.passed:
            raise TaskFails(str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report without a traceback into dspark_mini."""
        return str(excinfo.value) if isinstance(excinfo.value, TaskFails) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the task in pytest's summary."""
        return self.path, None, self.name


class TaskFails(AssertionError):
    """The report of a task that does not pass."""
