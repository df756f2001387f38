"""The target in NumPy: a Llama-style transformer with a KV cache that scores a chain or a tree in one forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dspark_mini import kinds
from dspark_mini.layers import SLOTS, Floats, Layer, Rotary, SlotCache, rms_norm
from dspark_mini.shapes import TargetShape
from dspark_mini.trees import tree_mask
from dspark_mini.weights import Weights


class FeatureCache(SlotCache):
    """The target's KV cache, with the features of each row that drafters read."""

    def __init__(self, shape: TargetShape, slots: int = SLOTS) -> None:
        super().__init__(shape, shape.layers, slots)
        self.features = np.zeros((slots, len(shape.feature_layers) * shape.width), np.float32)

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        super().move(sources, slots)
        self.features[slots] = self.features[sources]


class LanguageModel:
    """The target model.

    Args:
        weights: Arrays by their names in the weight file.
        shape: Shape of the target.
        slots: Most tokens in a text.

    Raises:
        ValueError: The embedding is missing or does not match the shape.
        KeyError: Another weight is missing.
    """

    def __init__(self, weights: Weights, shape: TargetShape, slots: int = SLOTS) -> None:
        table = weights.get("embedding.weight")
        if table is None or table.shape != (shape.vocabulary, shape.width):
            found = "missing" if table is None else f"of shape {table.shape}"
            raise ValueError(f"embedding.weight is {found}; it must be {(shape.vocabulary, shape.width)}.")
        if shape.qk_norm or shape.rope_scaling or -1 in shape.feature_layers:
            raise ValueError("qk_norm, rope_scaling and feature layer −1 are known to the torch models only.")
        self.shape, self.embedding = shape, table
        self.layers = [Layer(weights, f"layers.{i}.", shape) for i in range(shape.layers)]
        self.norm = weights["norm.weight"]
        self.head = np.ascontiguousarray((table if shape.tied else weights["head.weight"]).T)  # (d, V)
        self.rotary = Rotary(shape.head_width, shape.rope_theta, slots)
        self.cache = FeatureCache(shape, slots)
        self.tree_mask: Callable[..., NDArray[np.bool_]] = tree_mask  # 6.2
        self.token_ids = kinds.tokens("n", below=shape.vocabulary)

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Compute the next-token logits after each token, and add one row per token to the cache.

        Args:
            tokens: The next n tokens of the text; with `parents`, the anchor and the nodes of a tree.
            parents: For each node the index of its parent, −1 for a child of the anchor.

        Returns:
            (n, V) logits; row k follows token k and everything before it in the text or on its path in the tree.

        Raises:
            ValueError: A token is not in the vocabulary, or the cache has too few free slots.
        """
        ids = self.token_ids("tokens", tokens, {})
        if not ids:
            return np.zeros((0, self.shape.vocabulary))
        slots = self.cache.take(len(ids))
        positions, masked = _chain_mask(slots) if parents is None else self._tree_mask(slots, parents)
        x, features = self.embedding[ids], []  # (n, d)
        for index, layer in enumerate(self.layers):
            queries, keys, values = layer.project(x, self.rotary, positions)
            x = layer.finish(x, layer.attend(queries, *self.cache.write(index, slots, keys, values), masked))
            if index in self.shape.feature_layers:
                features.append(x)
        self.cache.features[slots] = np.concatenate(features, axis=-1)
        return (rms_norm(x, self.norm, self.shape.eps) @ self.head).astype(np.float64)

    def embed(self, token: int) -> Floats:
        """Return the embedding of a token, (d,)."""
        row: Floats = self.embedding[token]
        return row

    def _tree_mask(self, slots: slice, parents: Sequence[int]) -> tuple[list[int], NDArray[np.bool_]]:
        """Return the positions of the anchor and the nodes, and their mask (n, rows): all that is off a node's path."""
        of_anchor = [-1, *(parent + 1 for parent in parents)]  # the anchor is the root's only child
        visible = self.tree_mask(of_anchor, slots.start)
        positions = visible.sum(axis=1) - 1  # a token's position is the number of tokens before it on its path
        return positions.tolist(), ~visible


def _chain_mask(slots: slice) -> tuple[slice, NDArray[np.bool_] | None]:
    """Return the positions of a chain and its causal mask (n, rows): each token ignores the ones after it."""
    count = slots.stop - slots.start
    if count == 1:
        return slots, None
    return slots, np.arange(slots.stop) > np.arange(slots.start, slots.stop)[:, None]
