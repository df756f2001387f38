"""Judges: each looks for evidence against one property of a function.

Evidence is a tuple of (label, text) lines. A check has two halves: a judge is asked about its visible cases first, and
about its hidden ones once the visible cases of all properties have been tried. In grading, evidence from a hidden case
is empty, so that a report names the property that failed and never the test. In a learner's own notebook hidden cases
are drawn anew each time, and one that fails is shown in full.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dspark_mini.contracts import Contract
from dspark_mini.language import N_, _
from grader.check.comparison import same_value, shown, shown_apart
from grader.run.child.calling import Batch, Call, Caller, Outcome, Seed, live

Evidence = tuple[tuple[str, str], ...]
HIDDEN: Evidence = ()
LISTS = N_("tokens and counts are lists; np.asarray makes an array of one")
NEW_CASE = N_("a new one in every check; the lesson's examples, of which the hint may speak, pass")


class NotStarted(Exception):
    """A stub was called before anything was returned: the task's own or another's; the message says whose."""


class Stopped(Exception):
    """A call took too long or ended its process; nothing more is asked of the function."""


@dataclass(frozen=True)
class Example:
    """A visible case: the call and what it must return."""

    call: Call
    expected: Any


@dataclass
class Session:
    """One check in progress: the function under test, its contract and oracle, and a fresh source of randomness."""

    caller: Caller
    contract: Contract
    oracle: Callable[..., Any] | None
    rng: np.random.Generator
    shows_hidden: bool = False  # a learner's own notebook, not grading
    memo: dict[Any, Any] | None = None  # cases that are the same in every check under this seed
    hidden: bool = False  # the half of the check that has begun
    answered: bool = False  # some call returned a value
    timed_out: bool = False
    stopped: str = ""  # why nothing more is asked of the function
    stopped_at: Call | None = None  # the call that was the last, where it may be shown
    results: dict[Any, Any] = field(default_factory=dict)  # what several properties of this check look at

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Make cases; in grading they are made for the first submission and kept for the others."""
        if self.memo is None:
            return make()
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]

    def batch(self, calls: Iterable[Call]) -> Batch:
        """Convert the arguments of several calls."""
        return Batch(self.converted(call) for call in calls)

    def outcomes(self, calls: Iterable[Call]) -> list[Outcome]:
        """Make several calls, which a batch has converted already; a stub or a hung function ends the check."""
        batch = calls if isinstance(calls, Batch) else self.batch(calls)
        if not batch:
            return []
        done = self.caller.outcomes(batch)
        for call, outcome in zip(batch, done):
            self.stopped_at = call if self.shows_hidden or not self.hidden else None
            self._look_at(outcome)
        return done

    def outcomes_by_seed(self, call: Call, seeds: Iterable[int]) -> list[Outcome]:
        """Make one call with several seeds; its arguments are converted once."""
        call = self.converted(call)
        return self.outcomes(Batch(with_seed(call, seed) for seed in seeds))

    def converted(self, call: Call) -> Call:
        """Return a call with the arguments that the contract makes of them, as the function will see them."""
        return Call(*self.contract.apply(call.args, call.kwargs))

    def expected(self, call: Call) -> Any:
        """Ask the oracle."""
        assert self.oracle is not None
        call = self.converted(call)
        return self.oracle(*map(live, call.args), **{name: live(value) for name, value in call.kwargs.items()})

    def evidence(self, call: Call, expected: str, got: str) -> Evidence:
        """Write one case down for the learner, a hidden one only where it may be shown."""
        if self.hidden and not self.shows_hidden:
            return HIDDEN
        named = self.contract.signature.bind(*call.args, **call.kwargs).arguments
        inputs = ", ".join(f"{name} = {shown(value)}" for name, value in named.items())
        new = (("case", _(NEW_CASE)),) if self.hidden else ()
        return (("input", inputs), ("expected", expected), ("got", got), *new)

    def _look_at(self, outcome: Outcome) -> None:
        if outcome.error == "NotImplementedError" and not self.answered:
            raise NotStarted(outcome.message)
        self.answered = self.answered or outcome.error is None
        if outcome.timed_out or outcome.died:
            self.timed_out = outcome.timed_out
            self.stopped = _("the calls took too long") if outcome.timed_out else _("a call ended the whole process")
            raise Stopped


class Judge(Protocol):
    """Finds evidence against one property; one that has hidden cases keeps what makes them in `hidden`."""

    def __call__(self, session: Session) -> Evidence | None:
        """Try the cases of one half of the check; return None where they hold, otherwise the evidence."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """A judge that also scores, for a figure beyond the points."""

    def scores(self, session: Session) -> Mapping[str, float]:
        """Return the scores by machine."""
        ...


def outcome_text(outcome: Outcome) -> str:
    """Write an outcome down: the value, or the exception with its line and message."""
    if outcome.error is None:
        return _("nothing (None): is there a return?") if outcome.value is None else shown(outcome.value)
    line = _(" in line {line} of your code", line=outcome.line) if outcome.line else ""
    message = f": {shown(outcome.message)[1:-1]}" if outcome.message else ""
    is_list = outcome.error in ("TypeError", "AttributeError") and "list" in outcome.message
    return f"{outcome.error}{line}{message}" + (f" ({_(LISTS)})" if is_list else "")


Cases = Callable[[np.random.Generator], Iterable[Call]]


def whole_result(result: Any) -> Any:
    """Return the result as it is: all of it is compared."""
    return result


@dataclass(frozen=True)
class Values:
    """The result, or one part of it, has the right value, in the visible examples and in hidden cases."""

    examples: tuple[Example, ...] = ()
    hidden: Cases | None = None
    part: Callable[[Any], Any] = whole_result

    @property
    def is_empty(self) -> bool:
        """Whether there is no case to try, because the hidden ones were left out of a bundle."""
        return not self.examples and self.hidden is None

    def __call__(self, session: Session) -> Evidence | None:
        """Try the cases in one batch."""
        cases, batch = session.once((id(self), session.hidden), lambda: self._cases(session))
        for case, outcome in zip(cases, session.outcomes(batch)):
            if not self._is_right(outcome, case.expected):
                return session.evidence(case.call, *self._compared(outcome, case.expected))
        return None

    def _cases(self, session: Session) -> tuple[list[Example], Batch]:
        """Return the examples, or hidden cases drawn and solved, and their calls in one batch."""
        cases = list(cases_of(self, session))
        if session.hidden:
            cases = [Example(call, session.expected(call)) for call in cases]
        return cases, session.batch(case.call for case in cases)

    def _is_right(self, outcome: Outcome, expected: Any) -> bool:
        return outcome.error is None and same_value(self.part(expected), self._part_of(outcome))

    def _part_of(self, outcome: Outcome) -> Any:
        try:
            return self.part(outcome.value)
        except Exception:  # the result has another shape than the part needs
            return outcome.value

    def _compared(self, outcome: Outcome, expected: Any) -> tuple[str, str]:
        """Write the expected part and what came instead."""
        right, got = self.part(expected), self._part_of(outcome)
        if outcome.error or got is None:
            return shown(right), outcome_text(outcome)
        return shown_apart(right, got)


@dataclass(frozen=True)
class LawCase:
    """A call with a Seed in it, and the exact probability of every outcome that may come back."""

    call: Call
    law: dict[Any, float]


@dataclass(frozen=True)
class Law:
    """A random result follows the right distribution, as far as draws can tell; any use of the generator is right."""

    outcome_of: Callable[[Any], Any]  # turns a result into a key of the law
    examples: tuple[LawCase, ...] = ()
    hidden: Callable[[np.random.Generator], Iterable[LawCase]] | None = None
    samples: int = 2000
    in_words: Callable[[Any], str] = shown  # writes an outcome for the learner

    @property
    def is_empty(self) -> bool:
        """Whether there is no case to try."""
        return not self.examples and self.hidden is None

    def __call__(self, session: Session) -> Evidence | None:
        """Draw many results under fresh seeds, and compare how often each outcome came."""
        for case in cases_of(self, session):
            if deviation := self._deviation(session, case):
                return session.evidence(case.call, *deviation)
        return None

    def _deviation(self, session: Session, case: LawCase) -> tuple[str, str] | None:
        results = session.outcomes_by_seed(case.call, session.rng.integers(2**31, size=self.samples).tolist())
        counts: Counter[Any] = Counter()
        for result in results:
            try:
                outcome = self.outcome_of(result.value) if result.error is None else None
                counts[outcome if outcome in case.law else None] += 1
            except Exception:  # the result has another shape than the law speaks of
                counts[None] += 1
            if counts[None]:
                return _("one of these: {outcomes}", outcomes="; ".join(map(self.in_words, case.law))), outcome_text(
                    result
                )
        for outcome, probability in case.law.items():
            if is_improbable(counts[outcome], self.samples, probability):
                share = _(
                    "that outcome with frequency {share:.3f}, in {samples} calls",
                    share=counts[outcome] / self.samples,
                    samples=self.samples,
                )
                return _(
                    "{outcome}, with probability {chance:.3f}", outcome=self.in_words(outcome), chance=probability
                ), share
        return None


def cases_of(judge: Any, session: Session) -> Iterable[Any]:
    """Return the examples of a judge, or draw its hidden cases in the second half of a check."""
    if not session.hidden:
        return judge.examples  # type: ignore[no-any-return]
    return judge.hidden(session.rng) if judge.hidden else ()


def is_improbable(hits: int, draws: int, probability: float) -> bool:
    """Tell whether so many or so few hits come with a chance below 1e-8, by the Chernoff bound of either side."""
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
        """Call twice with each of so many seeds that equal results by luck are out of the question."""
        seeded = [with_seed(call, seed) for call in self.calls for seed in range(24)]
        outcomes = session.outcomes(call for call in seeded for _ in range(2))
        for call, first, second in zip(seeded, outcomes[::2], outcomes[1::2]):
            if first.error is not None or not same_value(first.value, second.value):
                return session.evidence(
                    call,
                    _("the same result twice"),
                    _("{first}, then {second}", first=outcome_text(first), second=outcome_text(second)),
                )
        return None


def with_seed(call: Call, seed: int) -> Call:
    """Give the generator of a call another seed."""
    return Call(tuple(Seed(seed) if isinstance(arg, Seed) else arg for arg in call.args), call.kwargs)
