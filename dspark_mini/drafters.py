"""The drafters of the small language model in NumPy: DFlash, DSpark, and an autoregressive one.

They read the target's features of the committed text through their own cache: after every round the engine extends
it, and the features of the new rows become keys and values. A block follows them, anchor first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dspark_mini.draft_heads import BlockChain, DraftHead, SelfFedChain
from dspark_mini.drafting import block_attention
from dspark_mini.drafts import Logits, spread
from dspark_mini.kinds import whole
from dspark_mini.layers import Floats, Layer, Rotary, SlotCache, rms_norm
from dspark_mini.shapes import DrafterShape, TargetShape
from dspark_mini.transformer import LanguageModel
from dspark_mini.weights import Weights


class DraftCache(SlotCache):
    """The drafter's keys and values, computed from the target's features of committed tokens."""

    def __init__(self, shape: TargetShape, layers: int, slots: int, drafter: Drafter) -> None:
        super().__init__(shape, layers, slots)
        self.drafter = drafter

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row per committed token."""
        slots = self.take(len(tokens))
        if tokens:
            self.drafter.write_context(slots, tokens)


class Drafter:
    """What all drafters share: the fusion of features, the layers, and the target's embedding and head.

    Args:
        weights: Arrays by their names in the weight file.
        shape: Shape of the drafter.
        target: The model that it drafts for.

    Raises:
        ValueError: The weights do not fit the target's width or vocabulary.
    """

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        sizes = target.shape
        shape.check_fits(sizes)
        self.shape, self.target = shape, target
        fuse = weights.get("fuse.weight", np.zeros((0, 0), np.float32))
        if fuse.shape != (sizes.width, len(sizes.feature_layers) * sizes.width):
            raise ValueError(f"fuse.weight has shape {fuse.shape}, which does not fit the features of this target.")
        self.fuse, self.fuse_norm = np.ascontiguousarray(fuse.T), weights["fuse_norm.weight"]
        self.layers = [Layer(weights, f"layers.{i}.", sizes) for i in range(shape.layers)]
        self.norm = weights["norm.weight"]
        slots = len(target.cache.features) + shape.block_size + 1  # a block may reach past the end of a full text
        self.rotary = Rotary(sizes.head_width, sizes.rope_theta, slots)
        self.cache = DraftCache(sizes, shape.layers, slots, self)
        ids = shape.draft_vocabulary
        self.head = target.head if ids is None else np.ascontiguousarray(target.head[:, list(ids)])  # (d, V_draft)

    def fused(self, rows: slice) -> Floats:
        """Fuse the target's features of rows: H_ctx. (n, d)"""
        features = self.target.cache.features[rows]
        return rms_norm(features @ self.fuse, self.fuse_norm, self.target.shape.eps)

    def logits(self, hidden: Floats) -> Logits:
        """Apply the target's head: the logits over its vocabulary, −inf at what cannot be drafted. (n, V)"""
        return spread(hidden @ self.head, self.shape.draft_vocabulary, self.target.shape.vocabulary)

    def write_context(self, slots: slice, tokens: Sequence[int]) -> None:
        """Write the rows of committed tokens into the cache."""
        raise NotImplementedError


def per_head(attention: Callable[..., Any]) -> Callable[..., Floats]:
    """Call an attention of one head, with the signature of block_attention, for each head in turn."""
    attention = getattr(attention, "__wrapped__", attention)  # the drafter's arrays need no contract

    def over_heads(*arguments: Any) -> Floats:
        *stacked, anchor_position = arguments
        return np.array([attention(*head, anchor_position) for head in zip(*stacked)], np.float32)

    return over_heads


class BlockDrafter(BlockChain, Drafter):
    """DFlash, or DSpark if the shape has a head.

    Attributes:
        attention: block_attention over stacked heads, without its contract; replace it by `per_head` of your own.
    """

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        super().__init__(weights, shape, target)
        masks = shape.block_size - (shape.layout == "dspark")
        self.masks = np.repeat(weights["mask"][None], masks, axis=0)
        self.draft_head = DraftHead(weights, shape, target.shape.vocabulary)
        self.bias, self.factors = self.draft_head.bias, self.draft_head.factors
        self.attention: Callable[..., Floats] = block_attention.__wrapped__  # type: ignore[attr-defined]

    def write_context(self, slots: slice, tokens: Sequence[int]) -> None:
        """Write the keys and values of the tokens' features, layer by layer (KV injection)."""
        fused, kv = self.fused(slots), self.target.shape.kv_heads
        for index, layer in enumerate(self.layers):
            rows = (fused @ layer.context_projection).reshape(len(fused), 2 * kv, -1)
            keys = self.rotary(rows[:, :kv], slots)
            self.cache.write(index, slots, keys.swapaxes(0, 1), rows[:, kv:].swapaxes(0, 1))

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the base logits of a block in one forward, without changing the cache. (γ, V)

        Raises:
            ValueError: A block longer than the drafter was trained for.
        """
        size = whole("block_size", block_size, 1, self.shape.block_size)
        anchor = whole("anchor", anchor, 0, self.target.shape.vocabulary - 1)
        x = np.concatenate((self.target.embed(anchor)[None], self.masks))  # (n, d)
        position = self.cache.rows  # of the anchor; cache rows from here on are left over from earlier texts
        for index, layer in enumerate(self.layers):
            queries, *block = layer.project(x, self.rotary, slice(position, position + len(x)))
            context = self.cache.keys[index], self.cache.values[index]  # (H_kv, slots, d_h)
            mixed = self.attention(layer.grouped(queries), *block, *context, position)
            x = layer.finish(x, layer.combined(mixed, len(x)))
        first = int(self.shape.layout == "dflash")  # the anchor's row predicts nothing there
        self.hidden = rms_norm(x[first : first + size], self.norm, self.target.shape.eps)
        return self.logits(self.hidden)


class AutoregressiveDrafter(SelfFedChain, Drafter):
    """A drafter like EAGLE-3: one forward per token, which reads the hidden state of the forward before."""

    cache: DraftCache

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        if shape.layers != 1:
            raise ValueError(f"layers is {shape.layers}; the autoregressive drafter has one.")
        super().__init__(weights, shape, target)
        self.join = np.ascontiguousarray(weights["join.weight"].T)  # (2d, d)
        self.last = np.zeros((1, target.shape.width), np.float32)  # the hidden state of the last forward

    def write_context(self, slots: slice, tokens: Sequence[int]) -> None:
        """Write the rows of committed tokens, over those of the drafter's own guesses."""
        before = self.fused(slice(max(slots.start - 1, 0), slots.stop - 1))
        if slots.start == 0:  # nothing precedes the first token
            before = np.concatenate((np.zeros((1, self.target.shape.width), np.float32), before))
        x = np.concatenate((self.target.embedding[list(tokens)], before), axis=1) @ self.join
        _, keys, values = self.layers[0].project(x, self.rotary, slots)
        self.cache.write(0, slots, keys, values)

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the first row, the only one that needs no drafted token. (1, V)"""
        whole("block_size", block_size, low=1)
        rows = self.cache.rows
        before = self.fused(slice(rows - 1, rows)) if rows else np.zeros_like(self.last)
        logits = self.forward(whole("anchor", anchor, 0, self.target.shape.vocabulary - 1), before)
        self.cache.drop(1)
        return logits

    def forward(self, token: int, before: Floats) -> Logits:
        """Run one token, given the hidden state before it, and add its row to the cache. (1, V)"""
        x = np.concatenate((self.target.embed(token)[None], before), axis=1) @ self.join  # (1, d)
        slots, layer = self.cache.take(1), self.layers[0]
        queries, keys, values = layer.project(x, self.rotary, slots)
        x = layer.finish(x, layer.attend(queries, *self.cache.write(0, slots, keys, values), None))
        self.last = rms_norm(x, self.norm, self.target.shape.eps)
        return self.logits(self.last)


def make_drafter(weights: Weights, shape: DrafterShape, target: LanguageModel) -> BlockDrafter | AutoregressiveDrafter:
    """Build a drafter for a target."""
    return (BlockDrafter if shape.kind == "block" else AutoregressiveDrafter)(weights, shape, target)
