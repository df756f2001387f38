"""Faults of the machine while a class is graded: no score that was not earned, none lost, and the way to go on."""

import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dspark_mini.workspace import copy_lessons
from grader.run import sandbox
from grader.run.child.calling import call
from grader.run.process import Child, NoProcess, Piece
from tests.commands import command, type_in, variables
from tests.grader.run.conftest import wait_for

CLASS = ("ada", "bo", "cy", "dee", "eve")
RIGHT = "def rollback_rows(verified_rows, accepted):\n    return verified_rows - 1 - accepted\n"
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,07 end to end (12)\n"
ALL_FILES = ("--json", "out.json", "--csv", "out.csv", "--canvas", "list.csv", "to.csv", "--html", "pages")
SIZES = (8, 300, 480, 800)  # KiB, too little for: the journal, its copy, a page, nothing


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A class whose grade in the list is 50, all of them with the same right answer."""
    (tmp_path / "all").mkdir()
    (tmp_path / "tmp").mkdir()
    for name in CLASS:
        (tmp_path / "all" / f"{name}.py").write_text(RIGHT)
    rows = [f"{name},{number},,{name},S,50" for number, name in enumerate(CLASS)]
    (tmp_path / "list.csv").write_text(CANVAS + "\n".join(rows) + "\n")
    return tmp_path


def results_of(course: Path) -> dict[str, Any]:
    return {result["submission"]: result for result in json.loads((course / "out.json").read_text())}


def in_list(course: Path) -> dict[str, str]:
    with (course / "to.csv").open(newline="") as file:
        return {row["Student"]: row["07 end to end (12)"] for row in csv.DictReader(file)}


@pytest.mark.usefixtures("needs_sandbox")
def test_a_sandbox_that_fails_from_the_fourth_start_on_changes_no_grade(course: Path) -> None:
    program = course / "bin" / "bwrap"
    program.parent.mkdir()
    starts, real = course / "starts", shutil.which("bwrap")
    program.write_text(f'#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) -lt 4 ] || exit 1\nexec {real} "$@"\n')
    program.chmod(0o755)
    words = ("all", "--lesson", "07", "--jobs", "1", *ALL_FILES)
    done = type_in(course, "grade", *words, PATH=f"{program.parent}:{os.environ['PATH']}")
    found = results_of(course)
    graded = {name.removesuffix(".py") for name, result in found.items() if result["status"] != "ungraded"}
    assert done.returncode == 1 and 1 <= len(graded) < len(CLASS)
    assert all(result["score"] is None and result["reason"] for result in found.values() if "reason" in result)
    assert {name for name, grade in in_list(course).items() if grade == "50"} == set(CLASS) - graded
    *_, named, repair = done.stdout.strip().splitlines()
    assert all(f"{name}.py" in named for name in set(CLASS) - graded) and not any(f"{n}.py" in named for n in graded)
    assert f"dspark-mini grade {' '.join(words)} --resume" in repair
    assert type_in(course, "grade", *words, "--resume").returncode == 0
    assert len({result["score"] for result in results_of(course).values()}) == len(set(in_list(course).values())) == 1


class Killed(Child):
    """A child that is killed while it answers, so many times: bubblewrap, or what runs in it."""

    inside, times = False, 0

    def _load(self) -> None:
        super()._load()
        if self.times:
            self.times -= 1
            pid = self.process.pid
            for _ in range(2 * self.inside):
                pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
            threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()


@pytest.mark.usefixtures("needs_sandbox")
@pytest.mark.parametrize(
    ("inside", "times", "short_of_memory", "what"),
    [
        (False, 1, False, None),
        (True, 1, False, None),
        (True, 2, False, "ProcessEnded"),  # as if it killed itself
        (True, 2, True, "the machine"),
        (False, 2, False, "the machine"),
    ],
)
def test_a_kill_from_outside_is_not_the_learners_fault(
    quick: Path, monkeypatch: pytest.MonkeyPatch, inside: bool, times: int, short_of_memory: bool, what: str | None
) -> None:
    kills = itertools.count() if short_of_memory else itertools.repeat(0)
    monkeypatch.setattr(sandbox, "memory_kills", lambda: next(kills))
    source = "import time\ndef sleeps():\n    time.sleep(0.3)\n    return 1\n"
    monkeypatch.setattr(Killed, "inside", inside)
    monkeypatch.setattr(Killed, "times", times)
    child = Killed(quick, [Piece(source, "cell")], sandbox=True)
    expected = pytest.raises(NoProcess, match="killed its process twice") if what == "the machine" else nullcontext()
    with expected:
        assert child.outcomes("sleeps", [call(), call()])[-1].error == what
    child.close()


@pytest.mark.parametrize("words", [("grade", "all", "--unsafe-no-sandbox", "--jobs", "2"), ("check", "00")])
def test_no_temporary_folder_is_left_after_a_kill(course: Path, words: tuple[str, ...]) -> None:
    copy_lessons(course / "work")

    def left() -> bool:
        return any((course / "tmp").glob("dspark-mini-*"))

    for seconds in (0.0, 0.8):
        process = subprocess.Popen(
            command(*words), cwd=course, env=variables(TMPDIR=str(course / "tmp")), stdout=subprocess.DEVNULL
        )
        wait_for(lambda process=process: left() or process.poll() is not None)  # type: ignore[misc]
        time.sleep(seconds)
        process.kill()
        process.wait()
        wait_for(lambda: not left())


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap makes the disk")
@pytest.mark.parametrize("size", SIZES)
def test_a_disk_that_fills_up_gives_a_sentence_and_no_half_file(course: Path, size: int) -> None:
    """The targets, the journal and standard output are on a disk of some KiB; afterwards its files are looked at."""
    disk = course / "disk"
    disk.mkdir()
    for name in CLASS[1:]:
        (course / "all" / f"{name}.py").unlink()
    script = (
        'grade="$1"; shift; "$@" > said.txt; code=$?\n'
        "for file in *; do [ -f $file ] && echo $file $(stat -c %s $file); done\n"
        '[ -f out.json ] && python3 -c \'import json; print(len(json.load(open("out.json"))), "whole")\'\n'
        "exit $code"
    )
    words = command("grade", course / "all", "--unsafe-no-sandbox", "--jobs", "1", "--json", "out.json")
    shell = ["sh", "-c", script, "sh", "grade", *words, "--csv", "out.csv", "--html", "pages"]
    box = ["bwrap", "--dev-bind", "/", "/", "--size", str(size << 10), "--tmpfs", str(disk), "--chdir", str(disk)]
    done = subprocess.run([*box, *shell], env=variables(), capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr
    assert (done.returncode == 2) is ("No space left" in done.stderr) is (size < SIZES[-1]), done.stderr
    assert ".part" not in done.stdout and "Exception ignored" not in done.stderr
    assert ("\nout.json " in f"\n{done.stdout}") is ("1 whole" in done.stdout)


def test_a_terminal_that_cannot_encode_a_name_or_is_gone_costs_no_file(course: Path) -> None:
    for name in CLASS[1:]:
        (course / "all" / f"{name}.py").unlink()
    (course / "all" / "ada.py").rename(course / "all" / "Zoë γ.py")
    words = ("grade", "all", "--unsafe-no-sandbox", "--json", "out.json", "--csv", "out.csv", "--html", "pages")
    done = type_in(course, *words, PYTHONIOENCODING="ascii:strict", LC_ALL="C")
    assert done.returncode == 0 and "Zo? ?.py" in done.stdout
    assert "Zoë γ.py" in results_of(course) and (course / "pages" / "index.html").exists()
    shutil.rmtree(course / "pages")
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(command(*words), cwd=course, env=variables(), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert b"Traceback" not in gone.stderr and (course / "pages" / "index.html").exists()
