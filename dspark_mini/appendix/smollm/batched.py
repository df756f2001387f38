"""Batched decoding with the weights of a Llama-type model: any row at its own position, as generation needs it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from dspark_mini.appendix.model import Rotary, rotate
from dspark_mini.appendix.smollm.llama import Llama


class Cache:
    """Keys and values of every row of a batch, one slot per position, in float32.

    Args:
        model: The model.
        rows, slots: Rows of the batch, and positions per row.
    """

    def __init__(self, model: Llama, rows: int, slots: int) -> None:
        config = model.config
        # (2, layers, B, H_kv, slots, d_h), keys first
        self.arrays = torch.zeros(2, config.num_hidden_layers, rows, config.num_key_value_heads, slots, config.head_dim)
        self.rotary = Rotary(config.shape(), slots)

    def share(self, count: int) -> None:
        """Copy the first positions of the first row to all others."""
        self.arrays[:, :, 1:, :, :count] = self.arrays[:, :, :1, :, :count]

    def keep(self, rows: Tensor) -> None:
        """Keep only the rows where `rows` is true."""
        self.arrays = self.arrays[:, :, rows]


def forward(
    model: Llama, tokens: Tensor, positions: Tensor, cache: Cache, rows: slice = slice(None)
) -> tuple[Tensor, Tensor]:
    """Run new tokens of some rows, and write their keys and values at their positions.

    Args:
        model: The model, in float32.
        tokens: (B, n) token ids.
        positions: (B, n) their positions, consecutive in each row; later slots are not seen.
        cache: Cache of the earlier tokens.
        rows: Rows of the cache that these are.

    Returns:
        Last hidden states after the final norm (B, n, d), and outputs of the feature layers (B, n, m · d).
    """
    config, features = model.config, list[Tensor]()
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    groups, stop, rope = heads // kv_heads, int(positions.max()) + 1, cache.rotary(positions)
    mask = (torch.arange(stop) <= positions[..., None]).repeat(1, groups, 1)[:, None]  # (B, 1, groups · n, stop)
    places = torch.arange(len(tokens))[:, None], slice(None), positions
    x = F.embedding(tokens, model.embedding)  # (B, n, d)
    for index, layer in enumerate(model.layers):
        projected = layer.query_key_value(layer.input_norm(x))
        projected = projected.unflatten(-1, (-1, config.head_dim)).transpose(1, 2)  # (B, H + 2 H_kv, n, d_h)
        queries, new_keys, new_values = projected.split((heads, kv_heads, kv_heads), 1)
        keys, values = cache.arrays[:, index, rows]  # (B, H_kv, slots, d_h)
        keys[places] = rotate(new_keys, rope).transpose(1, 2)
        values[places] = new_values.transpose(1, 2)
        queries = rotate(queries, rope).unflatten(1, (kv_heads, groups)).flatten(2, 3)  # (B, H_kv, groups · n, d_h)
        mixed = F.scaled_dot_product_attention(queries, keys[:, :, :stop], values[:, :, :stop], mask)
        mixed = mixed.unflatten(2, (groups, -1)).flatten(1, 2).transpose(1, 2).flatten(2)  # (B, n, H · d_h)
        x = x + layer.output(mixed)
        gate, up = layer.gate_up(layer.post_norm(x)).chunk(2, -1)
        x = x + layer.down(F.silu(gate) * up)
        if index in model.feature_layers:
            features.append(x)
    return model.norm(x), torch.cat(features, -1)
