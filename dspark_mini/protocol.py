"""What the engine asks of a model: two protocols, implemented by the toy, the NumPy model and the torch model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dspark_mini.drafts import Logits, Probabilities


class Rows(Protocol):
    """A cache that counts its rows, one per token."""

    @property
    def rows(self) -> int:
        """The number of rows in use."""
        ...


class TargetCache(Rows, Protocol):
    """The target's cache: a forward adds rows, and the engine removes those of rejected drafts."""

    @property
    def free(self) -> int:
        """The number of rows that can still be added."""
        ...

    def drop(self, rows: int) -> None:
        """Drop rows from the end; a ValueError if there are fewer."""
        ...

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        """Of the last `count` rows, keep those at the increasing offsets `chosen` and drop the others."""
        ...


class DrafterCache(Rows, Protocol):
    """The drafter's cache: it grows by committed tokens only."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row per token; the target's cache already holds the rows of the same tokens."""
        ...


class Target(Protocol):
    """The model whose text comes out."""

    @property
    def cache(self) -> TargetCache:
        """Its cache."""
        ...

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        """Return the next-token logits after each token, and add one row per token to the cache.

        Args:
            tokens: n tokens, possibly none: the next tokens of the text or, with `parents`, the anchor and then the
                nodes of a tree.
            parents: For each tree node the index of an earlier one, or −1 for a child of the anchor. A node sees the
                context, its ancestors and itself; its position is one more than its parent's.

        Returns:
            (n, V) logits.
        """
        ...


class Drafter(Protocol):
    """The model that guesses ahead: a block in parallel, then its tokens one after the other."""

    @property
    def cache(self) -> DrafterCache:
        """Its cache."""
        ...

    @property
    def bias(self) -> Any:
        """A mapping from token to bias (V,), possibly empty; None if rows depend on more than the token before."""
        ...

    @property
    def factors(self) -> tuple[Logits, Logits] | None:
        """The same bias as two matrices, W1 (V, r) and W2 (r, V): the bias of a token is W1[token] W2."""
        ...

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Return what one forward computes for a block after the anchor, without changing the number of cache rows.

        These are the base logits of the whole block, (γ, V); an autoregressive drafter returns the first row, (1, V).
        """
        ...

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft γ tokens one after the other from what block_logits returned, at temperature 0 the best ones.

        The number of cache rows is the same afterwards.

        Returns:
            γ tokens, and the very rows (γ, V) that they were drawn from; at temperature 0 those at temperature 1.
        """
        ...

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the chance that each draft survives, judged by what precedes the draft, never by the draft itself."""
        ...
