"""What the engine notes of a generated text: its rounds, with all that counts and pictures need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dspark_mini.rounds import round_totals

PARTS = ("draft", "head", "verify", "commit")  # of a round's time


@dataclass
class Round:
    """What happened in one round."""

    drafted: list[int] = field(default_factory=list)  # tokens of a chain, or of the nodes of a tree
    parents: list[int] | None = None  # of the nodes, −1 for a child of the anchor; None for a chain
    confidences: list[float] = field(default_factory=list)  # of a chain
    verified: int = 0  # ℓ, or all nodes
    accepted: int = 0
    path: list[int] = field(default_factory=list)  # which of the drafted were accepted
    emitted: list[int] = field(default_factory=list)  # what the output got
    seconds: dict[str, float] = field(default_factory=dict)  # of draft, head, verify and commit


@dataclass
class Trace:
    """A generated text and its rounds."""

    output: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, list[int]]:
        """The counts of every round, under the names that round_totals takes."""
        return {
            "drafted": [len(r.drafted) for r in self.rounds],
            "verified": [r.verified for r in self.rounds],
            "accepted": [r.accepted for r in self.rounds],
            "emitted": [len(r.emitted) for r in self.rounds],
        }

    @property
    def totals(self) -> dict[str, Any]:
        """The sums of round_totals."""
        return round_totals(**self.counts)
