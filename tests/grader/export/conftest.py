"""A course of nbgrader with one lesson, its gradebook in SQLite and PostgreSQL, and results to record in it."""

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.check.report import PropertyResult, Report
from grader.lessons import build, paths, sources
from grader.read.submissions import tasks_of

LESSON = "02_parallel_drafting"
SERVER = os.environ.get("DSPARK_TEST_POSTGRESQL")
Result = dict[str, Any]
NASTY = "KeyError in line 2 of your code: '\n::set-output name=x::1\r##[error]%0A::stop-commands::x <script>&lt;=1|x`"


def task(name: str = "2.1", points: int = 9, status: str = "partial", got: str = "[1, 1]") -> dict[str, Any]:
    """A task of `grade --json`; of one that does not pass, the second property fails."""
    evidence = (("input", "x = [0]"), ("expected", "[0, 1]"), ("got", got))
    held = PropertyResult("values", "Values.", True, 9, "")
    failed = PropertyResult("ties", "Of equal logits the lowest token id wins.", False, 5, "Use >.", evidence)
    properties = (held,) if status == "pass" else (held, failed)
    return Report(name, "f", status, properties).to_json() | {"points": points, "max_points": 14}


def result(submission: str, score: int | None = 9, **changes: Any) -> dict[str, Any]:
    tasks = [task(points=score or 0, status="pass" if score == 14 else "partial")]
    base = {"submission": submission, "lesson": LESSON, "score": score, "max_score": 14, "status": "partial"}
    return base | {"tasks": tasks} | changes


def unreadable(submission: str) -> dict[str, Any]:
    nothing = {"lesson": None, "max_score": 0, "status": "unreadable", "tasks": []}
    return result(submission, **nothing, score=None, reason="It is not text in UTF-8.")


def ungraded(submission: str) -> dict[str, Any]:
    about = {"score": None, "status": "ungraded", "tasks": [], "reason": "The sandbox does not start."}
    return result(submission) | about


@pytest.fixture(scope="session")
def source_text() -> str:
    cells = list(sources.cells_of((paths.SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    return build.notebook(cells, for_nbgrader=True)


@pytest.fixture
def course(tmp_path: Path, source_text: str) -> Path:
    """A course with the source of one lesson, and nothing else yet."""
    source = tmp_path / "course" / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(source_text, encoding="utf-8")
    return tmp_path / "course"


@pytest.fixture(params=["sqlite", "postgresql"])
def db_url(request: pytest.FixtureRequest, course: Path) -> Iterator[str]:
    """The address of a gradebook that is not there yet, or has no tables yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{course.resolve() / 'gradebook.db'}"
        return
    if SERVER is None:
        pytest.skip("DSPARK_TEST_POSTGRESQL names no server")
    name = f"dspark_{uuid.uuid4().hex}"
    import sqlalchemy as sa

    server = sa.create_engine(SERVER, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(SERVER).set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    server.dispose()


@pytest.fixture
def sqlite(course: Path) -> str:
    """The same, of SQLite alone: for what does not depend on the kind."""
    return f"sqlite:///{course.resolve() / 'gradebook.db'}"


@pytest.fixture
def hand_in(course: Path) -> Callable[..., Path]:
    """Return a function that puts a notebook where nbgrader collects it."""

    def put(student: str, edit: Callable[[Any], None] = lambda document: None) -> Path:
        document = nbformat.read(paths.NOTEBOOKS / f"{LESSON}.ipynb", as_version=4)
        edit(document)
        path = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return put


@pytest.fixture(scope="session")
def result_of() -> Callable[..., Result]:
    """A function that makes a result as `grade --json` writes it, with full points but for those lost by task."""

    def make(student: str, lost: Mapping[str, int] = {}, **changes: Any) -> Result:
        tasks = []
        for task in tasks_of(LESSON):
            points = task.max_points - lost.get(task.id, 0)
            item = {"name": task.properties[0].name, "passed": False, "message": "Says <why>.", "hint": "Try this."}
            about = {"task": task.id, "function": task.function, "status": "pass", "reason": "", "properties": []}
            about |= {"diagnosis": "", "look_at": ""}
            about |= {"points": points, "max_points": task.max_points}
            tasks.append(about | ({"status": "partial", "properties": [item]} if task.id in lost else {}))
        score, most = (sum(task[key] for task in tasks) for key in ("points", "max_points"))
        common = {"submission": student, "lesson": LESSON, "status": "partial", "tasks": tasks}
        return common | {"score": score, "max_score": most} | changes

    return make


@pytest.fixture(scope="session")
def scores() -> Callable[[str, str], dict[str, float]]:
    """A function that reads the scores of a student's graded cells out of a gradebook."""

    def read(db_url: str, student: str) -> dict[str, float]:
        from nbgrader.api import Gradebook

        with Gradebook(db_url, "dspark_mini") as book:
            grades = book.find_submission_notebook(LESSON, LESSON, student).grades
            return {grade.name: grade.score for grade in grades}

    return read


@pytest.fixture
def autograded(course: Path) -> Callable[[str], Any]:
    """A function that reads the notebook that nbgrader shows of a student."""

    def read(student: str) -> Any:
        return nbformat.read(course / "autograded" / student / LESSON / f"{LESSON}.ipynb", as_version=4)

    return read
