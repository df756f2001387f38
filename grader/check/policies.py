"""Judges of a policy: it is replayed on recorded texts, which decide what every round yields and costs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dspark_mini.language import _
from dspark_mini.replay import (
    BASELINES,
    COSTS,
    PRACTICE,
    Refused,
    View,
    all_replays,
    load_recordings,
    replay_all,
    scores,
    speeds,
    speeds_of,
    total_score,
)
from grader.check.comparison import same_value, shown
from grader.check.judges import HIDDEN, Evidence, Session, outcome_text
from grader.run.child.calling import Batch, Call, Outcome

Texts = Callable[[np.random.Generator], Path]  # where a file of recordings is


@dataclass(frozen=True)
class Played:
    """What a policy did on the texts of one file."""

    refused: Refused | None  # the first plan that was not allowed
    speeds: dict[str, float]  # by machine, in times of plain decoding
    scores: dict[str, float]  # by machine

    @property
    def score(self) -> float:
        """The score over all machines."""
        return total_score(self.scores)


def play(session: Session, texts: Path) -> Played:
    """Replay the function under test, once per check; a stub or a hung function ends the check."""
    if texts not in session.results:

        def answers(views: list[View]) -> list[Any]:
            outcomes = session.outcomes(Batch(Call(tuple(view.values())) for view in views))
            return [outcome if outcome.error else outcome.value for outcome in outcomes]

        recordings = load_recordings(texts)
        replays = all_replays(recordings)
        refused = list(replay_all(answers, replays))
        measured = speeds_of(replays)
        found = Played(refused[0] if refused else None, measured, scores(measured, recordings.reference))
        session.results[texts] = found
    played: Played = session.results[texts]
    return played


@cache
def baseline_score(name: str, texts: Path) -> float:
    """Score one of the policies to compare with."""
    recordings = load_recordings(texts)
    return total_score(scores(speeds(BASELINES[name], recordings), recordings.reference))


@dataclass(frozen=True)
class Replayed:
    """A property of a policy on the hidden texts, or on the practice texts where there are no hidden ones.

    What fails is shown on the practice texts, if it fails there as well.
    """

    hidden: Texts | None = None

    def __call__(self, session: Session) -> Evidence | None:
        """Play the practice texts, or the hidden ones."""
        if not session.hidden:
            return self.fault(session, PRACTICE)
        found = self.fault(session, self.hidden(session.rng)) if self.hidden else None
        return found if found is None or session.shows_hidden else HIDDEN

    @property
    def only_hidden_count(self) -> bool:
        """Whether the visible texts are for practice: a fault in them is shown, one in the others costs points."""
        return self.hidden is not None

    def scores(self, session: Session) -> dict[str, float]:
        """Score the policy by machine, on the texts that count."""
        return play(session, PRACTICE if self.hidden is None else self.hidden(session.rng)).scores

    def fault(self, session: Session, texts: Path) -> Evidence | None:
        """Return the evidence against the property on some texts."""
        raise NotImplementedError


class Allowed(Replayed):
    """Every plan is one that the engine can carry out."""

    def fault(self, session: Session, texts: Path) -> Evidence | None:
        """Show the first plan that is not."""
        refused = play(session, texts).refused
        if refused is None:
            return None
        result = refused.result
        got = outcome_text(result) if isinstance(result, Outcome) else shown(result)
        return session.evidence(Call(tuple(refused.view.values())), refused.why, got)


@dataclass(frozen=True)
class FasterThanPlain(Replayed):
    """On one machine the texts take less time than by plain decoding."""

    machine: str = next(iter(COSTS))

    def fault(self, session: Session, texts: Path) -> Evidence | None:
        """Compare the two speeds."""
        speed = play(session, texts).speeds[self.machine]
        if speed > 1.0:
            return None
        return _measured(
            texts,
            _("more than 1 times plain decoding on the {machine}", machine=_(self.machine)),
            _("{speed:.3f} times", speed=speed),
        )


@dataclass(frozen=True)
class Reaches(Replayed):
    """The score is as high as that of the best of some other policies; 100 is the reference's."""

    policies: tuple[str, ...] = ()  # none for the reference

    def fault(self, session: Session, texts: Path) -> Evidence | None:
        """Compare the two scores, to a tenth of a point."""
        level = max((baseline_score(name, texts) for name in self.policies), default=100.0)
        played = play(session, texts)
        if round(played.score, 1) >= round(level, 1):
            return None
        by_machine = ", ".join(f"{_(name)} {score:.0f}" for name, score in played.scores.items())
        return _measured(
            texts,
            _("a score of {level:.1f}", level=level),
            _("{score:.1f} ({by_machine})", score=played.score, by_machine=by_machine),
        )


def _measured(texts: Path, expected: str, got: str) -> Evidence:
    which = _("the practice texts") if texts == PRACTICE else _("the hidden texts")
    return (("measured", _("on {which}", which=which)), ("expected", expected), ("got", got))


@cache
def sample_views(step: int = 50) -> list[Call]:
    """Pick some of the views that the scheduler's policy gets on the practice texts."""
    seen: list[View] = []

    def answers(views: list[View]) -> list[Any]:
        seen.extend(views)
        return [BASELINES["scheduler"](*view.values()) for view in views]

    deque(replay_all(answers, all_replays(load_recordings())), maxlen=0)
    return [Call(tuple(view.values())) for view in seen[::step]]


@dataclass(frozen=True)
class SamePlanAgain:
    """Nothing is remembered: the same view gives the same plan, whatever was asked in between."""

    def __call__(self, session: Session) -> Evidence | None:
        """Ask forth and back."""
        calls = sample_views()
        outcomes = session.outcomes(Batch([*calls, *reversed(calls)]))
        for call, first, again in zip(calls, outcomes, reversed(outcomes)):
            if first.error is not None or not same_value(first.value, again.value):
                return session.evidence(
                    call,
                    _("the same plan twice"),
                    _("{first}, then {again}", first=outcome_text(first), again=outcome_text(again)),
                )
        return None


@dataclass(frozen=True)
class ViewUnchanged:
    """The policy leaves its arguments as they were."""

    def __call__(self, session: Session) -> Evidence | None:
        """Compare the arguments before and after each call."""
        calls = sample_views()
        for call, outcome in zip(calls, session.outcomes(Batch(calls))):
            if outcome.changed:
                return session.evidence(call, _("the arguments as they were"), _("an argument that has changed"))
        return None
