"""One check of one function: first the calls that everybody may know, then the hidden cases.

What a report shows comes from the first half, before any process knows a hidden input; the second half only decides
about points. Grading makes the first halves of all tasks of a submission before any second half.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dspark_mini.language import _
from grader.check import diagnosis
from grader.check.diagnosis import Diagnosis
from grader.check.judges import Evidence, NotStarted, Scorer, Session, Stopped
from grader.check.report import ERROR, FAIL, PARTIAL, PASS, TIMEOUT, PropertyResult, Report
from grader.lessons.properties import Property
from grader.run.child.calling import Caller

if TYPE_CHECKING:
    from grader.lessons.tasks import Task


class Check:
    """A check in progress: visible() makes the calls of its first half, report() those of the second.

    Args:
        task: What is checked.
        function: The learner's function.
        seed: Of the hidden cases; without it they are new ones every time, and shown where they fail.
    """

    def __init__(self, task: Task, function: Callable[..., Any] | Caller, seed: int | None = None) -> None:
        self.task, self.seed, self.session = task, seed, task.session(function, seed)
        self.results: tuple[PropertyResult, ...] = ()
        self.found = Diagnosis()
        self.stub: Report | None = None

    def visible(self) -> None:
        """Try the visible cases of every property and, in grading, say what the function does wrong if it is wrong."""
        try:
            self.results = tuple(self._visible())
        except NotStarted as stub:
            self.stub = self.task.not_started(str(stub))
            return
        if not self.session.shows_hidden:
            self._diagnose()

    def report(self) -> Report:
        """Try the hidden cases of the properties that hold so far, and report on all of them."""
        if not self.results and self.stub is None:
            self.visible()
        if self.stub is None:
            try:
                self.results = tuple(self._with_hidden())
            except NotStarted as stub:
                self.stub = self.task.not_started(str(stub) if self.session.shows_hidden else "")
        return self.stub or self._report()

    def _report(self) -> Report:
        task, session, results = self.task, self.session, self.results
        status = _status(results, session)
        if session.timed_out:
            self.found = Diagnosis(_(diagnosis.ENDLESS))
        elif session.stopped or not self._is_wrong():
            self.found = Diagnosis()
        elif session.shows_hidden:
            self._diagnose()
        scores = self._scores() if session.answered and not session.stopped else {}
        report = Report(task.id, task.function, status, results, self.found.says, self.found.look_at, given=task.given)
        reference = task.reference_source if status == PASS else ""
        return replace(report, reference=reference, scores=scores, note=_(task.notes[task.hidden is None]))

    def _visible(self) -> Iterator[PropertyResult]:
        all_hold = True
        for p in self.task.properties:
            reason = _reason_to_skip(p, self.session, all_hold)
            evidence = () if reason else _evidence(p, self.session)
            all_hold = all_hold and (evidence is None or p.after_values or _only_hidden_count(p))
            yield PropertyResult(p.name, _(p.says), evidence is None, p.weight, _(p.hint), evidence or (), reason)

    def _with_hidden(self) -> Iterator[PropertyResult]:
        """Yield the results of both halves; a call that never ends leaves the properties after it unproven."""
        self.session.hidden, stopped, self.session.stopped = True, self.session.stopped, ""
        all_hold = True
        for p, seen in zip(self.task.properties, self.results):
            if seen.skipped:
                pass
            elif reason := _reason_to_skip(p, self.session, all_hold):
                seen = replace(seen, passed=False, evidence=(), skipped=reason)
            elif seen.passed or _only_hidden_count(p):
                evidence = _evidence(p, self.session)
                shown = () if evidence is None else seen.evidence or evidence
                seen = replace(seen, passed=evidence is None, evidence=shown)
            all_hold = all_hold and (seen.passed or p.after_values)
            yield seen
        self.session.stopped = self.session.stopped or stopped

    def _diagnose(self) -> None:
        if not self.session.stopped:
            self.found = self.task.diagnosis(self.session.caller, self.seed, wrong=self._is_wrong())

    def _is_wrong(self) -> bool:
        """Tell whether a property fails that is about values: those of manners have one cause each."""
        pairs = zip(self.task.properties, self.results)
        return any(not result.passed and not result.skipped and not p.after_values for p, result in pairs)

    def _scores(self) -> Mapping[str, float]:
        """The scores by machine, of a task that is also scored."""
        judges = (p.judge for p in self.task.core)
        return next((judge.scores(self.session) for judge in judges if isinstance(judge, Scorer)), {})


def evidence_against(p: Property, session: Session) -> Evidence | None:
    """Try one property alone, on its visible and then on its hidden cases; None where it holds."""
    evidence = _evidence(p, session)
    if evidence is None or _only_hidden_count(p):
        session.hidden = True
        evidence = _evidence(p, session)
    return evidence


def _evidence(p: Property, session: Session) -> Evidence | None:
    """Try the cases of one half.

    What is drawn depends on the property's name, and in the hidden half on the seed: a learner's code can see the
    numbers that the visible half draws, and must not foresee the hidden cases from them.
    """
    if session.hidden and getattr(p.judge, "hidden", None) is None:
        return None
    if session.memo is not None:
        name = zlib.crc32(p.name.encode())
        session.rng = np.random.default_rng([session.memo["seed"], name] if session.hidden else [name])
    try:
        return p.judge(session)
    except Stopped:
        got = _("no answer: {stopped}", stopped=session.stopped)
        return session.evidence(session.stopped_at, _("an answer"), got) if session.stopped_at else (("got", got),)


def _only_hidden_count(p: Property) -> bool:
    return bool(getattr(p.judge, "only_hidden_count", False))


def _reason_to_skip(p: Property, session: Session, all_hold: bool) -> str:
    if session.stopped:
        return _("{why} before it", why=session.stopped)
    return _("the values are not right yet") if p.after_values and not all_hold else ""


def _status(results: tuple[PropertyResult, ...], session: Session) -> str:
    if all(result.passed for result in results):
        return PASS
    if session.timed_out:
        return TIMEOUT
    if any(result.passed for result in results):
        return PARTIAL
    return FAIL if session.answered else ERROR
