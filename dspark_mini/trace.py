"""What the engine records about a text: its rounds, with everything that counts and pictures need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dspark_mini.rounds import round_totals

PARTS = ("draft", "head", "verify", "commit")  # the timed parts of a round


@dataclass(frozen=True)
class Round:
    """What happened in one round."""

    drafted: list[int] = field(default_factory=list)  # the tokens of a chain, or of the nodes of a tree
    parents: list[int] | None = None  # of tree nodes, −1 for a child of the anchor; None for a chain
    confidences: list[float] = field(default_factory=list)  # of a chain
    verified: int = 0  # ℓ; all nodes of a tree
    accepted: int = 0
    path: list[int] = field(default_factory=list)  # indices of the accepted drafts
    emitted: list[int] = field(default_factory=list)  # the tokens added to the output
    seconds: dict[str, float] = field(default_factory=dict)  # by part

    @property
    def duration(self) -> float:
        """Seconds of all parts."""
        return sum(self.seconds.values())

    @property
    def depth(self) -> int:
        """The most drafts that the round could accept: ℓ for a chain, the number of levels for a tree."""
        if self.parents is None:
            return self.verified
        depths = list[int]()
        for parent in self.parents:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return max(depths, default=0)


@dataclass
class Trace:
    """A generated text and its rounds."""

    output: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    @property
    def duration(self) -> float:
        """Seconds of all rounds; the prompt was read before."""
        return sum(round_.duration for round_ in self.rounds)

    @property
    def counts(self) -> dict[str, list[int]]:
        """The counts of every round, under the names of round_totals' arguments."""
        return {
            "drafted": [len(round_.drafted) for round_ in self.rounds],
            "verified": [round_.verified for round_ in self.rounds],
            "accepted": [round_.accepted for round_ in self.rounds],
            "emitted": [len(round_.emitted) for round_ in self.rounds],
        }

    @property
    def totals(self) -> dict[str, Any]:
        """The sums of round_totals."""
        totals: dict[str, Any] = round_totals(**self.counts)
        return totals
