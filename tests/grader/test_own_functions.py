"""The race on a learner's own functions: which run, which are lent, and what a bundle without solutions waits for."""

import inspect
from pathlib import Path

import nbformat
import pytest

from dspark_mini.race_options import METHODS, RaceOptions
from dspark_mini.race_own import needs
from dspark_mini.workspace import UserError
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS
from grader.lessons.tasks import Task
from grader.own_functions import on_own_functions

GREEDY = RaceOptions(methods=("autoregressive", "dspark", "dspark-tree", "policy"), temperature=0.0)


def solve(folder: Path, *ids: str) -> None:
    """Write notebooks in which these tasks are solved by the reference, and print while they run."""
    for lesson in {TASKS[identity].lesson for identity in ids}:
        document = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4)
        for cell in document.cells:
            about = cell.metadata.get("dspark", {})
            if about.get("role") == "task" and about["task"] in ids:
                reference = inspect.unwrap(TASKS[about["task"]].reference)
                body = inspect.getsource(reference).partition("def ")[2]
                imports = "import math\nimport heapq\nimport numpy as np\nprint('noise')\n"
                cell.source = f"{imports}def {body}"
        nbformat.write(document, folder / f"{lesson}.ipynb")


@pytest.fixture
def no_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "reference_source", "")


def test_what_passes_is_the_learners_and_the_rest_is_lent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(tmp_path, "1.1", "10.1")
    options, lines = on_own_functions(GREEDY, tmp_path)
    assert options.methods == GREEDY.methods and options.functions is not None
    assert options.functions["plan_round"] is not TASKS["10.1"].reference
    assert options.functions["cut_output"] is TASKS["1.6"].reference
    assert lines[0] == "Yours: 1.1, 10.1." and "1.6" in lines[1] and len(lines) == 2
    assert "noise" not in capsys.readouterr().out


def test_a_bundle_races_what_is_solved_and_says_what_the_others_wait_for(tmp_path: Path, no_solutions: None) -> None:
    graded = {task.function for task in TASKS.values()}
    assert all(set(needs(method, greedy)) <= graded for method in METHODS for greedy in (True, False))
    solve(tmp_path, "1.1")
    with pytest.raises(UserError, match=r"your own 1\.6, 7\.1, in .* dspark waits for your 2\.2, 2\.6\."):
        on_own_functions(GREEDY, tmp_path)
    solve(tmp_path, "1.1", "1.6", "7.1", "2.2", "2.6")
    options, lines = on_own_functions(GREEDY, tmp_path)
    assert options.methods == ("autoregressive", "dspark")
    assert lines[1:] == ["dspark-tree waits for your 6.1, 6.2, 6.3.", "policy waits for your 6.1, 6.2, 6.3, 10.1."]
