"""A class in which faults of the machine are planted: its submissions, and the places that get its grades."""

import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from grader.lessons.build import notebook
from grader.lessons.checks import TASKS
from grader.lessons.paths import NOTEBOOKS, ROOT, SOLUTIONS
from grader.lessons.sources import cells_of
from grader.lessons.stubs import contract_imports

LESSON, TASK, EARLIER = "02_parallel_drafting", TASKS["2.5"], "7.25"  # no score has a quarter
RIGHT = contract_imports(TASK.reference_source) + TASK.reference_source
MEBIBYTE = 1 << 20
KINDS = {
    "right": RIGHT,
    "partly": RIGHT.replace("if tried else math.nan", "if tried else 0.0"),
    "wrong": f"def {TASK.function}(*arguments): return []",
    "hungry": f"{RIGHT}\nright, held = {TASK.function}, []\n"
    f"def {TASK.function}(*a):\n    held or held.append(bytearray({500 * MEBIBYTE}))\n    return right(*a)",
    "greedy": f"def {TASK.function}(*arguments): return bytearray({2000 * MEBIBYTE})",  # beyond its own limit
}
OUT = ("--json", "out/all.json", "--csv", "out/all.csv", "--canvas", "list.csv", "out/canvas.csv")
Around = Callable[[subprocess.Popen[bytes]], None]  # plants a fault while a grading runs


@dataclass
class Course:
    """A class in a folder, and what each student has to get."""

    folder: Path
    expected: dict[str, int] = field(default_factory=dict)
    url: str = ""  # of the gradebook, where one is asked for

    def grade(self, *more: str, around: Around | None = None, before: tuple[str, ...] = (), **options: Any) -> int:
        """Grade the class and return the exit code."""
        words = [*before, sys.executable, "-m", "dspark_mini", "grade", "all", "--lesson", "02", "--jobs", "2", *OUT]
        words += ["--course", "course", "--db", self.url] if self.url else []
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder / "tmp")}
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment} | options
        process = subprocess.Popen([*words, *more], cwd=self.folder, **options)
        if around:
            around(process)
        return process.wait()

    def saved(self) -> list[dict[str, Any]]:
        """The results that the journal has so far."""
        with contextlib.suppress(OSError):
            lines = (self.folder / "out" / "all.json.journal").read_text().splitlines(keepends=True)
            return [json.loads(line)["result"] for line in lines if line.endswith("\n")]
        return []

    def written(self) -> dict[str, dict[str, Any]]:
        """The grade of each student, by the place where it stands: None or EARLIER where nothing was written."""
        found: dict[str, dict[str, Any]] = {"journal": {row["submission"]: row["score"] for row in self.saved()}}
        with contextlib.suppress(OSError):
            rows = json.loads((self.folder / "out" / "all.json").read_text())
            found["json"] = {row["submission"]: row["score"] for row in rows}
        with contextlib.suppress(OSError), (self.folder / "out" / "all.csv").open(newline="") as file:
            scores = {row["submission"]: row["score"] for row in csv.DictReader(file)}
            found["csv"] = {name: int(score) if score else None for name, score in scores.items()}
        with contextlib.suppress(OSError), (self.folder / "out" / "canvas.csv").open(newline="") as file:
            grades = {row["Student"]: row[f"{LESSON} (1)"] for row in csv.DictReader(file)}
            found["canvas"] = {name: EARLIER if grade == EARLIER else float(grade) for name, grade in grades.items()}
        if self.url:
            from nbgrader.api import Gradebook

            with Gradebook(self.url, "dspark_mini") as book:
                found["gradebook"] = {s.student.id: s.score for s in book.assignment_submissions(LESSON)}
        return found


def make_class(folder: Path, number: int) -> Course:
    """Write the submissions, the list of an LMS with an earlier grade of each, and a course of nbgrader."""
    course, kinds = Course(folder), ["right", "partly", "wrong"] * number
    kinds[:3] = ["hungry", "hungry", "greedy"]
    setup = next(c for c in nbformat.read(NOTEBOOKS / f"{LESSON}.ipynb", as_version=4).cells if "setup" in c.id)
    for at in range(number):
        path = folder / "all" / f"s{at:02}" / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        cell = nbformat.v4.new_code_cell(f"# {at}\n{KINDS[kinds[at]]}")
        path.write_text(json.dumps(nbformat.v4.new_notebook(cells=[setup, cell])))
    rows = [f"s{at:02},{at},,s{at:02},A,{EARLIER}" for at in range(number)]
    (folder / "list.csv").write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,{LESSON} (1)\n" + "\n".join(rows) + "\n"
    )
    source = folder / "course" / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    cells = list(cells_of((SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    source.write_text(notebook(cells, for_nbgrader=True))
    clear(course)
    assert course.grade() == 0, "the class cannot be graded"
    course.expected = course.written()["json"]
    assert len(course.expected) == number and set(course.expected.values()) >= {0, TASK.max_points}
    return course


def clear(course: Course) -> None:
    for name in ("out", "tmp"):
        shutil.rmtree(course.folder / name, ignore_errors=True)
        (course.folder / name).mkdir()
