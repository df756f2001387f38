"""The tables of known mistakes, one file per lesson, written by the build: data, which a bundle takes along."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from dspark_mini.workspace import own_folder
from grader.check.diagnosis import Table, table_from_json

FOLDER = Path(__file__).parent


@cache
def table_of(lesson: str, task: str) -> Table:
    """Return the table of a task; an empty one for a lesson that the build has not seen yet."""
    data = _lesson(lesson).get(task)
    return table_from_json(data) if data else Table((), (), ())


def path_of(lesson: str) -> Path:
    """Return the file with the tables of a lesson."""
    own = own_folder(lesson)
    return own / "mistakes.json" if own else FOLDER / f"{lesson}.json"


@cache
def _lesson(lesson: str) -> dict[str, Any]:
    path = path_of(lesson)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found
