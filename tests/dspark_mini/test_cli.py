"""The command line, as a person types it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer
from tornado.websocket import websocket_connect
from typer.testing import CliRunner

from dspark_mini import cli
from dspark_mini.workspace import ROOT, UserError, copy_lessons, lesson_names
from grader.lessons.bundle import write_bundle
from grader.lessons.checks import TASKS
from grader.read.submissions import tasks_of

LESSON = "02_parallel_drafting"
IN_LESSON = tasks_of(LESSON)
FIRST = lesson_names()[0]


def type_in(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dspark_mini", *words]
    variables = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)} | environment
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence of a refusal."""
    assert done.returncode == 2 and not done.stdout.strip()
    sentence = done.stderr.strip()
    assert "Traceback" not in sentence and len(sentence.splitlines()) == 1 and sentence.endswith(".")
    return sentence


@pytest.fixture
def student(tmp_path: Path) -> Path:
    copy_lessons(tmp_path / "work")
    return tmp_path


def solve(folder: Path) -> None:
    import jupytext

    jupytext.write(jupytext.read(ROOT / "solutions" / f"{LESSON}.py"), folder / "work" / f"{LESSON}.ipynb")


def test_check_shows_every_task_and_the_next_step(student: Path) -> None:
    done = type_in(student, "check")
    assert done.returncode == 0
    for task in TASKS.values():
        name = task.function + (r" \(given\)" if task.given else "")
        assert re.search(rf"{re.escape(task.id)} +{name} +not started +0/{task.max_points}", done.stdout)
    assert f"Next: TODO {next(iter(TASKS))}" in done.stdout.strip().splitlines()[-1]


def test_hints_come_in_three_steps_and_a_solved_lesson_passes_and_shows_the_reference(student: Path) -> None:
    texts = [type_in(student, "hint", "2.1").stdout for _ in range(4)]
    assert [f"Hint {n} of 3" in text for n, text in zip((1, 2, 3, 3), texts)] == [True] * 4
    assert not any("BEGIN SOLUTION" in text for text in texts)
    solve(student)
    assert "BEGIN SOLUTION" in type_in(student, "hint", "2.1").stdout
    done = type_in(student, "check", "02")
    assert done.stdout.count("passes") == len(IN_LESSON)
    assert done.stdout.endswith("Lesson 02 is complete. Next: 03_sequential_heads.ipynb.\n")


def test_reset_sets_a_notebook_aside_and_what_cannot_be_done_is_refused_in_one_sentence(student: Path) -> None:
    assert "dspark-mini learn" in refused(type_in(student, "check", "--folder", "elsewhere"))
    assert "2.1, 2.2" in refused(type_in(student, "hint", "9.9"))
    assert LESSON in refused(type_in(student, "reset", "77"))
    assert "02_parallel_drafting.kept-1.ipynb" in type_in(student, "reset", "2").stdout
    (student / "work" / f"{LESSON}.ipynb").write_text("{")
    assert f"{LESSON}.ipynb cannot be checked" in refused(type_in(student, "check", "02"))
    assert type_in(student, "sing").returncode == 2


def test_commands_without_the_grader_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "grader.command")
    monkeypatch.setitem(sys.modules, "grader", None)
    app = typer.Typer()
    cli.mount_commands(app)
    for words in (["check"], ["hint", "2.1"], ["grade", "work", "--jobs", "2"], ["bundle"], ["build", "--check"]):
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, UserError) and f"dspark-mini {words[0]}" in str(done.exception)


def test_an_import_error_inside_the_grader_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "grader.command")
    monkeypatch.setitem(sys.modules, "grader.check.text", None)
    with pytest.raises(ModuleNotFoundError, match=r"grader\.check\.text"):
        cli.mount_commands(typer.Typer())


def test_grade_of_a_directory_writes_json_and_exits_with_1_only_if_something_was_unreadable(student: Path) -> None:
    solve(student)
    assert type_in(student, "grade", "work", "--unsafe-no-sandbox", "--lesson", "02").returncode == 0
    (student / "work" / "bad.ipynb").write_text("x")
    done = type_in(student, "grade", "work", "--unsafe-no-sandbox", "--json", "out.json")
    assert done.returncode == 1 and "1 unreadable" in done.stdout
    results = {result["submission"]: result for result in json.loads((student / "out.json").read_text())}
    assert results[LESSON]["status"] == "pass" and results["bad"]["status"] == "unreadable"


def test_grade_refuses_what_it_cannot_do_before_it_runs_or_writes_anything(student: Path) -> None:
    (student / "empty").mkdir()
    (student / "trap.py").write_text("open('ran', 'w')")
    (student / "notes.txt").write_text("before")
    (student / "broken.ipynb").write_text("{")
    (student / "no-tasks.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}')
    lesson = student / "work" / f"{LESSON}.ipynb"
    before = lesson.read_bytes()
    assert "--unsafe-no-sandbox" in refused(type_in(student, "grade", "trap.py", PATH=str(student)))  # no bubblewrap
    for name in ("absent.ipynb", "notes.txt", "broken.ipynb", "no-tasks.ipynb", "empty"):
        assert name in refused(type_in(student, "grade", name, "--unsafe-no-sandbox", "--json", "notes.txt"))
    for target in (f"work/{LESSON}.ipynb", "nowhere/out.json"):
        assert target in refused(type_in(student, "grade", "work", "--unsafe-no-sandbox", "--json", target))
    assert lesson.read_bytes() == before and (student / "notes.txt").read_text() == "before"
    assert not (student / "ran").exists()


def test_bundle_is_reproducible_and_has_lessons_but_no_solutions(tmp_path: Path) -> None:
    assert type_in(tmp_path, "bundle", "lessons.zip").returncode == 0
    write_bundle(tmp_path / "again.zip")
    assert (tmp_path / "lessons.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "lessons.zip") as bundle:
        texts = {name: bundle.read(name).decode(errors="replace") for name in bundle.namelist()}  # weights are binary
    assert f"dspark_mini/notebooks/{LESSON}.ipynb" in texts
    assert not any(part in name for name in texts for part in ("solutions/", "tests/", "mutants", "hidden", "build.py"))
    for task in TASKS.values():
        region = task.reference_source.partition("### BEGIN SOLUTION\n")[2].partition("    ### END")[0]
        given = task.id == "record"  # its solution is given in the notebook
        assert region and (given or not any(region in text for text in texts.values())), task.id
    assert not any("def random_blocks" in text for text in texts.values())  # it draws hidden cases


def test_unpacked_bundle_checks_visible_examples_without_the_reference(tmp_path: Path) -> None:
    write_bundle(tmp_path / "lessons.zip")
    with zipfile.ZipFile(tmp_path / "lessons.zip") as bundle:
        bundle.extractall(tmp_path)
    kit = tmp_path / "dspark_mini"
    copy_lessons(kit / "work")
    assert type_in(kit, "check", LESSON, PYTHONPATH=str(kit)).stdout.count("not started") == len(IN_LESSON)
    solve(kit)
    done = type_in(kit, "check", LESSON, PYTHONPATH=str(kit))
    assert done.stdout.count("passes") == len(IN_LESSON), done.stdout + done.stderr
    assert "complete repository" in refused(type_in(kit, "build", PYTHONPATH=str(kit)))
    done = type_in(tmp_path, "build", "--check")
    assert done.returncode == 0, done.stdout


def test_pytest_shows_one_test_per_task_of_a_notebook(student: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-v", f"work/{LESSON}.ipynb"]
    for solved in (False, True):
        if solved:
            solve(student)
        done = subprocess.run(command, cwd=student, capture_output=True, text=True)
        assert len(re.findall(r"(PASSED|FAILED)", done.stdout.partition("short test summary")[0])) == len(IN_LESSON)
        assert (done.returncode == 0) is solved and "Traceback" not in done.stdout
        assert solved or "TODO 2.1 is not started" in done.stdout


def said_in_terminal(base: str, token: str, line: str) -> str:
    """Type a line in a terminal of JupyterLab, and return the line that it prints."""

    async def talk() -> str:
        made = urllib.request.Request(f"{base}/api/terminals?token={token}", method="POST")
        with urllib.request.urlopen(made, timeout=60) as reply:
            name = json.load(reply)["name"]
        socket = await websocket_connect(f"{base}/terminals/websocket/{name}?token={token}".replace("http", "ws", 1))
        await socket.write_message(json.dumps(["stdin", f'echo "<$({line})>"\r']))
        heard = ""
        while not (found := re.search(r"<([^$>]*)>", heard)):
            message = json.loads(await asyncio.wait_for(socket.read_message(), 60))
            heard += message[1] if message[0] == "stdout" else ""
        return found[1]

    return asyncio.run(talk())


def test_learn_copies_the_lessons_and_prints_the_address_of_the_first_that_is_not_solved(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dspark_mini", "learn", "--no-browser"]
    environment = os.environ | {"COLUMNS": "40", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    lab: Any = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline, address = time.monotonic() + 120, ""
        while not address and time.monotonic() < deadline:
            address = "".join(
                re.findall(rf"http://localhost:\d+/lab/tree/{FIRST}\.ipynb\?token=\S+", lab.stdout.readline())
            )
        with urllib.request.urlopen(address, timeout=60) as page:
            assert page.status == 200 and b"JupyterLab" in page.read()
        assert (tmp_path / "work" / f"{LESSON}.ipynb").exists()
        base, token = address.split("/lab/tree/")[0], address.split("token=")[1]
        assert said_in_terminal(base, token, "command -v dspark-mini") == str(
            Path(sys.executable).parent / "dspark-mini"
        )
        settings = f"{base}/lab/api/settings/@jupyterlab/apputils-extension:notification?token={token}"
        with urllib.request.urlopen(settings, timeout=60) as reply:
            assert json.load(reply)["schema"]["properties"]["fetchNews"]["default"] == "false"  # no pop-up
    finally:
        lab.send_signal(signal.SIGTERM)
        assert lab.wait(timeout=60) == 0
