"""The grader's end of a child process: start it, load code into it, call it, and end it in time.

The child has time and memory limits but no sandbox: it can do whatever its user can do.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.child.calling import CALL_SECONDS, Call, Outcome
from grader.child.loader import CELL_SECONDS, CellError
from grader.child.wire import WireError, send, unpack

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS, GRACE_SECONDS = 30.0, 2.0
CHILD_FILES = ("calling.py", "loader.py", "main.py", "wire.py", "__init__.py")
# What a lesson imports of the kit, as far as a child needs it: input checks, and a check that does nothing.
INERT_GRADER = '"""Checks run outside of this process."""\n\n\ndef check(*arguments: object) -> None:\n    pass\n'
COMMAND = (
    "import sys; sys.path[:0] = sys.argv[1:2]; sys.path[1:1] = sys.argv[2:3]; "
    "from grader.child import main; main.main(*main.take_streams())"
)


@dataclass(frozen=True)
class Piece:
    """One piece of a learner's code: a cell, or a whole .py file, which runs on behind a failing statement."""

    source: str
    label: str
    statements: bool = False


class ChildDied(Exception):
    """The child ended, or sent something that is no message."""


class ChildTooSlow(Exception):
    """The child did not answer in time."""


@contextlib.contextmanager
def child_library() -> Iterator[Path]:
    """Lay out the few files of the kit that a child may import, in a folder that goes away again."""
    with tempfile.TemporaryDirectory(prefix="dspark-mini-") as name:
        library = Path(name)
        (library / "grader" / "child").mkdir(parents=True)
        (library / "dspark_mini").mkdir()
        (library / "grader" / "__init__.py").write_text(INERT_GRADER)
        (library / "dspark_mini" / "__init__.py").write_text("")
        for file in CHILD_FILES:
            shutil.copy(ROOT / "grader" / "child" / file, library / "grader" / "child")
        shutil.copy(ROOT / "dspark_mini" / "inputs.py", library / "dspark_mini")
        yield library


class Child:
    """One child process, which loads the pieces of one submission and answers calls of its functions."""

    def __init__(self, library: Path, pieces: list[Piece]) -> None:
        self.library, self.pieces = library, pieces
        self.errors: dict[int, CellError] = {}
        self.defined: frozenset[str] = frozenset()
        self.number = 0
        self._start()

    def outcomes(self, function: str, calls: list[Call]) -> list[Outcome]:
        """Call a function by name, several times; a child that hangs or dies is ended, and the last outcome says so."""
        if not self.alive:
            self._start()
        done: list[Outcome] = []
        first, self.number = self.number + 1, self.number + len(calls)
        try:
            self._send({"number": first, "function": function, "calls": [[list(c.args), c.kwargs] for c in calls]})
            for number in range(first, self.number + 1):
                reply = self._receive(time.monotonic() + CALL_SECONDS + GRACE_SECONDS)
                if reply.pop("number", None) != number:
                    raise ChildDied
                done.append(Outcome(**reply))
                if done[-1].timed_out:
                    break
        except ChildTooSlow:
            self.close()
            done.append(Outcome(error="TimeoutError", timed_out=True))
        except (ChildDied, TypeError):
            self.close()
            done.append(Outcome(error="ProcessEnded", died=True))
        return done

    def close(self) -> None:
        """End the process and whatever it started; a later call starts a new one."""
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _start(self) -> None:
        """Start and load; a piece that hangs or ends the process is left out at the next try."""
        for _ in range(len(self.pieces) + 1):
            self._spawn()
            running = -1
            try:
                self._send(
                    {
                        "pieces": [
                            asdict(piece) if i not in self._left_out() else {**asdict(piece), "source": ""}
                            for i, piece in enumerate(self.pieces)
                        ]
                    }
                )
                deadline = time.monotonic() + START_SECONDS
                while True:
                    reply = self._receive(deadline)
                    if "loaded" in reply:
                        break
                    running = int(reply["running"])
                    deadline = time.monotonic() + CELL_SECONDS + GRACE_SECONDS
            except (ChildTooSlow, ChildDied, KeyError, TypeError, ValueError) as error:
                self.close()
                if running < 0:
                    raise RuntimeError("The process for the learner's code could not be started.") from error
                hung = isinstance(error, ChildTooSlow)
                self.errors[running] = CellError(
                    "TimeoutError" if hung else "ProcessEnded",
                    "the code never came to its end" if hung else "the code ended the process",
                    None,
                )
                continue
            self.errors |= {int(i): CellError(**error) for i, error in reply["loaded"].items()}
            self.defined = frozenset(str(name) for name in reply["defined"])
            return

    def _left_out(self) -> set[int]:
        return {i for i, error in self.errors.items() if error.error in ("TimeoutError", "ProcessEnded")}

    def _spawn(self) -> None:
        site = str(Path(np.__file__).parent.parent)
        environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PATH": os.defpath}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", COMMAND, str(self.library), site],
            cwd=self.library,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.buffer, self.alive = b"", True

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            send(self.process.stdin, message)  # type: ignore[arg-type]
        except OSError as error:
            raise ChildDied from error

    def _receive(self, deadline: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                try:
                    message = unpack(self.buffer)
                except WireError as error:
                    raise ChildDied from error
                if message is not None:
                    self.buffer = self.buffer[message[1] :]
                    if not isinstance(message[0], dict):
                        raise ChildDied
                    return message[0]
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ChildTooSlow
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    raise ChildDied
                self.buffer += data


class RemoteCaller:
    """Calls one function of a child; a check cannot tell it from a function in this process."""

    def __init__(self, child: Child, function: str) -> None:
        self.child, self.function = child, function

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls, one after the other, and stop behind one that hangs or dies."""
        return self.child.outcomes(self.function, calls)
