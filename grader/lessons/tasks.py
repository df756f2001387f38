"""A graded task: what is asked, which properties prove it, and how a check of it runs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.check.fresh_evidence import Forgetful, shown_afresh
from grader.check.judges import (
    Bad,
    EitherForm,
    Evidence,
    Example,
    Judge,
    Law,
    NotStarted,
    PlainTypes,
    Raises,
    Repeatable,
    SameSeed,
    Session,
    Stopped,
    Unchanged,
    Values,
)
from grader.check.report import ERROR, FAIL, MISSING, PARTIAL, PASS, TIMEOUT, PropertyResult, Report
from grader.run.child.calling import Caller, LocalCaller

VALUE_JUDGES = (Values, Law, SameSeed)  # what is computed; the others look at how a function behaves


@dataclass(frozen=True)
class Property:
    """One thing that must hold, in words for the learner, with its weight in points and its judge."""

    name: str
    says: str
    weight: int
    hint: str
    judge: Judge
    after_values: bool = False  # counts only where every value property holds


@dataclass(frozen=True)
class Task:
    """One graded function. The reference stands in dspark_mini, named here by module and function."""

    id: str
    lesson: str
    module: str
    function: str
    todo: str
    hints: tuple[str, str, str]
    properties: tuple[Property, ...] = field(repr=False)

    @property
    def reference(self) -> Callable[..., Any]:
        """The reference implementation, imported when it is needed."""
        function: Callable[..., Any] = getattr(importlib.import_module(self.module), self.function)
        return function

    @property
    def reference_source(self) -> str:
        """The source of the reference, or nothing where it has been cut out of a learner's bundle."""
        source = inspect.getsource(self.reference)
        return source if "### BEGIN SOLUTION" in source else ""

    @property
    def live_properties(self) -> tuple[Property, ...]:
        """The properties that have a case to try; where hidden tests are cut out, some have none left."""
        return tuple(p for p in self.properties if not (isinstance(p.judge, Values) and p.judge.is_empty))

    @property
    def max_points(self) -> int:
        """Points of the task: the weights of its properties."""
        return sum(p.weight for p in self.live_properties)

    def check(self, function: Callable[..., Any] | Caller, seed: int | None = None) -> Report:
        """Check a function, in this process or behind a proxy, and report on every property.

        Args:
            function: the learner's function.
            seed: of the hidden cases; without it they are new ones every time.
        """
        caller = function if hasattr(function, "outcomes") else LocalCaller(function)
        arguments = tuple(inspect.signature(self.reference).parameters)

        def new_session() -> Session:
            return Session(caller, self.reference, arguments, np.random.default_rng(seed))

        session = new_session()
        try:
            results = tuple(self._results(session))
        except NotStarted:
            if isinstance(caller, Forgetful):
                caller.saw_hidden()
            return self.failed(MISSING, f"TODO {self.id} is not started: {self.todo}")
        status = _status(results, session)
        if isinstance(caller, Forgetful):
            results = shown_afresh([p.judge for p in self.live_properties], results, caller, new_session)
        return Report(self.id, self.function, status, results, self.reference_source if status == PASS else "")

    def failed(self, status: str, why: str) -> Report:
        """Report a task that could not be checked at all, with the reason in every property."""
        evidence = (("got", why),)
        results = tuple(PropertyResult(p.name, p.says, False, p.weight, p.hint, evidence) for p in self.live_properties)
        return Report(self.id, self.function, status, results)

    def _results(self, session: Session) -> Iterator[PropertyResult]:
        values_hold = True
        for p in self.live_properties:
            reason = _reason_to_skip(p, session, values_hold)
            evidence = (("got", f"not looked at, because {reason}"),) if reason else _evidence(p, session)
            values_hold = values_hold and (evidence is None or not isinstance(p.judge, VALUE_JUDGES))
            yield PropertyResult(p.name, p.says, evidence is None, p.weight, p.hint, evidence or (), bool(reason))


def _reason_to_skip(p: Property, session: Session, values_hold: bool) -> str:
    if session.stopped:
        return f"{session.stopped} before"
    return "the values are not right yet" if p.after_values and not values_hold else ""


def _evidence(p: Property, session: Session) -> Evidence | None:
    try:
        return p.judge(session)
    except Stopped:
        return (("got", f"no answer: {session.stopped}"),)


def _status(results: tuple[PropertyResult, ...], session: Session) -> str:
    if all(result.passed for result in results):
        return PASS
    if session.timed_out:
        return TIMEOUT
    if any(result.passed for result in results):
        return PARTIAL
    return FAIL if session.answered else ERROR


def manners(
    result: str,
    examples: tuple[Example, ...],
    bad: tuple[Bad, ...],
    hidden_bad: tuple[Bad, ...] = (),
    twins: tuple[Example, ...] = (),
    bad_hint: str = "Keep the given checks at the top of the stub; they run before your lines.",
) -> tuple[Property, ...]:
    """Return the properties that every graded function shares, on the examples and bad inputs of one of them.

    Args:
        result: what the function returns, in words: "plain ints in a list".
        examples: right calls; their forms as lists and as arrays must do the same.
        bad: calls that must raise ValueError, shown to the learner.
        hidden_bad: more of them, hidden.
        twins: calls that differ from one another in one argument only, so that a memory of the others shows.
        bad_hint: what helps a learner whose function lets bad input pass.
    """
    return (
        Property(
            "lists_and_arrays",
            "Lists and arrays are interchangeable as arguments.",
            1,
            "Turn the argument into an array with np.asarray before you use its methods or its shape.",
            EitherForm(examples),
        ),
        Property(
            "plain_types",
            f"The result is made of {result}.",
            1,
            "Where numbers or a list are asked for, int(x), float(x) and .tolist() make NumPy's plain; where an array "
            "is asked for, return a NumPy array of the right dtype.",
            PlainTypes(examples),
        ),
        Property(
            "no_memory",
            "The result depends on the arguments only, not on earlier calls.",
            1,
            "Create every list and array inside the function; keep nothing in globals or default arguments.",
            Repeatable((*examples, *twins)),
        ),
        Property(
            "input_unchanged",
            "The arguments are left as they were.",
            1,
            "Make a new array (row + bias, row.copy()) and change that; `row += bias` and `row[x] = 0` write into the "
            "caller's.",
            Unchanged(examples),
            after_values=True,
        ),
        Property(
            "bad_input_raises",
            "Bad input raises ValueError; nothing is guessed.",
            2,
            bad_hint,
            Raises(bad, hidden_bad),
            after_values=True,
        ),
        Property(
            "error_names_offender",
            "The error names the argument and the 0-based position of the first offender.",
            1,
            "Write the argument's name and the index of the first offender into the message; a bad bias row goes by "
            "its token.",
            Raises(bad, hidden_bad, sentences=True),
            after_values=True,
        ),
    )
