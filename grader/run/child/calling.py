"""Calling a learner's function: one call in, one outcome out, whatever the function does."""

from __future__ import annotations

import contextlib
import io
import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dspark_mini.kinds import BiasRows
from grader.run.child.wire import Seed as Seed
from grader.run.child.wire import crossed

CALL_SECONDS = 5.0  # of the processor's time; what takes 2 s on a usual machine passes on a slow one
WALL_FACTOR = 3  # by the clock on the wall a call may take longer, since other processes share the machine
HELD = 64  # results of one batch of calls that are looked at again at its end


@dataclass(frozen=True)
class Call:
    """The arguments of one call, plain data and arrays only."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(*args: Any, **kwargs: Any) -> Call:
    """Write a call as it would be typed: call([[1, 2]], anchor_token=3)."""
    return Call(args, kwargs)


@dataclass(frozen=True)
class Outcome:
    """What came of one call: a value, or the name of an exception with its line in the learner's own code."""

    value: Any = None
    error: str | None = None
    message: str = ""
    line: int | None = None
    changed: bool = False  # the call changed one of its arguments
    timed_out: bool = False
    died: bool = False  # the call ended its process
    changed_results: bool = False  # up to this call, the last of its batch, some earlier result has changed


def line_in(error: BaseException, filename: str) -> int | None:
    """Find the last line of one file that an exception passed through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class Caller(Protocol):
    """Anything that makes calls: a function in this process, or a proxy of one in another."""

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls, one after the other, and stop behind one that hangs or dies."""
        ...


class LocalCaller:
    """Calls a function in this process, on copies of the arguments, with its output and warnings put aside."""

    def __init__(self, function: Callable[..., Any], in_child: bool = False) -> None:
        self.function, self.in_child = function, in_child
        self.held: list[tuple[Any, Any]] = []  # results as the function returned them, and as they were then

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls, one after the other, and stop behind one that hangs."""
        return list(self.each(calls))

    def each(self, calls: list[Call]) -> Iterator[Outcome]:
        """Make several calls as outcomes does; the outcome of the last tells whether an earlier result has changed."""
        self.held = []
        for number, call in enumerate(calls, 1):
            outcome = self.outcome(call)
            yield replace(outcome, changed_results=self._changed_results()) if number == len(calls) else outcome
            if outcome.timed_out:
                return

    def _changed_results(self) -> bool:
        return not all(unchanged(copied, crossed(result)) for result, copied in self.held)

    def outcome(self, call: Call) -> Outcome:
        """Make one call within CALL_SECONDS, where this thread can be interrupted."""
        given = Call(*copied((call.args, call.kwargs)))
        args, kwargs = [live(arg) for arg in given.args], {name: live(arg) for name, arg in given.kwargs.items()}
        try:
            with _quiet(), time_limit(CALL_SECONDS):
                result = self.function(*args, **kwargs)
                if len(self.held) < HELD:
                    self.held.append((result, crossed(result)))
                value = result if self.in_child else crossed(result)  # alike in this process and in a child
                return Outcome(value=value, changed=not unchanged(call, given))
        except TimeLimit:
            return Outcome(error="TimeoutError", timed_out=True)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self.in_child:
                raise
            name = "ValueError" if isinstance(error, ValueError) else type(error).__name__
            own_code = getattr(getattr(self.function, "__code__", None), "co_filename", "")
            return Outcome(error=name, message=message_of(error), line=line_in(error, own_code))


class TimeLimit(BaseException):
    """Raised in the middle of a call that takes too long; no `except Exception` swallows it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimit after some seconds of work, where signals allow it (main thread, POSIX).

    Work is the processor's time, so that a busy machine changes nothing; whoever sleeps is woken after WALL_FACTOR
    times as long.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_alarm(signum: int, frame: Any) -> None:
        raise TimeLimit

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, WALL_FACTOR * seconds),
    }
    before = {number: signal.signal(number, on_alarm) for number in timers}
    try:
        for timer, limit in timers.values():
            signal.setitimer(timer, limit, 0.1)  # again and again, should one be swallowed
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def unchanged(before: Any, after: Any) -> bool:
    """Tell whether two structures of plain data are equal bit by bit, types, signed zeros and NaN included."""
    if isinstance(before, Call):
        return unchanged(before.args, after.args) and unchanged(before.kwargs, after.kwargs)
    if type(before) is not type(after):
        return False
    if isinstance(before, (np.ndarray, np.generic)):
        same_kind = bool(before.dtype == after.dtype and before.shape == after.shape)
        return same_kind and bool(before.tobytes() == after.tobytes())
    if isinstance(before, BiasRows):
        return unchanged(copied(before).rows, after.rows)
    if isinstance(before, dict):
        return unchanged(list(before), list(after)) and unchanged(list(before.values()), list(after.values()))
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(unchanged, before, after))
    return before.hex() == after.hex() if isinstance(before, float) else bool(before == after)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep prints and warnings of a right solution from counting against it."""
    sink, logged = _Nowhere(), logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # a handler that was set up before keeps the stream of that time
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.errstate(all="ignore"):
                yield
    finally:
        logging.disable(logged)


class _Nowhere(io.TextIOBase):
    """A text stream that takes everything and keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


def live(argument: Any) -> Any:
    """Make a generator of a seed; everything else is passed on as it is."""
    if not isinstance(argument, Seed):
        return argument
    return ScriptedGenerator(argument) if argument.uniforms else np.random.default_rng(argument.value)


class ScriptedGenerator(np.random.Generator):
    """A generator whose first uniform numbers are chosen; after them, and in all other ways, it draws as usual."""

    def __init__(self, seed: Seed) -> None:
        super().__init__(np.random.PCG64(seed.value))
        self.script = list(seed.uniforms)

    def random(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the next chosen numbers in place of drawn ones; NumPy's choice with probabilities calls it, too."""
        drawn = np.asarray(super().random(size, *args, **kwargs))
        chosen = self.script[: drawn.size]
        del self.script[: drawn.size]
        below_one = np.nextafter(drawn.dtype.type(1), drawn.dtype.type(0))  # single precision must not round up to 1
        drawn.flat[: len(chosen)] = np.minimum(chosen, below_one)
        return drawn.item() if size is None else drawn

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw from [low, high) with the next number."""
        shape = np.broadcast(low, high).shape if size is None else size
        return low + (np.asarray(high) - low) * self.random(shape or None)


def message_of(error: BaseException) -> str:
    """Return the text of an exception, or nothing where it cannot be written down."""
    try:
        return str(error)
    except BaseException:
        return ""


def copied(value: Any) -> Any:
    """Copy plain data as the wire does: no two parts of it are the same object, whatever was written [row] * 3."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, BiasRows):
        return BiasRows(value.name, {token: _as_array(row) for token, row in value.rows.items()}, value.vocabulary)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return value


def _as_array(row: Any) -> Any:
    """Copy a bias row as an array, so that a change of it in place shows; a bad row stays as it is."""
    with contextlib.suppress(ValueError, TypeError):
        return np.array(row, dtype=np.float64)
    return row
