"""Recording results in nbgrader's gradebook, with the notebooks that its formgrader and feedback show.

One submission is one transaction: it is recorded completely or not at all. What people have entered there
(scores, extra credit, comments, extensions) stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

import nbformat
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_task
from traitlets.config.loader import PyFileConfigLoader

from dspark_mini.workspace import handed_out
from grader.export.nbgrader_cells import KnownCell, known_cells
from grader.export.nbgrader_database import (
    PATIENCE,
    GradebookBusy,
    GradebookError,
    alone,
    default_url,
    open_gradebook,
    sentences,
)
from grader.export.nbgrader_notebook import mark, part_file, publish, read_notebook, repaired, timestamp_beside
from grader.export.rosters import why_no_score
from grader.lessons.paths import NBGRADER_SOURCE, ROOT
from grader.read.submissions import lessons
from grader.run.grading import UNREADABLE

COURSE = NBGRADER_SOURCE.parent
CONFIG = "nbgrader_config.py"
MAX_NAME = 128  # characters of a student's name in nbgrader's tables


class NotRecorded(Exception):
    """A result that cannot be recorded; the message is a sentence that says why."""


def record(
    results: Iterable[Mapping[str, Any]],
    course: Path = COURSE,
    db_url: str | None = None,
    notebooks: Iterable[Path] | None = None,
) -> list[str]:
    """Write results into a gradebook and their notebooks into the course's folder autograded/.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        course: the course's folder, with nbgrader's source/, submitted/ and so on in it.
        db_url: SQLAlchemy's address of the gradebook; without it, gradebook.db in the course's folder.
        notebooks: the submitted files, in the order of the results; without them, those in submitted/ of the course.

    Returns:
        A sentence for each result that cannot be recorded.

    Raises:
        GradebookError: the gradebook cannot be used.
        GradebookBusy: it is locked for too long, or its server is gone; what came before is recorded.
    """
    left, refused = list(results), list[str]()
    files: Iterable[Path | None] = repeat(None) if notebooks is None else notebooks
    try:
        with Recorder(course, db_url) as recorder:
            for result, notebook in zip([*left], files):
                try:
                    recorder.record(result, notebook)
                except NotRecorded as error:
                    refused.append(str(error))
                del left[0]
    except GradebookBusy as busy:
        busy.left_out = [row["submission"] for row in left if row["score"] is not None]
        raise
    return refused


class Recorder:
    """An open gradebook that records results one by one."""

    def __init__(self, course: Path, db_url: str | None = None, patience: float = PATIENCE) -> None:
        """Open the gradebook, and make it where there is none.

        Args:
            course: the course's folder.
            db_url: SQLAlchemy's address of the gradebook; without it, gradebook.db in the course's folder.
            patience: how many seconds to wait for another program that holds the gradebook.

        Raises:
            GradebookError: the gradebook cannot be used.
        """
        if not course.is_dir():
            raise GradebookError(f"There is no folder {course} of a course; `dspark-mini build` makes {COURSE}.")
        self.course, self.db_url, self.patience = course.resolve(), db_url or default_url(course), patience
        self.config = _configuration(self.course)
        self.book = open_gradebook(self.db_url, self.config.CourseDirectory.get("course_id", "dspark_mini"), patience)
        self.done: set[tuple[str, str]] = set()
        self.known: dict[str, dict[str, KnownCell]] = {}  # the cells of the lessons that stand in the gradebook
        self.one_at_a_time = threading.Lock()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.book.close()

    def record(self, result: Mapping[str, Any], notebook: Path | None = None) -> None:
        """Record one result completely or not at all. Several threads may call this.

        Args:
            result: one object of the list that `dspark-mini grade --json` writes.
            notebook: the submitted file; without it, submitted/<student>/<lesson>/<lesson>.ipynb of the course.

        Raises:
            NotRecorded: The result cannot be recorded.
            GradebookError: the gradebook cannot be written.
        """
        with self.one_at_a_time:
            lesson, student, path = self._place(result, notebook)
            timestamp = timestamp_beside(path)
            with part_file(self.course / "autograded") as part:
                with sentences(self.db_url, self.patience), self._transaction():
                    known = self.known.get(lesson) or known_cells(self.book, lesson, self.course)
                    document = _marked(result, lesson, path, known)
                    self._enter(document, lesson, student, timestamp, result.get("late"))
                    part.write_text(nbformat.writes(document) + "\n", encoding="utf-8")
                publish(part, self.course / "autograded" / student / lesson / f"{lesson}.ipynb", timestamp)
            self.known[lesson] = known
            self.done.add((lesson, student))

    def _place(self, result: Mapping[str, Any], notebook: Path | None) -> tuple[str, str, Path]:
        """Return the lesson and the student that a result belongs to, and the file that was graded."""
        name, lesson = result["submission"], result["lesson"]
        if result["score"] is None:
            raise NotRecorded(f"{name!r} is not recorded: {why_no_score(result)}")
        if lesson is None:
            raise NotRecorded(f"{name!r} is not recorded: it is not the notebook of one lesson.")
        student = student_of(name, lesson)
        path = notebook or self.course / "submitted" / student / lesson / f"{lesson}.ipynb"
        if (lesson, student) in self.done:
            raise NotRecorded(f"{name!r} is not recorded: another submission of {lesson} by {student!r} stands there.")
        if path.parent.name in lessons() and path.parent.name != lesson:
            raise NotRecorded(f"{name!r} is not recorded: it holds {lesson}, but lies in a folder {path.parent.name}.")
        if not os.path.lexists(path) and result["status"] != UNREADABLE:
            raise NotRecorded(f"{name!r} is not recorded: there is no {str(path)!r}.")
        return lesson, student, path

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Make one transaction of all that nbgrader's gradebook commits in between."""
        with alone(self.book.engine, self.patience) as connection:
            self.book.db.configure(bind=connection, join_transaction_mode="create_savepoint")
            try:
                yield
                self.book.db.commit()
            finally:
                self.book.db.remove()

    def _enter(self, document: Any, lesson: str, student: str, timestamp: str | None, late: Any) -> None:
        """Enter the scores of a marked notebook, as nbgrader's own SaveAutoGrades does."""
        self.book.update_or_create_student(student)
        given = {"timestamp": timestamp} if timestamp else {}
        with self.book.db.no_autoflush:
            self.book.update_or_create_submission(lesson, student, **given)
        submitted = self.book.find_submission_notebook(lesson, lesson, student)
        cells = {cell.metadata.nbgrader["grade_id"]: cell for cell in document.cells if "nbgrader" in cell.metadata}
        for grade in submitted.grades:
            if is_grade(cells[grade.name]):
                grade.auto_score = determine_grade(cells[grade.name])[0]
                grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        for comment in submitted.comments:
            comment.auto_comment = "No response." if _is_untouched(cells.get(comment.name)) else None
        self.book.db.flush()
        if late is None:
            self._penalise(submitted)
        else:  # the policy that `grade --late` was given
            self.book.db.refresh(submitted, ["score"])
            submitted.late_submission_penalty = submitted.score * (1 - late["share"]) if late["share"] < 1 else None

    def _penalise(self, submitted: Any) -> None:
        """Let the course's plugin for late submissions decide; where it has none, a penalty stays as it was entered."""
        assigner = AssignLatePenalties(config=self.config)
        assigner.init_plugin()
        plugin = assigner.plugin_inst
        if getattr(plugin, "penalty_method", "") == "none" or submitted.assignment.assignment.duedate is None:
            return
        self.book.db.refresh(submitted, ["score"])
        late, penalty = submitted.assignment.total_seconds_late, None
        if late > 0:
            penalty = plugin.late_submission_penalty(submitted.student.id, submitted.score, late)
        submitted.late_submission_penalty = None if penalty is None else min(max(penalty, 0), submitted.score)


def student_of(submission: str, lesson: str) -> str:
    """Read the student's name from a submission's name, or from the path that stands for it.

    Raises:
        NotRecorded: what is there cannot name a folder, or is more than letters, digits and what stands in names.
    """
    path = PurePosixPath(submission)
    if path.suffix != ".ipynb":
        student = path.parts[:1]
    elif path.stem != lesson:
        student = (path.stem,)
    else:
        student = tuple(part for part in path.parent.parts if part != lesson)[-1:]
    if not student or not _is_harmless(student[0]):
        raise NotRecorded(f"{submission!r} is not recorded: it holds no name of a student that nbgrader can show.")
    return student[0]


def _is_harmless(name: str) -> bool:
    """Tell whether a name can name a folder, and is only text in the formgrader, which puts it into HTML as it is."""
    letters = all(char.isalnum() or char in " _.,@()+'’-" or unicodedata.category(char)[0] == "M" for char in name)
    return letters and not name.startswith(".") and len(name) <= MAX_NAME


def _marked(result: Mapping[str, Any], lesson: str, path: Path, known: dict[str, KnownCell]) -> Any:
    """Return the notebook with its report; of a file that cannot be read, the lesson as it was handed out."""
    submitted = None if result["status"] == UNREADABLE else read_notebook(path)
    document = repaired(submitted or nbformat.read(handed_out(lesson), as_version=4), known)
    mark(document, result)
    return document


def _configuration(course: Path) -> Any:
    """Read nbgrader's settings: the course's own, or those of this repository."""
    folder = course if (course / CONFIG).is_file() else ROOT / "grader"
    return PyFileConfigLoader(CONFIG, path=str(folder)).load_config()


def _is_untouched(cell: Any) -> bool:
    """Tell whether a solution cell is still as it was handed out."""
    if cell is None or is_task(cell):
        return False
    return bool(cell.metadata.nbgrader.get("checksum") == compute_checksum(cell))
