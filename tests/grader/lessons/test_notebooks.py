"""The lessons' notebooks: solved ones run, untouched ones stop with their TODOs only, and a kernel shows reports."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from grader.lessons.checks import TASKS
from grader.lessons.paths import SOLUTIONS

Make = Callable[..., Path]
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
def test_solved_lesson_gets_full_points_and_untouched_one_stops_with_todos_only(
    lesson: str, make_notebook: Make
) -> None:
    tasks = [task for task in TASKS.values() if task.lesson == lesson]
    solved, untouched = run(
        make_notebook("solved.ipynb", lesson=lesson), make_notebook("untouched.ipynb", solved=False, lesson=lesson)
    )
    assert [(cell["id"], cell["message"]) for cell in solved if cell["error"] or cell["stderr"]] == []
    shown = {cell["id"]: cell["text"] for cell in solved}
    for task in tasks:
        full = f"{task.max_points} of {task.max_points} points"
        assert full in shown[f"check-{task.id.replace('.', '-')}"], task.id
    assert [cell["id"] for cell in solved if cell["id"].startswith("picture-") and not cell["text"].strip()] == []
    assert any("image/png" in cell["kinds"] for cell in solved)
    stopped = [cell for cell in untouched if cell["error"] or cell["stderr"]]
    assert [(cell["id"], cell["error"], cell["message"]) for cell in stopped if not is_todo(cell, lesson)] == []
    open_checks = {cell["id"] for cell in stopped if cell["id"].startswith("check-")}
    assert open_checks >= {f"check-{task.id.replace('.', '-')}" for task in tasks if task.id != "record"}


def in_kernel(path: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, allow_errors=True, resources=resources).execute()
    return notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[nbformat.NotebookNode]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output for cell in cells for output in cell.outputs if output.output_type == kind]


def test_a_kernel_shows_pictures_and_reports_and_a_failing_task_without_a_traceback(make_notebook: Make) -> None:
    edits = {"task-2-1": "def dflash_parallel_candidates(block_logits):\n    return [0 for row in block_logits]"}
    notebook = in_kernel(make_notebook(edits=edits))
    shown = [output.data for kind in ("execute_result", "display_data") for output in outputs(notebook, kind)]
    assert sum("image/png" in data for data in shown) == 7
    assert sum("passes: " in data.get("text/plain", "") for data in shown) == 6
    (error,) = outputs(notebook, "error")
    assert error.ename == "CheckFailed"
    text = "\n".join(error.traceback)
    assert "argmax_of_each_row" in text and "expected  [1, 2]" in text and "hint" in text
    assert "Traceback" not in text and "grader/" not in text
    assert {output.name for output in outputs(notebook, "stream")} == {"stdout"}
