"""What is uploaded elsewhere: a template repository for GitHub Classroom, an autograder for Gradescope."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader.deploy import write_classroom
from grader.lessons.paths import NOTEBOOKS, ROOT

LESSONS = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


def type_in(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run `dspark-mini` as installed from this repository."""
    command = [sys.executable, "-m", "dspark_mini", *map(str, words)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_template_repository_has_the_lessons_a_workflow_and_no_solutions(tmp_path: Path) -> None:
    done = type_in(tmp_path, "bundle", "--github-classroom", "template")
    files = {path.relative_to(tmp_path / "template").as_posix() for path in (tmp_path / "template").rglob("*")}
    assert done.returncode == 0 and {f"work/{name}" for name in LESSONS} <= files
    assert not any(word in name for name in files for word in ("hidden", "solutions", "mutants", "deploy"))
    workflow = (tmp_path / "template" / ".github" / "workflows" / "classroom.yml").read_text(encoding="utf-8")
    command = workflow.rpartition("run: dspark-mini ")[2].split()
    done = subprocess.run(
        [sys.executable, "-m", "dspark_mini", *command, "--lesson", "02", "--unsafe-no-sandbox"],
        cwd=tmp_path / "template",
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "::notice title=Autograding complete::Points 0/" in done.stdout, done.stderr


def test_a_template_repository_is_written_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        write_classroom(tmp_path)
    assert type_in(tmp_path, "bundle", "--github-classroom", ".").returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
