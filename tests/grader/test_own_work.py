"""A learner's own notebooks: the file that counts, what comes next, and what `check` says of saved and broken files."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from dspark_mini import workspace
from dspark_mini.terminal import console, wrapped
from dspark_mini.workspace import copy_lessons, lesson_names, record_check, reset_lesson
from grader import command, own_work
from grader.check.report import FAIL, Report
from grader.lessons.checks import TASKS
from grader.own_work import after_lesson, next_notebook, unsaved, when_saved
from tests.commands import typed

Make = Callable[..., Path]
LESSON = "02_parallel_drafting"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with work/ and all lessons in it, where commands are typed."""
    monkeypatch.chdir(tmp_path)
    copy_lessons(tmp_path / "work")
    return tmp_path / "work"


def test_inside_work_commands_find_the_lessons_and_elsewhere_nothing_is_made(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    assert "Next: TODO 2.1 in 02_parallel_drafting.ipynb;" in typed("check", "02")
    assert re.findall(r"^2\.\d", typed("check", "2.4"), re.M) == ["2.4"]
    assert "02_parallel_drafting.kept-1.ipynb" in (said := typed("reset", "02")) and "Reload Notebook from Disk" in said
    (work / "empty").mkdir()
    monkeypatch.chdir(work / "empty")
    for words in (["check"], ["check", "02"], ["reset", "02"]):
        assert str(work / "empty" / "work") in typed(*words)
    assert list((work / "empty").iterdir()) == []
    monkeypatch.chdir(workspace.NOTEBOOKS)  # those that are handed out are nobody's work
    assert "There are no lessons in" in typed("check")


def test_a_renamed_lesson_is_checked_and_named_unless_it_was_set_aside(work: Path, make_notebook: Make) -> None:
    own = work / f"{LESSON}.ipynb"
    own.unlink()
    solved = make_notebook("work/mine.ipynb")
    assert "mine.ipynb: saved" in typed("check", "02")
    copy_lessons(work)  # as `learn` does
    assert "mine.ipynb: saved" in typed("check", "02")
    own.write_bytes(solved.read_bytes())
    assert f"{LESSON}.ipynb: saved" in typed("check", "02")
    reset_lesson(LESSON, work)
    solved.unlink()
    assert f"TODO 2.1 in work/{LESSON}.ipynb" in typed("check", "02").replace(os.sep, "/")


def test_a_truncated_notebook_hides_no_other_and_hints_go_on(work: Path) -> None:
    own, earlier = work / f"{LESSON}.ipynb", work / ".ipynb_checkpoints" / f"{LESSON}-checkpoint.ipynb"
    earlier.parent.mkdir()
    earlier.write_bytes(own.read_bytes())
    own.write_text(own.read_text("utf-8")[:5000], "utf-8")
    for said in (typed("check", "02"), typed("check")):
        assert f"{LESSON}.ipynb cannot be checked" in said and "`dspark-mini reset 02`" in said
        assert str(earlier.name) in said
    for task in TASKS.values():
        name = task.function + (r" \(given\)" if task.given else "")
        points = f"0/{task.max_points}"
        assert task.lesson == LESSON or re.search(rf"{re.escape(task.id)} +{name} +not started +{points}", said)
    assert "Next: TODO 0.1" in said
    assert "Hint 1 of 3" in typed("hint", "2.1")


def test_what_a_notebook_found_later_than_the_file_was_saved_asks_to_save(work: Path) -> None:
    own = work / f"{LESSON}.ipynb"
    task = TASKS["2.1"]
    record_check(task.id, "pass", task.max_points, work)
    assert "2.1: another result in the notebook" in (said := typed("check", "02")) and "save first (Ctrl+S)" in said
    os.utime(own, (time.time() + 1, time.time() + 1))
    assert "save first" not in typed("check", "02")
    os.utime(own, (0, 0))
    record_check(task.id, "pass", 0, work)
    assert unsaved(own, [Report(task.id, task.function, "pass", ())]) == []
    record_check(task.id, "pass", 9, work.parent)
    assert not (work.parent / ".checks.json").exists()  # no notebooks, no notes


@pytest.mark.parametrize(
    ("ago", "words"),
    [(0.5, "0 seconds"), (1.5, "1 second"), (61, "1 minute"), (7300, "2 hours"), (200_000, "2 days")],
)
def test_the_time_of_saving_is_told_in_words(tmp_path: Path, ago: float, words: str) -> None:
    path = tmp_path / "x.ipynb"
    path.touch()
    os.utime(path, (time.time() - ago, time.time() - ago))
    assert re.fullmatch(rf"saved at [-\d: ]*\d\d:\d\d, {words} ago", when_saved(path))


def test_the_next_lesson_is_the_first_unsolved_one_and_a_complete_one_names_it(
    work: Path, make_notebook: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = lesson_names()
    assert next_notebook(work) == work / f"{names[0]}.ipynb"
    monkeypatch.setattr(own_work, "lesson_names", lambda: names[2:4])
    make_notebook(f"work/{LESSON}.ipynb")
    assert next_notebook(work) == work / f"{names[3]}.ipynb"
    monkeypatch.setattr(own_work, "lesson_names", lambda: names[2:3])
    assert next_notebook(work) == work / f"{LESSON}.ipynb"
    assert after_lesson(LESSON) == "Lesson 02 is complete. It was the last one."


def test_at_80_columns_no_name_is_broken_but_after_an_underscore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "width", 80, raising=False)
    reports = [task.failed(FAIL, p.name) for task in TASKS.values() for p in task.core]
    with console.capture() as captured:
        console.print(command._table(reports))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    for report in reports:
        assert any(line.startswith(f"{report.task} ") and f" {report.function} " in line for line in lines)
    column = lines[0].index("fix first")
    broken = "\n".join(line[column:].rstrip() for line in lines[1:]).replace("_\n", "_").split("\n")
    assert broken == [report.reason for report in reports]


def test_a_line_that_is_too_long_goes_on_below_its_first_word_or_after_its_label() -> None:
    lines = ["  hint      one two three", "  also open one, two, three", "    code = one + two + three"]
    folded = ["  hint      one two", "            three", "  also open one, two,", "            three"]
    assert wrapped("\n".join(lines), 22).split("\n") == [*folded, "    code = one + two +", "    three"]
    assert wrapped("a\n\nb", 20) == "a\n\nb"
    assert wrapped("  提示      a b", 12) == "  提示      a\n            b"  # two columns per Chinese letter


def test_a_kernel_shows_hints_reports_one_line_for_a_todo_and_the_next_lesson(work: Path, make_notebook: Make) -> None:
    notebook = nbformat.read(make_notebook("solved.ipynb"), as_version=4)
    stub = next(c.source for c in nbformat.read(workspace.NOTEBOOKS / f"{LESSON}.ipynb", 4).cells if c.id == "task-2-1")
    asked, unknown = 'hint("2.1")', 'hint("8.99")'
    first = [stub, "dflash_parallel_candidates([[1.0]])", asked, asked, f"!{sys.executable} -m dspark_mini hint 2.1"]
    zeros = "def dflash_parallel_candidates(block_logits):\n    return [0 for row in block_logits]"
    setup = next(cell for cell in notebook.cells if cell.id.startswith("setup-"))
    checks = [cell for cell in notebook.cells if cell.id.split("-")[0] in ("task", "given", "check")]
    first += [next(cell.source for cell in notebook.cells if "BEST_KNOWN" in cell.source)]  # its model is not loaded
    first += [f'{zeros}\n\ncheck("2.1", dflash_parallel_candidates)']
    notebook.cells = [
        setup,
        *map(nbformat.v4.new_code_cell, first),
        *checks,
        *map(nbformat.v4.new_code_cell, (unknown, asked)),
    ]
    NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(work)}}).execute()
    shown = [cell.outputs for cell in notebook.cells]
    assert shown[2][0].traceback == [shown[2][0].evalue] and shown[2][0].evalue.startswith("TODO 2.1 (about 1 line): ")
    assert "Hint 1 of 3" in shown[3][0].data["text/plain"] and "Hint 2 of 3" in shown[4][0].data["text/plain"]
    assert "Hint 3 of 3" in shown[5][0].text  # the command shares the count
    assert shown[6][-1].traceback == ["This cell waits for 'prompts', from a cell above: run that first."]
    (failed,) = shown[7]
    said = "\n".join(failed.traceback)
    assert failed.ename == "CheckFailed" and "Traceback" not in said and "grader/" not in said
    assert "argmax_of_each_row" in said and "expected  [1, 2]" in said and "hint" in said
    said = shown[-2][0].traceback[0]
    assert "lesson 8 are 8.1, 8.2," in said and max(map(len, said.split("\n"))) <= 80
    assert "Lesson 02 is complete. Next: 03_sequential_heads.ipynb." in shown[-3][-1].data["text/plain"]
    assert "BEGIN SOLUTION" in shown[-1][0].data["text/plain"]
