"""The child process: what it can reach, and that no learner's function harms the next one or outlives it.

Most of this is tried on a bare process, which can do more than one in a sandbox; functions that misbehave, and replies
that are forged, are tried on both. What only the sandbox promises stands in test_sandbox.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.check.comparison import same_value
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.run import process
from grader.run.channel import ChildTooSlow
from grader.run.child.calling import Call, LocalCaller, Outcome, Seed, call, unchanged
from grader.run.child.loader import CellError
from grader.run.process import Child, Piece, RemoteCaller, child_library

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes in /proc")
MANY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
Start = Callable[..., Child]
GOOD = "\ndef good(x):\n    return x + 1\n"
ENDS, HANGS = Outcome(error="ProcessEnded", died=True), Outcome(error="TimeoutError", timed_out=True)
LIMITS = {"calling.py": ("CALL_SECONDS", 0.5), "loader.py": ("CELL_SECONDS", 0.6)}

# What follows stands in a submission: it finds the pipes of the wire and writes to all of them.
TOOLS = """
import os, stat, struct, json

def write_to_pipes(data):
    for number in range(64):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, data)
        except OSError:
            pass

def forge(tree):
    text = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    write_to_pipes(struct.pack("<II", len(text), 0) + text)

def d(**items):
    return {"d": [[key, value] for key, value in items.items()]}
"""


@pytest.fixture(scope="module")
def quick() -> Iterator[Path]:
    """The files for a child, with short limits."""
    with child_library() as folder:
        for name, (constant, seconds) in LIMITS.items():
            file = folder / "grader" / "run" / "child" / name
            lines = file.read_text().split("\n")
            lines = [f"{constant} = {seconds}" if line.startswith(f"{constant} = ") else line for line in lines]
            assert f"{constant} = {seconds}" in lines
            file.write_text("\n".join(lines))
        yield folder


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same limits, and little grace, on this side."""
    for constant, seconds in LIMITS.values():
        monkeypatch.setattr(process, constant, seconds)
    monkeypatch.setattr(process, "GRACE_SECONDS", 1.0)


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """End a test that hangs on this side; the faults below would hang for ever."""

    def on_alarm(signum: int, frame: Any) -> None:
        raise TimeoutError("The grader itself hangs.")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(25)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def own(quick: Path, tmp_path: Path) -> Path:
    """The same files in a folder of a test's own, whose name marks the processes of that test."""
    return shutil.copytree(quick, tmp_path / "library")


@pytest.fixture
def start(own: Path) -> Iterator[Start]:
    """A function that starts a child with some pieces; all of them are closed again."""
    children: list[Child] = []

    def make(*sources: str, statements: bool = False) -> Child:
        child = Child(own, [Piece(source, f"cell {i}", statements) for i, source in enumerate(sources)], sandbox=False)
        children.append(child)
        return child

    yield make
    for child in children:
        child.close()


def running(marker: str) -> list[int]:
    """The processes that have a text in their command line and are no zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if marker in (folder / "cmdline").read_text(errors="replace") and state not in "ZX":
                found.append(int(folder.name))
    return found


def still_running(marker: str) -> list[int]:
    """The same, once what has been killed has had time to go."""
    for _ in range(40):
        if not running(marker):
            break
        time.sleep(0.05)
    return running(marker)


def asked(child: Child, function: str, it: Call) -> Outcome:
    """The outcome of a single call."""
    (outcome,) = child.outcomes(function, [it])
    return outcome


def answers(child: Child) -> bool:
    return asked(child, "good", call(1)) == Outcome(value=2)


# --- What a child can reach --------------------------------------------------------------------------

REACH = """
import importlib, os, sys

def module(name):
    return importlib.import_module(name).__name__

def environment():
    return dict(os.environ)

def places():
    return [os.getcwd(), *sys.path]

def arguments():
    return sys.argv

def functions(name):
    return [key for key in vars(importlib.import_module(name)) if not key.startswith("_")]

def limits():
    import resource
    return [resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0] for name in ("AS", "CPU", "FSIZE", "CORE")]

def descriptors():
    return [os.readlink("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd")
            if os.path.exists("/proc/self/fd/" + name)]
"""


@pytest.fixture(scope="module")
def reach(quick: Path) -> Iterator[Child]:
    os.environ["DSPARK_SECRET"] = "do not tell"
    child = Child(quick, [Piece(REACH, "cell")], sandbox=False)
    del os.environ["DSPARK_SECRET"]
    yield child
    child.close()


@pytest.mark.parametrize("name", ["numpy", "dspark_mini", "dspark_mini.inputs", "grader", "math", "dataclasses"])
def test_a_child_imports_what_lessons_need(reach: Child, name: str) -> None:
    assert asked(reach, "module", call(name)) == Outcome(value=name)


@pytest.mark.parametrize(
    "name",
    [
        "dspark_mini.drafting",
        "dspark_mini.masks",
        "dspark_mini.records",
        "dspark_mini.confidence",
        "dspark_mini.cli",
        "grader.lessons.checks",
        "grader.lessons.checks.lesson_02",
        "grader.lessons.tasks",
        "grader.check.judges",
        "grader.check.comparison",
        "grader.run.grading",
        "grader.run.process",
        "grader.lessons.mutants",
        "solutions",
        "tests",
    ],
)
def test_a_child_cannot_import_the_reference_or_the_tests(reach: Child, name: str) -> None:
    assert asked(reach, "module", call(name)).error == "ModuleNotFoundError"


def test_the_kit_in_a_child_holds_no_reference_and_an_inert_check(reach: Child) -> None:
    assert set(asked(reach, "functions", call("dspark_mini")).value) <= {
        "contracts",
        "inputs",
        "kinds",
        "rules",
        "violations",
    }
    assert set(asked(reach, "functions", call("grader")).value) <= {"check", "run"}


def test_the_check_of_a_lesson_does_nothing_in_a_child(start: Start) -> None:
    child = start(
        "from grader import check\nx = check('2.1', len)\ny = check()\ndef f():\n    return [x, y, check(1, 2)]"
    )
    assert not child.errors and asked(child, "f", call()).value == [None, None, None]


def test_nothing_of_the_parents_environment_reaches_a_child(reach: Child) -> None:
    environment = asked(reach, "environment", call()).value
    assert set(environment) <= {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PATH", "LC_CTYPE"}
    assert "do not tell" not in str(environment) and environment["PATH"] == os.defpath


def test_no_path_of_the_repository_reaches_a_child(reach: Child) -> None:
    """But for that of the virtual environment, where it stands inside of the repository."""
    for function in ("places", "arguments", "descriptors"):
        assert str(process.ROOT) not in str(asked(reach, function, call()).value).replace(sys.prefix, "")


def test_a_child_has_limits(reach: Child) -> None:
    memory, processor, files, cores = asked(reach, "limits", call()).value
    assert 0 < memory <= 1 << 30 and 0 < processor <= 600 and 0 < files <= 1 << 24 and cores == 0


def test_a_child_has_no_open_files_but_the_wire_and_nothing(reach: Child) -> None:
    names = asked(reach, "descriptors", call()).value
    assert sum(name.startswith("pipe:") for name in names) == 2
    assert all(name.startswith("pipe:") or name == "/dev/null" for name in names)


def test_standard_streams_of_a_child_are_empty_but_take_any_text(start: Start) -> None:
    child = start(
        "import sys\nprint('γ−∞', file=sys.stderr)\nprint('γ' * 10**6)\n"
        "try:\n    input()\nexcept EOFError:\n    ended = True\n"
        "def f():\n    print('γ')\n    return [ended, sys.stdin.read()]"
    )
    assert not child.errors and asked(child, "f", call()) == Outcome(value=[True, ""])


def test_a_result_that_a_later_call_changes_is_told_of(start: Start) -> None:
    child = start("def f(x, kept=[]):\n    kept[:] = [x]\n    return kept", "def g(x):\n    return [x]")
    calls = [call(1), call(2)]
    assert child.outcomes("f", calls) == [Outcome(value=[1]), Outcome(value=[2], changed_results=True)]
    assert child.outcomes("g", calls) == [Outcome(value=[1]), Outcome(value=[2])]


# --- Functions that misbehave ------------------------------------------------------------------------

BAD: dict[str, tuple[str, Any]] = {
    "leaves": ("import os\n    os._exit(0)", ENDS),
    "swallows": ("while True:\n        try:\n            while True: pass\n        except BaseException: pass", HANGS),
    "loops": ("while True: pass", HANGS),
    "bomb": ("import numpy as np\n    return float(np.ones(1 << 29).sum())", "MemoryError"),
    "growing_bomb": ("x = []\n    while True: x.append(bytes(1 << 25))", "MemoryError"),
    "floods_descriptors": ("import os\n    while True: os.write(1, b'x' * 10**5) and os.write(2, b'y' * 10**5)", HANGS),
    "writes_a_lot": (
        "import os\n    for n in range(20): print('x' * 10**6), os.write(1, b'x' * 10**6)\n    return 5",
        Outcome(5),
    ),
    "garbage": ("write_to_pipes(b'garbage!' * 100)", ENDS),
    "half_a_message": ("write_to_pipes(struct.pack('<II', 1 << 20, 1 << 20))", HANGS),
    "wrong_number": ("forge(d(number=10**6, value=1))", ENDS),
    "kills_itself": ("import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)", ENDS),
    "stops_itself": ("import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)", HANGS),
    "overflows_the_stack": (
        "import sys\n    sys.setrecursionlimit(10**8)\n    class A:\n"
        "        def __getattr__(self, name): return getattr(self, name + 'a')\n    A().x",
        None,
    ),
    "exits": ("raise SystemExit(1)", "SystemExit"),
    "recurses": ("return recurses(*a)", "RecursionError"),
    "returns_an_object": ("return object()", None),
    "returns_a_huge_array": ("import numpy as np\n    return np.zeros(1 << 23)", None),
    "leaves_a_thread": (
        "import threading, time\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 5",
        Outcome(5),
    ),
    "fills_the_disk": ("with open('big', 'wb') as f: f.write(bytes(1 << 27))", "OSError"),
    "is_missing_a_name": ("return nothing_of_that_name", "NameError"),
}
IN_SANDBOX = {"leaves_a_thread": "RuntimeError"}


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "sandbox"])
def misbehaving(
    request: pytest.FixtureRequest, quick: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Child]:
    """One submission with all of the functions, each in a cell of its own, and a good one behind them."""
    library = shutil.copytree(quick, tmp_path_factory.mktemp("misbehaving") / "library")
    sources = [TOOLS, *(f"def {name}(*a):\n    {body}\n" for name, (body, _) in BAD.items()), GOOD]
    child = Child(library, [Piece(source, f"cell {i}") for i, source in enumerate(sources)], request.param)
    assert not child.errors and set(BAD) | {"good"} <= child.defined
    yield child
    child.close()
    assert still_running(str(library)) == []


@pytest.mark.parametrize("name", BAD)
def test_after_a_function_that_misbehaves_the_next_one_still_answers(misbehaving: Child, name: str) -> None:
    expected = IN_SANDBOX.get(name, BAD[name][1]) if misbehaving.sandbox else BAD[name][1]
    got = asked(misbehaving, name, call())
    if isinstance(expected, Outcome):
        assert got == expected
    elif expected is not None:
        assert got.error == expected and not got.died and not got.timed_out
    assert answers(misbehaving)
    assert len(running(str(misbehaving.library))) <= (2 if misbehaving.sandbox else 1)  # bubblewrap stands twice there


def test_a_memory_bomb_leaves_the_machine_its_memory(misbehaving: Child) -> None:
    got = asked(misbehaving, "bomb", call())
    assert got.line == 3 and "4.00 GiB" in got.message


def test_a_result_that_is_no_plain_data_comes_back_as_the_name_of_its_type(misbehaving: Child) -> None:
    assert repr(asked(misbehaving, "returns_an_object", call()).value) == "<object>"
    assert repr(asked(misbehaving, "returns_a_huge_array", call()).value) == "<ndarray>"


# --- Several calls at once ---------------------------------------------------------------------------

COUNTS = """
import os, time
n = 0

def count(what=None):
    global n
    n += 1
    if what == "hang":
        time.sleep(60)
    if what == "leave":
        os._exit(0)
    if what == "raise":
        raise KeyError(n)
    return n
"""


def test_several_calls_are_made_in_their_order(start: Start) -> None:
    child, n = start(COUNTS), 0
    for size in (0, 1, 2, 0, 500):
        assert child.outcomes("count", [call()] * size) == [Outcome(value=n + i + 1) for i in range(size)]
        n += size


def test_an_exception_does_not_stop_the_calls_behind_it(start: Start) -> None:
    got = start(COUNTS).outcomes("count", [call(), call("raise"), call("raise"), call()])
    assert [(outcome.value, outcome.error) for outcome in got] == [
        (1, None),
        (None, "KeyError"),
        (None, "KeyError"),
        (4, None),
    ]


@pytest.mark.parametrize(("what", "last"), [("hang", HANGS), ("leave", ENDS)])
def test_calls_stop_behind_one_that_hangs_or_dies_and_the_next_are_answered(
    start: Start, what: str, last: Outcome
) -> None:
    child = start(COUNTS + GOOD)
    got = child.outcomes("count", [call(), call(), call(what), call(), call()])
    assert got[-1] == last  # replies that still wait to be sent may be lost with the process
    assert got[:-1] in ([], [Outcome(value=1), Outcome(value=2)])
    assert answers(child)
    assert [outcome.error for outcome in child.outcomes("count", [call(), call()])] == [None, None]


def test_large_answers_of_many_calls_do_not_block_each_other(start: Start) -> None:
    child = start("import numpy as np\ndef f(x):\n    return np.repeat(x, 20)\n")
    got = child.outcomes("f", [call(np.full(1000, float(i))) for i in range(30)])
    assert [outcome.value.shape for outcome in got] == [(20_000,)] * 30
    assert [outcome.value[-1] for outcome in got] == list(range(30))


# --- Results and replies that are strange or forged --------------------------------------------------

STRANGE: dict[str, str] = {
    "tuples as keys": "return {(1, 2): 3}",
    "NumPy text as keys": "import numpy\n    return {numpy.str_('mode'): 1}",
    "a long text": "return 'x' * (17 << 20)",
    "many arrays": "import numpy\n    return [numpy.zeros(1 << 20)] * 9",
}
NO_EXCEPTIONS = {"KeyboardInterrupt": "raise KeyboardInterrupt", "Exception": "raise type('E', (BaseException,), {})"}
FORGED: dict[str, str] = {
    "a bare list": "[1]",
    "an array as number": "d(number={'n': ['d', [1, 2]]})",
    "a message that is no text": "d(number=N, value=None, error='ValueError', message=7)",
    "an error that is no text": "d(number=N, value=None, error=7)",
    "a line that is no number": "d(number=N, value=None, error='KeyError', line='x')",
    "an old number": "d(number=N - 1, value=7)",
    "the next number": "d(number=N + 1, value=7)",
    "a number that equals the right one": "d(number=float(N), value=7)",
    "a flag that is no bool": "d(number=N, value=7, changed=0)",
}
HOSTILE = [*STRANGE.values(), *NO_EXCEPTIONS.values(), *(f"forge({tree})" for tree in FORGED.values())]


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "sandbox"])
def hostile_child(request: pytest.FixtureRequest, quick: Path) -> Iterator[Child]:
    """A submission with one function for each line of HOSTILE."""
    functions = (f"def f{i}(N):\n    {body}\n" for i, body in enumerate(HOSTILE))
    child = Child(quick, [Piece(TOOLS + "".join(functions) + GOOD, "cell")], request.param)
    yield child
    child.close()


@pytest.fixture
def hostile(hostile_child: Child) -> Callable[[str], Outcome]:
    """Call one of them, and no process again that may have sent more than it was asked for."""

    def ask(body: str) -> Outcome:
        try:
            return asked(hostile_child, f"f{HOSTILE.index(body)}", call(hostile_child.number + 1))
        finally:
            if "forge" in body:
                hostile_child.close()

    return ask


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_result_is_a_result_and_the_process_lives(hostile: Any, what: str) -> None:
    got = hostile(STRANGE[what])
    assert got.error is None and not got.died


@pytest.mark.parametrize("name", NO_EXCEPTIONS)
def test_any_exception_is_an_outcome_and_the_process_lives(hostile: Any, name: str) -> None:
    got = hostile(NO_EXCEPTIONS[name])
    assert got.error == name and got.line is not None


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_reply_ends_the_child_and_not_the_grader(hostile: Any, what: str) -> None:
    assert hostile(f"forge({FORGED[what]})") == ENDS


FORGED_LOADS: dict[str, str] = {
    "no dict of errors": "d(loaded={'l': []}, defined={'l': []})",
    "an error of an unknown piece": "d(loaded={'d': [[99, d(error='E', message='', line=None)]]}, defined={'l': []})",
    "an infinite piece": "d(running=float('inf'))",
    "an error of a piece that is a float": (
        "d(loaded={'d': [[1.0, d(error='E', message='', line=None)]]}, defined={'l': []})"
    ),
    "an error of a piece that is a bool": (
        "d(loaded={'d': [[True, d(error='E', message='', line=None)]]}, defined={'l': []})"
    ),
}


@pytest.mark.parametrize("what", FORGED_LOADS)
def test_a_forged_reply_while_loading_costs_only_its_piece(start: Start, what: str) -> None:
    child = start(f"{TOOLS}\nforge({FORGED_LOADS[what]})\n", GOOD)
    assert set(child.errors) <= {0, 1} and answers(child)
    assert all(type(index) is int for index in child.errors)


def test_a_child_that_says_without_end_that_it_is_loading_is_ended(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_PARTS", 100)
    child = start(f"{TOOLS}\nwhile True: forge(d(running=0))\n", GOOD)
    assert child.errors[0].error == "ProcessEnded" and answers(child)


def test_what_a_function_says_behind_its_answer_reaches_no_other_function(start: Start) -> None:
    child = start(
        f"{TOOLS}\ndef f(number):\n    forge(d(number=number, value=1))\n    forge(d(number=number + 1, value=1))\n"
        + GOOD
    )
    assert asked(child, "f", call(child.number + 1)).value == 1
    time.sleep(0.2)
    assert answers(child)


def test_a_forged_index_of_a_piece_that_ends_the_process_is_not_believed(start: Start) -> None:
    child = start(f"{TOOLS}\nforge(d(running=99))\nos._exit(0)\n", GOOD)
    assert set(child.errors) <= {0, 1} and answers(child)


# --- Pieces that misbehave ---------------------------------------------------------------------------


def test_pieces_that_hang_or_end_the_process_cost_only_what_they_define(start: Start) -> None:
    child = start(
        "def first(): return 1",
        "while True: pass\ndef never(): pass",
        "import os\nos._exit(0)",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "x = (",
        "1 / 0\ndef never(): pass",
        GOOD,
    )
    assert {i: error.error for i, error in child.errors.items()} == {
        1: "TimeoutError",
        2: "ProcessEnded",
        3: "TimeoutError",
        4: "SyntaxError",
        5: "ZeroDivisionError",
    }
    assert child.defined == {"first", "good"}
    assert asked(child, "first", call()) == Outcome(value=1) and answers(child)


def test_exit_in_a_cell_costs_only_that_cell(start: Start) -> None:
    child = start("def first(): return 1\nexit()", "quit()", "import sys\nsys.exit()", "raise SystemExit", GOOD)
    assert set(child.errors) == {0, 1, 2, 3} and asked(child, "first", call()).value == 1 and answers(child)


def test_the_children_after_the_first_define_the_same(start: Start) -> None:
    child = start(
        "n = 0\ndef leaves():\n    import os\n    os._exit(0)\ndef count():\n    global n\n    n += 1\n    return n",
        "1/0",
    )
    assert [asked(child, "count", call()).value for _ in range(3)] == [1, 2, 3]
    defined, errors = child.defined, dict(child.errors)
    assert asked(child, "leaves", call()) == ENDS
    assert asked(child, "count", call()).value == 1
    assert (child.defined, child.errors) == (defined, errors)


def test_an_empty_submission_is_a_child_that_defines_nothing(start: Start) -> None:
    child = start("", "\n")
    assert (child.errors, child.defined) == ({}, frozenset())


def test_a_cell_that_raises_timeout_error_keeps_its_functions_after_a_restart(start: Start) -> None:
    child = start(GOOD + "def leaves():\n    import os\n    os._exit(0)\nraise TimeoutError('no network')\n")
    assert answers(child) and asked(child, "leaves", call()) == ENDS
    assert answers(child)


def test_a_file_with_a_slow_statement_keeps_its_functions_after_a_restart(start: Start) -> None:
    source = GOOD + "def leaves():\n    import os\n    os._exit(0)\nimport time\ntime.sleep(60)\n"
    child = start(source, statements=True)
    assert answers(child) and asked(child, "leaves", call()) == ENDS
    assert answers(child)


def test_a_file_with_several_slow_statements_keeps_its_functions(start: Start) -> None:
    assert answers(start("import time\n" + "time.sleep(60)\n" * 4 + GOOD, statements=True))


def test_a_submission_too_large_for_the_wire_costs_only_itself(start: Start) -> None:
    child = start("#" * (17 << 20), GOOD)
    assert 0 in child.errors and answers(child)


# --- Nothing is left ---------------------------------------------------------------------------------

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


def test_no_process_that_a_function_starts_survives_close(start: Start, own: Path) -> None:
    child = start(STAYS + GOOD)
    for name in ("fork", "forks_of_forks", "busy_fork", "fork_that_ignores_signals", "another_program"):
        assert asked(child, name, call()) == Outcome()
        assert answers(child)
    assert len(running(str(own))) >= 8
    child.close()
    assert still_running(str(own)) == []


def test_no_process_survives_the_one_that_started_it(start: Start, own: Path) -> None:
    child = start(STAYS + GOOD)
    assert asked(child, "fork_of_a_process_that_is_gone", call()) in (ENDS, HANGS)
    assert still_running(str(own)) == []
    assert answers(child)


def test_a_function_that_forks_and_answers_twice_does_not_harm_the_next(start: Start) -> None:
    child = start("import os, time\ndef f():\n    os.fork()\n    return 1\n" + GOOD)
    asked(child, "f", call())
    time.sleep(0.2)
    assert answers(child)


def test_pieces_that_start_processes_leave_nothing(start: Start, own: Path) -> None:
    child = start(
        "import os, time\nif os.fork() == 0: time.sleep(60)",
        "if os.fork() == 0:\n    time.sleep(60)\nos._exit(0)",
        GOOD,
    )
    assert answers(child)
    child.close()
    assert still_running(str(own)) == []


def test_a_child_that_is_closed_starts_again_when_it_is_called(start: Start, own: Path) -> None:
    child = start(GOOD)
    child.close()
    child.close()
    assert not running(str(own))
    assert answers(child) and len(running(str(own))) == 1


def test_no_descriptor_of_the_grader_is_left_open(start: Start) -> None:
    before = len(os.listdir("/proc/self/fd"))
    child = start("def f():\n    import os\n    os._exit(0)" + GOOD)
    asked(child, "f", call())
    assert answers(child)
    child.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_folder_of_the_library_goes_away() -> None:
    with child_library() as folder:
        files = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    assert not folder.exists()
    assert files == {
        "grader/__init__.py",
        "grader/run/__init__.py",
        *(f"grader/run/child/{name}.py" for name in ("__init__", "calling", "loader", "main", "wire")),
        "dspark_mini/__init__.py",
        *(f"dspark_mini/{name}.py" for name in ("contracts", "inputs", "kinds", "rules", "violations")),
    }


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


def test_a_child_that_reads_nothing_is_too_slow(start: Start) -> None:
    child = start(
        "import os, signal, threading\n"
        "def f(x):\n    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGSTOP)).start()\n    return 1\n" + GOOD
    )
    assert asked(child, "f", call(1)) == Outcome(value=1)
    time.sleep(0.4)
    signal.alarm(30)
    assert asked(child, "f", call(np.zeros((64, 2000)))) == HANGS
    assert answers(child)


def test_a_large_answer_arrives_in_time(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CALL_SECONDS", 20)
    child = start("import numpy as np\nx = [np.zeros(1 << 20)] * 2\ndef f():\n    return x\n")
    begin = time.process_time()
    assert len(asked(child, "f", call()).value) == 2
    assert time.process_time() - begin < 0.3


# --- A child is as good as this process --------------------------------------------------------------

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

arrays = npst.arrays(
    st.sampled_from(["d", "f", "l", "?"]), npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4)
)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(), st.text(max_size=4), arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def twins(quick: Path) -> Iterator[Callable[[str, Call], tuple[Outcome, Outcome]]]:
    """Make one call of a function in this process and in a child."""
    child = Child(quick, [Piece(SAME, "cell")], sandbox=False)
    names: dict[str, Any] = {}
    exec(compile(SAME, "cell", "exec"), names)
    yield lambda name, it: (*LocalCaller(names[name]).outcomes([it]), *RemoteCaller(child, name).outcomes([it]))
    child.close()


@MANY
@given(plain, plain)
def test_values_cross_to_a_child_and_back(twins: Any, a: Any, b: Any) -> None:
    here, there = twins("same", call(a, key=b))
    assert here.error is None and there.error is None and unchanged(here.value, there.value)
    assert (here.changed, there.changed) == (False, False)


@pytest.mark.parametrize("value", [[1, 2], np.zeros(3), {0: [1]}, np.array([7])])
def test_changes_and_errors_are_the_same_in_a_child(twins: Any, value: Any) -> None:
    here, there = twins("changes", call(value))
    assert here.changed == there.changed and unchanged(here.value, there.value)
    assert twins("raises", call(2))[0] == twins("raises", call(2))[1]
    assert twins("raises", call(2))[1] == Outcome(error="ValueError", message="x[2] is bad", line=14)


@pytest.mark.parametrize("odd", ODD)
def test_odd_results_are_judged_alike_here_and_in_a_child(twins: Any, odd: str) -> None:
    here, there = twins(f"odd{ODD.index(odd)}", call())
    for expected in ([0, 1, 2], [0, 1], {"a": 1}, [[1]], 1.0, [1.0]):
        assert same_value(expected, here.value) == same_value(expected, there.value)


def test_a_generator_is_made_from_its_seed_in_both(start: Start) -> None:
    source = "def f(rng, n):\n    return [rng.random(n), type(rng).__name__]\n"
    names: dict[str, Any] = {}
    exec(source, names)
    calls = [call(Seed(5), 3), call(Seed(5), 3), call(Seed(6), 3)]
    here, there = LocalCaller(names["f"]).outcomes(calls), start(source).outcomes("f", calls)
    assert all(unchanged(a.value, b.value) and a.changed == b.changed is False for a, b in zip(here, there))
    assert unchanged(there[0].value, there[1].value) and not unchanged(there[0].value, there[2].value)
    assert there[0].value[0].tolist() == np.random.default_rng(5).random(3).tolist()


def test_children_work_side_by_side_in_threads(own: Path) -> None:
    results: list[Any] = []

    def one(n: int) -> None:
        child = Child(own, [Piece(f"def f(x):\n    return [x, {n}]", "cell")], sandbox=False)
        try:
            results.extend(asked(child, "f", call(i)).value == [i, n] for i in range(20))
        finally:
            child.close()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 40 and not running(str(own))


def test_a_check_runs_the_same_through_a_child(start: Start) -> None:
    task: Task = TASKS["2.5"]
    child = start(
        "def stub(*a):\n    raise NotImplementedError\ndef wrong(*a):\n    return [0.125]\ndef fails(*a):\n    1 / 0"
    )
    reports = {name: task.check(RemoteCaller(child, name)) for name in ("stub", "wrong", "fails")}
    assert {name: report.status for name, report in reports.items()} == {
        "stub": "missing",
        "wrong": "fail",
        "fails": "error",
    }
    assert "ZeroDivisionError in line 6 of your code" in str(reports["fails"])


def test_a_cell_error_says_where_and_what(start: Start) -> None:
    child = start("x = 1\ny = x / 0", "def f(:")
    assert child.errors[0] == CellError("ZeroDivisionError", "division by zero", 2)
    assert child.errors[1].error == "SyntaxError" and child.errors[1].line == 1


def test_a_child_that_keeps_talking_is_ended_at_its_deadline(start: Start) -> None:
    chatter = "import threading, time\ndef f(x):\n    while True:\n        forge({'running': 0})\n"
    child = start(TOOLS + chatter)
    begin = time.monotonic()
    assert asked(child, "f", call(1)).error in ("ProcessEnded", "TimeoutError")
    channel_child = start(TOOLS + GOOD)
    with pytest.raises(ChildTooSlow):
        channel_child.channel.receive(time.monotonic())
    assert time.monotonic() - begin < 15


def test_replies_to_one_batch_are_bounded_together(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_BATCH", 4 << 20)
    child = start("import numpy as np\ndef f(n):\n    return np.zeros(n)\n" + GOOD)
    done = child.outcomes("f", [call(1 << 18) for _ in range(10)])  # 2 MiB each
    assert len(done) < 10 and done[-1].died
    assert answers(child)
