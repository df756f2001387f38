"""A lesson kept outside the kit: made, built, checked, graded, handed out; and those that are refused."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dspark_mini.workspace import UserError
from grader.lessons import own
from grader.lessons.checks import TASKS
from grader.lessons.new_lesson import new_lesson
from tests.commands import variables

NAME = "11_my_topic"
# Builds the own lessons alone: those of the kit take long, and have tests of their own.
BUILD = """
from pathlib import Path
from dspark_mini import cli
from grader.lessons import build
build.SOLUTIONS, build.NBGRADER_SOURCE = Path("none"), Path("nbgrader").absolute()
cli.main()
"""


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Type a command in a directory with the lessons in own/."""
    (folder / "own").mkdir(exist_ok=True)
    start = ("-c", BUILD) if words[0] == "build" else ("-m", "dspark_mini")
    line = [sys.executable, *start, *words, "--lessons", "own"]
    environment = variables(COLUMNS="200", XDG_CONFIG_HOME=str(folder))
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a new lesson in own/, as it was made."""
    folder = tmp_path_factory.mktemp("made")
    typed(folder, "new-lesson", NAME)
    return folder


def test_a_new_lesson_builds_checks_grades_and_is_handed_out(made: Path, tmp_path: Path) -> None:
    def done(*words: str) -> str:
        result = typed(tmp_path, *words)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "work").mkdir()
    assert done("build").count("written") == 4  # notebook, nbgrader's, table; the source's cells are filled in
    done("reset", "11", "--folder", "work")
    assert "not started" in done("check", "11")
    assert "Hint 1 of 3" in done("hint", "11.1")

    import jupytext

    source = (tmp_path / "own" / NAME / "lesson.py").read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" in source
    jupytext.write(jupytext.reads(source, fmt="py:percent"), tmp_path / "work" / f"{NAME}.ipynb")
    assert "passes" in done("check", "11")
    if shutil.which("bwrap"):
        done("grade", "work", "--json", "all.json")
        (result,) = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
        assert result["lesson"] == NAME and result["status"] == "pass" and result["score"] == result["max_score"] > 4

    done("bundle", "class.zip")
    with zipfile.ZipFile(tmp_path / "class.zip") as bundle:
        names = [name.split("/")[-1] for name in bundle.namelist() if f"lessons/{NAME}/" in name]
        assert sorted(names) == [f"{NAME}.ipynb", "checks.py", "mistakes.json", "reference.py"]
        assert b"np.mean" not in bundle.read(f"dspark_mini/lessons/{NAME}/reference.py")
    (tmp_path / "own" / NAME / "hidden.py").write_text("HIDDEN")
    refused = typed(tmp_path, "hint", "11.1")
    assert refused.returncode == 2 and "hidden.py, line 1, cannot be used: NameError" in refused.stderr


def test_names_that_are_taken_or_impossible_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSPARK_MINI_LESSONS", str(tmp_path))
    odd = dict.fromkeys(("my_topic", "../11_x"), "named like")
    for name, why in ({"10_mine": "task 10.1", "11_speedup": "task 0.2"} | odd).items():
        with pytest.raises(UserError, match=why):
            new_lesson(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"11.1"', '"2.1"', "task 2.1 of lesson 11_my_topic stands"),
        ('lesson="11_my_topic"', 'lesson="11_other"', "of lesson 11_other stands in the directory"),
        ("TASKS = (TASK_11_1,)", "TASKS = (TASK_11_1, TASK_11_1)", "two tasks 11.1"),
        ("from .reference import my_topic", "from dspark_mini import speedup as my_topic", "that of task 0.2"),
        ('values("no_lead", 1)', 'values("other", 1)', "hidden cases for ['no_lead']"),
        ("TASKS = ", "TASKS == ", "line 35, cannot be used: NameError"),
    ],
)
def test_a_lesson_that_does_not_fit_is_named(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, why: str
) -> None:
    folder = shutil.copytree(made / "own" / NAME, tmp_path / NAME)
    for path in (folder / "checks.py", folder / "hidden.py"):
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    monkeypatch.setenv("DSPARK_MINI_LESSONS", str(tmp_path))
    monkeypatch.setattr(own, "__path__", [str(tmp_path)])
    with pytest.raises(UserError) as refused:
        own.own_tasks(TASKS)
    for name in [name for name in sys.modules if name.startswith(f"{own.__name__}.")]:
        del sys.modules[name]
    assert why in str(refused.value) and str(folder) in str(refused.value)
