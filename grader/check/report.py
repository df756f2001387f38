"""What a check found out: properties, points and one message that teaches."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PASS, PARTIAL, FAIL, ERROR, TIMEOUT, MISSING = "pass", "partial", "fail", "error", "timeout", "missing"


def overall(statuses: Sequence[str], points: float) -> str:
    """Sum the statuses of tasks up to one; points are those of all of them."""
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
    skipped: bool = False  # not looked at, because something before it did not hold

    @property
    def shows_input(self) -> bool:
        """Whether the evidence is of a visible example, with its input."""
        return any(label == "input" for label, _ in self.evidence)

    @property
    def message(self) -> str:
        """The property as a sentence, with the evidence where it may be shown."""
        is_hidden = not (self.passed or self.evidence or self.skipped)
        evidence = (("found by", "a hidden case"),) if is_hidden else self.evidence
        return " ".join([self.says, *(f"{label.capitalize()}: {text.rstrip('.')}." for label, text in evidence)])


@dataclass(frozen=True)
class Report:
    """The result of one check of one function."""

    task: str
    function: str
    status: str
    properties: tuple[PropertyResult, ...]
    reference: str = ""  # source of the reference; filled only where the task passes

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

    @property
    def first_failure(self) -> PropertyResult | None:
        """The property to look at next, or None where all of them hold."""
        failures = [result for result in self.properties if not result.passed]
        seen = (result for result in failures if result.shows_input and not result.skipped)
        return next(seen, failures[0] if failures else None)  # one that can be looked at teaches more

    def headline(self) -> str:
        """One line: the task, and how many properties and points it has."""
        held = sum(result.passed for result in self.properties)
        if self.status == MISSING:
            return f"TODO {self.task} is not started."
        verb = "passes" if self.passed else "does not pass yet"
        return (
            f"TODO {self.task} {verb}: {held} of {len(self.properties)} properties, "
            f"{self.points} of {self.max_points} points."
        )

    def rows(self) -> list[tuple[str, str]]:
        """The lines below the headline: the first property that fails, its evidence and hint, the others by name."""
        failure = self.first_failure
        if failure is None or self.status == MISSING:
            return []
        others = [r.name for r in self.properties if not (r.passed or r.skipped or r is failure)]
        return [
            ("property", f"{failure.name}: {failure.says}"),
            *(() if failure.shows_input or failure.skipped else (("found by", "a hidden case"),)),
            *failure.evidence,
            ("hint", failure.hint),
            *([("also open", ", ".join(others))] if others else []),
        ]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join([self.headline(), *(f"  {label:<9} {text}" for label, text in self.rows())])

    def _repr_html_(self) -> str:
        """Show the report in a notebook, in the page's own colours, light or dark."""
        mark = "✓" if self.passed else "✗"
        left = "text-align:left;vertical-align:top"
        cells = "".join(
            f"<tr><th style='{left};opacity:.7;font-weight:normal'>{html.escape(label)}</th>"
            f"<td style='{left};white-space:pre-wrap'>{html.escape(text)}</td></tr>"
            for label, text in self.rows()
        )
        reference = ""
        if self.reference:
            source = html.escape(self.reference)
            reference = f"<details><summary>The reference, to compare with yours</summary><pre>{source}</pre></details>"
        colour = "#2e8b57" if self.passed else "#d9534f"
        return (
            f"<div style='border-left:4px solid {colour};padding:.2em .8em'><b>{mark} "
            f"{html.escape(self.headline())}</b><table style='margin:0'>{cells}</table>{reference}</div>"
        )

    def to_json(self) -> dict[str, Any]:
        """The task's part of what `dspark-mini grade --json` writes."""
        return {
            "task": self.task,
            "function": self.function,
            "points": self.points,
            "max_points": self.max_points,
            "status": self.status,
            "properties": [
                {
                    "name": r.name,
                    "passed": r.passed,
                    "message": "" if r.passed else r.message,
                    "hint": "" if r.passed else r.hint,
                }
                for r in self.properties
            ],
        }
