"""Chains of drawn tokens, for task 3.2: the law of a block, and the judge of the rows that it was drawn from."""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.check.comparison import same_value, shown
from grader.check.judges import Evidence, LawCase, Session, cases_of, outcome_text, with_seed
from grader.run.child.calling import Call


@dataclass(frozen=True)
class Chain:
    """A call of sample_markov_block, and the right row of each position for every token that may stand before it."""

    call: Call
    rows: tuple[dict[int, list[float]], ...]  # at position 0 for the anchor only

    def law(self) -> LawCase:
        """Return the exact probability of every block, by enumeration."""
        ((anchor, first),) = self.rows[0].items()
        blocks = itertools.product(range(len(first)), repeat=len(self.rows))
        return LawCase(self.call, {
            block: math.prod(rows[before][token] for rows, before, token in zip(self.rows, (anchor, *block), block))
            for block in blocks
        })  # fmt: skip

    def rows_of(self, tokens: Iterable[Any]) -> list[list[float]]:
        """Return the rows that some tokens were drawn from."""
        (anchor,) = self.rows[0]
        return [rows[before] for rows, before in zip(self.rows, (anchor, *map(int, tokens)))]


@dataclass(frozen=True)
class RowsOfTheDraw:
    """Row k is the distribution that follows the token which was really drawn before it."""

    examples: tuple[Chain, ...] = ()
    hidden: Callable[[np.random.Generator], Iterable[Chain]] | None = None

    def __call__(self, session: Session) -> Evidence | None:
        """Draw from all chains in one batch, from the visible ones eight times."""
        chains = list(cases_of(self, session)) * (1 if session.hidden else 8)
        calls = [with_seed(chain.call, int(session.rng.integers(2**31))) for chain in chains]
        for chain, drawn, outcome in zip(chains, calls, session.outcomes(calls)):
            try:
                tokens, rows = outcome.value
                expected = chain.rows_of(tokens)
                if len(tokens) == len(expected) and same_value(expected, rows):
                    continue
                wanted = f"tokens {shown(list(tokens))} with the rows {shown(expected)}"
            except Exception:  # an error, or a result of another shape
                wanted = f"{len(chain.rows)} tokens, and the row that each of them was drawn from"
            return session.evidence(drawn, wanted, outcome_text(outcome))
        return None
