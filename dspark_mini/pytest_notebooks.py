"""pytest for a lesson's notebook: `pytest work/02_parallel_drafting.ipynb` shows one item a task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the notebooks that were named and hold a task of the kit; all others are left to whoever wants them.

    A notebook is run without a sandbox, so what merely lies in a folder, as others' submissions may, is not collected.
    """
    if file_path.suffix != ".ipynb" or not parent.session.isinitpath(file_path):
        return None
    try:
        from grader.read.submissions import Source, Unreadable, read_submission
    except ImportError:  # the wheel alone brings no checks
        return None
    try:
        read_submission(Source(file_path.name, file_path))
    except Unreadable:
        return None
    collector: pytest.Collector = LessonFile.from_parent(parent, path=file_path)
    return collector


class LessonFile(pytest.File):
    """A learner's notebook; it is graded once, in a process of its own, when its first item runs."""

    result: Any = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item a task."""
        from grader.read.submissions import Source, read_submission

        for task in read_submission(Source(self.path.name, self.path)).tasks:
            yield TaskItem.from_parent(self, name=f"{task.id} {task.function}", task=task.id)

    def reports(self) -> dict[str, Any]:
        """Return the reports of all tasks by id."""
        from grader.read.submissions import Source
        from grader.run.grading import grade
        from grader.run.process import child_library

        if self.result is None:
            with child_library() as library:
                self.result = grade(Source(self.path.name, self.path), library, sandbox=False)
        return {report.task: report for report in self.result.reports}


class TaskItem(pytest.Item):
    """One task of a notebook: passes where every property of it holds."""

    def __init__(self, *, task: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.task = task

    def runtest(self) -> None:
        """Fail with the report as the message."""
        report = self.parent.reports()[self.task]  # type: ignore[union-attr]
        if not report.passed:
            raise TaskFails(str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report itself, without a traceback into the kit."""
        return str(excinfo.value) if isinstance(excinfo.value, TaskFails) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the task in the summary."""
        return self.path, None, self.name


class TaskFails(AssertionError):
    """The task's report, as an exception."""
