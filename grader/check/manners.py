"""Manners: what holds for every function, looked at once its values are right."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dspark_mini.language import _
from grader.check.comparison import same_value, shown, type_fault
from grader.check.judges import Evidence, Example, Session, outcome_text
from grader.run.child.calling import Batch, Call, Seed


def batch_of(examples: tuple[Example, ...], session: Session) -> Batch:
    """Put the calls of some examples into a batch."""
    batch: Batch = session.once(id(examples), lambda: session.batch(example.call for example in examples))
    return batch


@dataclass(frozen=True)
class PlainTypes:
    """The result is made of the promised types."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Compare the types of every result with those of the expected one."""
        for example, outcome in zip(self.examples, session.outcomes(batch_of(self.examples, session))):
            if fault := type_fault(example.expected, outcome.value):
                return session.evidence(example.call, _in_types(example.expected), fault)
        return None


def _in_types(expected: Any) -> str:
    if isinstance(expected, np.ndarray):
        return _("an array of dtype {dtype}", dtype=expected.dtype)
    return _("{value} in plain types", value=shown(expected))


@dataclass(frozen=True)
class Unchanged:
    """The function leaves its arguments as they were."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Compare the arguments before and after the call."""
        for example, outcome in zip(self.examples, session.outcomes(batch_of(self.examples, session))):
            if outcome.changed:
                return session.evidence(
                    example.call, _("the arguments as they were"), _("an argument that has changed")
                )
        return None


@dataclass(frozen=True)
class Repeatable:
    """Nothing is remembered: a call gives the same result whatever was called before it, and leaves others alone."""

    examples: tuple[Example, ...]

    def __call__(self, session: Session) -> Evidence | None:
        """Call in turn, forth and back, between calls that differ in one argument; then look at the results again."""
        plan, batch = session.once(id(self), lambda: self._plan(session))
        outcomes = session.outcomes(batch)
        for case, outcome in zip(plan, outcomes):
            if outcome.error is not None or not same_value(case.expected, outcome.value):
                return session.evidence(case.call, f"{shown(case.expected)}, every time", outcome_text(outcome))
        if outcomes[-1].changed_results:
            return (("expected", _("results that stay as they were")), ("got", _("one that a later call has changed")))
        return None

    def _plan(self, session: Session) -> tuple[list[Example], Batch]:
        cases = [*self.examples, *(twin for _, twin in twins(session, self.examples))]
        plan = [*cases, *reversed(cases)]
        return plan, session.batch(case.call for case in plan)


def twins(session: Session, examples: tuple[Example, ...], most: int = 2) -> list[tuple[int, Example]]:
    """Find calls that differ from an example in one argument only and give another result: a memory shows there.

    Args:
        session: The check in progress; without an oracle there are no twins.
        examples: Calls whose arguments are exchanged, wherever the contract allows it.
        most: How many twins are enough for one argument.

    Returns:
        Pairs of the argument's position and the call.
    """
    found: list[tuple[int, Example]] = []
    for one, other in itertools.permutations(examples if session.oracle else (), 2):
        if any(isinstance(argument, Seed) for argument in one.call.args):
            continue
        for position, argument in enumerate(other.call.args[: len(one.call.args)]):
            if sum(position == at for at, _ in found) >= most:
                continue
            call = Call((*one.call.args[:position], argument, *one.call.args[position + 1 :]), one.call.kwargs)
            with contextlib.suppress(ValueError):  # the arguments do not fit together
                if not same_value(one.expected, expected := session.expected(call)):
                    found.append((position, Example(call, expected)))
    return found
