"""Diagnosis: which known mistake gives the same answers as a learner's function.

A table, which the build writes, holds a few small calls for every task and what each known wrong solution answers to
them, as fingerprints: it shows neither a solution nor a hidden case. Where the outcome is random, laws are compared.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dspark_mini.language import N_, _
from grader.check.judges import Example
from grader.check.structure import part_fault, structure_fault
from grader.run.child.calling import Call, Outcome, Seed

ENOUGH = 3 / 4  # of the wrong answers, for a mistake that does not explain them all
LEAD = 2  # answers that such a mistake gives rightly and the next one does not
DRAWS = 400  # of each law, when a function is diagnosed
Law = dict[str, float]  # fingerprint of an outcome → its share of the draws
ENDLESS = N_("A call of your function takes too long: does every loop of it come to an end?")
UNSTEADY = N_("Your function answers differently when it is called again with the same arguments.")


@dataclass(frozen=True)
class Probe:
    """A call whose answers tell mistakes apart, and the property whose part of the result is looked at."""

    property: str
    call: Call


@dataclass(frozen=True)
class Known:
    """A known mistake: what a function does that makes it, the property it breaks, and its answers to the probes."""

    as_if: str
    property: str
    answers: tuple[str, ...]
    laws: tuple[Law, ...] = ()


@dataclass(frozen=True)
class Table:
    """The known mistakes of one task, the most general first, and how the right function answers."""

    probes: tuple[Probe, ...]
    right: tuple[str, ...]
    known: tuple[Known, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What a function does wrong, as a sentence, and the property to look at first; either may be empty."""

    says: str = ""
    look_at: str = ""


def diagnosis(table: Table, answers: Sequence[str], laws: Sequence[Counter[str]]) -> Diagnosis:
    """Find the known mistake that explains all answers, or else the property that most of the wrong ones point to.

    Args:
        table: The known mistakes of the task.
        answers: Fingerprints of the function's answers to the probes.
        laws: How often each outcome came, for every law of the table.
    """
    alike = [known for known in table.known if known.answers == tuple(answers)]
    fitting = [known for known in alike if all(map(fits, known.laws, laws))]
    if fitting:
        # Only a clearly better fit beats a more general mistake.
        misfits = [sum(map(_misfit, known.laws, laws)) for known in fitting]
        best = next(known for known, misfit in zip(fitting, misfits) if misfit <= min(misfits) + 4.0)
        return Diagnosis(_("Your function answers as if {mistake}", mistake=_(best.as_if)), best.property)
    wrong = [i for i, (right, answer) in enumerate(zip(table.right, answers)) if right != answer]

    explaining = [known for known in table.known if _explains(known, answers, wrong)]
    if not wrong or not explaining:
        return Diagnosis()
    nearest = max(explaining, key=lambda known: _alike(known.answers, answers))
    others = (known.answers for known in table.known if known.answers != nearest.answers)
    lead = _alike(nearest.answers, answers) - max((_alike(other, answers) for other in others), default=0)
    if lead < LEAD or len(wrong) < 3:
        return Diagnosis(look_at=nearest.property)
    says = _("Most wrong answers of your function are as if {mistake}", mistake=_(nearest.as_if))
    return Diagnosis(says, nearest.property)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(map(str.__eq__, one, other))


def _explains(known: Known, answers: Sequence[str], wrong: Sequence[int]) -> bool:
    """Tell whether most wrong answers are those of a known mistake."""
    return sum(known.answers[i] == answers[i] for i in wrong) >= ENOUGH * len(wrong)


def shape_diagnosis(examples: Iterable[Example], outcomes: Iterable[Outcome]) -> str:
    """Say what can be seen without a known mistake: errors, another structure, which part of the results is wrong."""
    outcomes = list(outcomes)
    if outcomes and all(outcome.error for outcome in outcomes):
        return _(
            "Every call ends in an error, {error} at first: run your function on the input below.",
            error=outcomes[0].error,
        )
    answered = [(e.expected, outcome.value) for e, outcome in zip(examples, outcomes) if outcome.error is None]
    faults = [fault for expected, got in answered if (fault := structure_fault(expected, got))]
    return faults[0] if 2 * len(faults) > len(outcomes) else part_fault(answered)


def fingerprint(value: Any) -> str:
    """Shorten a result to six letters that are the same for equal values, whatever the containers and number types."""
    return hashlib.sha1(json.dumps(_canonical(value)).encode()).hexdigest()[:6]


def answers_of(outcomes: Iterable[Outcome], parts: Iterable[Callable[[Any], Any]]) -> tuple[str, ...]:
    """Return the fingerprints of some outcomes, each of the part that its property looks at."""
    return tuple(map(_answer, outcomes, parts))


def _answer(outcome: Outcome, part: Callable[[Any], Any]) -> str:
    if outcome.error is not None:
        return "raises"
    try:
        return fingerprint(part(outcome.value))
    except Exception:  # the result has another shape than the part needs
        return "odd"


def _canonical(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size or value.ndim < 2 else ["empty", *value.shape]
    if isinstance(value, dict):
        return [[str(key), _canonical(value[key])] for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, (bool, int, float, np.generic)):
        return f"{float(value) + 0.0:.6g}"  # −0 is 0
    return value if isinstance(value, str) or value is None else type(value).__name__


def fits(law: Law, counts: Counter[str]) -> bool:
    """Tell whether some counts may have come from a law."""
    return _misfit(law, counts) < 16.0 + len(law)


def _misfit(law: Law, counts: Counter[str]) -> float:
    """Return the log-likelihood that the counts lose under a law, against the law that fits them best."""
    draws = counts.total()
    return sum(n * math.log(n / draws / max(law.get(outcome, 0.0), 1e-4)) for outcome, n in counts.items() if n)


# --- Tables as JSON ---------------------------------------------------------------------------------------------------


def table_from_json(data: dict[str, Any]) -> Table:
    """Read a task's table."""
    probes = tuple(
        Probe(name, Call(tuple(_from_json(args)), _from_json(kwargs))) for name, args, kwargs in data["probes"]
    )
    known = tuple(
        Known(entry["as_if"], entry["property"], tuple(entry["answers"].split()), tuple(entry.get("laws", ())))
        for entry in data["known"]
    )
    return Table(probes, tuple(data["right"].split()), known)


def table_to_json(table: Table) -> dict[str, Any]:
    """Write a task's table."""
    return {
        "probes": [
            [probe.property, _to_json(list(probe.call.args)), _to_json(probe.call.kwargs)] for probe in table.probes
        ],
        "right": " ".join(table.right),
        "known": [
            {"as_if": known.as_if, "property": known.property, "answers": " ".join(known.answers)}
            | ({"laws": list(known.laws)} if known.laws else {})
            for known in table.known
        ],
    }


def _to_json(value: Any) -> Any:
    if isinstance(value, Seed):
        return {"seed": [value.value, list(value.uniforms)]}
    if isinstance(value, dict):
        return {"dict": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, np.ndarray) and not value.size:
        return {"empty": list(value.shape)}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "seed" in value:
        return Seed(value["seed"][0], tuple(value["seed"][1]))
    if "empty" in value:
        return np.zeros(value["empty"])
    return {key: _from_json(item) for key, item in value["dict"]}
