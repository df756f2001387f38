"""A course full of hostile submissions: each stands between two honest ones, and all are graded in one batch.

The batch is graded by the command line, as an instructor would, in a process of its own with shorter budgets.
"""

import ctypes
import itertools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT
from grader.lessons.stubs import contract_imports
from grader.run.kit import grading_seed
from tests.attacks.world import SECRET, changed, left_running, listening, own_children, snapshot

LESSON, TASK = "02_parallel_drafting", TASKS["2.5"]
RIGHT = contract_imports(TASK.reference_source) + TASK.reference_source
PARTLY_RIGHT = RIGHT.replace("if tried else math.nan", "if tried else 0.0")
ATTACKS_IN_A_ROW = 6
BUDGETS = {"calling.py": ("CALL_SECONDS", 0.8), "loader.py": ("CELL_SECONDS", 0.8)}
SHORT = "from grader.run import process as p; p.CALL_SECONDS = p.CELL_SECONDS = 0.8; p.GRACE_SECONDS = 1.0; "
# Runs `dspark-mini` with short budgets in the processes that grade and in those of the submissions.
QUICK = f"""
import contextlib, re
from dspark_mini import cli
from grader.run import pools
laid_out = pools.child_library

@contextlib.contextmanager
def quick_library():
    with laid_out() as folder:
        for name, (constant, seconds) in {BUDGETS!r}.items():
            file = folder / "grader" / "run" / "child" / name
            text, count = re.subn(rf"^{{constant}} = .*$", f"{{constant}} = {{seconds}}", file.read_text(), flags=re.M)
            assert count == 1
            file.write_text(text)
        yield folder

pools.child_library = quick_library
pools.COMMAND = pools.COMMAND.replace("from grader.run.worker", {SHORT!r} + "from grader.run.worker")
cli.main()
"""
PR_SET_CHILD_SUBREAPER = 36
Attack = tuple[str, "str | Callable[[Path], None]"]  # "full pass", and the cells or what writes the student's folder


@pytest.fixture(scope="session", autouse=True)
def everything_here_is_sandboxed(needs_sandbox: None) -> None:
    """Try nothing of this on a machine without a sandbox."""


@dataclass(repr=False)
class Batch:
    """What came of one batch: its results in their order, and what it did to the world around."""

    attacks: Mapping[str, Attack]
    results: dict[int, dict[str, Any]]  # by the place in the batch
    output: str
    returncode: int
    results_text: str
    rows_text: str
    changes: list[str] = field(default_factory=list)
    left_running: list[str] = field(default_factory=list)
    contacts: list[str] = field(default_factory=list)

    def of(self, attack: str) -> dict[str, Any]:
        """The result of one attack."""
        return self.results[in_order(self.attacks).index(attack)]

    def assert_fair(self, attack: str) -> None:
        """Assert that an attack got what its answers are worth, and the honest ones around it what they always get."""
        assert self.got(attack) in self.attacks[attack][0].split(" | ")
        order = in_order(self.attacks)
        place = order.index(attack)
        before, after = max(i for i in range(place) if order[i] is None), order.index(None, place)
        assert {self.results[i]["score"] for i in (before, after)} == honest_scores()

    def assert_left_alone(self, returncode: int = 0) -> None:
        """Assert that nothing around has changed, runs on or was called, and how the command ended."""
        assert self.changes == [] and self.left_running == [] and self.contacts == []
        assert self.returncode == returncode

    def got(self, attack: str) -> str:
        """Points and status of the attacked task, such as "full pass"; the status alone where there is no score."""
        result = self.of(attack)
        task = next((task for task in result["tasks"] if task["task"] == TASK.id), None)
        assert result["score"] == (task["points"] if task else None)
        if task is None:
            return str(result["status"])
        return f"{'full' if task['points'] == task['max_points'] else task['points']} {task['status']}"

    @cached_property
    def everything_written(self) -> str:
        """All that the batch has put out, as text."""
        return self.output + self.results_text + self.rows_text


@cache
def honest_scores() -> set[int]:
    """The points of an honest solution that is right, and of one that is partly right."""
    names: dict[str, Any] = {"math": math}
    exec(PARTLY_RIGHT, names)
    functions = (TASK.reference, names[TASK.function])
    scores = {TASK.check(function, grading_seed(TASK.id)).points for function in functions}
    assert len(scores) == 2 and 0 not in scores
    return scores


@pytest.fixture(scope="module")
def batch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Grade the attacks of a module, each between two honest submissions."""
    course, attacks = tmp_path_factory.mktemp("course"), request.module.ATTACKS
    for name in ("submitted", "home", "out", "tmp", "cwd"):
        (course / name).mkdir()
    (course / "home" / "secret.txt").write_text(SECRET)
    with listening(course) as (places, contacts):
        lay_out(course / "submitted", attacks, places)
        return run(course, attacks, contacts)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try every attack of a module's table in the tests that ask for one."""
    if "attack" in metafunc.fixturenames:
        metafunc.parametrize("attack", metafunc.module.ATTACKS, ids=ascii)


def in_order(attacks: Mapping[str, Attack]) -> list[str | None]:
    """The batch: a few attacks, an honest one (None), a few attacks, and so on, with honest ones at both ends."""
    names = list(attacks)
    groups = ([None, *names[start : start + ATTACKS_IN_A_ROW]] for start in range(0, len(names), ATTACKS_IN_A_ROW))
    return [*(name for group in groups for name in group), None]


def lay_out(folder: Path, attacks: Mapping[str, Attack], places: dict[str, str]) -> None:
    """Write the submissions, with their places at the end of their names; honest ones are right and partly right."""
    honest = itertools.cycle((RIGHT, PARTLY_RIGHT))
    for place, name in enumerate(in_order(attacks)):
        if name is None:
            write_notebook(folder / f"honest {place:03}", next(honest))
            continue
        student = os.fsencode(name.replace("/", "∕")) + f" {place:03}".encode()
        student_folder = Path(os.fsdecode(os.fsencode(folder) + b"/" + student))
        _, attack = attacks[name]
        if callable(attack):
            student_folder.mkdir()
            attack(student_folder)
        else:
            write_notebook(student_folder, fill(attack, places | {"RIGHT": RIGHT}))


def fill(text: str, places: Mapping[str, str]) -> str:
    """Replace the words in capitals by what they stand for."""
    return re.sub(rf"\b(?:{'|'.join(places)})\b", lambda found: places[found[0]], text)


def write_notebook(folder: Path, code: str) -> Path:
    """Write a lesson with the given imports and some code, in cells divided by `# %%` lines."""
    setup = next(
        cell for cell in nbformat.read(NOTEBOOKS / f"{LESSON}.ipynb", as_version=4).cells if "setup" in cell.id
    )
    cells = [nbformat.v4.new_code_cell(part.strip("\n")) for part in re.split(r"^# %%\n", code, flags=re.M)]
    folder.mkdir(exist_ok=True)
    path = folder / f"{LESSON}.ipynb"
    path.write_text(json.dumps(nbformat.v4.new_notebook(cells=[setup, *cells])), encoding="utf-8")
    return path


def run(course: Path, attacks: Mapping[str, Attack], contacts: list[str]) -> Batch:
    """Grade the course and look at what has changed around it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # whatever outlives the grader becomes a child of this process
    before, running = snapshot(course), set(own_children())
    results_file = course / "out" / "results.json"
    written = ["--json", str(results_file), "--csv", str(course / "out" / "results.csv")]
    done = subprocess.run(
        [sys.executable, "-c", QUICK, "grade", str(course / "submitted"), *written, "--jobs", "3"],
        cwd=course / "cwd",
        env=os.environ
        | {"HOME": str(course / "home"), "TMPDIR": str(course / "tmp"), "DSPARK_SECRET": SECRET, "COLUMNS": "250"}
        | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    output = done.stdout.decode(errors="surrogateescape")
    text = results_file.read_text(encoding="utf-8") if results_file.exists() else "[]"
    rows = (course / "out" / "results.csv").read_text(encoding="utf-8") if results_file.exists() else ""
    results = {
        int(found[0]): r for r in json.loads(text) if (found := re.findall(r"(\d{3})(?!.*\d{3})", r["submission"]))
    }
    left = left_running(running)
    return Batch(
        attacks, results, output, done.returncode, text, rows, changed(before, snapshot(course)), left, contacts
    )
