"""A graded task: what is asked, which properties prove it, and how a check of it runs."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from dspark_mini.contracts import Contract
from dspark_mini.language import _
from grader.check import diagnosis
from grader.check.diagnosis import Diagnosis, Probe
from grader.check.judges import (
    Example,
    Law,
    NotStarted,
    Session,
    Stopped,
    Values,
    whole_result,
)
from grader.check.report import ERROR, MISSING, PropertyResult, Report
from grader.lessons.checking import Check
from grader.lessons.mistakes import table_of
from grader.lessons.properties import Property as Property  # what a check is written with comes from here, too
from grader.lessons.properties import example as example
from grader.lessons.properties import law as law
from grader.lessons.properties import manners
from grader.lessons.properties import same_seed as same_seed
from grader.lessons.properties import values as values
from grader.run.child.calling import Caller, LocalCaller

Rng = np.random.Generator
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Hidden:
    """What a bundle leaves out of a task: an independent solution, and cases for some properties by name.

    A task with many right answers has no oracle.
    """

    oracle: Callable[..., Any] | None
    cases: Mapping[str, Callable[[Rng], Any]]


@dataclass(frozen=True)
class Task:
    """One graded function.

    Attributes:
        id: Such as "2.1".
        lesson: Name of the lesson, such as "02_parallel_drafting".
        reference: The function in dspark_mini, which carries the contract.
        todo: What is left to do, for the line that raises in the stub.
        hints: The idea, a line of attack, pseudo-code.
        returns: What the result is made of, in words: "plain ints in a list".
        core: The properties of this task; the manners, which all tasks share, follow them.
        examples: More visible calls on which the manners are tried, for tasks whose properties have none.
        hidden: Left out of a bundle.
        given: The notebook holds the solution, so that its points are not earned.
        notes: What to add to a report, with the hidden half and in a bundle without it.
    """

    id: str
    lesson: str
    reference: Callable[..., Any]
    todo: str
    hints: tuple[str, str, str]
    returns: str
    core: tuple[Property, ...] = field(repr=False)
    examples: tuple[Example, ...] = field(default=(), repr=False)
    hidden: Hidden | None = field(default=None, repr=False)
    given: bool = False
    notes: tuple[str, str] = ("", "")

    @property
    def function(self) -> str:
        """The function's name."""
        return self.reference.__name__

    @property
    def contract(self) -> Contract:
        """What the function takes; it holds for whatever is handed in, decorated or not."""
        found = getattr(self.reference, "contract", None)
        return found if isinstance(found, Contract) else Contract(inspect.signature(self.reference), {})

    @property
    def reference_source(self) -> str:
        """The source of the reference, or nothing where it has been cut out of a learner's bundle."""
        source = inspect.getsource(self.reference)
        return source if "### BEGIN SOLUTION" in source else ""

    def with_hidden(self, hidden: Hidden | None) -> Task:
        """Return the task with its hidden cases, each under the property that it belongs to."""
        if hidden is None:
            return self
        if unknown := set(hidden.cases) - {p.name for p in self.core}:
            raise ValueError(f"Task {self.id} has hidden cases for {sorted(unknown)}, but no such property.")
        core = (
            replace(p, judge=replace(p.judge, hidden=hidden.cases[p.name])) if p.name in hidden.cases else p  # type: ignore[type-var]
            for p in self.core
        )
        return replace(self, core=tuple(core), hidden=hidden)

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """All properties that have a case to try, the manners last."""
        values = [p.judge for p in self.core if isinstance(p.judge, Values)]
        examples = (*self.examples, *(example for judge in values for example in judge.examples))
        shared = manners(self.returns, examples) if examples else ()
        return (*(p for p in self.core if not p.is_empty), *shared)

    @property
    def max_points(self) -> int:
        """Points of the task: the weights of its properties."""
        return sum(p.weight for p in self.properties)

    def session(self, function: Callable[..., Any] | Caller, seed: int | None = None) -> Session:
        """Begin a check of a function, in this process or behind a proxy."""
        caller = function if hasattr(function, "outcomes") else LocalCaller(function)
        oracle = self.hidden.oracle if self.hidden else None
        return Session(caller, self.contract, oracle, np.random.default_rng(seed), seed is None, self._memo(seed))

    def _memo(self, seed: int | None) -> dict[Any, Any] | None:
        """Return where the cases of a seed are kept: of the latest one only, since grading knows a single seed."""
        if seed is None:
            return None
        if seed not in self._memos:
            self._memos.clear()
        return self._memos.setdefault(seed, {"seed": seed})

    @cached_property
    def _memos(self) -> dict[int, dict[Any, Any]]:
        return {}

    def check(self, function: Callable[..., Any] | Caller, seed: int | None = None) -> Report:
        """Check a function, in this process or behind a proxy, and report on every property.

        Args:
            function: The learner's function.
            seed: Of the hidden cases; without it they are new ones every time, and shown where they fail.
        """
        return Check(self, function, seed).report()

    def diagnosis(
        self, function: Callable[..., Any] | Caller, seed: int | None = None, wrong: bool = True
    ) -> Diagnosis:
        """Say what a function does wrong, from its answers to small calls that everybody may know.

        Args:
            function: The learner's function.
            seed: Of the check.
            wrong: Whether it is known to be wrong; if not, right answers are enough to say nothing.
        """
        session = self.session(function, seed)
        table, judges = table_of(self.lesson, self.id), [p.judge for p in self.core if isinstance(p.judge, Values)]
        examples = [example for judge in judges for example in judge.examples if judge.part is whole_result]
        try:
            parts = self.parts_of(table.probes)
            answers = diagnosis.answers_of(session.outcomes(probe.call for probe in table.probes), parts)
            if answers == table.right and not wrong:
                return Diagnosis()
            if answers != diagnosis.answers_of(session.outcomes(probe.call for probe in table.probes), parts):
                return Diagnosis(_(diagnosis.UNSTEADY))
            found = diagnosis.diagnosis(table, answers, self.law_counts(session, diagnosis.DRAWS))
            outcomes = session.outcomes(example.call for example in examples)
        except (NotStarted, Stopped):
            return Diagnosis(_(diagnosis.ENDLESS) if session.timed_out else "")
        return found if found.says else replace(found, says=diagnosis.shape_diagnosis(examples, outcomes))

    def parts_of(self, probes: Iterable[Probe]) -> list[Callable[[Any], Any]]:
        """Return, for each probe, what takes the part out of a result that its property looks at."""
        parts = {p.name: getattr(p.judge, "part", whole_result) for p in self.core}
        return [parts.get(probe.property, whole_result) for probe in probes]

    def law_counts(self, session: Session, draws: int) -> list[Counter[str]]:
        """Count the outcomes of every visible case whose outcome is random, by fingerprint."""
        return [
            Counter(diagnosis.answers_of(session.outcomes_by_seed(case.call, range(draws)), repeat(p.judge.outcome_of)))
            for p in self.core
            if isinstance(p.judge, Law)
            for case in p.judge.examples
        ]

    def not_started(self, message: str) -> Report:
        """Report a stub: the task's own, or that of another task of the lesson, which its function calls."""
        lesson = self.id.partition(".")[0]
        called = re.match(rf"TODO ({lesson}\.\d)[ :]", message)  # one digit: a message made up may not say much
        if called and called[1] != self.id:
            why = _(
                "it calls your function of task {called}, which is not started: solve that one first", called=called[1]
            )
            return self.failed(ERROR, why)
        return self.failed(MISSING, _("TODO {id} is not started: {todo}", id=self.id, todo=_(self.todo)))

    def failed(self, status: str, why: str) -> Report:
        """Report a task that could not be checked at all, with the reason in every property."""
        evidence = (("got", why),)
        results = tuple(
            PropertyResult(p.name, _(p.says), False, p.weight, _(p.hint), evidence) for p in self.properties
        )
        return Report(self.id, self.function, status, results, reason=why, given=self.given)


def hidden(
    oracle: Callable[..., Any] | None, *own_cases: Callable[[Rng], Any], **cases: Callable[[Rng], Any]
) -> Hidden:
    """Write the hidden half of a task: its oracle, and for some properties a generator of cases of the same name."""
    return Hidden(oracle, {generator.__name__: generator for generator in own_cases} | cases)
