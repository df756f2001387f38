"""Code that echoes what it was called with: no hidden input, and no line of a hidden test, comes out anywhere.

Each of these answers rightly while the inputs are few, as in the visible examples, and smuggles out what it gets else.
"""

import inspect
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.check.judges import Session
from grader.lessons.checks import TASKS
from grader.lessons.hidden import lesson_02
from grader.lessons.mistakes import table_of
from grader.run.child.calling import Call
from grader.run.grading import grade_own_notebook
from tests.attacks.conftest import LESSON, RIGHT, TASK

# What every one of them is built of: the right function, a mark for the inputs, and what has been seen so far.
TOOLS = """RIGHT
# %%
import os, sys
right, seen = conditional_acceptance, []

def mark(counts, size):
    return "ECHO_" + "_".join(str(int(n)) for n in counts) + f"_OF_{int(size)}_END"

def is_hidden(counts, size):
    return len(counts) > 4 or int(size) > 3 or any(int(n) < 0 or int(n) == 9 for n in counts)
"""


def echo(where_hidden: str, else_: str = "return right(counts, size)", before: str = "") -> str:
    body = f"    if is_hidden(counts, size):\n        {where_hidden}\n    {else_}\n"
    return f"{TOOLS}{before}\ndef conditional_acceptance(counts, size):\n{body}"


ANSWER = "    return right(counts, size)"
LATE = "3 partial | 0 fail"  # by chance, a hidden case may look like a visible one
REMEMBER = "seen.append(mark(counts, size)); return right(counts, size)"
ATTACKS = {
    "the text of an error": ("0 fail", echo("raise KeyError(mark(counts, size))")),
    "the name of an error": ("0 fail", echo("raise type(mark(counts, size), (Exception,), {})")),
    "the line of an error": (
        "0 fail",
        echo(
            "exec(compile('raise KeyError', FILE, 'exec').replace(co_firstlineno=777000 + int(counts[0]) * 10))",
            before="FILE = mark.__code__.co_filename",
        ),
    ),
    "the name of a type": ("0 fail", echo("return type(mark(counts, size), (), {})()")),
    "a text": ("0 fail", echo("return mark(counts, size)")),
    "a key": ("0 fail", echo("return {mark(counts, size): 1}")),
    "a later result": (LATE, echo(REMEMBER, "return [*seen] or right(counts, size)")),
    "a later type": (LATE, echo(REMEMBER, "return type(seen[-1], (), {})() if seen else right(counts, size)")),
    "a later error": (LATE, echo(REMEMBER, "if seen: raise KeyError(seen[-1])\n" + ANSWER)),
    "a later name of an error": (
        LATE,
        echo(REMEMBER, "if seen: raise type(seen[-1], (Exception,), {})\n    return right(counts, size)"),
    ),
    "standard output and error": (
        "full pass",
        echo("print(mark(counts, size)), print(mark(counts, size), file=sys.stderr)\n"
             "        for n in (1, 2): os.write(n, mark(counts, size).encode())\n        return right(counts, size)"),
    ),
    "a file for its own next process": (
        "0 fail | 0 error",
        echo("open('/tmp/kept', 'w').write(mark(counts, size)); os._exit(0)")
        + "\n# %%\nif os.path.exists('/tmp/kept'): raise KeyError(open('/tmp/kept').read())\ndef block_mask(*a): pass",
    ),
    "another function of its own": (
        "full pass",
        echo(REMEMBER, before="def choose_confident_prefix(*a, **k): return type(str(seen), (), {})()\n"),
    ),
}  # fmt: skip


def visible_calls() -> Iterator[Call]:
    """Every call that a learner may see."""
    for p in TASKS["2.5"].properties:
        for case in getattr(p.judge, "examples", ()):
            yield case.call


def visible_marks() -> set[str]:
    return set(map(mark, visible_calls()))


def leaked(text: str) -> list[str]:
    """The hidden inputs that stand in a text, and marks that have been cut short."""
    whole = re.findall(r"ECHO_(-?[\d_-]*_OF_-?\d+)_END", text)
    return [mark for mark in whole if mark not in visible_marks()] + re.findall(r"line 777\d{3}", text) + [
        "a mark cut short" for _ in range(text.count("ECHO_") - len(whole))
    ]  # fmt: skip


def test_no_hidden_input_comes_out_and_the_points_are_those_of_the_answers(batch: Any, attack: str) -> None:
    assert leaked(str(batch.of(attack))) == []
    batch.assert_fair(attack)


def test_no_hidden_input_stands_in_the_table(batch: Any) -> None:
    assert leaked(batch.output) == []
    batch.assert_left_alone()


def test_no_line_of_a_hidden_test_comes_out(batch: Any) -> None:
    lines = {line.strip() for line in inspect.getsource(lesson_02).splitlines() if len(line.strip()) > 20}
    assert len(lines) > 100 and [line for line in lines if line in batch.everything_written] == []


def test_nothing_that_a_report_shows_is_asked_for_after_a_hidden_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not even by a new process: one could end at a chosen second, and the next one read the clock."""
    asked: list[bool] = []
    outcomes = Session.outcomes
    monkeypatch.setattr(Session, "outcomes", lambda self, calls: asked.append(self.hidden) or outcomes(self, calls))
    wrong = f"def {TASKS['2.6'].function}(*anything):\n    return None\n"
    (tmp_path / f"{LESSON}.py").write_text(f"{RIGHT}\n{wrong}")
    grade_own_notebook(tmp_path / f"{LESSON}.py")
    assert asked == sorted(asked) and {False, True} == set(asked)


WAYS = (
    *("return -1", "return None", "return 'x'", "return [[1]]", "return bytearray(50 << 20)", "raise MemoryError"),
    *("raise KeyError(counts)", "raise ValueError(counts)", "time.sleep(0.02); return -1"),
    "seen.append(1); return -1 if len(seen) % 2 else [-1]",
)


def mark(call: Call) -> str:
    return f"{'_'.join(map(str, np.ravel(call.args[0]).tolist()))}_OF_{call.args[1]}"


def test_a_report_does_not_tell_how_a_hidden_case_fails() -> None:
    """Each function is right wherever a call can be known, and fails in its own way on all others."""
    known = visible_marks() | {mark(probe.call) for probe in table_of(LESSON, "2.5").probes}
    reports = []
    for way in WAYS:
        names: dict[str, Any] = {"math": math, "time": time, "seen": [], "known": known, "mark": mark, "Call": Call}
        body = f"if mark(Call((counts, size))) in known: return right(counts, size)\n    {way}"
        exec(f"{RIGHT}\nright = {TASK.function}\ndef {TASK.function}(counts, size):\n    {body}", names)
        reports.append(TASK.check(names[TASK.function], seed=3).to_json())
    assert all(report == reports[0] for report in reports) and reports[0]["status"] == "fail"
