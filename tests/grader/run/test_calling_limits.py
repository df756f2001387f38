"""Calling a learner's function: limits of time, and nothing that it prints, logs or warns of escapes."""

import io
import logging
import signal
import sys
import threading
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

from grader.run.child import calling
from grader.run.child.calling import Outcome
from tests.grader.run.test_calling import outcome, raising, written


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "CALL_SECONDS", 0.15)


HANGS = {
    "loop": "def f():\n    while True: pass",
    "sleep": "def f():\n    time.sleep(60)",
    "except Exception": "def f():\n    while True:\n        try: time.sleep(60)\n        except Exception: pass",
    "numpy": "def f():\n    while True: np.zeros(1000).sort()",
    "finally": "def f():\n    try:\n        while True: pass\n    finally:\n        [][0]",
    "generator": "def f():\n    return sum(1 for _ in iter(int, 1))",
    "swallows twice": "def f():\n    for _ in range(3):\n        try:\n            while True: pass\n"
    "        except BaseException: pass\n    while True: pass",
}


@pytest.fixture(params=["timers", "watch"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Interrupt by timers of the system, and as where it has none."""
    if request.param == "watch":
        monkeypatch.delattr(signal, "setitimer")
    return str(request.param)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("how", HANGS)
def test_a_call_that_takes_too_long_is_interrupted(how: str, kind: str) -> None:
    if kind == "watch" and "sleep" in HANGS[how]:
        pytest.skip("only on Windows does interrupt_main wake a sleeper")
    start = time.perf_counter()
    got = outcome(written(HANGS[how]))
    if how != "finally":  # there the learner's own error comes last
        assert got == Outcome(error="TimeoutError", timed_out=True)
    assert time.perf_counter() - start < 5


@pytest.mark.usefixtures("short", "kind")
def test_neither_alarm_nor_handler_nor_thread_is_left_behind() -> None:
    numbers = signal.SIGALRM, signal.SIGINT
    before, threads = [signal.getsignal(number) for number in numbers], threading.active_count()
    for function in (lambda: 1, raising(KeyError), written(HANGS["loop"])):
        outcome(function)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0) and threading.active_count() == threads
        assert [signal.getsignal(number) for number in numbers] == before
    time.sleep(0.2)


def test_a_call_in_another_thread_works_without_a_limit() -> None:
    results: list[Outcome] = []
    thread = threading.Thread(target=lambda: results.append(outcome(lambda x: x + 1, 1)))
    thread.start()
    thread.join()
    assert results == [Outcome(value=2)]


def noisy(x: Any) -> Any:
    print("printed")
    print("printed", file=sys.stderr)
    sys.stdout.write("written")
    sys.stderr.flush()
    warnings.warn("warned", stacklevel=1)
    np.array([1.0]) / 0
    np.float64(1e308) * 10
    logging.getLogger("learner").warning("logged")
    logging.error("logged")
    return x


def test_prints_warnings_and_logging_do_not_escape_and_cost_nothing_even_where_they_are_errors(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    stream, streams = io.StringIO(), (sys.stdout, sys.stderr)
    for action, handlers in (("error", []), ("always", [logging.StreamHandler(stream)])):  # set up in an earlier cell
        monkeypatch.setattr(logging.getLogger(), "handlers", handlers)
        with warnings.catch_warnings(), np.errstate(all="raise" if action == "error" else "warn"):
            warnings.simplefilter(action)  # type: ignore[arg-type]
            before = list(warnings.filters)
            assert outcome(noisy, 3) == Outcome(value=3)
            assert list(warnings.filters) == before
    assert capfd.readouterr() == ("", "") and not recwarn.list and stream.getvalue() == ""
    assert (sys.stdout, sys.stderr) == streams


def test_output_comes_back_after_an_exception_and_after_a_change_of_the_streams(
    capsys: pytest.CaptureFixture[str], short: None
) -> None:
    def replaces() -> None:
        sys.stdout = sys.stderr = None  # type: ignore[assignment]
        np.seterr(all="raise")
        raise KeyError

    for function in (raising(KeyError), replaces, written(HANGS["loop"]), lambda: sys.stdout.close()):
        before = np.geterr()
        outcome(function)
        assert np.geterr() == before
        print("back")
    assert capsys.readouterr().out == "back\n" * 4


def test_a_flood_of_prints_takes_no_memory() -> None:
    tracemalloc.start()
    assert outcome(lambda: any(print("x" * 2**16, n) for n in range(200))) == Outcome(value=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22
