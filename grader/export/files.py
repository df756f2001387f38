"""Results as files: JSON and CSV, each there only once it is complete."""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from dspark_mini.files import atomic_write
from grader.export.rosters import inert
from grader.lessons.checks import TASKS


def write_json(results: Iterable[dict[str, Any]], file: TextIO) -> None:
    """Write results as a list of JSON, one at a time."""
    file.write("[")
    for number, result in enumerate(results):
        file.write(("," if number else "") + "\n" + json.dumps(result, indent=1, ensure_ascii=False))
    file.write("\n]\n")


def write_csv(results: Iterable[dict[str, Any]], file: TextIO) -> None:
    """Write one row per submission: its score and status, and the points of each task that any of them has."""
    had = {task["task"] for result in results for task in result["tasks"]}
    columns = [task for task in TASKS if task in had]
    writer = csv.writer(file)
    writer.writerow(["submission", "lesson", "score", "max_score", "status", *columns])
    for result in results:
        points = {task["task"]: task["points"] for task in result["tasks"]}
        score = "" if result["score"] is None else result["score"]
        fixed = (result["submission"], result["lesson"] or "", score, result["max_score"], result["status"])
        writer.writerow([inert(str(cell)) for cell in (*fixed, *(points.get(task, "") for task in columns))])


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[TextIO]:
    """Open a file that is there only once it has been written to its end."""
    with atomic_write(target) as part, part.open("w", encoding="utf-8", errors="replace", newline="") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
