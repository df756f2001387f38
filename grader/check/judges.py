"""Judges: each looks at one property of a learner's function and returns the evidence against it, or None.

Evidence is a list of (label, text) lines. It is shown for the visible examples only; evidence from a hidden
case is empty, so that a report names the property that failed and never the test.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grader.check.comparison import same_value, shown, type_fault
from grader.run.child.calling import Call, Caller, Outcome, Seed, live

Evidence = tuple[tuple[str, str], ...]
HIDDEN: Evidence = ()


class NotStarted(Exception):
    """The function is still the stub: it raises NotImplementedError and has not returned anything yet."""


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
    wrong_nesting: bool = False  # a number where a list belongs, or the other way round: any refusal will do


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
        return self.outcomes([call])[0]

    def outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Make several calls at once; a stub or a hung function ends the check."""
        done = self.caller.outcomes(calls)
        for outcome in done:
            self._look_at(outcome)
        return done

    def _look_at(self, outcome: Outcome) -> None:
        if outcome.error == "NotImplementedError" and not self.answered:
            raise NotStarted
        self.answered = self.answered or outcome.error is None
        if outcome.timed_out or outcome.died:
            self.timed_out = outcome.timed_out
            self.stopped = "the calls took too long" if outcome.timed_out else "a call ended the whole process"
            raise Stopped

    def expected(self, call: Call) -> Any:
        """Ask the reference."""
        return self.reference(*map(live, call.args), **{name: live(arg) for name, arg in call.kwargs.items()})

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
        return "nothing (None): is there a return?" if outcome.value is None else shown(outcome.value)
    return where(outcome) + (f": {shown(outcome.message)[1:-1]}" if outcome.message else "")


def where(outcome: Outcome) -> str:
    """Name an exception by its type and its line, which tells nothing of the input."""
    return f"{outcome.error}" + (f" in line {outcome.line} of your code" if outcome.line else "")


@dataclass(frozen=True)
class Values:
    """The result has the right values. Lists or arrays may be needed: that is another property's business.

    With one_form each call is made just as it is written, which is right for large inputs.
    """

    examples: tuple[Example, ...] = ()
    hidden: Callable[[np.random.Generator], Iterable[Call]] | None = None
    one_form: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no case left to try, because the hidden ones have been cut out."""
        return not self.examples and self.hidden is None

    def __call__(self, session: Session) -> Evidence | None:
        """Try the examples, then the hidden cases against the reference."""
        for example in self.examples:
            outcome = _wrong(session, example.call, example.expected)
            if outcome is not None:
                return session.evidence(example.call, shown(example.expected), told(outcome))
        calls = list(self.hidden(session.rng)) if self.hidden else []
        for call, outcome in zip(calls, session.outcomes(calls)):
            expected = session.expected(call)
            if not _is_right(outcome, expected) and (self.one_form or _wrong(session, call, expected) is not None):
                return HIDDEN if outcome.error is None else (("got", where(outcome)),)
        return None


def _is_right(outcome: Outcome, expected: Any) -> bool:
    return outcome.error is None and same_value(expected, outcome.value)


def _wrong(session: Session, call: Call, expected: Any) -> Outcome | None:
    """Return the outcome that is wrong, or None where the call works with lists or with arrays."""
    first = session.outcome(call)
    if _is_right(first, expected):
        return None
    for other in (call.as_lists(), call.as_arrays()):
        if _is_right(session.outcome(other), expected):
            return None
    return first


@dataclass(frozen=True)
class EitherForm:
    """Lists and arrays are interchangeable: both give the right values."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call with lists, then with arrays."""
        for example, form in _both_forms(self.examples):
            outcome = session.outcome(form)
            if not _is_right(outcome, example.expected):
                return session.evidence(form, shown(example.expected), told(outcome))
        return None


@dataclass(frozen=True)
class PlainTypes:
    """The result is made of the promised types, whatever form the input has."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Look at right results only: a wrong one shows nothing about types."""
        for example, form in _both_forms(self.examples):
            outcome = session.outcome(form)
            if not _is_right(outcome, example.expected):
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
        for _, form in _both_forms(self.examples):
            if session.outcome(form).changed:
                return session.evidence(form, "the arguments as they were", "an argument that has changed")
        return None


@dataclass(frozen=True)
class Repeatable:
    """Nothing is remembered: a call gives the same result whatever was called before it, and leaves others alone."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call in turn, forth and back, and look at the results again when all calls are made."""
        examples = (*self.examples, *reversed(self.examples))
        outcomes = session.outcomes([example.call for example in examples])
        for example, outcome in zip(examples, outcomes):
            wrong = None if _is_right(outcome, example.expected) else _wrong(session, example.call, example.expected)
            if wrong is not None:
                return session.evidence(example.call, f"{shown(example.expected)}, every time", told(wrong))
        if outcomes[-1].changed_results:
            return (("expected", "results that stay as they were"), ("got", "one that a later call has changed"))
        return None


@dataclass(frozen=True)
class LawCase:
    """A call with a Seed in it, and the exact probability of every outcome that may come back."""

    call: Call
    law: dict[Any, float]


@dataclass(frozen=True)
class Law:
    """A random result follows the right distribution, as far as draws can tell; any use of the generator is right."""

    examples: tuple[LawCase, ...]
    outcome_of: Callable[[Any], Any]  # turns a result into a key of the law
    hidden: Callable[[np.random.Generator], Iterable[LawCase]] | None = None
    samples: int = 3000

    def __call__(self, session: Session) -> Evidence | None:
        """Draw many results under fresh seeds, visible cases first, and compare how often each outcome came."""
        for case in self.examples:
            evidence = self._deviation(session, case)
            if evidence:
                return session.evidence(case.call, *evidence)
        for case in self.hidden(session.rng) if self.hidden else ():
            if self._deviation(session, case):
                return HIDDEN
        return None

    def _deviation(self, session: Session, case: LawCase) -> tuple[str, str] | None:
        seeds = session.rng.integers(2**31, size=self.samples)
        results = session.outcomes([with_seed(case.call, int(seed)) for seed in seeds])
        counts: Counter[Any] = Counter()
        for result in results:
            try:
                outcome = self.outcome_of(result.value) if result.error is None else None
                counts[outcome if outcome in case.law else None] += 1
            except Exception:  # the result has another shape than the law speaks of
                counts[None] += 1
            if counts[None]:
                return f"one of the outcomes {shown(list(case.law))}", told(result)
        for outcome, probability in case.law.items():
            if is_improbable(counts[outcome], self.samples, probability):
                share = f"{counts[outcome] / self.samples:.3f} of {self.samples} draws"
                return f"{shown(outcome)} with probability {probability:.3f}", share
        return None


def is_improbable(hits: int, draws: int, probability: float) -> bool:
    """Tell whether so many or so few hits come with a chance below 1e-8, by the Chernoff bound of either side.

    For frequent outcomes that is about six standard deviations; for rare ones, where a normal law is far too strict,
    a few hits.
    """
    chances = (probability, 1.0 - probability)
    shares = (hits / draws, 1.0 - hits / draws)
    if any(share > 0.0 >= chance for share, chance in zip(shares, chances)):
        return True
    divergence = sum(
        share * (math.log(share) - math.log(chance)) for share, chance in zip(shares, chances) if share > 0.0
    )
    return draws * divergence > math.log(2 / 1e-8)


@dataclass(frozen=True)
class SameSeed:
    """The generator is the only source of chance: the same seed gives the same result, another seed may not."""

    calls: tuple[Call, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call twice with each of some seeds."""
        for call in self.calls:
            for seed in range(8):
                seeded = with_seed(call, seed)
                first, second = session.outcomes([seeded, seeded])
                if first.error is not None or not same_value(first.value, second.value):
                    return session.evidence(seeded, "the same result twice", f"{told(first)}, then {told(second)}")
        return None


def with_seed(call: Call, seed: int) -> Call:
    """Give the generator of a call another seed."""
    return Call(tuple(Seed(seed) if isinstance(arg, Seed) else arg for arg in call.args), call.kwargs)


@dataclass(frozen=True)
class Raises:
    """Bad input raises ValueError; with sentences, the message names the argument and the position."""

    examples: tuple[Bad, ...]
    hidden: tuple[Bad, ...] = ()
    sentences: bool = False

    def __call__(self, session: Session) -> Evidence | None:
        """Try each bad call with lists and, where it can be one, as arrays."""
        for number, (bad, form) in enumerate(_forms((*self.examples, *self.hidden))):
            outcome = session.outcome(form)
            if self._is_right(bad, outcome):
                continue
            if number >= 2 * len(self.examples):  # each is tried in two forms
                return HIDDEN
            wanted = f"a ValueError whose sentence names {_wanted(bad)}" if self.sentences else "a ValueError"
            return session.evidence(form, f"{wanted}, because {bad.what}", told(outcome))
        return None

    def _is_right(self, bad: Bad, outcome: Outcome) -> bool:
        if bad.wrong_nesting:
            return outcome.error in ("ValueError", "TypeError")
        if outcome.error != "ValueError":
            return False
        return not self.sentences or names_offender(outcome.message, bad)


def names_offender(message: str, bad: Bad) -> bool:
    """Tell whether a message names the argument at fault and, where there is one, its position."""
    names = (bad.argument,) if isinstance(bad.argument, str) else bad.argument
    words = "|".join(re.escape(name).replace("_", "[_ ]") for name in names)
    text, named = re.subn(rf"(?<!\w)(?:{words})(?!\w)", "@", message, flags=re.IGNORECASE)
    # A position is a number of its own: no part of a word, of a decimal, of an exponent, and without a sign.
    number = rf"(?<![\w.,+\-−]){bad.position}(?!\w|[.,]\d)"
    return named > 0 and (bad.position is None or re.search(number, text) is not None)


def _wanted(bad: Bad) -> str:
    argument = bad.argument if isinstance(bad.argument, str) else " or ".join(bad.argument)
    return argument if bad.position is None else f"{argument} and position {bad.position}"


def _both_forms(examples: Iterable[Example]) -> Iterator[tuple[Example, Call]]:
    for example in examples:
        yield example, example.call.as_lists()
        yield example, example.call.as_arrays()


def _forms(bads: Iterable[Bad]) -> Iterator[tuple[Bad, Call]]:
    for bad in bads:
        yield bad, bad.call
        yield bad, bad.call.as_arrays()
