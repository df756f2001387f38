"""nbgrader's database: created in one transaction, one writer at a time, errors as sentences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.script import ScriptDirectory
from nbgrader.api import Base, Course, Gradebook, InvalidEntry, MissingEntry
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

PATIENCE = 30.0  # seconds to wait for another program that writes
ADVISORY_LOCK = 0x6473706B  # any number, the same for all who record
VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), nullable=False))


class GradebookError(Exception):
    """A gradebook that cannot be used; the message is a sentence that says why."""


class GradebookBusy(GradebookError):
    """A gradebook that cannot be used now, since it is locked or its server is gone; later, it can."""

    left_out: Sequence[str] = ()  # the submissions that were not recorded


def default_url(course: Path) -> str:
    """The address of the gradebook that nbgrader keeps in a course's folder."""
    return f"sqlite:///{course.resolve() / 'gradebook.db'}"


def open_gradebook(db_url: str, course_id: str, patience: float = PATIENCE) -> Any:
    """Open nbgrader's gradebook; a missing or incomplete one is created in one transaction.

    nbgrader itself makes the tables first and then runs alembic, which fails where that is not on PATH.

    Args:
        db_url: SQLAlchemy's address.
        course_id: nbgrader's name of the course.
        patience: how many seconds to wait for another program that holds the gradebook.

    Raises:
        GradebookError: there is no such database, it is locked, or it was made by another version of nbgrader.
    """
    with sentences(db_url, patience):
        url = _with_timeouts(sa.make_url(db_url), patience)
        engine = sa.create_engine(url)
        try:
            with alone(engine, patience) as connection:
                _prepare(connection, course_id)
        finally:
            engine.dispose()
        book = Gradebook(url.render_as_string(hide_password=False), course_id)
        book.db.remove()
        return book


@contextlib.contextmanager
def alone(engine: sa.Engine, patience: float) -> Iterator[sa.Connection]:
    """Open a transaction as the only writer, waiting for others.

    Args:
        engine: of SQLite or PostgreSQL.
        patience: how many seconds to wait, at most.
    """
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.connection.driver_connection.isolation_level = None  # type: ignore[union-attr]
            with connection.begin():
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # Python's sqlite3 begins too late, with the first change
                yield connection
        else:
            with connection.begin():
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(patience * 1000)}")
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
                yield connection


@contextlib.contextmanager
def sentences(db_url: str, patience: float) -> Iterator[None]:
    """Turn errors of the database into sentences.

    Raises:
        GradebookError: instead of anything that SQLAlchemy or a driver raises.
        GradebookBusy: another program holds it for too long, or the connection is lost.
    """
    try:
        yield
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise GradebookError(
            f"{_shown(db_url)!r} is not the address of a gradebook: {error}. Write sqlite:///FILE or postgresql+psycopg://…"
        ) from None
    except (DBAPIError, InvalidEntry, MissingEntry) as error:
        said = str(getattr(error, "orig", error)).strip().splitlines()[0].rstrip(".")
        locked = "locked" in said or "lock timeout" in said
        if locked:
            said = f"another program has held it for more than {patience:g} s. Close that program or wait for it"
        kind = GradebookBusy if locked or getattr(error, "connection_invalidated", False) else GradebookError
        raise kind(f"The gradebook {_shown(db_url)} cannot be used: {said}.") from None


def _prepare(connection: sa.Connection, course_id: str) -> None:
    """Make what is missing: tables, the version that nbgrader writes into them, and the course."""
    head = ScriptDirectory(ALEMBIC_DIR).get_current_head()
    inspector = sa.inspect(connection)
    tables = inspector.get_table_names()
    is_whole = all(
        {column.name for column in table.columns} <= {column["name"] for column in inspector.get_columns(table.name)}
        for table in Base.metadata.sorted_tables
        if table.name in tables
    )
    version = connection.scalar(sa.select(VERSION.c.version_num)) if VERSION.name in tables else head
    if version != head or not is_whole:
        raise GradebookError(
            "The gradebook was made by another version of nbgrader. Back it up, then type `nbgrader db upgrade`."
        )
    Base.metadata.create_all(connection)
    VERSION.create(connection, checkfirst=True)
    if connection.scalar(sa.select(VERSION.c.version_num)) is None:
        connection.execute(VERSION.insert().values(version_num=head))
    courses = Course.__table__
    if connection.scalar(sa.select(courses.c.id).where(courses.c.id == course_id)) is None:
        connection.execute(courses.insert().values(id=course_id))


def _with_timeouts(url: sa.URL, patience: float) -> sa.URL:
    """Let the driver wait as well, unless the address says for how long."""
    is_sqlite = url.get_backend_name() == "sqlite"
    name, seconds = ("timeout", patience) if is_sqlite else ("connect_timeout", max(1, round(patience)))
    return url if name in url.query else url.update_query_dict({name: str(seconds)})


def _shown(db_url: str) -> str:
    try:
        return sa.make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return db_url
