"""The lessons' notebooks: solved ones run and get nbgrader's full points, untouched ones stop with their TODOs only."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.lessons import build
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, SOLUTIONS
from grader.lessons.sources import cells_of

Cell = dict[str, Any]
LESSONS = sorted(source.stem for source in SOLUTIONS.glob("[0-9]*.py"))
RUNNER = Path(__file__).with_name("run_notebooks.py")


def run(*paths: Path) -> list[list[Cell]]:
    """Run notebooks in a process of their own, and return what came of their code cells."""
    outside = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}  # another than this one's
    environment = outside | {"OPENBLAS_NUM_THREADS": "1", "IPYTHONDIR": str(paths[0].parent)}
    command = [sys.executable, "-W", "error", str(RUNNER), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    cells: list[list[Cell]] = json.loads(done.stdout)
    return cells


def is_todo(cell: Cell, lesson: str) -> bool:
    """Whether a cell stopped with the TODO of a task of its lesson, and nothing that a check found out."""
    todo = re.match(r"TODO (\w[\w.]*)(?: \(about \d+ lines?\))?:", cell["message"])
    is_open = todo is not None and TASKS[todo[1]].lesson == lesson
    return is_open and cell["error"] in ("NotImplementedError", "TodoOpen")


@pytest.mark.parametrize("lesson", LESSONS)
def test_solved_lesson_gets_full_points_and_untouched_one_stops_with_todos_only(lesson: str, tmp_path: Path) -> None:
    tasks = [task for task in TASKS.values() if task.lesson == lesson]
    cells = list(cells_of((SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8")))
    for_nbgrader = tmp_path / "solved.ipynb"  # nbgrader's source: solved, with points below every check
    for_nbgrader.write_text(build.notebook(cells, for_nbgrader=True), encoding="utf-8")
    solved, untouched = run(for_nbgrader, NOTEBOOKS / f"{lesson}.ipynb")
    assert [(cell["id"], cell["message"]) for cell in solved if cell["error"] or cell["stderr"]] == []
    shown = {cell["id"]: cell["text"] for cell in solved}
    for task in tasks:
        check = shown[f"check-{task.id.replace('.', '-')}"]
        assert f"{task.max_points} of {task.max_points} points" in check and check.endswith(f"\n{task.max_points:.1f}")
    assert [cell["id"] for cell in solved if cell["id"].startswith("picture-") and not cell["text"].strip()] == []
    assert any("image/png" in cell["kinds"] for cell in solved)
    stopped = [cell for cell in untouched if cell["error"] or cell["stderr"]]
    assert [(cell["id"], cell["error"], cell["message"]) for cell in stopped if not is_todo(cell, lesson)] == []
    open_checks = {cell["id"] for cell in stopped if cell["id"].startswith("check-")}
    assert open_checks >= {f"check-{task.id.replace('.', '-')}" for task in tasks if task.id != "record"}
