"""What a server did in its rounds, and where the time went."""

from __future__ import annotations

from dataclasses import dataclass, field

PARTS = ("draft", "head", "trim", "verify")


@dataclass
class Served:
    """What a server did in its rounds."""

    tokens: int = 0
    rounds: int = 0
    verified: int = 0  # drafts
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    def clock(self, marks: list[float]) -> None:
        """Add the time between marks to the parts of a round."""
        for part, begin, end in zip(PARTS, marks, marks[1:]):
            self.seconds[part] += end - begin

    @property
    def tokens_per_second(self) -> float:
        """The throughput of all requests together."""
        return self.tokens / sum(self.seconds.values())
