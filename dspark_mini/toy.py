"""A target and drafters so small that everything about them can be enumerated: random tables over a few tokens.

The target's next token depends on the last two. Both count the rows of a cache and drop them on demand, as the
cache of a real model does; the engine cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dspark_mini.drafts import Logits, Probabilities, draw, sample_chain, softmax
from dspark_mini.inputs import whole_numbers


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

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        """Of the last rows keep those at some offsets, and drop the others.

        Args:
            count: how many rows are looked at, from the end.
            chosen: offsets among these rows, from 0 to count − 1, increasing.

        Raises:
            ValueError: fewer than 0 rows or more than there are, or offsets that do not increase or lie outside.
        """
        if not 0 <= count <= self.rows:
            raise ValueError(f"count is {count}, but the cache has {self.rows} rows to choose from.")
        offsets = whole_numbers("chosen", chosen, low=0, high=count - 1)
        for i in range(1, len(offsets)):
            if offsets[i] <= offsets[i - 1]:
                raise ValueError(
                    f"chosen[{i}] is {offsets[i]}, but it must be above chosen[{i - 1}], {offsets[i - 1]}."
                )
        last = self.tokens[self.rows - count :]
        self.tokens[self.rows - count :] = [last[i] for i in offsets]


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

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        """Compute one row a token, each the logits of what follows it, and add the rows to the cache.

        Args:
            tokens: n tokens; with `parents` the anchor and the nodes of a tree.
            parents: for each node an earlier one, or −1 for a child of the anchor; a chain without it.

        Returns:
            Logits (n, V): row 0 follows the first token, row i + 1 node i and its ancestors.

        Raises:
            ValueError: another number of parents than of nodes.
        """
        above = range(-1, len(tokens) - 2) if parents is None else parents
        if parents is not None and len(parents) != len(tokens) - 1:
            raise ValueError(f"parents has {len(parents)} entries for {len(tokens)} tokens; it needs one less.")
        previous = [*[0, *self.cache.tokens][-1:], *(tokens[parent + 1] for parent in above)]
        self.cache.extend(tokens)
        rows = [self.table[pair] for pair in zip(previous, tokens)]
        return np.array(rows).reshape(len(rows), self.table.shape[-1])


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
        self.bias: Any = dict(enumerate(np.log(self.after_one) - average)) if markov else {}
        self.cache = Cache()

    def block_logits(self, anchor: int, size: int) -> Logits:
        """Compute the base logits of a block, in one go, from the context in the cache and the anchor. (γ, V)"""
        before = [0, *self.cache.tokens][-1]
        row = self.after_two[before, anchor]  # (V,)
        rows = np.zeros((size, row.size))
        for k in range(size):
            rows[k] = np.log(row)
            row = row @ self.after_one
        rows[:1] -= self.bias.get(anchor, 0.0)
        return rows

    def chain(
        self, base: Logits, anchor: int, size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draw the tokens of a block one after the other: γ tokens, and the rows they were drawn from. (γ, V)"""
        return sample_chain(base[:size], anchor, self.bias, temperature, rng)

    def confidences(self, anchor: int, tokens: Sequence[int], q: Probabilities) -> list[float]:
        """Return each row's best probability, which does not depend on the token that was drawn from it."""
        best: list[float] = q.max(axis=1).tolist()
        return best


class ToyAutoregressiveDrafter(ToyDrafter):
    """The drafter's noisy table read token by token: two tokens back at each position, so that nothing gets vaguer.

    Its rows depend on more than the token before them, so there is no bias; block_logits is the first row alone.
    """

    def __init__(self, table: Logits, noise: float, seed: int) -> None:
        super().__init__(table, noise, seed, markov=False)
        self.bias = None

    def block_logits(self, anchor: int, size: int) -> Logits:
        """Compute the logits behind the anchor. (1, V)"""
        before = [0, *self.cache.tokens][-1]
        row: Logits = np.log(self.after_two[before, anchor])
        return row[None]

    def chain(
        self, base: Logits, anchor: int, size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draw the tokens of a block, each from a row that is computed when the token before it is known. (γ, V)"""
        before, scores, tokens, rows = anchor, base[0], list[int](), list[Probabilities]()
        while len(tokens) < size:
            rows.append(softmax(scores / (temperature or 1.0)))
            tokens.append(draw(rows[-1], rng) if temperature else int(scores.argmax()))
            before, scores = tokens[-1], np.log(self.after_two[before, tokens[-1]])
        return tokens, np.array(rows)
