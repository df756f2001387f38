"""What the engine asks of a model: two protocols, which the toy, the NumPy model and the torch model answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dspark_mini.drafts import Logits, Probabilities


class Rows(Protocol):
    """A cache that can say how many tokens it holds rows of."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...


class TargetCache(Rows, Protocol):
    """The target's cache: a forward adds rows, the engine takes back those of refused drafts."""

    def drop(self, rows: int) -> None:
        """Drop rows from the end; a ValueError if there are fewer."""
        ...

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        """Of the last `count` rows keep those at the increasing offsets `chosen`, and drop the others."""
        ...


class DrafterCache(Rows, Protocol):
    """The drafter's cache: it grows by what was committed, and by nothing else."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row a token; the target's cache holds the rows of the same tokens by then."""
        ...


class Target(Protocol):
    """The model whose text comes out."""

    @property
    def cache(self) -> TargetCache:
        """Its cache."""
        ...

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        """Return the next-token logits behind each token, and add a row a token to the cache.

        Args:
            tokens: n tokens, perhaps none, one behind the other; with `parents` the anchor and then a tree's nodes.
            parents: for each node an earlier one, or −1 for a child of the anchor. A node sees the context, its
                ancestors and itself, and its position is one behind its parent's.

        Returns:
            One row a token, (n, V).
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
        """What answers .get(token) with a row (V,) or None; None itself where a row depends on more than that token."""
        ...

    def block_logits(self, anchor: int, size: int) -> Logits:
        """Return what is computed in one go for a block behind the anchor, without changing the number of cache rows.

        The base logits of the whole block, (γ, V); of an autoregressive drafter its first row alone, (1, V).
        """
        ...

    def chain(
        self, base: Logits, anchor: int, size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draw `size` tokens one after the other, at temperature 0 the best ones, from what block_logits returned.

        What it writes into its cache on the way is gone again when it returns.

        Returns:
            The tokens, and the very rows that they were drawn from, (γ, V); at temperature 0 those at temperature 1.
        """
        ...

    def confidences(self, anchor: int, tokens: Sequence[int], q: Probabilities) -> list[float]:
        """Return for each draft the chance that it survives, from what stands in front of it, never from itself."""
        ...
