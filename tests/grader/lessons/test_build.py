"""The build: what is handed out follows from the sources, and unfit lessons are refused."""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbgrader.preprocessors import ClearSolutions

import grader.lessons.build as build
import grader.lessons.fitness as fitness
import grader.lessons.sources as sources
from dspark_mini import clinic_bugs
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT, SOLUTIONS
from grader.read.submissions import tasks_of

LESSON = "02_parallel_drafting"
CLINIC = "08_bug_clinic"


def cells_in(lesson: str) -> list[sources.Cell]:
    return list(sources.cells_of((SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8")))


def built(lesson: str, for_nbgrader: bool = False) -> nbformat.NotebookNode:
    return nbformat.reads(build.notebook(cells_in(lesson), for_nbgrader), as_version=4)


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
    first, second = built(LESSON), built(LESSON)
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells] and len(set(ids)) == len(ids)
    assert all(cell.metadata["lang"] == "en" for cell in first.cells if cell.cell_type == "markdown")


def test_stub_raises_the_todo_at_the_very_place_and_shows_an_example() -> None:
    for cell in built(LESSON).cells:
        if cell.id.startswith("task-"):
            task = TASKS[cell.metadata["dspark"]["task"]]
            function = ast.parse(cell.source).body[-1]  # after the contract's imports
            assert isinstance(function, ast.FunctionDef) and isinstance(function.body[-1], ast.Raise)
            last = ast.unparse(function.body[-1])
            assert f"TODO {task.id} (about " in last and task.todo in last and "NotImplementedError" in last
            assert "Example:" in cell.source and "→" in cell.source


PASSES = "def conditional_acceptance(a, b):\n    return 0\n    ### BEGIN SOLUTION\n    ### END SOLUTION\n"
REFUSED: list[tuple[str, str, Callable[[str], str], str]] = [  # role and task of a cell, what is done to it, and why
    ("task", "2.5", lambda source: PASSES, "stub of task 2.5"),
    ("task", "2.3", lambda source: source.replace(">= threshold", "> threshold"), "fails its own check.*equal_passes"),
    ("check", "2.4", lambda source: "", "one cell with task 2.4 and one with its check, not"),
    ("setup", "", lambda source: f"{source}\nschedule_prefixes([[0.5]], [0, 1])", "schedule_prefixes, which is task 5"),
]


@pytest.mark.parametrize(("role", "task", "edit", "why"), REFUSED)
def test_a_lesson_that_is_not_fit_is_refused(role: str, task: str, edit: Callable[[str], str], why: str) -> None:
    cells = cells_in(LESSON)
    (at,) = (i for i, cell in enumerate(cells) if (cell.role, cell.task.id if cell.task else "") == (role, task))
    cells[at : at + 1] = [dataclasses.replace(cells[at], source=text)] if (text := edit(cells[at].source)) else []
    with pytest.raises(sources.BuildError, match=f"(?s){why}"):
        fitness.check_lesson(LESSON, cells)


def test_an_empty_hint_and_a_bug_without_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "2.4", dataclasses.replace(TASKS["2.4"], hints=("something", " ", "something")))
    with pytest.raises(sources.BuildError, match=r"Task 2\.4 has an empty hint"):
        fitness.check_lesson(LESSON, cells_in(LESSON))
    with pytest.raises(sources.BuildError, match=r"clinic_bugs has no dflash_parallel"):
        sources.buggy_lines(TASKS["2.1"])


def test_unknown_task_is_refused_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    text = (SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8").replace('task="2.4"', 'task="2.9"')
    (tmp_path / "solutions" / f"{LESSON}.py").write_text(text, encoding="utf-8")
    for name in ("SOLUTIONS", "NOTEBOOKS", "NBGRADER_SOURCE"):
        monkeypatch.setattr(build, name, tmp_path / name.lower())
    with pytest.raises(sources.BuildError, match=r"'2\.9'"):
        build.build()
    assert [path.name for path in tmp_path.rglob("*.*")] == [f"{LESSON}.py"]
    assert (tmp_path / "solutions" / f"{LESSON}.py").read_text(encoding="utf-8") == text


BUGS = [task for task in tasks_of(CLINIC) if hasattr(clinic_bugs, task.function)]


def tasks_in(lesson: str, for_nbgrader: bool) -> dict[str, str]:
    """The sources of a lesson's task cells by task: as handed out, or as nbgrader's source."""
    cells = built(lesson, for_nbgrader).cells
    return {cell.metadata["dspark"]["task"]: cell.source for cell in cells if cell.id.startswith("task-")}


def test_learners_get_the_bug_and_not_the_repair_which_nbgrader_cuts_out() -> None:
    config = (ROOT / "grader" / "nbgrader_config.py").read_text(encoding="utf-8")
    assert f'"{sources.STUB_COMMENT}"' in config
    clear = ClearSolutions(code_stub={"python": sources.STUB_COMMENT})
    handed_out, for_nbgrader = (tasks_in(CLINIC, kind) for kind in (False, True))
    for task in BUGS:
        source = handed_out[task.id]
        cell = nbformat.v4.new_code_cell(for_nbgrader[task.id])
        assert clear._replace_solution_region(cell, "python") and cell.source == source
        region = sources.REGION.search(task.reference_source)
        assert region is not None and region[2].strip() not in source
        assert textwrap.indent(sources.buggy_lines(task), "    ").rstrip() in source
        assert "SOLUTION" not in source and "BUG" not in source.upper() and "NotImplementedError" not in source
        assert inspect.getdoc(task.reference).splitlines()[0] in source and "@takes(" in source  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("n = drafted - 1 - accepted\nreturn {'drop': max(n, 0), 'missing': max(-n, 0)}\n", "must run and fail"),
        ("raise NotImplementedError\n", "must run and fail"),
        ("return 1 / 0\n", "must run and fail"),
        ("return {'drop': max(drafted - 1 - accepted, 0), 'missing': 0}\n", "earns too much"),
    ],
    ids=["passes", "is not started", "never answers", "earns more than a third"],
)
def test_bug_that_is_not_one_is_refused(monkeypatch: pytest.MonkeyPatch, lines: str, why: str) -> None:
    monkeypatch.setattr(sources, "buggy_lines", lambda task: lines)  # of task 8.13
    cells = [cell for cell in cells_in(CLINIC) if cell.role == "setup"]
    cells.append(sources.Cell("code", "task", sources._body("bug", TASKS["8.13"]), TASKS["8.13"], has_bug=True))
    with pytest.raises(sources.BuildError, match=f"bug of task 8.13 {why}"):
        fitness.check_stubs(cells, [TASKS["8.13"]])
