"""Ragged batches: requests of different lengths in one forward.

All rows of all requests pass the linear layers as one flat batch of B rows. In attention each request sees its own
slots only: its queries are padded to the longest request, and a mask hides what lies behind each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.model import Layer, Target
from dspark_mini.shapes import TargetShape


@dataclass(frozen=True)
class Rows:
    """Where each row of a flat batch belongs."""

    owner: Tensor  # (B,) its request
    offset: Tensor  # (B,) its place among the request's rows of this batch
    positions: Tensor  # (B,) its place in the request's text
    longest: int  # most rows of a request

    @classmethod
    def behind(cls, starts: Tensor, lengths: Tensor) -> Rows:
        """Lay out lengths (R,) rows a request, which stand behind the first starts (R,) of its text."""
        owner = torch.arange(len(lengths)).repeat_interleave(lengths)
        offset = torch.arange(len(owner)) - (lengths.cumsum(0) - lengths)[owner]
        return cls(owner, offset, starts[owner] + offset, int(lengths.max()))

    def chosen(self, rows: Tensor) -> Rows:
        """Keep some rows, by a mask (B,)."""
        return Rows(self.owner[rows], self.offset[rows], self.positions[rows], self.longest)


class RaggedCache:
    """Keys and values of all requests, in slots of their own."""

    def __init__(self, shape: TargetShape, layers: int, requests: int, slots: int) -> None:
        size = (layers, requests, shape.kv_heads, slots, shape.head_width)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Write the rows' keys and values (1, H_kv, B, d_h)."""
        self.keys[layer][rows.owner, :, rows.positions] = keys[0].transpose(0, 1)
        self.values[layer][rows.owner, :, rows.positions] = values[0].transpose(0, 1)

    def put(self, places: Tensor, other: RaggedCache) -> None:
        """Take over the first slots of some requests from a smaller cache, which holds those alone."""
        slots = other.keys.shape[3]
        self.keys[:, places, :, :slots], self.values[:, places, :, :slots] = other.keys, other.values


@torch.inference_mode()
def ragged_forward(model: Target, cache: RaggedCache, tokens: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Run the target over rows of many requests, and write theirs into the cache.

    Args:
        model: the target.
        cache: holds the rows of each request up to its first one of this batch.
        tokens: (B,) token ids.
        rows: where each of them belongs.

    Returns:
        (B, V) logits, and (B, m · d) features.
    """
    shape, slots = model.shape, int(rows.positions.max()) + 1
    mask = _visible(rows, len(cache.keys[0]), slots)
    turns = model.rotary(rows.positions[None])
    x = model.embedding(tokens)[None]  # (1, B, d)
    chosen = []
    for index, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        normed = layer.attention_norm(x)
        cache.write(index, rows, *layer.attention.keys_values(normed, turns))
        queries = layer.attention.queries(normed, turns)  # (1, H, B, d_h)
        mixed = _attend(queries, cache.keys[index, :, :, :slots], cache.values[index, :, :, :slots], rows, mask)
        x = layer.finish(x, layer.attention.out(mixed))
        if index in shape.feature_layers:
            chosen.append(x[0])
    return F.linear(model.norm(x[0]), model.head_weight), torch.cat(chosen, dim=-1)


def _visible(rows: Rows, requests: int, slots: int) -> Tensor:
    """Say which slots each padded query sees: those up to its own place. (R, 1, n, slots)"""
    place = torch.zeros(requests, rows.longest, dtype=torch.long)  # padding sees the first slot, and is thrown away
    place[rows.owner, rows.offset] = rows.positions
    return (torch.arange(slots) <= place[..., None])[:, None]


def _attend(queries: Tensor, keys: Tensor, values: Tensor, rows: Rows, mask: Tensor) -> Tensor:
    """Mix the values that each row sees. (1, B, H · d_h)"""
    _, heads, _, width = queries.shape
    padded = queries.new_zeros(len(keys), rows.longest, heads, width)
    padded[rows.owner, rows.offset] = queries[0].transpose(0, 1)
    grouped = keys.shape[1] != heads
    mixed = F.scaled_dot_product_attention(padded.transpose(1, 2), keys, values, attn_mask=mask, enable_gqa=grouped)
    return mixed.transpose(1, 2)[rows.owner, rows.offset].flatten(1)[None]


@torch.inference_mode()
def write_context(drafter: BlockDrafter, cache: RaggedCache, features: Tensor, rows: Rows) -> None:
    """Turn the features (B, m · d) of committed tokens into the drafter's keys and values."""
    for index, (keys, values) in enumerate(drafter.context_rows(features[None], rows.positions[None])):
        cache.write(index, rows, keys, values)


@torch.inference_mode()
def block_hidden(drafter: BlockDrafter, model: Target, cache: RaggedCache, anchors: Tensor, starts: Tensor) -> Tensor:
    """Draft a block behind each request's text in one forward.

    Args:
        drafter, model: DFlash or DSpark, and its target.
        cache: the drafter's rows of each request.
        anchors: (R,) the last token of each text.
        starts: (R,) how many tokens stand before it.

    Returns:
        (R, γ, d) h_1..h_γ of each block.
    """
    block = drafter.block_inputs(anchors, model)  # (R, n, d)
    size, slots = block.shape[1], int(starts.max())
    context = [(keys[:, :, :slots], values[:, :, :slots]) for keys, values in zip(cache.keys, cache.values)]
    before = torch.arange(slots) < starts[:, None]  # (R, slots)
    mask = torch.cat((before, before.new_ones(len(anchors), size)), dim=1)[:, None, None]  # (R, 1, 1, slots + n)
    hidden: Tensor = drafter(block, starts[:, None] + torch.arange(size), context, mask)
    return hidden
