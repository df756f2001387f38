"""The grader's end of a child process: start it, load code into it, call it, and end it in time.

The child has time and memory limits but no sandbox: it can do whatever its user can do, and a process that it
moves into a session of its own outlives it.
"""

from __future__ import annotations

import contextlib
import io
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
START_SECONDS, LOAD_SECONDS, GRACE_SECONDS = 30.0, 60.0, 2.0
MAX_PIECE = 1 << 20  # characters
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

    def __init__(self, library: Path, pieces: list[Piece], sandbox: bool = True) -> None:
        self.library, self.pieces, self.sandbox = library, pieces, sandbox
        self.errors: dict[int, CellError] = {}
        self.left_out = {i for i, piece in enumerate(pieces) if len(piece.source) > MAX_PIECE}
        self.errors |= {i: CellError("MemoryError", "the code is too long", None) for i in self.left_out}
        self.defined: frozenset[str] = frozenset()
        self.number, self.alive = 0, False
        self._start()

    def outcomes(self, function: str, calls: list[Call]) -> list[Outcome]:
        """Call a function by name, several times; a child that hangs or dies is ended, and the last outcome says so."""
        if not self.alive:
            self._start()
        done: list[Outcome] = []
        first, self.number = self.number + 1, self.number + len(calls)
        try:
            calls_made = [[list(c.args), c.kwargs] for c in calls]
            request = {"number": first, "function": function, "calls": calls_made}
            self._send(request, CALL_SECONDS + GRACE_SECONDS)
            for number in range(first, self.number + 1):
                deadline = time.monotonic() + CALL_SECONDS + GRACE_SECONDS
                done.append(_outcome(self._reply(number, deadline)))
                if done[-1].timed_out:
                    break
        except ChildTooSlow:
            self.close()
            done.append(Outcome(error="TimeoutError", timed_out=True))
        except ChildDied:
            self.close()
            done.append(Outcome(error="ProcessEnded", died=True))
        return done

    def close(self) -> None:
        """End the process and whatever it started; a later call starts a new one."""
        if not self.alive:
            return
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.work.cleanup()

    def _start(self) -> None:
        """Start and load; a piece that hangs or ends the process is left out at the next try."""
        for _ in range(len(self.pieces) + 1):
            self._spawn()
            self.running = -1
            try:
                self._load()
                return
            except (ChildTooSlow, ChildDied, WireError) as error:
                self.close()
                if self.running < 0:
                    raise RuntimeError("The process for the learner's code could not be started.") from error
                hung = isinstance(error, ChildTooSlow)
                name, why = ("TimeoutError", "never came to its end") if hung else ("ProcessEnded", "ended the process")
                self.errors[self.running] = CellError(name, f"the code {why}", None)
                self.left_out.add(self.running)

    def _load(self) -> None:
        """Send the pieces and listen until all of them have run."""
        pieces = [asdict(p) | ({"source": ""} if i in self.left_out else {}) for i, p in enumerate(self.pieces)]
        self._send({"pieces": pieces}, START_SECONDS)
        last, deadline = time.monotonic() + LOAD_SECONDS, time.monotonic() + START_SECONDS
        while "loaded" not in (reply := self._receive(min(last, deadline))):
            running = reply.get("running")
            if type(running) is not int or not self.running <= running < len(self.pieces):
                raise ChildDied
            self.running, deadline = running, time.monotonic() + CELL_SECONDS + GRACE_SECONDS
        errors, defined = reply["loaded"], reply.get("defined")
        if not isinstance(errors, dict) or not isinstance(defined, list) or not set(errors) <= set(range(len(pieces))):
            raise ChildDied
        self.errors |= {index: _cell_error(error) for index, error in errors.items() if index not in self.left_out}
        self.defined = frozenset(name for name in defined if isinstance(name, str))

    def _spawn(self) -> None:
        site = str(Path(np.__file__).parent.parent)
        environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PATH": os.defpath}
        self.work = tempfile.TemporaryDirectory(prefix="dspark-mini-work-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", COMMAND, str(self.library), site],
            cwd=self.work.name,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.buffer, self.alive = bytearray(), True

    def _send(self, message: dict[str, Any], patience: float) -> None:
        """Write a message, in pieces, for as long as the child keeps reading."""
        assert self.process.stdin is not None
        packed = io.BytesIO()
        send(packed, message)
        left, target = packed.getbuffer(), self.process.stdin.fileno()
        os.set_blocking(target, False)
        with selectors.DefaultSelector() as selector:
            selector.register(target, selectors.EVENT_WRITE)
            while left:
                if not selector.select(patience):
                    raise ChildTooSlow
                try:
                    left = left[os.write(target, left[: 1 << 16]) :]
                except OSError as error:
                    raise ChildDied from error

    def _reply(self, number: int, deadline: float) -> dict[str, Any]:
        """Receive the reply to one call; what is left of earlier calls is passed over."""
        while True:
            reply = self._receive(deadline)
            found = reply.get("number")
            if type(found) is not int or found > number:
                raise ChildDied
            if found == number:
                return reply

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
                    del self.buffer[: message[1]]
                    if not isinstance(message[0], dict):
                        raise ChildDied
                    return message[0]
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ChildTooSlow
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    raise ChildDied
                self.buffer += data


def _outcome(reply: dict[str, Any]) -> Outcome:
    """Make an outcome of a reply, whose every part may have been forged."""
    error, message, line = reply.get("error"), reply.get("message", ""), reply.get("line")
    flags = reply.get("changed", False), reply.get("timed_out", False)
    if not (error is None or isinstance(error, str)) or not isinstance(message, str):
        raise ChildDied
    if not (line is None or type(line) is int) or not all(type(flag) is bool for flag in flags):
        raise ChildDied
    return Outcome(reply.get("value"), error, message, line, *flags)


def _cell_error(error: Any) -> CellError:
    """Make an error of a piece of what a child says of it."""
    if not isinstance(error, dict):
        raise ChildDied
    name, message, line = error.get("error"), error.get("message"), error.get("line")
    if not isinstance(name, str) or not isinstance(message, str) or not (line is None or type(line) is int):
        raise ChildDied
    return CellError(name, message, line)


class RemoteCaller:
    """Calls one function of a child; a check cannot tell it from a function in this process."""

    def __init__(self, child: Child, function: str) -> None:
        self.child, self.function = child, function

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls, one after the other, and stop behind one that hangs or dies."""
        return self.child.outcomes(self.function, calls)
