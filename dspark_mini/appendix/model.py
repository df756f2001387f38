"""The target in torch: a Llama-style transformer with a static KV cache.

Weights have the names that the NumPy model reads. Grouped-query attention, the RoPE base, q/k norms and a tied or
separate LM head are fields of the shape, so Llama and Qwen3 fit as well.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dspark_mini.caches import StaticCache
from dspark_mini.shapes import TargetShape


class Attention(nn.Module):
    """Grouped-query attention; in a drafter, keys and values also come from the context."""

    def __init__(self, shape: TargetShape) -> None:
        super().__init__()
        width, head_width = shape.width, shape.head_width
        self.heads, self.kv_heads, self.head_width = shape.heads, shape.kv_heads, head_width
        self.query = nn.Linear(width, self.heads * head_width, bias=False)
        self.key = nn.Linear(width, self.kv_heads * head_width, bias=False)
        self.value = nn.Linear(width, self.kv_heads * head_width, bias=False)
        self.out = nn.Linear(self.heads * head_width, width, bias=False)
        self.query_norm, self.key_norm = (
            nn.RMSNorm(head_width, eps=shape.eps) if shape.qk_norm else nn.Identity() for _ in range(2)
        )

    def queries(self, x: Tensor, rope: Tensor) -> Tensor:
        """Project and rotate queries. (B, H, n, d_h)"""
        return rotate(self.query_norm(self._split(self.query(x), self.heads)), rope)

    def keys_values(self, x: Tensor, rope: Tensor) -> tuple[Tensor, Tensor]:
        """Project keys and values, and rotate the keys. (B, H_kv, n, d_h) each"""
        keys = rotate(self.key_norm(self._split(self.key(x), self.kv_heads)), rope)
        return keys, self._split(self.value(x), self.kv_heads)

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool = False
    ) -> Tensor:
        """Attend and project. (B, n, d)"""
        grouped = self.kv_heads != self.heads
        mixed = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=causal, enable_gqa=grouped
        )
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, self.head_width)).transpose(1, 2)  # (B, heads, n, d_h)


class FeedForward(nn.Module):
    """SwiGLU feed-forward."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return down(silu(gate(x)) · up(x)). (…, d)"""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention and feed-forward, pre-norm and with residuals."""

    def __init__(self, shape: TargetShape) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.width, eps=shape.eps)
        self.attention = Attention(shape)
        self.feed_forward_norm = nn.RMSNorm(shape.width, eps=shape.eps)
        self.feed_forward = FeedForward(shape.width, shape.feed_forward)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add the output of attention to the residual stream, then the feed-forward. (B, n, d)"""
        x = x + mixed
        return x + self.feed_forward(self.feed_forward_norm(x))


MAX_POSITIONS = 4096


def rope_frequencies(shape: TargetShape) -> Tensor:
    """Return the angle by which each pair of coordinates turns per position, in radians. (d_h / 2,)

    Source: RoPE (arXiv 2104.09864); the scalings of Llama 3.1 and "linear" as in Hugging Face's config.json.
    """
    frequencies = 1.0 / shape.rope_theta ** (torch.arange(0, shape.head_width, 2).float() / shape.head_width)
    scaling = shape.rope_scaling or {}
    if scaling.get("rope_type") == "linear":
        return frequencies / scaling["factor"]
    if scaling.get("rope_type") == "llama3":  # slow pairs turn `factor` times more slowly, fast ones as before
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        return kept * frequencies + (1 - kept) * frequencies / scaling["factor"]
    return frequencies


class Rotary(nn.Module):
    """Table of RoPE cosines and sines, one angle per position and pair of coordinates."""

    def __init__(self, shape: TargetShape, positions: int = MAX_POSITIONS) -> None:
        super().__init__()
        angles = torch.arange(positions)[:, None].float() * rope_frequencies(shape)
        self.register_buffer("table", torch.stack((angles.cos(), angles.sin())), persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """Look up the cosines and sines of positions (…, n). (2, …, n, d_h / 2)"""
        return self.table[:, positions]


def rotate(x: Tensor, rope: Tensor) -> Tensor:
    """Rotate each pair of coordinates (i, i + d_h / 2) by its angle (RoPE). (B, heads, n, d_h)"""
    cos, sin = rope if rope.dim() == 3 else rope[:, :, None]  # positions shared by the batch, or one row each
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class KVCache(StaticCache):
    """Static cache of keys and values.

    Args:
        layers, batch, kv_heads, slots, head_width: Sizes of both arrays.
        device, dtype: Device and dtype of both arrays.
    """

    def __init__(
        self, layers: int, batch: int, kv_heads: int, slots: int, head_width: int, device: Any = None, dtype: Any = None
    ) -> None:
        size = (layers, batch, kv_heads, slots, head_width)
        self.keys, self.values = (torch.zeros(size, device=device, dtype=dtype) for _ in range(2))
        self.places = torch.arange(slots, device=device)
        super().__init__(slots)

    def take(self, count: int) -> Tensor:
        """Reserve the next slots for new rows. (n,)"""
        return self.places[super().take(count)]

    def write(self, layer: int, slots: Tensor | None, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write new rows, and return keys and values of all slots. (B, H_kv, slots, d_h) each"""
        self.keys[layer].index_copy_(2, slots, keys)
        self.values[layer].index_copy_(2, slots, values)
        return self.keys[layer], self.values[layer]

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        for array in (self.keys, self.values):
            array[:, :, :, slots] = array[:, :, :, sources]


class Target(nn.Module):
    """The target: the language model whose distribution decides.

    Args:
        shape: Sizes of the model.
    """

    def __init__(self, shape: TargetShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=shape.eps)
        self.rotary = Rotary(shape)
        self.head = None if shape.tied else nn.Linear(shape.width, shape.vocabulary, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                into_residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / ((2 * shape.layers) ** 0.5 if into_residual else 1.0))

    @property
    def head_weight(self) -> Tensor:
        """The weight of the LM head. (V, d)"""
        return self.embedding.weight if self.head is None else self.head.weight

    def forward(
        self,
        tokens: Tensor,
        cache: KVCache | None = None,
        slots: Tensor | None = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compute next-token logits, and the features that drafters read.

        Args:
            tokens: (B, n) token ids.
            cache: Cache with the earlier tokens; the new ones are written into it.
            slots: (n,) slots for the new tokens; by default the next ones.
            positions: (n,) or (B, n) positions in the text; by default the slots.
            mask: (…, n, slots) which slots each token sees; by default those up to its own position.

        Returns:
            (B, n, V) logits, and (B, n, m · d) outputs of the m feature layers, concatenated.
        """
        count = tokens.shape[1]
        if cache is not None and slots is None:
            slots = cache.take(count)
        if positions is None:
            positions = torch.arange(count, device=tokens.device) if slots is None else slots
        if cache is not None and mask is None:
            mask = cache.places <= positions[:, None]  # (n, slots)
        rope = self.rotary(positions)
        x = self.embedding(tokens)  # (B, n, d)
        outputs = {-1: x}
        for index, layer in enumerate(self.layers):
            normed = layer.attention_norm(x)
            keys, values = layer.attention.keys_values(normed, rope)
            if cache is not None:
                keys, values = cache.write(index, slots, keys, values)
            queries = layer.attention.queries(normed, rope)
            x = layer.finish(x, layer.attention.attend(queries, keys, values, mask, causal=cache is None))
            if index in self.shape.feature_layers:
                outputs[index] = x
        features = [outputs[index] for index in self.shape.feature_layers]
        return F.linear(self.norm(x), self.head_weight), torch.cat(features, dim=-1)
