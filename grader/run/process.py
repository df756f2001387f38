"""The grader's side of a child process: start it, load code into it, call it, and end it in time.

One's own work runs in a bare process, on any system; what the sandbox needs is imported only where it is asked for.
"""

from __future__ import annotations

import compileall
import contextlib
import py_compile
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from grader.lessons.paths import ROOT
from grader.run import own_process
from grader.run.channel import Channel, ChildDied, ChildTooSlow, Pipes, ThreadPipes
from grader.run.child.calling import CALL_SECONDS, Batch, Call, Outcome
from grader.run.child.limits import WALL_FACTOR
from grader.run.child.loader import CELL_SECONDS, CellError
from grader.run.child.wire import WireError, packed
from grader.run.replies import loaded_of, outcome_of

START_SECONDS, LOAD_SECONDS, GRACE_SECONDS = 30.0, 60.0, 2.0
# What all calls of one function may take, and all that a submission may take: that much, and more for each function.
# The visible cases have these budgets, and the hidden ones have them again.
TASK_SECONDS, SUBMISSION_SECONDS, SECONDS_A_TASK = 60.0, 120.0, 5.0
MAX_PARTS = 50_000  # a piece reports where it is once, and once per statement
MAX_LOST = 3  # statements of one piece that may hang for good or end the process; with one more, the piece is left out
MAX_BATCH = 64 << 20  # bytes of all replies to one batch of calls; right answers take far less
MAX_PIECE = 1 << 20  # characters
SITE_FOLDER = str(Path(np.__file__).parent.parent)
CHILD_FILES = (
    *("calling.py", "generators.py", "imports.py", "limits.py", "loader.py", "lookalikes.py"),
    *("main.py", "wire.py", "__init__.py"),
)
LIBRARY_FILES = ("bias_rows.py", "contracts.py", "conversion.py", "inputs.py", "kinds.py", "rules.py", "violations.py")
# What a lesson imports of the kit, as far as a child needs it: contracts, and a `check` and `hint` that do nothing.
INERT_GRADER = '''"""Checks run outside of this process."""


def check(*arguments: object) -> None:
    pass


hint = check
'''
COMMAND = (
    "import sys; sys.path[:0] = sys.argv[1:2]; sys.path[1:1] = sys.argv[2:3]; "
    "from grader.run.child import main; main.main(*main.take_streams())"
)


Sandbox = bool | str  # bubblewrap or none; or the name of the user that the child becomes instead


class NoProcess(Exception):
    """There is no process for the learner's code, through no fault of that code; the message is a sentence."""


@dataclass(frozen=True)
class Piece:
    """One piece of a learner's code: a cell, or a whole .py file, which goes on after a failing statement."""

    source: str
    label: str
    statements: bool = False


class Clock:
    """A budget of seconds by the clock on the wall, used up only while it runs."""

    def __init__(self, seconds: float) -> None:
        self.left, self.ends = seconds, 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let the clock run inside a with block."""
        self.ends = time.monotonic() + self.left
        try:
            yield
        finally:
            self.left = self.ends - time.monotonic()


@contextlib.contextmanager
def child_library() -> Iterator[Path]:
    """Copy the few files of the kit that a child may import into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="dspark-mini-", ignore_cleanup_errors=True) as name:
        library = Path(name)
        (library / "grader" / "run" / "child").mkdir(parents=True)
        (library / "dspark_mini").mkdir()
        (library / "grader" / "__init__.py").write_text(INERT_GRADER)
        (library / "grader" / "run" / "__init__.py").write_text("")
        (library / "dspark_mini" / "__init__.py").write_text("")
        for file in CHILD_FILES:
            shutil.copy(ROOT / "grader" / "run" / "child" / file, library / "grader" / "run" / "child")
        for file in LIBRARY_FILES:
            shutil.copy(ROOT / "dspark_mini" / file, library / "dspark_mini")
        # Compiled once, for all children. They could be newer than a file by less than a clock tick, hence the hashes.
        compileall.compile_dir(library, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        yield library


class Child:
    """One child process, which loads the pieces of one submission and answers calls of its functions."""

    def __init__(self, library: Path, pieces: list[Piece], sandbox: Sandbox = True) -> None:
        self.library, self.pieces, self.sandbox = library, pieces, sandbox
        self.errors: dict[int, CellError] = {}
        self.left_out = {i for i, piece in enumerate(pieces) if len(piece.source) > MAX_PIECE}
        self.errors |= {i: CellError("MemoryError", "the code is too long", None) for i in self.left_out}
        self.lost: dict[int, set[int]] = {}  # by piece, the statements that are not run again
        self.lines = max((piece.source.count("\n") + 1 for piece in pieces), default=0)
        self.defined: frozenset[str] = frozenset()
        self.number, self.alive = 0, False
        self.clock, self.tasks = Clock(SUBMISSION_SECONDS), dict[str, Clock]()
        try:
            with self.clock.running():
                self._start()
        except BaseException:
            self.close()
            raise

    def renew_clocks(self) -> None:
        """Give the second half of a grading as much time as the first one had."""
        self.clock, self.tasks = Clock(SUBMISSION_SECONDS), {}

    def outcomes(self, function: str, calls: list[Call]) -> list[Outcome]:
        """Call a function by name, several times; a child that hangs or dies is ended, and the last outcome says so."""
        if function not in self.tasks:
            self.tasks[function] = Clock(TASK_SECONDS)
            self.clock.left += SECONDS_A_TASK
        task = self.tasks[function]
        with self.clock.running():
            if self.alive and not self.channel.is_quiet():
                self.close()  # it has ended, or said something that nobody asked for
            if not self.alive:
                self._start()
            with task.running():
                return self._ask(function, calls, min(task.ends, self.clock.ends))

    def _ask(self, function: str, calls: list[Call], ends: float, again: bool = False) -> list[Outcome]:
        done: list[Outcome] = []
        first, self.number = self.number + 1, self.number + len(calls)
        try:
            if not self.alive:
                raise ChildTooSlow
            request = packed({"number": first, "function": function})
            batch = calls if isinstance(calls, Batch) else Batch(calls)
            self.channel.send(request + batch.packed, _soon(WALL_FACTOR * CALL_SECONDS, ends))
            most = self.channel.taken + MAX_BATCH
            for number in range(first, self.number + 1):
                reply = self.channel.receive(_soon(WALL_FACTOR * CALL_SECONDS, ends))
                if type(reply.get("number")) is not int or reply["number"] != number or self.channel.taken > most:
                    raise ChildDied
                done.append(outcome_of(reply, self.lines))
                if done[-1].timed_out:
                    break
        except ChildTooSlow:
            self.close()
            done.append(Outcome(error="TimeoutError", timed_out=True))
        except ChildDied:
            if self._end_dead(again) and not again:
                self._start()
                return self._ask(function, calls, ends, again=True)
            done.append(Outcome(error="ProcessEnded", died=True))
        return done

    def close(self) -> None:
        """End the process and whatever it started; a later call starts a new one."""
        if not self.alive:
            return
        self.alive = False
        if isinstance(self.sandbox, str):
            from grader.run.user_sandbox import end_user

            end_user(self.process, self.sandbox)
        elif self.sandbox:
            from grader.run import sandbox

            sandbox.end(self.process)
        else:
            own_process.end(self.process)
            self.work.cleanup()
        self.channel.close()

    def _start(self) -> None:
        """Start and load; a statement that hangs or ends the process is left out of the next attempt."""
        again = False
        for _ in range((MAX_LOST + 1) * len(self.pieces) + 2):
            if time.monotonic() >= self.clock.ends:
                late = CellError("TimeoutError", "the submission had used up its time", None)
                self.errors = {i: late for i in range(len(self.pieces))} | self.errors
                return
            self._spawn()
            self.running, self.part = -1, -1
            try:
                self._load()
                return
            except (ChildTooSlow, ChildDied, WireError) as error:
                killed = self._end_dead(again)
                if killed and not again:
                    again = True
                    continue
                if self.running < 0:
                    self._explain(error)
                self._leave_out(hung=isinstance(error, ChildTooSlow))

    def _leave_out(self, hung: bool) -> None:
        """Leave out the statement that was running, or the whole piece where there were too many of them."""
        name, why = ("TimeoutError", "never came to its end") if hung else ("ProcessEnded", "ended the process")
        self.errors.setdefault(self.running, CellError(name, f"the code {why}", None))
        lost = self.lost.setdefault(self.running, set())
        if self.part < 0 or self.part in lost or len(lost) == MAX_LOST:
            self.left_out.add(self.running)
        lost.add(self.part)

    def _end_dead(self, again: bool) -> bool:
        """Close, and tell whether it was killed, by itself or by the machine: what it did is then tried once more.

        Raises:
            NoProcess: It was the machine, again.
        """
        if not self.sandbox:
            self.close()
            return False
        from grader.run import sandbox

        killed, from_outside = sandbox.was_killed(self.process), self.sandbox is True and self.process.poll() == -9
        self.close()
        if killed and again and (from_outside or sandbox.memory_kills() > self.memory_kills):
            raise NoProcess("The machine has killed its process twice.")
        return killed

    def _explain(self, error: Exception) -> None:
        """Say why no process got as far as the learner's code."""
        if self.sandbox is True:
            from grader.run.sandbox import require_sandbox

            require_sandbox()
        raise NoProcess("The process for the learner's code could not be started.") from error

    def _load(self) -> None:
        """Send the pieces and listen until all of them have run."""
        pieces = [
            asdict(piece) | {"skipped": sorted(self.lost.get(i, ()))} | ({"source": ""} if i in self.left_out else {})
            for i, piece in enumerate(self.pieces)
        ]
        last = min(self.clock.ends, time.monotonic() + LOAD_SECONDS)
        self.channel.send(packed({"pieces": pieces}), _soon(START_SECONDS, last))
        deadline = _soon(START_SECONDS, last)
        for _ in range(MAX_PARTS):
            reply = self.channel.receive(deadline)
            if "loaded" in reply:
                errors, self.defined = loaded_of(reply, len(pieces))
                self.errors = errors | self.errors  # what kept the process from loading comes first
                return
            running = reply.get("running")
            if type(running) is not int or not self.running <= running < len(pieces):
                raise ChildDied
            self.part = self.part + 1 if running == self.running else -1
            self.running, deadline = running, _soon(WALL_FACTOR * CELL_SECONDS, last)
        raise ChildDied

    def _spawn(self) -> None:
        pipes = self._spawn_in_sandbox() if self.sandbox else self._spawn_unprotected()
        self.channel, self.alive = Channel(pipes), True

    def _spawn_in_sandbox(self) -> Pipes:
        from grader.run import sandbox
        from grader.run.select_pipes import SelectPipes

        self.memory_kills = sandbox.memory_kills()
        if isinstance(self.sandbox, str):
            from grader.run import user_sandbox

            self.process = user_sandbox.start(self.sandbox, COMMAND, [str(self.library), SITE_FOLDER])
        else:
            self.process = sandbox.start(self.library, ["-c", COMMAND, sandbox.KIT, sandbox.SITE])
        return SelectPipes(self.process)

    def _spawn_unprotected(self) -> Pipes:
        self.work = tempfile.TemporaryDirectory(prefix="dspark-mini-work-", ignore_cleanup_errors=True)
        self.process = own_process.start(["-c", COMMAND, str(self.library), SITE_FOLDER], Path(self.work.name))
        return ThreadPipes(self.process)


def _soon(seconds: float, ends: float) -> float:
    """Return a point in time: some seconds and a little grace from now, but not after the end of a budget."""
    return min(ends, time.monotonic() + seconds + GRACE_SECONDS)
