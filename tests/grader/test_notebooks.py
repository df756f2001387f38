"""The lesson's notebook in a real kernel: the solved one runs, the stub stops with its TODOs only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient

Make = Callable[..., Path]


def run(path: Path, allow_errors: bool = False) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, allow_errors=allow_errors, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    return notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[nbformat.NotebookNode]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output for cell in cells for output in cell.outputs if output.output_type == kind]


def test_solved_lesson_runs_and_draws_its_pictures(make_notebook: Make) -> None:
    notebook = run(make_notebook())
    shown = [output.data for kind in ("execute_result", "display_data") for output in outputs(notebook, kind)]
    assert sum("image/png" in data for data in shown) == 6
    assert sum("passes: " in data.get("text/plain", "") for data in shown) == 6
    assert not outputs(notebook, "error") and not outputs(notebook, "stream")[1:]


def test_untouched_lesson_stops_with_todos_and_nothing_else(make_notebook: Make) -> None:
    errors = outputs(run(make_notebook(solved=False), allow_errors=True), "error")
    assert {error.ename for error in errors} <= {"NotImplementedError", "TodoOpen"}
    assert all(error.evalue.startswith("TODO ") for error in errors)
    todos = {error.evalue.split()[1].rstrip(":") for error in errors}
    assert {"2.1", "2.2", "2.3", "2.4", "2.5"} <= todos


def test_failing_task_shows_its_report_without_a_traceback(make_notebook: Make) -> None:
    edits = {"task-2-1": "def dflash_parallel_candidates(block_logits):\n    return [0 for row in block_logits]"}
    errors = outputs(run(make_notebook(edits=edits), allow_errors=True), "error")
    assert errors[0].ename == "CheckFailed"
    text = "\n".join(errors[0].traceback)
    assert "argmax_of_each_row" in text and "expected  [1, 2]" in text and "hint" in text
    assert "Traceback" not in text and "grader/" not in text
