"""A learner's own notebooks: which file holds a lesson, what it earns, and what comes next."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from dspark_mini.language import N_, _
from dspark_mini.workspace import count_hint, is_fresh, lesson_names, recorded_checks
from grader.check.report import PASS, Report
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.read.submissions import Source, Unreadable, read_submission
from grader.run.grading import Result, grade
from grader.run.process import child_library
from grader.run.scratch import scratch_folder

KEPT = re.compile(r"\.kept-\d+$")  # what `reset` set aside


class OwnWork:
    """The notebooks of one directory, checked in processes that share one copy of the kit."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder, self.library = folder, library
        self.renamed = {path: _lesson_in(path) for path in sorted(folder.glob("*.ipynb")) if _is_renamed(path)}

    def notebook(self, lesson: str) -> Path | None:
        """Return the notebook of a lesson; one under another name where that of its own name is missing or fresh."""
        own = self.folder / f"{lesson}.ipynb"
        others = [path for path, held in self.renamed.items() if held == lesson]
        if others and (not own.is_file() or is_fresh(own, lesson)):
            return max(others, key=lambda path: path.stat().st_mtime)
        return own if own.is_file() else None

    def check(self, notebook: Path) -> Result:
        """Check a notebook; its code has the rights that it has in Jupyter."""
        return grade(Source(notebook.name, notebook), self.library, sandbox=False)

    def report(self, task: Task) -> Report | None:
        """Check one task; None if there is no notebook, or one that cannot be read."""
        notebook = self.notebook(task.lesson)
        reports = self.check(notebook).reports if notebook else ()
        return next((report for report in reports if report.task == task.id), None)

    def next_notebook(self) -> Path | None:
        """Return the first notebook that is not solved, or the last one if all are."""
        notebook = None
        for lesson in lesson_names():
            notebook = self.notebook(lesson) or notebook
            if notebook is not None and (is_fresh(notebook, lesson) or self.check(notebook).status != PASS):
                break
        return notebook


@contextmanager
def own_work(folder: Path) -> Iterator[OwnWork]:
    """Open a learner's directory."""
    with scratch_folder(), child_library() as library:
        yield OwnWork(folder, library)


def next_notebook(folder: Path) -> Path | None:
    """Return the first notebook of a learner's directory that is not solved, or the last one if all are."""
    with own_work(folder) as work:
        return work.next_notebook()


def why_unreadable(notebook: Path, reason: str) -> str:
    """Say that a notebook cannot be checked, and what to do."""
    lesson = next((name for name in lesson_names() if notebook.stem.startswith(name)), "")
    reset = (
        _(" `dspark-mini reset {lesson}` sets it aside and copies a fresh one.", lesson=lesson[:2]) if lesson else ""
    )
    earlier = notebook.parent / ".ipynb_checkpoints" / f"{notebook.stem}-checkpoint.ipynb"
    kept = _(" JupyterLab kept an earlier version in {earlier}.", earlier=earlier) if earlier.is_file() else ""
    return _(
        "{notebook} cannot be checked. {reason}{reset}{kept}", notebook=notebook, reason=reason, reset=reset, kept=kept
    )


def unsaved(notebook: Path, reports: Sequence[Report]) -> list[str]:
    """Name the tasks that got another result in the notebook, after the file was saved."""
    saved, checks = notebook.stat().st_mtime, recorded_checks(notebook.parent)
    found = []
    for report in reports:
        status, points, at = checks.get(report.task, (report.status, report.points, 0.0))
        if at > saved and (status, points) != (report.status, report.points):
            found.append(report.task)
    return found


def when_saved(notebook: Path) -> str:
    """Say when a notebook was saved: "saved at 14:03, 2 minutes ago"."""
    saved = notebook.stat().st_mtime
    ago = max(int(time.time() - saved), 0)
    units = (
        (86400, N_("saved at {at}, 1 day ago"), N_("saved at {at}, {count} days ago")),
        (3600, N_("saved at {at}, 1 hour ago"), N_("saved at {at}, {count} hours ago")),
        (60, N_("saved at {at}, 1 minute ago"), N_("saved at {at}, {count} minutes ago")),
        (1, N_("saved at {at}, 1 second ago"), N_("saved at {at}, {count} seconds ago")),
    )
    seconds, one, many = next((unit for unit in units if ago >= unit[0]), units[-1])
    count = ago // seconds
    day = "%Y-%m-%d %H:%M" if ago >= 43200 else "%H:%M"
    at = time.strftime(day, time.localtime(saved))
    return _(one if count == 1 else many, at=at, count=count)


def after_lesson(lesson: str) -> str:
    """Say that a lesson is complete, and name the next one."""
    later = [f"{name}.ipynb" for name in lesson_names() if name > lesson]
    return _("Lesson {lesson} is complete. ", lesson=lesson[:2]) + (
        _("Next: {notebook}.", notebook=later[0]) if later else _("It was the last one.")
    )


def next_hint(task: Task, folder: Path, passes: bool) -> str:
    """Return the next of a task's hints, or the reference once the task passes; hints are counted in the directory."""
    if passes:
        reference = task.reference_source
        return _("Task {id} passes.", id=task.id) + (
            _(" Compare with the reference:\n\n{reference}", reference=reference) if reference else ""
        )
    number, total = count_hint(task.id, folder), len(task.hints)
    if number > total:
        return "\n\n".join(
            [
                _(
                    "The {total} hints for task {id}, {function}, once more:",
                    total=total,
                    id=task.id,
                    function=task.function,
                ),
                *map(_, task.hints),
            ]
        )
    return _(
        "Hint {number} of {total} for task {id}, {function}:\n\n{hint}",
        number=number,
        total=total,
        id=task.id,
        function=task.function,
        hint=_(task.hints[number - 1]),
    )


def no_task(text: str) -> str:
    """Say that there is no such task, and name those of the lesson that it may belong to."""
    number = text.split(".")[0]
    ids = [task.id for task in TASKS.values() if task.lesson.split("_")[0] == number.zfill(2)]
    known = [task_id for task_id in ids if not task_id.endswith(".case")]
    near = get_close_matches(text, TASKS, 1)
    if known:
        return _(
            "There is no task {text!r}; those of lesson {number} are {known}.",
            text=text,
            number=number,
            known=", ".join(known),
        )
    return _("There is no task {text!r}; ", text=text) + (
        _("the nearest is {near}.", near=near[0]) if near else _("`dspark-mini check` lists them.")
    )


def _is_renamed(path: Path) -> bool:
    return path.stem not in lesson_names() and not KEPT.search(path.stem)


def _lesson_in(path: Path) -> str | None:
    try:
        return read_submission(Source(path.name, path)).lesson
    except Unreadable:
        return None
