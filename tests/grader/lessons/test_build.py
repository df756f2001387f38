"""The build: what is handed out follows from the sources, and unfit lessons are refused."""

import ast
import dataclasses
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.preprocessors import ClearSolutions

import grader.lessons.build as build
import grader.lessons.fitness as fitness
import grader.lessons.sources as sources
from dspark_mini import clinic_bugs
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT, SOLUTIONS
from grader.lessons.tasks import Task
from grader.read.submissions import tasks_of

LESSON = "02_parallel_drafting"
SOURCE = SOLUTIONS / f"{LESSON}.py"


def built_notebook(for_nbgrader: bool) -> nbformat.NotebookNode:
    cells = list(sources.cells_of(SOURCE.read_text(encoding="utf-8")))
    return nbformat.reads(build.notebook(cells, for_nbgrader), as_version=4)


def test_handed_out_notebook_has_no_solution_no_hidden_test_and_no_output() -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{LESSON}.ipynb", as_version=4)
    text = (NOTEBOOKS / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in text and "HIDDEN" not in text
    for task in tasks_of(LESSON):
        region = sources.REGION.search(task.reference_source)
        assert region is not None
        in_some_cell = any(region[2].rstrip() in cell.source for cell in notebook.cells)
        assert in_some_cell is (task.id == "record")  # the record is given
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)


def test_cells_have_stable_ids_of_their_own_and_prose_has_a_language() -> None:
    first, second = built_notebook(False), built_notebook(False)
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells] and len(set(ids)) == len(ids)
    assert all(cell.metadata["lang"] == "en" for cell in first.cells if cell.cell_type == "markdown")


def test_stub_raises_the_todo_at_the_very_place_and_shows_an_example() -> None:
    for cell in built_notebook(False).cells:
        if cell.id.startswith("task-"):
            task = TASKS[cell.metadata["dspark"]["task"]]
            function = ast.parse(cell.source).body[-1]  # after the contract's imports
            assert isinstance(function, ast.FunctionDef) and isinstance(function.body[-1], ast.Raise)
            last = ast.unparse(function.body[-1])
            assert f"TODO {task.id} (about " in last and task.todo in last and "NotImplementedError" in last
            assert "Example:" in cell.source and "→" in cell.source


def test_nbgrader_metadata_is_complete() -> None:
    for for_nbgrader in (True, False):
        graded = [
            cell.metadata["nbgrader"] for cell in built_notebook(for_nbgrader).cells if "nbgrader" in cell.metadata
        ]
        for metadata in graded:
            assert {"grade", "grade_id", "locked", "schema_version", "solution", "task"} <= set(metadata)
            assert metadata["schema_version"] == 3 and ("points" in metadata) is metadata["grade"]
        assert sum(metadata.get("points", 0) for metadata in graded) == sum(
            task.max_points for task in tasks_of(LESSON)
        )


def refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, edit: Callable[[str], str]) -> str:
    path = tmp_path / f"{LESSON}.py"
    path.write_text(edit(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(sources.BuildError) as error:
        build.lesson_files(path)
    return str(error.value)


def with_task(monkeypatch: pytest.MonkeyPatch, identity: str, **changes: object) -> Task:
    task = dataclasses.replace(TASKS[identity], **changes)  # type: ignore[arg-type]
    monkeypatch.setitem(TASKS, identity, task)
    return task


def test_stub_that_passes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A helper in the set-up cell that is already the solution, and a region that leaves it in place.
    source = "def conditional_acceptance(a, b):\n    return 0\n    ### BEGIN SOLUTION\n    ### END SOLUTION\n"
    monkeypatch.setattr(
        sources, "_body", lambda mark, task: source if (mark, task.id) == ("task", "2.5") else _BODY(mark, task)
    )
    assert "stub of task 2.5" in refused(monkeypatch, tmp_path, str)


def test_solution_that_fails_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = _BODY("task", TASKS["2.3"]).replace(">= threshold", "> threshold")
    monkeypatch.setattr(
        sources, "_body", lambda mark, task: wrong if (mark, task.id) == ("task", "2.3") else _BODY(mark, task)
    )
    message = refused(monkeypatch, tmp_path, str)
    assert "fails its own check" in message and "equal_passes" in message


def test_empty_hint_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_task(monkeypatch, "2.4", hints=("something", " ", "something"))
    assert "Task 2.4 has an empty hint" in refused(monkeypatch, tmp_path, str)


def test_lesson_that_needs_a_later_one_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    call = '# %% role="picture"\nschedule_prefixes([[0.5]], [0, 1])\n\n# %% role="picture"\nanchors = '
    message = refused(monkeypatch, tmp_path, lambda text: text.replace('# %% role="picture"\nanchors = ', call))
    assert "schedule_prefixes" in message and "5.1" in message


def test_task_without_its_check_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    edit = lambda text: re.sub(r'# %% check="2.4"\n[^#]*', "", text)  # noqa: E731
    assert "2.4" in refused(monkeypatch, tmp_path, edit)


def test_unknown_task_is_refused_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    text = SOURCE.read_text(encoding="utf-8").replace('task="2.4"', 'task="2.9"')
    (tmp_path / "solutions" / f"{LESSON}.py").write_text(text, encoding="utf-8")
    for name in ("SOLUTIONS", "NOTEBOOKS", "NBGRADER_SOURCE"):
        monkeypatch.setattr(build, name, tmp_path / name.lower())
    with pytest.raises(sources.BuildError, match=r"'2\.9'"):
        build.build()
    assert [path.name for path in tmp_path.rglob("*.*")] == [f"{LESSON}.py"]
    assert (tmp_path / "solutions" / f"{LESSON}.py").read_text(encoding="utf-8") == text


CLINIC = "08_bug_clinic"
CLINIC_SOURCE = SOLUTIONS / f"{CLINIC}.py"
BUGS = [task for task in tasks_of(CLINIC) if hasattr(clinic_bugs, task.function)]


@functools.cache
def clinic(for_nbgrader: bool) -> dict[str, str]:
    """The sources of the clinic's task cells by task: as handed out, or as nbgrader's source."""
    cells = list(sources.cells_of(CLINIC_SOURCE.read_text(encoding="utf-8")))
    notebook = nbformat.reads(build.notebook(cells, for_nbgrader), as_version=4)
    return {cell.metadata["dspark"]["task"]: cell.source for cell in notebook.cells if cell.id.startswith("task-")}


def defined(source: str, task: Task) -> Callable[..., Any]:
    namespace = dict(vars(sys.modules[task.reference.__module__]))
    exec(source, namespace)
    function: Callable[..., Any] = namespace[task.function]
    return function


def test_learners_get_the_bug_and_not_the_repair() -> None:
    for task in BUGS:
        source = clinic(for_nbgrader=False)[task.id]
        region = sources.REGION.search(task.reference_source)
        assert region is not None and region[2].strip() not in source
        assert textwrap.indent(sources.buggy_lines(task), "    ").rstrip() in source
        assert "SOLUTION" not in source and "BUG" not in source.upper() and "NotImplementedError" not in source
        assert inspect.getdoc(task.reference).splitlines()[0] in source and "@takes(" in source  # type: ignore[union-attr]


def test_nbgrader_cuts_the_repair_out_and_leaves_what_learners_get() -> None:
    config = (ROOT / "grader" / "nbgrader_config.py").read_text(encoding="utf-8")
    assert f'"{sources.STUB_COMMENT}"' in config
    clear = ClearSolutions(code_stub={"python": sources.STUB_COMMENT})
    for task in BUGS:
        cell = nbformat.v4.new_code_cell(clinic(for_nbgrader=True)[task.id])
        assert clear._replace_solution_region(cell, "python")
        assert cell.source == clinic(for_nbgrader=False)[task.id]


@pytest.mark.parametrize("identity", [task.id for task in BUGS])
def test_nbgrader_source_runs_the_repair_and_its_release_the_bug(identity: str) -> None:
    task = TASKS[identity]
    assert task.check(defined(clinic(for_nbgrader=True)[identity], task)).passed
    report = task.check(defined(clinic(for_nbgrader=False)[identity], task))
    assert report.status in ("fail", "partial") and report.points * 3 <= report.max_points


def with_bug(monkeypatch: pytest.MonkeyPatch, lines: str) -> str:
    """Hand task 8.13 out with other lines in place of its bug, and return why that is refused."""
    monkeypatch.setattr(sources, "buggy_lines", lambda task: lines)
    cells = [cell for cell in sources.cells_of(CLINIC_SOURCE.read_text(encoding="utf-8")) if cell.role == "setup"]
    cells.append(sources.Cell("code", "task", sources._body("bug", TASKS["8.13"]), TASKS["8.13"], has_bug=True))
    with pytest.raises(sources.BuildError) as error:
        fitness.check_stubs(cells, [TASKS["8.13"]])
    return str(error.value)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            "surplus = drafted - 1 - accepted\nreturn {'drop': max(surplus, 0), 'missing': max(-surplus, 0)}\n",
            "must run and fail",
        ),
        ("raise NotImplementedError\n", "must run and fail"),
        ("return 1 / 0\n", "must run and fail"),
        ("return {'drop': max(drafted - 1 - accepted, 0), 'missing': 0}\n", "earns too much"),
    ],
    ids=["passes", "is not started", "never answers", "earns more than a third"],
)
def test_bug_that_is_not_one_is_refused(monkeypatch: pytest.MonkeyPatch, lines: str, why: str) -> None:
    assert f"bug of task 8.13 {why}" in with_bug(monkeypatch, lines)


def test_bug_without_lines_is_refused() -> None:
    with pytest.raises(sources.BuildError, match=r"clinic_bugs has no dflash_parallel"):
        sources.buggy_lines(TASKS["2.1"])


_BODY = sources._body
