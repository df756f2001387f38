"""Calling a learner's function: one call in, one outcome out, whatever the function does."""

from __future__ import annotations

import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dspark_mini.bias_rows import BiasRows
from dspark_mini.contracts import Contract
from grader.run.child.limits import TimeLimit, alarms
from grader.run.child.wire import Seed as Seed
from grader.run.child.wire import encoded, packed

CALL_SECONDS = 5.0  # of the processor's time; what takes 2 s on a usual machine passes on a slow one
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


class Batch(list[Call]):
    """Calls to one function. A batch that goes to many submissions keeps the bytes that it crosses the wire as."""

    @cached_property
    def packed(self) -> bytes:
        """The message with these calls."""
        return packed([[list(call.args), call.kwargs] for call in self])


class Caller(Protocol):
    """Anything that makes calls: a function in this process, or a proxy of one in another."""

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls in order; stop after one that hangs or ends its process."""
        ...


class LocalCaller:
    """Calls a function in this process, on copies of the arguments, with its output and warnings silenced."""

    def __init__(self, function: Callable[..., Any], in_child: bool = False) -> None:
        self.function, self.in_child = without_contract(function), in_child
        self.held: list[tuple[Any, str, list[bytes]]] = []  # results, each with what it was encoded as at first

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls in order; stop after one that hangs."""
        return list(self.each(calls))

    def each(self, calls: list[Call]) -> Iterator[Outcome]:
        """Make the calls one by one; the last outcome says whether an earlier result has changed since."""
        self.held = []
        with _quiet(self.in_child), alarms() as set_alarms:
            for number, call in enumerate(calls, 1):
                outcome = self._outcome(call, set_alarms)
                last = number == len(calls)
                yield replace(outcome, changed_results=self._changed_results()) if last else outcome
                if outcome.timed_out:
                    return

    def _changed_results(self) -> bool:
        again = ((encoded(result), text, arrays) for result, text, arrays in self.held)
        return any(repr(now.tree) != text or now.arrays != arrays for now, text, arrays in again)

    def _outcome(self, call: Call, set_alarms: Callable[[float], None]) -> Outcome:
        """Make one call within CALL_SECONDS, where this thread can be interrupted."""
        given = Call(*copied((call.args, call.kwargs)))
        args, kwargs = [live(arg) for arg in given.args], {name: live(arg) for name, arg in given.kwargs.items()}
        try:
            try:
                set_alarms(CALL_SECONDS)
                result = self.function(*args, **kwargs)
                value = encoded(result)
                if len(self.held) < HELD:
                    self.held.append((result, repr(value.tree), value.arrays))
                changed = not unchanged(call, given)
            finally:
                set_alarms(0.0)
            return Outcome(value=value if self.in_child else value.decoded(), changed=changed)
        except TimeLimit:
            set_alarms(0.0)  # one may have rung while they were being turned off
            return Outcome(error="TimeoutError", timed_out=True)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self.in_child:
                raise
            own_code = getattr(getattr(self.function, "__code__", None), "co_filename", "")
            name = "ValueError" if isinstance(error, ValueError) else type(error).__name__
            return Outcome(error=name, message=message_of(error), line=line_in(error, own_code))


def without_contract(function: Any) -> Any:
    """Return what a contract decorates: a check has converted the arguments already, and lines are those inside."""
    is_checked = type(function) is types.FunctionType and isinstance(getattr(function, "contract", None), Contract)
    return getattr(function, "__wrapped__", function) if is_checked else function


def unchanged(before: Any, after: Any) -> bool:
    """Tell whether two structures of plain data are equal bit by bit, types, signed zeros and NaN included."""
    kind = type(before)
    if kind is not type(after):
        return False
    if kind is float:
        return bool(before.hex() == after.hex())
    if isinstance(before, (np.ndarray, np.generic)):
        same_kind = bool(before.dtype == after.dtype and before.shape == after.shape)
        return same_kind and bool(before.tobytes() == after.tobytes())
    if kind is list or kind is tuple:
        return len(before) == len(after) and all(map(unchanged, before, after))
    if kind is dict:
        return unchanged([*before], [*after]) and unchanged([*before.values()], [*after.values()])
    if kind is Call:
        return unchanged(before.args, after.args) and unchanged(before.kwargs, after.kwargs)
    if kind is BiasRows:
        return unchanged({token: _as_array(row) for token, row in before.rows.items()}, after.rows)
    return bool(before == after)


@contextlib.contextmanager
def _quiet(in_child: bool) -> Iterator[None]:
    """Keep prints and warnings of a right solution from counting against it; a child's streams lead nowhere anyway."""
    sink = None if in_child else _Nowhere()
    logging = sys.modules.get("logging")  # not imported here: a child starts faster without it
    level = logging.root.manager.disable if logging else 0
    try:
        if logging:
            logging.disable(logging.CRITICAL)  # a handler that was set up before keeps the stream of that time
        with contextlib.ExitStack() as stack:
            if sink:
                stack.enter_context(contextlib.redirect_stdout(sink))
                stack.enter_context(contextlib.redirect_stderr(sink))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(np.errstate(all="ignore"))
            yield
    finally:
        if logging:
            logging.disable(level)


class _Nowhere(io.TextIOBase):
    """A text stream that takes everything and keeps nothing, and stays open."""

    def write(self, text: str) -> int:
        return len(text)

    def close(self) -> None:
        pass


def live(argument: Any) -> Any:
    """Make a generator of a seed; everything else is passed on as it is."""
    if not isinstance(argument, Seed):
        return argument
    from grader.run.child.generators import generator_of  # here, since NumPy takes its time to import generators

    return generator_of(argument)


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
