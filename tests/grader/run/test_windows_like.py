"""A learner's commands where the system has no signals, process groups, limits of resources or select on pipes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from dspark_mini.workspace import ROOT, copy_lessons
from grader.read.submissions import tasks_of
from tests.commands import variables

LESSON = "02_parallel_drafting"
SIMULATION = Path(__file__).with_name("windows_like.py")
QUICK = "from grader.run import process; process.CALL_SECONDS = process.CELL_SECONDS = process.GRACE_SECONDS = 0.5"
MAIN, PYTEST = "from dspark_mini.cli import main; main()", "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
SEES_IMPORTS = "import atexit; atexit.register(lambda: print('imported', *sys.modules)); "
ENDLESS = """
def dflash_parallel_candidates(block_logits):
    while True:
        try:
            while True: pass
        except BaseException: pass
"""
PRINTS = "print('γ ≤ τ − ∞')"


def run(folder: Path, *words: str, code: str = MAIN) -> subprocess.CompletedProcess[str]:
    """Run Python code with the simulation in front of it."""
    start = f"FILE = {str(SIMULATION)!r}; exec(open(FILE, encoding='utf-8').read()); simulate()"
    command = [sys.executable, "-c", f"{start}; {QUICK}; {code}", *words]
    environment = variables(COLUMNS="100", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300)
    out, err = (stream.decode("cp1252") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(words, done.returncode, out, err)


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A solved lesson, in which one function never returns and a cell prints letters that cp1252 does not have."""
    folder = tmp_path_factory.mktemp("My [own] files")
    copy_lessons(folder / "work")
    notebook = jupytext.read(ROOT / "solutions" / f"{LESSON}.py")
    jupytext.write(notebook, folder / "work" / f"{LESSON}.ipynb")
    cells = nbformat.read(folder / "work" / f"{LESSON}.ipynb", as_version=4)
    at = next(i for i, cell in enumerate(cells.cells) if "def dflash_parallel_candidates" in cell.source)
    cells.cells[at].source = ENDLESS
    cells.cells.insert(at, nbformat.v4.new_code_cell(PRINTS))
    nbformat.write(cells, folder / "work" / f"{LESSON}.ipynb")
    return folder


def test_an_endless_loop_costs_its_own_task_only_and_every_letter_can_be_printed(student: Path) -> None:
    done = run(student, "check", "02")
    assert (done.returncode, done.stderr) == (0, "")
    rows = re.findall(r"^(\S+) +\S+ +(?:\(given\) +)?(.+?) +(\d+)/(\d+)", done.stdout, re.M)
    assert {task: (status, points == most) for task, status, points, most in rows} == {
        task.id: ("too slow", False) if task.id == "2.1" else ("passes", True) for task in tasks_of(LESSON)
    }
    assert f"Next: TODO 2.1 in {Path('work', LESSON)}.ipynb" in done.stdout


def test_hints_come_in_turn_and_nothing_is_imported_that_only_grading_needs(student: Path) -> None:
    done = run(student, "hint", "2.1", code=SEES_IMPORTS + MAIN)
    assert (done.returncode, done.stderr) == (0, "") and "Hint 1 of 3" in done.stdout
    imported = set(done.stdout.split())
    assert "grader.run.process" in imported
    assert not imported & {f"grader.run.{name}" for name in ("sandbox", "select_pipes", "journal", "pools", "worker")}
    assert json.loads((student / "work" / ".hints.json").read_text("utf-8")) == {"2.1": 1}


def test_pytest_shows_an_item_per_task(student: Path) -> None:
    notebook = str(Path("work", f"{LESSON}.ipynb"))
    words = ("-p", "dspark_mini.pytest_notebooks", "-p", "no:cacheprovider", "-v", notebook)
    done = run(student, *words, code=PYTEST)
    assert re.findall(r"^FAILED .*::(\S+)", done.stdout, re.M) == ["2.1"], done.stdout + done.stderr
    assert f"1 failed, {len(tasks_of(LESSON)) - 1} passed" in done.stdout


def test_reset_keeps_the_learners_notebook(student: Path) -> None:
    done = run(student, "reset", "00", "--folder", str(student / "work"))
    kept = student / "work" / "00_why_speculate.kept-1.ipynb"
    assert str(kept) in done.stdout and kept.exists() and done.stderr == ""


def test_the_race_runs_on_one_thread_and_writes_its_file(student: Path) -> None:
    words = ("--prompts", "1", "--domain", "math", "--method", "dspark", "--tokens", "16", "--json", "race.json")
    done = run(student, "race", *words)
    assert (done.returncode, done.stderr) == (0, "") and "written: race.json" in done.stdout
    assert json.loads((student / "race.json").read_text("utf-8"))["hardware"]["threads"] == 1


def test_grading_is_refused_in_one_sentence(student: Path) -> None:
    done = run(student, "grade", "work", "--unsafe-no-sandbox")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "`dspark-mini grade` needs Linux, for its sandbox; on Windows, type it in WSL.\n"
