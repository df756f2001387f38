"""What each task and the whole course are worth, from a TOML file."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.check.text import as_number
from grader.lessons.checks import TASKS
from grader.read.submissions import tasks_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Result = dict[str, Any]


@dataclass(frozen=True)
class Points:
    """What each task is worth; a task that is not named keeps its own points."""

    tasks: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0  # so that all tasks of the course together have the course's points

    def of(self, result: Result) -> list[dict[str, Any]]:
        """Return the tasks of a result with these points."""
        return [task | self._worth(task) for task in result["tasks"]]

    def most(self, result: Result) -> float:
        """Return the most points that a result can have; of one without tasks, its lesson's."""
        own = [{"task": task.id, "points": 0, "max_points": task.max_points} for task in tasks_of(result["lesson"])]
        tasks = result["tasks"] or own
        return sum(self._worth(task)["max_points"] for task in tasks) if tasks else result["max_score"] * self.scale

    def _worth(self, task: Mapping[str, Any]) -> dict[str, float]:
        most = task["max_points"]
        worth = self.tasks.get(task["task"], most) * self.scale
        return {"points": task["points"] * worth / most if most else 0.0, "max_points": worth}


def read_points(path: Path) -> Points:
    """Read what tasks and the course are worth.

    Raises:
        ValueError: it is not TOML, or names something unknown, or a number that cannot be meant.
        OSError: it cannot be read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from None
    unknown = set(table) - {"course", "tasks"}
    if unknown or not isinstance(table.get("tasks", {}), dict):
        raise ValueError(f"{path} may have `course = 100` and a table [tasks], and not {', '.join(sorted(unknown))}.")
    worth = dict(_numbers(table.get("tasks", {}), path))
    if "course" not in table:
        return Points(worth)
    ((_, course),) = _numbers({"course": table["course"]}, path)
    total = sum(worth.get(task.id, task.max_points) for task in TASKS.values())
    if not total:
        raise ValueError(f"{path} gives every task 0 points, so that the course cannot have {as_number(course)}.")
    return Points(worth, course / total)


def _numbers(table: Mapping[str, Any], path: Path) -> Iterator[tuple[str, float]]:
    for name, value in table.items():
        if name != "course" and name not in TASKS:
            quotes = f'; write it in quotes, such as "{name}.1"' if isinstance(value, dict) else ""
            raise ValueError(f"{path} names {name!r}, which is not a task{quotes}.")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < 0:
            raise ValueError(f"{path} gives {name} {value!r}, which is not a number of points.")
        yield name, value
