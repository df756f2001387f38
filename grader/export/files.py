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
    """Write one row per submission: its score and status, and the points of each task that any of them has.

    Where lateness, points of one's own or an earlier grading count, three more columns say what was written elsewhere.
    """
    had = {task["task"] for result in results for task in result["tasks"]}
    columns = [task for task in TASKS if task in had]
    writer = csv.writer(file)
    more = ["final", "final_max", "final_notes"] if any("final" in result for result in results) else []
    writer.writerow(["submission", "lesson", "score", "max_score", "status", *more, *columns])
    for result in results:
        points = {task["task"]: task["points"] for task in result["tasks"]}
        score = "" if result["score"] is None else result["score"]
        fixed = (result["submission"], result["lesson"] or "", score, result["max_score"], result["status"])
        added = [" ".join(result[key]) if key == "final_notes" else result[key] for key in more]
        cells = (*fixed, *("" if cell is None else cell for cell in added), *(points.get(task, "") for task in columns))
        writer.writerow([inert(str(cell)) for cell in cells])


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[TextIO]:
    """Open a file that is there only once it has been written to its end."""
    with atomic_write(target) as part, part.open("w", encoding="utf-8", errors="replace", newline="") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
