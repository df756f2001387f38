"""The child process: what it can reach, and that no learner's function harms the next one or outlives it.

All of this is tried on a bare process, which can do more than one in a sandbox. Functions that misbehave, and forged
replies, stand in test_misbehaving.py; what only the sandbox promises stands in test_sandbox.py.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.check.comparison import same_value
from grader.run import process
from grader.run.child.calling import LocalCaller, Outcome, call, unchanged
from grader.run.grading import RemoteCaller
from grader.run.process import Child, Piece, child_library
from tests.grader.run.conftest import ENDS, GOOD, HANGS, answers, asked

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes in /proc"),
    pytest.mark.usefixtures("short", "alarm"),
]
Processes = Callable[[str], list[int]]
Start = Callable[..., Child]


def test_a_child_without_a_sandbox_imports_neither_the_reference_nor_the_tests_and_sees_no_environment(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSPARK_SECRET", "do not tell")
    child = start(
        "import importlib, os\ndef module(name): return importlib.import_module(name).__name__\n"
        "def environment(): return dict(os.environ)",
        "import sys\nprint('γ−∞', file=sys.stderr)\nprint('γ' * 10**6)\n"
        "try:\n    input()\nexcept EOFError:\n    ended = True\n"
        "def reads():\n    print('γ')\n    return [ended, sys.stdin.read()]",
    )
    assert not child.errors and asked(child, "reads") == Outcome(value=[True, ""])  # its streams are empty
    for name in ("dspark_mini.drafting", "grader.lessons.checks", "grader.check.judges", "solutions", "tests"):
        assert asked(child, "module", name).error == "ModuleNotFoundError"
    assert asked(child, "module", "dspark_mini.inputs") == Outcome(value="dspark_mini.inputs")
    environment = asked(child, "environment").value
    assert set(environment) <= {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PATH", "LC_CTYPE"}


def test_pieces_that_hang_or_end_the_process_cost_only_what_they_define(start: Start) -> None:
    child = start(
        "def first(): return 1",
        "while True: pass\ndef later(): pass",
        "import os\nos._exit(0)",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "x = (",
        "1 / 0\ndef never(): pass",
        "#" * (17 << 20),  # too much for the wire
        GOOD,
    )
    errors = ["TimeoutError", "ProcessEnded", "TimeoutError", "SyntaxError", "ZeroDivisionError", "MemoryError"]
    assert {i: error.error for i, error in child.errors.items()} == dict(enumerate(errors, 1))
    assert child.defined == {"first", "later", "good"}
    assert asked(child, "first") == Outcome(value=1) and answers(child)


LEAVES = "n = 0\ndef leaves():\n    import os\n    os._exit(0)\ndef count():\n    global n\n    n += 1\n    return n\n"


@pytest.mark.parametrize(
    ("end", "statements"),
    [("1 / 0", False), ("raise TimeoutError('no network')", False), ("import time\ntime.sleep(60)", True)],
)
def test_the_children_after_the_first_define_the_same(start: Start, end: str, statements: bool) -> None:
    child = start(LEAVES + end, statements=statements)
    assert [asked(child, "count").value for _ in range(3)] == [1, 2, 3]
    defined, errors = child.defined, dict(child.errors)
    assert asked(child, "leaves") == ENDS
    assert asked(child, "count").value == 1
    assert (child.defined, child.errors) == (defined, errors)


STAYS = """
import os, signal, subprocess, sys, time

def fork():
    if os.fork() == 0: time.sleep(60)

def forks_of_forks():
    if os.fork() == 0: os.fork(), os.fork(), time.sleep(60)

def busy_fork():
    if os.fork() == 0:
        while True: pass

def fork_that_ignores_signals():
    if os.fork() == 0:
        for number in (1, 2, 3, 13, 15): signal.signal(number, signal.SIG_IGN)
        time.sleep(60)

def another_program():
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)", sys.path[0]])

def fork_of_a_process_that_is_gone():
    if os.fork() == 0: time.sleep(60)
    os._exit(0)
"""


PIECES = ["import os, time\nif os.fork() == 0: time.sleep(60)", "if os.fork() == 0:\n    time.sleep(60)\nos._exit(0)"]


def test_no_process_that_a_piece_or_a_function_starts_survives_close_or_the_one_that_started_it(
    start: Start, own: Path, running: Processes, still_running: Processes
) -> None:
    child = start(*PIECES, STAYS + GOOD)
    for name in ("fork", "forks_of_forks", "busy_fork", "fork_that_ignores_signals", "another_program"):
        assert asked(child, name) == Outcome()
        assert answers(child)
    assert len(running(str(own))) >= 9
    assert asked(child, "fork_of_a_process_that_is_gone") in (ENDS, HANGS)
    assert still_running(str(own)) == []
    assert answers(child)
    child.close()
    assert still_running(str(own)) == []


def test_no_descriptor_of_the_grader_is_left_open(start: Start, own: Path, running: Processes) -> None:
    before = len(os.listdir("/proc/self/fd"))
    child = start("def f():\n    import os\n    os._exit(0)" + GOOD)
    asked(child, "f")
    assert answers(child)
    child.close()
    child.close()
    assert len(os.listdir("/proc/self/fd")) == before and not running(str(own))
    assert answers(child) and len(running(str(own))) == 1  # it starts again when it is called


def test_the_folder_of_the_library_goes_away() -> None:
    with child_library() as folder:
        files = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    assert not folder.exists()
    child = "__init__ calling generators imports limits loader lookalikes main wire"
    library = "__init__ bias_rows contracts conversion inputs kinds rules violations"
    names = ["grader/__init__", "grader/run/__init__", *(f"grader/run/child/{name}" for name in child.split())]
    assert files == {f"{name}.py" for name in (*names, *(f"dspark_mini/{name}" for name in library.split()))}


@pytest.mark.parametrize("file", ["numpy.py", "grader/run/child/loader.py"])
def test_a_file_that_a_submission_writes_does_not_reach_another(file: str) -> None:
    with child_library() as folder:
        writer = Child(folder, [Piece(f"open({file!r}, 'w').write('raise ImportError')", "cell")], sandbox=False)
        writer.close()
        other = Child(folder, [Piece("import numpy, json, dspark_mini.inputs\n" + GOOD, "cell")], sandbox=False)
        try:
            assert answers(other)
        finally:
            other.close()


def test_a_large_answer_arrives_in_time(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CALL_SECONDS", 20)
    child = start("import numpy as np\nx = [np.zeros(1 << 20)] * 2\ndef f():\n    return x\n")
    begin = time.process_time()
    assert len(asked(child, "f").value) == 2
    assert time.process_time() - begin < 0.3


SAME = """
import numpy as np
from collections import OrderedDict, deque

def same(*a, **k):
    return [*a, k] if k else a[0]

def changes(x):
    x[0] = 7
    return x

def raises(x):

    raise ValueError(f"x[{x}] is bad")
"""

ODD = ["range(3)", "deque([0, 1])", "OrderedDict(a=1)", "np.matrix([[1]])", "np.longdouble(1)", "np.ma.array([1.0])"]
SAME += "".join(f"\ndef odd{i}():\n    return {odd}\n" for i, odd in enumerate(ODD))


def test_changes_errors_and_odd_results_are_the_same_in_a_child(quick: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(SAME, "cell", "exec"), names)
    child = Child(quick, [Piece(SAME, "cell")], sandbox=False)

    def both(name: str, *arguments: Any) -> tuple[Outcome, Outcome]:
        it = [call(*arguments)]
        return (*LocalCaller(names[name]).outcomes(it), *RemoteCaller(child, name).outcomes(it))

    for value in ([1, 2], np.zeros(3), {0: [1]}, np.array([7])):
        here, there = both("changes", value)
        assert here.changed == there.changed and unchanged(here.value, there.value)
    here, there = both("raises", 2)
    assert here == there == Outcome(error="ValueError", message="x[2] is bad", line=14)
    for i, odd in enumerate(ODD):
        here, there = both(f"odd{i}")
        for expected in ([0, 1, 2], [0, 1], {"a": 1}, [[1]], 1.0, [1.0]):
            assert same_value(expected, here.value) == same_value(expected, there.value), odd
    child.close()
