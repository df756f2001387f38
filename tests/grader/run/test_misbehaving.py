"""Functions that hang, end their process, flood it or forge its replies: the next call is answered all the same.

Here they run in a bare process, as one's own work does; attacks/ tries them and more in the sandbox.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.run import process
from grader.run.child.calling import Outcome, call
from grader.run.child.wire import Opaque
from grader.run.process import Child, Piece
from tests.attacks.test_reach import FORGE
from tests.grader.run.conftest import ENDS, GOOD, HANGS, answers, asked

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes in /proc"),
    pytest.mark.usefixtures("short", "alarm"),
]
Start = Callable[..., Child]
Processes = Callable[[str], list[int]]


BAD: dict[str, tuple[str, Any]] = {
    "leaves": ("import os\n    os._exit(0)", ENDS),
    "swallows": ("while True:\n        try:\n            while True: pass\n        except BaseException: pass", HANGS),
    "bomb": ("import numpy as np\n    return float(np.ones(1 << 29).sum())", "MemoryError"),
    "floods_descriptors": ("import os\n    while True: os.write(1, b'x' * 10**5) and os.write(2, b'y' * 10**5)", HANGS),
    "stops_itself": ("import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)", HANGS),
    "returns_a_huge_array": ("import numpy as np\n    return np.zeros(1 << 23)", Opaque("ndarray")),
    "leaves_a_thread": (
        "import threading, time\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 5",
        Outcome(5),
    ),
    "fills_the_disk": ("with open('big', 'wb') as f: f.write(bytes(1 << 27))", "OSError"),
}


@pytest.fixture(scope="module")
def misbehaving(quick: Path, tmp_path_factory: pytest.TempPathFactory, still_running: Processes) -> Iterator[Child]:
    """One submission with all of the functions, each in a cell of its own, and a good one behind them."""
    library = shutil.copytree(quick, tmp_path_factory.mktemp("misbehaving") / "library")
    sources = [FORGE, *(f"def {name}(*a):\n    {body}\n" for name, (body, _) in BAD.items()), GOOD]
    child = Child(library, [Piece(source, f"cell {i}") for i, source in enumerate(sources)], sandbox=False)
    assert not child.errors and set(BAD) | {"good"} <= child.defined
    yield child
    child.close()
    assert still_running(str(library)) == []


@pytest.mark.parametrize("name", BAD)
def test_after_a_function_that_misbehaves_the_next_one_still_answers(
    misbehaving: Child, name: str, running: Processes
) -> None:
    expected, got = BAD[name][1], asked(misbehaving, name)
    if isinstance(expected, Outcome):
        assert got == expected
    elif isinstance(expected, str):
        assert got.error == expected and not got.died and not got.timed_out
    else:
        assert got.error is None and got.value == expected
    assert answers(misbehaving)
    assert len(running(str(misbehaving.library))) <= 1


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


@pytest.mark.parametrize(("what", "last"), [("hang", HANGS), ("leave", ENDS)])
def test_calls_stop_after_one_that_hangs_or_dies_and_the_next_are_answered(
    start: Start, what: str, last: Outcome
) -> None:
    child = start(COUNTS + GOOD)
    got = child.outcomes("count", [call(), call(), call(what), call(), call()])
    assert got[-1] == last  # replies that still wait to be sent may be lost with the process
    assert got[:-1] in ([], [Outcome(value=1), Outcome(value=2)])
    assert answers(child)
    assert [outcome.error for outcome in child.outcomes("count", [call(), call()])] == [None, None]


def test_a_number_that_only_equals_the_right_one_ends_the_child(start: Start) -> None:
    child = start(FORGE + "def f(n):\n    forge(d(number=float(n), value=7))\n" + GOOD)
    assert asked(child, "f", child.number + 1) == ENDS and answers(child)


def test_a_child_that_says_without_end_that_it_is_loading_is_ended(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_PARTS", 100)
    child = start(f"{FORGE}\nwhile True: forge(d(running=0))\n", GOOD)
    assert child.errors[0].error == "ProcessEnded" and answers(child)


def test_what_a_function_says_after_its_answer_reaches_no_other_function(start: Start) -> None:
    child = start(
        f"{FORGE}\ndef f(number):\n    forge(d(number=number, value=1))\n    forge(d(number=number + 1, value=1))\n"
        + GOOD
    )
    assert asked(child, "f", child.number + 1).value == 1
    time.sleep(0.2)
    assert answers(child)


def test_large_replies_to_one_batch_arrive_in_order_and_are_bounded_together(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start("import numpy as np\ndef f(n):\n    return np.full(n, n)\n" + GOOD)
    done = child.outcomes("f", [call(20_000 + i) for i in range(30)])
    assert [(outcome.value.shape, outcome.value[-1]) for outcome in done] == [((n,), n) for n in range(20_000, 20_030)]
    monkeypatch.setattr(process, "MAX_BATCH", 4 << 20)
    done = child.outcomes("f", [call(1 << 18) for _ in range(10)])  # 2 MiB each
    assert len(done) < 10 and done[-1].died
    assert answers(child)


def test_a_child_that_reads_nothing_is_too_slow(start: Start) -> None:
    child = start(
        "import os, signal, threading\n"
        "def f(x):\n    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGSTOP)).start()\n    return 1\n" + GOOD
    )
    assert asked(child, "f", 1) == Outcome(value=1)
    time.sleep(0.4)
    assert asked(child, "f", np.zeros((64, 2000))) == HANGS
    assert answers(child)
