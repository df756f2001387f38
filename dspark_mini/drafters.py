"""The drafters of the small language model in NumPy: DFlash, DSpark, and an autoregressive one.

They read the target's features of the committed text through their own cache: after every round the engine extends
it, and the features of the new rows become keys and values. A block follows them, anchor first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dspark_mini.draft_heads import DraftHead
from dspark_mini.drafts import Logits, Probabilities, sample_chain, spread
from dspark_mini.inputs import token_in, whole_number
from dspark_mini.layers import Floats, Layer, Rotary, SlotCache, rms_norm
from dspark_mini.shapes import DrafterShape, TargetShape
from dspark_mini.transformer import LanguageModel
from dspark_mini.weights import Weights


class DraftCache(SlotCache):
    """Keys and values of the text's features, as the drafter's layers see them."""

    def __init__(self, shape: TargetShape, layers: int, slots: int, drafter: Drafter) -> None:
        super().__init__(shape, layers, slots)
        self.drafter = drafter

    def extend(self, tokens: Sequence[int]) -> None:
        """Add a row for each committed token, from the target's features of it."""
        slots = self.take(len(tokens))
        if tokens:
            self.drafter.write_context(slots, tokens)


class Drafter:
    """What all drafters share: the fusion of features, the layers, and the target's embedding and head.

    Args:
        weights: by the names that the appendix gives them.
        shape: the drafter's sizes.
        target: the model that it drafts for.

    Raises:
        ValueError: weights of another width or vocabulary than the target's.
    """

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        sizes = target.shape
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


class BlockDrafter(Drafter):
    """DFlash, or DSpark where the shape has a head."""

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        super().__init__(weights, shape, target)
        masks = shape.block_size - (shape.layout == "dspark")
        self.masks = np.repeat(weights["mask"][None], masks, axis=0)
        self.hidden = np.zeros((0, target.shape.width), np.float32)  # h_1..h_γ of the last block
        w2 = None
        if shape.head != "none":
            if weights["head.previous.weight"].shape != (target.shape.vocabulary, shape.rank):
                found = weights["head.previous.weight"].shape
                raise ValueError(f"W1 has shape {found}; this target needs {(target.shape.vocabulary, shape.rank)}.")
            w2 = spread(weights["head.next.weight"].T, shape.draft_vocabulary, target.shape.vocabulary, missing=0.0)
            w2 = w2.astype(np.float32)  # (r, V)
        self.draft_head = DraftHead(weights, shape.head, w2)
        self.bias, self.factors = self.draft_head.bias, self.draft_head.factors(target.shape.vocabulary)

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
            ValueError: a block longer than the one that the drafter was trained for.
        """
        size = whole_number("block_size", block_size, low=1, high=self.shape.block_size)
        anchor = token_in("anchor", anchor, self.target.shape.vocabulary)
        x = np.concatenate((self.target.embed(anchor)[None], self.masks))  # (n, d)
        slots = self.cache.take(len(x))
        for index, layer in enumerate(self.layers):
            queries, keys, values = layer.project(x, self.rotary, slots)
            x = layer.finish(x, layer.attend(queries, *self.cache.write(index, slots, keys, values), None))
        self.cache.drop(len(x))  # the block's own rows are of no further use
        first = int(self.shape.layout == "dflash")  # the anchor's row predicts nothing there
        self.hidden = rms_norm(x[first : first + size], self.norm, self.target.shape.eps)
        return self.logits(self.hidden)

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token: γ tokens, and the rows q (γ, V) that they were drawn from."""
        return self.draft_head.chain(base, self.hidden, anchor, temperature, rng)

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the chance of each draft to survive, given that those before it do. (γ,)"""
        return self.draft_head.confidences(self.hidden, anchor, tokens, base)


class AutoregressiveDrafter(Drafter):
    """A drafter like EAGLE-3: one forward per token, which reads the hidden state of the forward before."""

    bias = factors = None
    best: list[float]  # the best probability of each row of the last block

    def __init__(self, weights: Weights, shape: DrafterShape, target: LanguageModel) -> None:
        if shape.layers != 1:
            raise ValueError(f"layers is {shape.layers}; the autoregressive drafter has one.")
        super().__init__(weights, shape, target)
        self.join = np.ascontiguousarray(weights["join.weight"].T)  # (2d, d)
        self.last = np.zeros((1, target.shape.width), np.float32)  # the hidden state of the last forward

    def write_context(self, slots: slice, tokens: Sequence[int]) -> None:
        """Write the rows of committed tokens, over what the drafter had fed itself."""
        before = self.fused(slice(max(slots.start - 1, 0), slots.stop - 1))
        if slots.start == 0:  # nothing stands in front of the first token
            before = np.concatenate((np.zeros((1, self.target.shape.width), np.float32), before))
        x = np.concatenate((self.target.embedding[list(tokens)], before), axis=1) @ self.join
        _, keys, values = self.layers[0].project(x, self.rotary, slots)
        self.cache.write(0, slots, keys, values)

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the first row, all that does not wait for a drafted token. (1, V)"""
        whole_number("block_size", block_size, low=1)
        rows = self.cache.rows
        before = self.fused(slice(rows - 1, rows)) if rows else np.zeros_like(self.last)
        logits = self._forward(token_in("anchor", anchor, self.target.shape.vocabulary), before)
        self.cache.drop(1)
        return logits

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block, one forward per token: γ tokens, and the rows q (γ, V) that they were drawn from."""
        self.cache.take(1)  # the anchor's row

        def next_logits(k: int, previous: int) -> Logits:
            row: Logits = base[0] if k == 0 else self._forward(previous, self.last)[0]
            return row

        tokens, q = sample_chain(anchor, block_size, next_logits, temperature, rng)
        self.cache.drop(block_size)
        self.best = q.max(axis=1).tolist()
        return tokens, q

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the best probability of each row of the last block, for lack of a confidence head. (γ,)"""
        return self.best

    def _forward(self, token: int, before: Floats) -> Logits:
        """Run one token behind what stands in front of it, and add its row to the cache. (1, V)"""
        x = np.concatenate((self.target.embed(token)[None], before), axis=1) @ self.join  # (1, d)
        slots, layer = self.cache.take(1), self.layers[0]
        queries, keys, values = layer.project(x, self.rotary, slots)
        x = layer.finish(x, layer.attend(queries, *self.cache.write(0, slots, keys, values), None))
        self.last = rms_norm(x, self.norm, self.target.shape.eps)
        return self.logits(self.last)


def make_drafter(weights: Weights, shape: DrafterShape, target: LanguageModel) -> BlockDrafter | AutoregressiveDrafter:
    """Build the drafter of a shape, for a target."""
    return (BlockDrafter if shape.kind == "block" else AutoregressiveDrafter)(weights, shape, target)
