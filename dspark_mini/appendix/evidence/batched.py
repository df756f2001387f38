"""Ragged batches: requests of different lengths in one forward.

The rows of all requests pass the linear layers as one flat batch of B rows. In attention, each request's queries are
padded to the longest request and see that request's slots only, up to their own position. New tensors go to torch's
default device: `with torch.device("cuda")` around a server runs it on a GPU.
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

    owner: Tensor  # (B,) index of its request
    offset: Tensor  # (B,) index among the request's rows in this batch
    positions: Tensor  # (B,) position in the request's text
    longest: int  # most rows of any request

    @classmethod
    def after(cls, starts: Tensor, lengths: Tensor) -> Rows:
        """Lay out `lengths` (R,) rows per request, which follow its first `starts` (R,) tokens."""
        owner = torch.arange(len(lengths)).repeat_interleave(lengths)
        offset = torch.arange(len(owner)) - (lengths.cumsum(0) - lengths)[owner]
        return cls(owner, offset, starts[owner] + offset, int(lengths.max()))

    def where(self, mask: Tensor) -> Rows:
        """Keep the rows that a mask (B,) selects."""
        return Rows(self.owner[mask], self.offset[mask], self.positions[mask], self.longest)


class RaggedCache:
    """Keys and values of all requests, each with slots of its own."""

    def __init__(
        self, shape: TargetShape, layers: int, requests: int, slots: int, dtype: torch.dtype = torch.float32
    ) -> None:
        size = (layers, requests, shape.kv_heads, slots, shape.head_width)
        self.keys, self.values = (torch.zeros(size, dtype=dtype) for _ in range(2))

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Write keys and values (1, H_kv, B, d_h) into the slots of their rows."""
        self.keys[layer][rows.owner, :, rows.positions] = keys[0].transpose(0, 1)
        self.values[layer][rows.owner, :, rows.positions] = values[0].transpose(0, 1)

    def copy_from(self, other: RaggedCache, requests: Tensor) -> None:
        """Copy a smaller cache into the first slots of the given requests (R',)."""
        slots = other.keys.shape[3]
        self.keys[:, requests, :, :slots] = other.keys
        self.values[:, requests, :, :slots] = other.values


@torch.inference_mode()
def ragged_forward(model: Target, cache: RaggedCache, tokens: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Run the target over rows of many requests, and write them into the cache.

    Args:
        model: Target.
        cache: Cache with the earlier rows of each request.
        tokens: (B,) token ids.
        rows: Where each token belongs.

    Returns:
        (B, V) logits and (B, m · d) features.
    """
    slots = int(rows.positions.max()) + 1
    mask = _mask(rows, cache.keys.shape[1], slots)
    rope = model.rotary(rows.positions[None])
    x = model.embedding(tokens)[None]  # (1, B, d)
    features = []
    for index, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        normed = layer.attention_norm(x)
        cache.write(index, rows, *layer.attention.keys_values(normed, rope))
        queries = layer.attention.queries(normed, rope)  # (1, H, B, d_h)
        mixed = _attend(queries, cache.keys[index, :, :, :slots], cache.values[index, :, :, :slots], rows, mask)
        x = layer.finish(x, layer.attention.out(mixed))
        if index in model.shape.feature_layers:
            features.append(x[0])
    return F.linear(model.norm(x[0]), model.head_weight), torch.cat(features, dim=-1)


def _mask(rows: Rows, requests: int, slots: int) -> Tensor:
    """Let each padded query see the slots up to its own position. (R, 1, n, slots)"""
    positions = torch.zeros(requests, rows.longest, dtype=torch.long)  # padding sees slot 0; its output is dropped
    positions[rows.owner, rows.offset] = rows.positions
    return (torch.arange(slots) <= positions[..., None])[:, None]


def _attend(queries: Tensor, keys: Tensor, values: Tensor, rows: Rows, mask: Tensor) -> Tensor:
    """Pad the queries per request, attend, and flatten again. (1, B, H · d_h)"""
    _, heads, _, width = queries.shape
    padded = queries.new_zeros(len(keys), rows.longest, heads, width)  # (R, n, H, d_h)
    padded[rows.owner, rows.offset] = queries[0].transpose(0, 1)
    grouped = keys.shape[1] != heads
    mixed = F.scaled_dot_product_attention(padded.transpose(1, 2), keys, values, attn_mask=mask, enable_gqa=grouped)
    return mixed.transpose(1, 2)[rows.owner, rows.offset].flatten(1)[None]


@torch.inference_mode()
def write_context(drafter: BlockDrafter, cache: RaggedCache, features: Tensor, rows: Rows) -> None:
    """Inject the features (B, m · d) of committed tokens into the drafter's cache as keys and values."""
    for index, (keys, values) in enumerate(drafter.context_rows(features[None], rows.positions[None])):
        cache.write(index, rows, keys, values)


@torch.inference_mode()
def block_hidden(drafter: BlockDrafter, model: Target, cache: RaggedCache, anchors: Tensor, starts: Tensor) -> Tensor:
    """Draft a block for every request in one forward.

    Args:
        drafter, model: DFlash or DSpark, and its target.
        cache: The drafter's cache.
        anchors: (R,) last token of each text.
        starts: (R,) number of tokens before it.

    Returns:
        (R, γ, d) hidden states h_1..h_γ.
    """
    block = drafter.block_inputs(anchors, model)  # (R, n, d)
    size, slots = block.shape[1], int(starts.max())
    context = [(keys[:, :, :slots], values[:, :, :slots]) for keys, values in zip(cache.keys, cache.values)]
    before = torch.arange(slots) < starts[:, None]  # (R, slots)
    mask = torch.cat((before, before.new_ones(len(anchors), size)), dim=1)[:, None, None]  # (R, 1, 1, slots + n)
    return drafter(block, starts[:, None] + torch.arange(size), context, mask)
