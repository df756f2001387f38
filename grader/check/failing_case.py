"""The judge of a failing case: a call and its right result, on which a faulty function gives another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dspark_mini.contracts import Contract
from dspark_mini.language import _
from grader.check.comparison import same_value, shown
from grader.check.judges import Evidence, Session, outcome_text
from grader.run.child.calling import Call

LARGEST, LONGEST, DEEPEST = 1000, 32, 4  # what a case may hold; it is run here, outside the sandbox


@dataclass(frozen=True)
class FailingCase:
    """What a learner's function returns is such a case.

    Attributes:
        faulty: The function with the bug.
        contract: What it takes.
    """

    faulty: Callable[..., Any]
    contract: Contract

    def __call__(self, session: Session) -> Evidence | None:
        """Make the call with the faulty function, and with the oracle where there is one."""
        (outcome,) = session.outcomes([Call()])
        if outcome.error is not None or not _is_case(outcome.value):
            return (("expected", _("a dict of arguments, and a result: return {…}, …")), ("got", outcome_text(outcome)))
        arguments, right = outcome.value
        case = ("input", ", ".join(f"{name} = {shown(value)}" for name, value in arguments.items()))
        fault = self._fault(arguments, right, session.oracle)
        return (case, *fault) if fault else None

    def _fault(self, arguments: dict[str, Any], right: Any, oracle: Callable[..., Any] | None) -> Evidence:
        if not _is_small(arguments):
            return (
                (
                    "expected",
                    _(
                        "numbers up to {largest} and at most {longest} of them in a list",
                        largest=LARGEST,
                        longest=LONGEST,
                    ),
                ),
                ("got", _("more")),
            )
        try:
            converted = self.contract.apply((), arguments)[1]
        except (TypeError, ValueError) as error:
            return (("expected", _("arguments that the contract accepts")), ("got", str(error)))
        positional = self.contract.signature.bind(**converted).args
        if same_value(self.faulty(*positional), right):
            got = f"{shown(right)}, as it returns: either the bug does not show here, or this result has it, too"
            return (("expected", _("a call on which the function is wrong, and the right result")), ("got", got))
        if oracle is not None and not same_value(oracle(*positional), right):
            return (("expected", _("the result that the docstring demands")), ("got", shown(right)))
        return ()


def _is_case(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    return isinstance(value[0], dict) and all(isinstance(name, str) for name in value[0])


def _is_small(value: Any, depth: int = 0) -> bool:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return depth < DEEPEST and len(value) <= LONGEST and all(_is_small(item, depth + 1) for item in value)
    if isinstance(value, (int, float, np.number)):
        return math.isinf(value) or abs(float(value)) <= LARGEST
    return isinstance(value, str) and len(value) <= LONGEST
