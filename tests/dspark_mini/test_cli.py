"""The command line, as a person types it."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
import typer
from tornado.websocket import websocket_connect
from typer.testing import CliRunner

from dspark_mini import cli
from dspark_mini.workspace import UserError, copy_lessons, lesson_names
from grader.lessons.bundle import write_bundle
from grader.lessons.checks import TASKS
from grader.lessons.paths import SOLUTIONS
from grader.read.submissions import tasks_of
from tests.commands import command, refused, type_in, typed, variables

LESSON = "02_parallel_drafting"
IN_LESSON = tasks_of(LESSON)
FIRST = lesson_names()[0]


@pytest.fixture
def student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_lessons(tmp_path / "work")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def solve(folder: Path) -> None:
    import jupytext

    jupytext.write(jupytext.read(SOLUTIONS / f"{LESSON}.py"), folder / "work" / f"{LESSON}.ipynb")


def test_hints_come_in_three_steps_and_a_solved_lesson_passes_and_shows_the_reference(student: Path) -> None:
    texts = [typed("hint", "2.1") for _ in range(4)]
    *one_by_one, again = [text.split("\n\n", 1) for text in texts]
    assert [f"Hint {n} of 3" in heading for n, (heading, _) in enumerate(one_by_one, 1)] == [True] * 3
    assert again[1] == "\n".join(hint for _, hint in one_by_one)  # all of them, to read them again
    assert not any("BEGIN SOLUTION" in text for text in texts)
    solve(student)
    assert "BEGIN SOLUTION" in typed("hint", "2.1")
    said = typed("check", "02")
    assert said.count("passes") == len(IN_LESSON)
    assert said.endswith("Lesson 02 is complete. Next: 03_sequential_heads.ipynb.\n")


def test_what_cannot_be_done_is_refused_in_one_sentence_with_exit_code_2(student: Path) -> None:
    assert "dspark-mini learn" in refused("check", "--folder", "elsewhere")
    assert "are 9.1, 9.2, 9.3, 9.4." in refused("hint", "9.9")
    assert "the nearest is record." in refused("hint", "recrod")
    assert "those of lesson 4 are 4.1," in refused("check", "4.9")
    assert "00_why_speculate to 10_" in refused("reset", "77")
    assert f"the nearest is {LESSON}." in refused("reset", "parallel_drafting")
    (student / "work" / f"{LESSON}.ipynb").write_text("{")
    assert f"{LESSON}.ipynb cannot be checked" in (sentence := refused("check", "02"))
    done = type_in(student, "check", "02", COLUMNS="1000")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", sentence)
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


def test_grade_refuses_what_it_cannot_do_before_it_runs_or_writes_anything(
    student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (student / "empty").mkdir()
    (student / "trap.py").write_text("open('ran', 'w')")
    (student / "notes.txt").write_text("before")
    lesson = student / "work" / f"{LESSON}.ipynb"
    before = lesson.read_bytes()
    for name in ("absent.ipynb", "notes.txt", "empty"):
        assert name in refused("grade", name, "--unsafe-no-sandbox", "--json", "notes.txt")
    for target in (f"work/{LESSON}.ipynb", "nowhere/out.json"):
        assert target in refused("grade", "work", "--unsafe-no-sandbox", "--json", target)
    monkeypatch.setenv("PATH", str(student))  # no bubblewrap
    assert "--unsafe-no-sandbox" in refused("grade", "trap.py")
    assert lesson.read_bytes() == before and (student / "notes.txt").read_text() == "before"
    assert not (student / "ran").exists()


@pytest.mark.parametrize("content", ["{", '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}'])
def test_one_unreadable_notebook_is_listed_with_exit_code_1(student: Path, content: str) -> None:
    (student / "broken.ipynb").write_text(content)
    done = type_in(student, "grade", "broken.ipynb", "--unsafe-no-sandbox", "--json", "out.json")
    assert done.returncode == 1 and "1 unreadable" in done.stdout
    (result,) = json.loads((student / "out.json").read_text())
    assert (result["status"], result["score"]) == ("unreadable", None)


def test_bundle_is_reproducible_and_has_lessons_but_no_solutions(tmp_path: Path) -> None:
    typed("bundle", tmp_path / "lessons.zip")
    write_bundle(tmp_path / "again.zip")
    assert (tmp_path / "lessons.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()
    assert (tmp_path / "lessons.zip").stat().st_size < 8_000_000  # what a class does not need stays out
    with zipfile.ZipFile(tmp_path / "lessons.zip") as bundle:
        texts = {name: bundle.read(name).decode(errors="replace") for name in bundle.namelist()}  # weights are binary
    assert {f"dspark_mini/notebooks/{folder}{LESSON}.ipynb" for folder in ("", "zh/")} <= set(texts)
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
    stub = next(c.source for c in nbformat.read(kit / "work" / f"{LESSON}.ipynb", 4).cells if c.id == "task-2-5")
    solve(kit)
    notebook = nbformat.read(kit / "work" / f"{LESSON}.ipynb", as_version=4)
    next(cell for cell in notebook.cells if "def conditional_acceptance" in cell.source).source = stub
    nbformat.write(notebook, kit / "work" / f"{LESSON}.ipynb")
    done = type_in(kit, "check", LESSON, PYTHONPATH=str(kit))
    assert done.stdout.count("passes") == len(IN_LESSON) - 1, done.stdout + done.stderr
    assert done.stdout.count("not started") == 1
    assert "complete repository" in type_in(kit, "build", PYTHONPATH=str(kit)).stderr


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
    environment = variables(COLUMNS="40", PYTHONUNBUFFERED="1")
    words = command("learn", "--no-browser")
    lab: Any = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline, address = time.monotonic() + 120, ""
        while not address and time.monotonic() < deadline:
            address = "".join(
                re.findall(rf"http://127.0.0.1:\d+/lab/tree/{FIRST}\.ipynb\?token=\S+", lab.stdout.readline())
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
