"""A target and drafters so small that everything about them can be enumerated: random tables over a few tokens.

The target's next token depends on the last two. Both count the rows of a cache and drop them on demand, as the
cache of a real model does; the engine cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float64]


def softmax(logits: Logits) -> Logits:
    """Return the distributions that rows of logits stand for, along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    rows: Logits = weights / weights.sum(axis=-1, keepdims=True)
    return rows


class Cache:
    """Rows of a cache, each under the token that it was computed from; the last ones can be dropped."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row a token."""
        self.tokens.extend(tokens)

    def drop(self, rows: int) -> None:
        """Drop rows from the end.

        Raises:
            ValueError: fewer than 0 rows, or more than there are.
        """
        if not 0 <= rows <= self.rows:
            raise ValueError(f"rows is {rows}, but the cache has {self.rows} rows to drop.")
        del self.tokens[self.rows - rows :]


class ToyTarget:
    """A language model in which the next token depends on the last two, by a table.

    Args:
        table: (V, V, V) logits; entry [a, b] is the row of the token that follows a, b. In front of the
            first token stands token 0.
    """

    def __init__(self, table: Logits) -> None:
        self.table, self.cache = table, Cache()

    @classmethod
    def random(cls, vocabulary: int, seed: int, sharpness: float = 2.5, memory: float = 0.7) -> ToyTarget:
        """Make a target of random logits.

        Args:
            vocabulary: V.
            seed: of the logits.
            sharpness: standard deviation of what depends on the last token.
            memory: standard deviation of what depends on the last two tokens.
        """
        rng = np.random.default_rng(seed)
        last, last_two = rng.normal(size=(vocabulary,) * 2), rng.normal(size=(vocabulary,) * 3)
        return cls(sharpness * last + memory * last_two)

    def forward(self, tokens: Sequence[int]) -> Logits:
        """Compute one row a token, each the logits of what follows it, and add the rows to the cache. (n, V)"""
        before = [0, *self.cache.tokens][-1:]
        self.cache.extend(tokens)
        pairs = list(zip([*before, *tokens], tokens))
        return np.array([self.table[pair] for pair in pairs]).reshape(len(pairs), self.table.shape[-1])


class ToyDrafter:
    """A parallel drafter of a target's random table, which it has seen through noise.

    Its first position looks two tokens back, as the target does; the others and the bias look one token back only.
    Its block positions do not see each other. Position k's base logits are the log-probabilities of what may
    stand there, k steps behind the anchor, whatever came in between; so they get vaguer along the block. The
    Markov bias of a token is what its own row says beyond the average row. As in a drafter that was trained
    together with its head, the first position leaves out what the bias of the anchor will add.

    Args:
        table: (V, V, V) the target's logits.
        noise: standard deviation of what is added to the logits.
        seed: of the noise.
        markov: whether the bias is used (DSpark), or not (DFlash).
    """

    def __init__(self, table: Logits, noise: float, seed: int, markov: bool = True) -> None:
        seen = table + np.random.default_rng(seed).normal(0.0, noise, size=table.shape)
        self.after_two = softmax(seen)  # (V, V, V), for the first position
        self.after_one = self.after_two.mean(axis=0)  # (V, V)
        average = np.log(self.after_one.mean(axis=0))  # (V,)
        self.bias: Mapping[int, Logits] = dict(enumerate(np.log(self.after_one) - average)) if markov else {}
        self.cache = Cache()

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the base logits of a block, in one go, from the context in the cache and the anchor. (γ, V)"""
        before = [0, *self.cache.tokens][-1]
        row = self.after_two[before, anchor]  # (V,)
        rows = np.zeros((block_size, row.size))
        for k in range(block_size):
            rows[k] = np.log(row)
            row = row @ self.after_one
        rows[:1] -= self.bias.get(anchor, 0.0)
        return rows
