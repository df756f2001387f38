"""The target in NumPy: a Llama-style transformer with a KV cache, which scores chains and trees in one forward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import tokens_in
from dspark_mini.layers import SLOTS, Floats, Layer, Rotary, SlotCache, rms_norm
from dspark_mini.shapes import TargetShape
from dspark_mini.trees import tree_mask
from dspark_mini.weights import Weights


class FeatureCache(SlotCache):
    """The target's cache: beside keys and values the features of each row, which drafters read."""

    def __init__(self, shape: TargetShape, slots: int = SLOTS) -> None:
        super().__init__(shape, shape.layers, slots)
        self.features = np.zeros((slots, len(shape.feature_layers) * shape.width), np.float32)

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        super().move(sources, slots)
        self.features[slots] = self.features[sources]


class LanguageModel:
    """The target.

    Args:
        weights: by the names that the appendix gives them.
        shape: the sizes.
        slots: tokens that a text may have.

    Raises:
        ValueError: a weight that is missing or has another shape.
    """

    def __init__(self, weights: Weights, shape: TargetShape, slots: int = SLOTS) -> None:
        table = weights.get("embedding.weight")
        if table is None or table.shape != (shape.vocabulary, shape.width):
            found = "missing" if table is None else f"of shape {table.shape}"
            raise ValueError(f"embedding.weight is {found}; it must be {(shape.vocabulary, shape.width)}.")
        self.shape, self.embedding = shape, table
        self.layers = [Layer(weights, f"layers.{i}.", shape) for i in range(shape.layers)]
        self.norm = weights["norm.weight"]
        self.head = np.ascontiguousarray((table if shape.tied else weights["head.weight"]).T)  # (d, V)
        self.rotary = Rotary(shape.head_width, shape.rope_theta, slots)
        self.cache = FeatureCache(shape, slots)

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Compute the next-token logits behind each token, and add a row a token to the cache.

        Args:
            tokens: the next tokens of the text; with parents, the anchor and the nodes of a tree.
            parents: for each node its parent's index, −1 for a child of the anchor.

        Returns:
            (n, V) logits, row k behind token k and what it sees: the text, or its path in the tree.

        Raises:
            ValueError: a token outside the vocabulary, or more tokens than the cache has slots.
        """
        ids = tokens_in("tokens", tokens, self.shape.vocabulary)
        if not ids:
            return np.zeros((0, self.shape.vocabulary))
        slots = self.cache.take(len(ids))
        positions, hidden = _chain(slots) if parents is None else _tree(slots, parents)
        x, chosen = self.embedding[ids], []  # (n, d)
        for index, layer in enumerate(self.layers):
            queries, keys, values = layer.project(x, self.rotary, positions)
            x = layer.finish(x, layer.attend(queries, *self.cache.write(index, slots, keys, values), hidden))
            if index in self.shape.feature_layers:
                chosen.append(x)
        self.cache.features[slots] = np.concatenate(chosen, axis=-1)
        return (rms_norm(x, self.norm, self.shape.eps) @ self.head).astype(np.float64)

    def embed(self, token: int) -> Floats:
        """Return the embedding of a token. (d,)"""
        row: Floats = self.embedding[token]
        return row


def _chain(slots: slice) -> tuple[slice, NDArray[np.bool_] | None]:
    """Return the positions of a chain, and what each of its tokens does not see: those behind it."""
    count = slots.stop - slots.start
    if count == 1:
        return slots, None
    return slots, np.arange(slots.stop) > np.arange(slots.start, slots.stop)[:, None]  # (n, rows)


def _tree(slots: slice, parents: Sequence[int]) -> tuple[list[int], NDArray[np.bool_]]:
    """Return the positions of the anchor and the nodes, and what each of them does not see."""
    seen = tree_mask([-1, *(parent + 1 for parent in parents)], slots.start)  # the anchor is the root's only child
    depths = seen.sum(axis=1) - 1  # a token stands behind all that it sees
    return depths.tolist(), ~seen
