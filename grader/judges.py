"""Judges: each looks at one property of a learner's function and returns the evidence against it, or None.

Evidence is a list of (label, text) lines. It is shown for the visible examples only; evidence from a hidden
case is empty, so that a report names the property that failed and never the test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grader.child.calling import Call, Caller, Outcome
from grader.compare import same_value, shown, type_fault

Evidence = tuple[tuple[str, str], ...]
HIDDEN: Evidence = ()


class NotStarted(Exception):
    """The function is still the stub: it raised NotImplementedError."""


class Stopped(Exception):
    """A call took too long or ended its process; nothing more is asked of the function."""


@dataclass(frozen=True)
class Example:
    """A visible case: the call and what must come back."""

    call: Call
    expected: Any


@dataclass(frozen=True)
class Bad:
    """A call with bad input: the argument at fault, the position to be named, and what is wrong in words."""

    call: Call
    argument: str | tuple[str, ...]
    position: int | None
    what: str


@dataclass
class Session:
    """One check in progress: the function under test, the reference, and a fresh source of randomness."""

    caller: Caller
    reference: Callable[..., Any]
    arguments: tuple[str, ...]
    rng: np.random.Generator
    answered: bool = False  # some call returned a value
    timed_out: bool = False
    stopped: str = ""  # why nothing more is asked of the function

    def outcome(self, call: Call) -> Outcome:
        """Make one call; a stub or a hung function ends the check."""
        outcome = self.caller.outcome(call)
        self.answered = self.answered or outcome.error is None
        if outcome.timed_out or outcome.died:
            self.timed_out = outcome.timed_out
            self.stopped = "a call took too long" if outcome.timed_out else "a call ended the whole process"
            raise Stopped
        if outcome.error == "NotImplementedError":
            raise NotStarted
        return outcome

    def expected(self, call: Call) -> Any:
        """Ask the reference."""
        return self.reference(*call.args, **call.kwargs)

    def evidence(self, call: Call, expected: str, got: str) -> Evidence:
        """Write one case down for the learner."""
        named = [*zip(self.arguments, call.args), *call.kwargs.items()]
        inputs = ", ".join(f"{name} = {shown(value)}" for name, value in named)
        return (("input", inputs), ("expected", expected), ("got", got))


class Judge(Protocol):
    """Finds evidence against one property."""

    def __call__(self, session: Session) -> Evidence | None:
        """Return None where the property holds, else the evidence (empty for a hidden case)."""
        ...


def told(outcome: Outcome) -> str:
    """Write an outcome down: the value, or the exception with its line and message."""
    if outcome.error is None:
        return shown(outcome.value)
    line = f" in line {outcome.line} of your code" if outcome.line else ""
    return f"{outcome.error}{line}" + (f": {shown(outcome.message)[1:-1]}" if outcome.message else "")


@dataclass(frozen=True)
class Values:
    """The result has the right values. Lists or arrays may be needed: that is another property's business."""

    examples: tuple[Example, ...] = ()
    hidden: Callable[[np.random.Generator], Iterable[Call]] | None = None

    def __call__(self, session: Session) -> Evidence | None:
        """Try the examples, then the hidden cases against the reference."""
        for example in self.examples:
            outcome = _wrong(session, example.call, example.expected)
            if outcome is not None:
                return session.evidence(example.call, shown(example.expected), told(outcome))
        for call in self.hidden(session.rng) if self.hidden else ():
            if _wrong(session, call, session.expected(call)) is not None:
                return HIDDEN
        return None


def _wrong(session: Session, call: Call, expected: Any) -> Outcome | None:
    """Return the outcome that is wrong, or None where the call works with lists or with arrays."""
    first = session.outcome(call)
    if first.error is None and same_value(expected, first.value):
        return None
    for other in (call.as_lists(), call.as_arrays()):
        outcome = session.outcome(other)
        if outcome.error is None and same_value(expected, outcome.value):
            return None
    return first


@dataclass(frozen=True)
class EitherForm:
    """Lists and arrays are interchangeable: both give the right values."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call with lists, then with arrays."""
        for example in self.examples:
            for form in (example.call.as_lists(), example.call.as_arrays()):
                outcome = session.outcome(form)
                if outcome.error is not None or not same_value(example.expected, outcome.value):
                    return session.evidence(form, shown(example.expected), told(outcome))
        return None


@dataclass(frozen=True)
class PlainTypes:
    """The result is made of the promised types, whatever form the input has."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Look at right results only: a wrong one shows nothing about types."""
        for example in self.examples:
            for form in (example.call.as_lists(), example.call.as_arrays()):
                outcome = session.outcome(form)
                if outcome.error is not None or not same_value(example.expected, outcome.value):
                    if _wrong(session, form, example.expected) is not None:
                        return session.evidence(form, shown(example.expected), told(outcome))
                    continue
                fault = type_fault(example.expected, outcome.value)
                if fault:
                    return session.evidence(form, f"{shown(example.expected)} in plain types", f"{fault}")
        return None


@dataclass(frozen=True)
class Unchanged:
    """The function leaves its arguments as they were."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Compare the arguments before and after the call."""
        for example in self.examples:
            for form in (example.call.as_lists(), example.call.as_arrays()):
                if session.outcome(form).changed:
                    return session.evidence(form, "the arguments as they were", "an argument that has changed")
        return None


@dataclass(frozen=True)
class Repeatable:
    """Nothing is remembered: a call gives the same result whatever was called before it."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call in turn, forth and back."""
        for example in (*self.examples, *reversed(self.examples)):
            outcome = _wrong(session, example.call, example.expected)
            if outcome is not None:
                return session.evidence(example.call, f"{shown(example.expected)}, every time", told(outcome))
        return None


@dataclass(frozen=True)
class Raises:
    """Bad input raises ValueError; with sentences, the message names the argument and the position."""

    examples: tuple[Bad, ...]
    hidden: tuple[Bad, ...] = ()
    sentences: bool = False

    def __call__(self, session: Session) -> Evidence | None:
        """Try each bad call with lists and, where it can be one, as arrays."""
        for bad, form in _forms((*self.examples, *self.hidden)):
            outcome = session.outcome(form)
            if self._is_right(bad, outcome):
                continue
            if bad in self.hidden:
                return HIDDEN
            wanted = f"a ValueError whose sentence names {_wanted(bad)}" if self.sentences else "a ValueError"
            return session.evidence(form, f"{wanted}, because {bad.what}", told(outcome))
        return None

    def _is_right(self, bad: Bad, outcome: Outcome) -> bool:
        if outcome.error != "ValueError":
            return False
        return not self.sentences or names_offender(outcome.message, bad)


def names_offender(message: str, bad: Bad) -> bool:
    """Tell whether a message names the argument at fault and, where there is one, its position."""
    text = message.lower().replace(" ", "_")
    names = (bad.argument,) if isinstance(bad.argument, str) else bad.argument
    if not any(name.lower() in text for name in names):
        return False
    for name in names:
        text = text.replace(name.lower(), "")
    return bad.position is None or re.search(rf"(?<![\d.]){bad.position}(?![\d]|\.\d)", text) is not None


def _wanted(bad: Bad) -> str:
    argument = bad.argument if isinstance(bad.argument, str) else " or ".join(bad.argument)
    return argument if bad.position is None else f"{argument} and position {bad.position}"


def _forms(bads: Iterable[Bad]) -> Iterator[tuple[Bad, Call]]:
    for bad in bads:
        yield bad, bad.call
        yield bad, bad.call.as_arrays()
