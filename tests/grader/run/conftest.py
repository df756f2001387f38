"""What the tests of child processes share: short limits, children that are closed again, and what still runs."""

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.run import process
from grader.run.child.calling import Outcome, call
from grader.run.process import Child, Piece, child_library

GOOD = "\ndef good(x):\n    return x + 1\n"
ENDS, HANGS = Outcome(error="ProcessEnded", died=True), Outcome(error="TimeoutError", timed_out=True)
LIMITS = {"calling.py": ("CALL_SECONDS", 0.4), "loader.py": ("CELL_SECONDS", 0.4)}


def asked(child: Child, function: str, *arguments: Any) -> Outcome:
    """The outcome of a single call."""
    (outcome,) = child.outcomes(function, [call(*arguments)])
    return outcome


def answers(child: Child) -> bool:
    """Whether the function of GOOD still answers."""
    return asked(child, "good", 1) == Outcome(value=2)


def wait_for(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.02)


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


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same limits, and little grace, in the grader."""
    for constant, seconds in LIMITS.values():
        monkeypatch.setattr(process, constant, seconds)
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.5)


@pytest.fixture
def alarm() -> Iterator[None]:
    """End a test in which the grader itself hangs."""

    def on_alarm(signum: int, frame: Any) -> None:
        raise TimeoutError("The grader itself hangs.")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def own(quick: Path, tmp_path: Path) -> Path:
    """The same files in a folder of this test, whose name marks the processes that it starts."""
    return shutil.copytree(quick, tmp_path / "library")


@pytest.fixture
def start(own: Path) -> Iterator[Callable[..., Child]]:
    """A function that starts a child without a sandbox; all of them are closed again."""
    children: list[Child] = []

    def make(*sources: str, statements: bool = False) -> Child:
        child = Child(own, [Piece(source, f"cell {i}", statements) for i, source in enumerate(sources)], sandbox=False)
        children.append(child)
        return child

    yield make
    for child in children:
        child.close()


@pytest.fixture(scope="session")
def running() -> Callable[[str], list[int]]:
    """A function that lists the processes with a text in their command line, zombies left out."""

    def find(marker: str) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if marker in (folder / "cmdline").read_text(errors="replace") and state not in "ZX":
                    found.append(int(folder.name))
        return found

    return find


@pytest.fixture(scope="session")
def still_running(running: Callable[[str], list[int]]) -> Callable[[str], list[int]]:
    """The same, once what has been killed has had time to go."""

    def find(marker: str) -> list[int]:
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not running(marker), 3.0)
        return running(marker)

    return find
