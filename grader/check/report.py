"""What a check found out, as data; text.py makes text of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspark_mini.language import english
from dspark_mini.replay import total_score
from grader.check import text

PASS, PARTIAL, FAIL, ERROR, TIMEOUT, MISSING = "pass", "partial", "fail", "error", "timeout", "missing"


def overall(statuses: Sequence[str], points: float) -> str:
    """Sum the statuses of tasks up to one.

    Args:
        statuses: One per task.
        points: Those of all tasks together.
    """
    if all(status == PASS for status in statuses):
        return PASS
    if points:
        return PARTIAL
    return next((status for status in (TIMEOUT, ERROR, FAIL) if status in statuses), MISSING)


@dataclass(frozen=True)
class PropertyResult:
    """One property of one task: whether it holds, what it is worth, and what to say where it does not."""

    name: str
    says: str
    passed: bool
    weight: int
    hint: str
    evidence: tuple[tuple[str, str], ...] = ()  # lines such as ("expected", "[0]"); empty where the case is hidden
    skipped: str = ""  # why it was not looked at

    @property
    def shows_input(self) -> bool:
        """Whether the evidence shows the input of a case."""
        return any(label == "input" for label, _ in self.evidence)

    def to_json(self) -> dict[str, Any]:
        """The property's part of what `dspark-mini grade --json` writes."""
        found: dict[str, Any] = {"name": self.name, "passed": self.passed, "weight": self.weight, "says": self.says}
        if self.passed:
            return found | {"message": "", "hint": "", "evidence": [], "skipped": ""}
        found |= {"evidence": [list(line) for line in self.evidence], "skipped": self.skipped}
        return found | {"message": text.message(found), "hint": self.hint}


@dataclass(frozen=True)
class Report:
    """The result of one check of one function."""

    task: str
    function: str
    status: str
    properties: tuple[PropertyResult, ...]
    diagnosis: str = ""  # what the function does wrong, where that is known
    look_at: str = ""  # the property that the diagnosis points to
    reason: str = ""  # why the function could not be called at all
    reference: str = ""  # source of the reference; filled only where the task passes
    scores: Mapping[str, float] = field(default_factory=dict)  # by machine, of a task that is also scored
    given: bool = False  # the notebook holds the solution
    note: str = ""  # what a result of this task does not tell

    @property
    def points(self) -> int:
        """Points earned: the weights of the properties that hold."""
        return sum(result.weight for result in self.properties if result.passed)

    @property
    def max_points(self) -> int:
        """Points to be had: the weights of all properties."""
        return sum(result.weight for result in self.properties)

    @property
    def passed(self) -> bool:
        """Whether every property holds."""
        return self.status == PASS

    def to_json(self) -> dict[str, Any]:
        """The task's part of what `dspark-mini grade --json` writes."""
        return (
            {
                "task": self.task,
                "function": self.function,
                "points": self.points,
                "max_points": self.max_points,
                "status": self.status,
                "reason": self.reason,
                "diagnosis": str(self.diagnosis),
                "look_at": self.look_at,
                "properties": [result.to_json() for result in self.properties],
            }
            | ({"mistake": english(self.diagnosis)} if english(self.diagnosis) != self.diagnosis else {})
            | ({"given": True} if self.given else {})
            | ({"note": self.note} if self.note else {})
            | self._scores_to_json()
        )

    def _scores_to_json(self) -> dict[str, Any]:
        if not self.scores:
            return {}
        return {"score": round(total_score(self.scores), 1), "scores": {k: round(v, 1) for k, v in self.scores.items()}}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return text.of_task(self.to_json())

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return text.html_of_task(self.to_json(), self.reference)
