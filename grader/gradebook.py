"""Results in nbgrader's gradebook, and beside it the notebooks that its formgrader and its feedback read.

One submission is one transaction: it stands in the gradebook as a whole or not at all. What people have entered there
(scores, extra credit, comments, extensions) stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

import nbformat
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_task, parse_utc
from traitlets.config.loader import PyFileConfigLoader

from grader.build import NBGRADER_SOURCE, NOTEBOOKS
from grader.database import PATIENCE, alone, default_url, open_gradebook, sentences
from grader.grading import UNREADABLE
from grader.handed_out import KnownCell, known_cells
from grader.marked import mark, read_notebook, repaired
from grader.process import ROOT

COURSE = NBGRADER_SOURCE.parent
CONFIG = "nbgrader_config.py"
READ_ONLY = 0o444  # as nbgrader leaves its autograded files
MAX_NAME = 128  # characters of a student's name in nbgrader's tables
MAX_TIMESTAMP = 200  # bytes


class NotRecorded(Exception):
    """A result that has no place in the gradebook; the message says why, as a sentence."""


def record(
    results: Iterable[Mapping[str, Any]],
    course: Path = COURSE,
    db_url: str | None = None,
    notebooks: Mapping[str, Path] | None = None,
) -> list[str]:
    """Write results into a gradebook and their notebooks into the course's folder autograded/.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        course: the course's folder, with nbgrader's source/, submitted/ and so on in it.
        db_url: SQLAlchemy's address of the gradebook; without it, gradebook.db in the course's folder.
        notebooks: the file of each submission by its name, where it does not lie in submitted/<student>/<lesson>/.

    Returns:
        A sentence for each result that has no place in the gradebook.

    Raises:
        GradebookError: the gradebook cannot be used, or is locked for too long; what came before is recorded.
    """
    refused = []
    with Recorder(course, db_url) as recorder:
        for result in results:
            try:
                recorder.record(result, (notebooks or {}).get(result["submission"]))
            except NotRecorded as error:
                refused.append(str(error))
    return refused


class Recorder:
    """An open gradebook that takes results one by one."""

    def __init__(self, course: Path, db_url: str | None = None, patience: float = PATIENCE) -> None:
        """Open the gradebook, and make it where there is none.

        Args:
            course: the course's folder.
            db_url: SQLAlchemy's address of the gradebook; without it, gradebook.db in the course's folder.
            patience: how many seconds to wait for another program that holds the gradebook.

        Raises:
            GradebookError: the gradebook cannot be used.
        """
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
        """Record one result: all of it, or nothing. Several threads may call this.

        Args:
            result: one object of the list that `dspark-mini grade --json` writes.
            notebook: the submitted file; without it, submitted/<student>/<lesson>/<lesson>.ipynb of the course.

        Raises:
            NotRecorded: the result has no place in the gradebook.
            GradebookError: the gradebook cannot be written.
        """
        with self.one_at_a_time:
            lesson, student = self._place(result)
            path = notebook or self.course / "submitted" / student / lesson / f"{lesson}.ipynb"
            with _part_file(self.course / "autograded") as part:
                with sentences(self.db_url, self.patience), self._transaction():
                    known = self.known.get(lesson) or known_cells(self.book, lesson, self.course)
                    document = _marked(result, lesson, path, known)
                    self._enter(document, lesson, student, _timestamp(path))
                    part.write_text(nbformat.writes(document) + "\n", encoding="utf-8")
                _publish(part, self.course / "autograded" / student / lesson / f"{lesson}.ipynb", path)
            self.known[lesson] = known
            self.done.add((lesson, student))

    def _place(self, result: Mapping[str, Any]) -> tuple[str, str]:
        """Return the lesson and the student that a result belongs to."""
        name, lesson = result["submission"], result["lesson"]
        if lesson is None:
            raise NotRecorded(f"{name} is not recorded: it is not the notebook of one lesson.")
        student = student_of(name, lesson)
        if (lesson, student) in self.done:
            raise NotRecorded(f"{name} is not recorded: there is another submission of {lesson} by {student}.")
        return lesson, student

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

    def _enter(self, document: Any, lesson: str, student: str, timestamp: str | None) -> None:
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
        self._penalise(submitted)

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
    """Read the student's name from a submission's name, which may be a path.

    Raises:
        NotRecorded: what is there cannot be the name of a folder.
    """
    path = PurePosixPath(submission)
    parts = [part for part in path.with_suffix("").parts if part != lesson] if path.suffix == ".ipynb" else path.parts
    student = [part for part in parts if part != lesson][-1:]
    if not student or not _is_folder_name(student[0]):
        raise NotRecorded(f"{submission!r} is not recorded: it holds no name of a student that can name a folder.")
    return student[0]


def _is_folder_name(name: str) -> bool:
    return name.isprintable() and "/" not in name and not name.startswith(".") and len(name) <= MAX_NAME


def _marked(result: Mapping[str, Any], lesson: str, path: Path, known: dict[str, KnownCell]) -> Any:
    """Return the notebook with its report; of a file that cannot be read, the lesson as it was handed out."""
    submitted = None if result["status"] == UNREADABLE else read_notebook(path)
    handed_out = NOTEBOOKS / f"{lesson}.ipynb"
    document = repaired(submitted or nbformat.read(handed_out, as_version=4), known)
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


def _timestamp(notebook: Path) -> str | None:
    """Read when a notebook was handed in, where nbgrader has written that down beside it."""
    path = notebook.with_name("timestamp.txt")
    with contextlib.suppress(OSError, ValueError, OverflowError):
        if not path.is_symlink() and path.stat().st_size <= MAX_TIMESTAMP:
            text = path.read_text(encoding="utf-8").strip()
            return text if text and parse_utc(text) else None
    return None


@contextlib.contextmanager
def _part_file(folder: Path) -> Iterator[Path]:
    """Give an empty file whose name nbgrader does not look at, and take it away unless it was moved."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _publish(part: Path, target: Path, submitted: Path) -> None:
    """Move a complete notebook to where nbgrader looks for it, with the time at which it was handed in."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if _timestamp(submitted):
        shutil.copyfile(submitted.with_name("timestamp.txt"), target.with_name("timestamp.txt"))
    part.chmod(READ_ONLY)
    part.replace(target)
