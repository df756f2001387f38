"""A target and drafters so small that everything about them can be enumerated: random tables over a few tokens.

The target's next token depends on the last two. The caches count rows and drop them on demand, as those of a real
model do; the engine cannot tell the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dspark_mini.caches import StaticCache
from dspark_mini.drafts import (
    Logits,
    Probabilities,
    best_probabilities,
    corrected,
    sample_chain,
    sample_markov_chain,
    softmax,
)


class Cache(StaticCache):
    """A cache that holds, for each row, the token that it was computed from."""

    def __init__(self, slots: int = sys.maxsize) -> None:
        super().__init__(slots)
        self.held = list[int]()

    @property
    def tokens(self) -> list[int]:
        """The tokens of the rows in use."""
        return self.held[: self.rows]

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row per token."""
        self.held[self.take(len(tokens))] = tokens

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        self.held[slots] = [self.held[source] for source in sources]


class ToyTarget:
    """A language model in which the next token depends on the last two, by a table.

    Args:
        table: (V, V, V) logits; entry [a, b] is the row of the token that follows a, b. The first token of a text
            counts as preceded by token 0.
    """

    def __init__(self, table: Logits) -> None:
        self.table, self.cache = table, Cache()

    @classmethod
    def random(cls, vocabulary: int, seed: int, sharpness: float = 2.5, memory: float = 0.7) -> ToyTarget:
        """Make a target with random logits.

        Args:
            vocabulary: V.
            seed: Of the logits.
            sharpness: Standard deviation of the part that depends on the last token.
            memory: Standard deviation of the part that depends on the last two tokens.
        """
        rng = np.random.default_rng(seed)
        last, last_two = rng.normal(size=(vocabulary,) * 2), rng.normal(size=(vocabulary,) * 3)
        return cls(sharpness * last + memory * last_two)

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        """Return the next-token logits after each token, and add one row per token to the cache.

        Args:
            tokens: n tokens; with `parents`, the anchor and the nodes of a tree.
            parents: For each tree node the index of an earlier one, or −1 for a child of the anchor; None for a chain.

        Returns:
            (n, V) logits: row 0 follows the first token, row i + 1 follows node i and its ancestors.

        Raises:
            ValueError: The number of parents does not fit the number of nodes, or the cache is full.
        """
        if parents is not None and len(parents) != len(tokens) - 1:
            raise ValueError(f"parents has {len(parents)} entries for {len(tokens)} tokens; it needs one less.")
        parents = range(-1, len(tokens) - 2) if parents is None else parents
        previous = [*[0, *self.cache.tokens][-1:], *(tokens[parent + 1] for parent in parents)]
        self.cache.extend(tokens)
        rows = [self.table[pair] for pair in zip(previous, tokens)]
        return np.array(rows).reshape(len(rows), self.table.shape[-1])


class ToyDrafter:
    """A parallel drafter that has seen the target's table through noise.

    Its first position looks two tokens back, as the target does; the others and the bias look one token back only.
    Block positions do not see each other: position k's base logits are the log-probabilities of the token k steps after
    the anchor, averaged over all tokens in between, so they get vaguer along the block. The Markov bias of a token is
    its own row minus the average row. As in a drafter trained together with its head, the first position leaves out
    what the bias of the anchor will add.

    Args:
        table: (V, V, V) the target's logits.
        noise: Standard deviation of the noise added to the logits.
        seed: Of the noise.
        markov: Whether there is a bias (DSpark) or not (DFlash).
    """

    def __init__(self, table: Logits, noise: float, seed: int, markov: bool = True) -> None:
        seen = table + np.random.default_rng(seed).normal(0.0, noise, size=table.shape)
        self.after_two = softmax(seen)  # (V, V, V), for the first position
        self.after_one = self.after_two.mean(axis=0)  # (V, V)
        rows = np.log(self.after_one) - np.log(self.after_one.mean(axis=0)) if markov else 0.0 * self.after_one
        self.bias: Any = dict(enumerate(rows))
        self.factors: tuple[Logits, Logits] | None = np.eye(len(rows)), rows  # (V, V) each
        self.cache = Cache()

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the base logits of a block, in one go, from the context in the cache and the anchor. (γ, V)"""
        before = [0, *self.cache.tokens][-1]
        row = self.after_two[before, anchor]  # (V,)
        rows = np.zeros((block_size, row.size))
        for k in range(block_size):
            rows[k] = np.log(row)
            row = row @ self.after_one
        rows[0] -= self.bias[anchor]
        return rows

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token: γ tokens, and the rows (γ, V) that they were drawn from."""
        return sample_markov_chain(base, anchor, self.bias, temperature, rng)

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the best probability of each row, given the tokens before it. (γ,)"""
        rows = [corrected(row, previous, self.bias) for row, previous in zip(base, [anchor, *tokens])]
        return best_probabilities(np.array(rows))


class ToyAutoregressiveDrafter(ToyDrafter):
    """A drafter that reads its noisy table token by token, two tokens back at each position, so nothing gets vaguer.

    Its rows depend on more than the token before, so it has no bias, and block_logits returns the first row alone.
    """

    def __init__(self, table: Logits, noise: float, seed: int) -> None:
        super().__init__(table, noise, seed)
        self.bias = self.factors = None
        self.best: list[float] = []  # the best probability of each row of the last block

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the logits after the anchor. (1, V)"""
        before = [0, *self.cache.tokens][-1]
        row: Logits = np.log(self.after_two[before, anchor])
        return row[None]

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token, each row computed once the token before it is known. (γ, V)"""
        seen = [0, *self.cache.tokens][-1:]

        def next_logits(k: int, previous: int) -> Logits:
            seen.append(previous)
            row: Logits = np.log(self.after_two[seen[k], previous])
            return row

        tokens, q = sample_chain(anchor, block_size, next_logits, temperature, rng)
        self.best = q.max(axis=1).tolist()
        return tokens, q

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the best probability of each row of the last block. (γ,)"""
        return self.best
