"""Layers of the small models in NumPy, single precision: norm, rotary positions, attention, feed-forward, cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dspark_mini.caches import StaticCache
from dspark_mini.shapes import TargetShape
from dspark_mini.weights import Weights

Floats = NDArray[np.float32]
SLOTS = 384  # most tokens in a text


def rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    """Scale rows to a root mean square of 1, then by the norm's weights. (n, d)"""
    scale: Floats = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(eps))
    return x * scale * weight


def softmax_rows(scores: Floats) -> Floats:
    """Apply the softmax along the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


class Rotary:
    """Rotary position embedding (RoPE): rotates the first half of each head against the second."""

    def __init__(self, head_width: int, theta: float, slots: int = SLOTS) -> None:
        angles = np.arange(slots)[:, None] * theta ** (-np.arange(0, head_width, 2) / head_width)  # (slots, d_h / 2)
        self.cos, self.sin = (f(angles).astype(np.float32)[:, None, :] for f in (np.cos, np.sin))

    def __call__(self, x: Floats, positions: slice | Sequence[int]) -> Floats:
        """Rotate rows by their positions; x is (n, heads, d_h)."""
        cos, sin = self.cos[positions], self.sin[positions]  # (n, 1, d_h / 2)
        half = x.shape[-1] // 2
        first, second = x[..., :half], x[..., half:]
        return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)


class Layer:
    """Attention and feed-forward, each after a norm and with a residual connection.

    Args:
        weights: All weights of the model.
        prefix: Prefix of the names of this layer's weights.
        shape: Shape of the target.
    """

    def __init__(self, weights: Weights, prefix: str, shape: TargetShape) -> None:
        self.shape = shape
        attention, inner = prefix + "attention.", prefix + "feed_forward."

        def joined(*names: str) -> Floats:  # (d, …): one product instead of several
            return np.ascontiguousarray(np.concatenate([weights[f"{name}.weight"] for name in names]).T)

        self.projection = joined(attention + "query", attention + "key", attention + "value")
        self.context_projection = joined(attention + "key", attention + "value")
        self.out = joined(attention + "out")
        self.gate_up, self.down = joined(inner + "gate", inner + "up"), joined(inner + "down")
        self.attention_norm = weights[f"{prefix}attention_norm.weight"]
        self.feed_forward_norm = weights[f"{prefix}feed_forward_norm.weight"]

    def project(self, x: Floats, rotary: Rotary, positions: slice | Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Return rotated queries (n, H, d_h), rotated keys (H_kv, n, d_h), and values (H_kv, n, d_h)."""
        heads, kv = self.shape.heads, self.shape.kv_heads
        mixed = rms_norm(x, self.attention_norm, self.shape.eps) @ self.projection
        split = mixed.reshape(len(x), heads + 2 * kv, self.shape.head_width)
        rotated = rotary(split[:, : heads + kv], positions)
        return rotated[:, :heads], rotated[:, heads:].swapaxes(0, 1), split[:, heads + kv :].swapaxes(0, 1)

    def attend(self, queries: Floats, keys: Floats, values: Floats, masked: NDArray[np.bool_] | None) -> Floats:
        """Attend to all rows except those where `masked` (n, slots) is true; the result is (n, d)."""
        grouped: Floats = self.grouped(queries) * self.shape.head_width**-0.5
        scores: Floats = grouped @ keys.swapaxes(1, 2)  # (H_kv, group · n, slots)
        if masked is not None:
            scores.reshape(-1, len(queries), keys.shape[1])[:, masked] = -np.inf
        mixed: Floats = softmax_rows(scores) @ values
        return self.combined(mixed, len(queries))

    def grouped(self, queries: Floats) -> Floats:
        """Stack the queries (n, H, d_h) of the heads that share keys and values: (H_kv, group · n, d_h)."""
        return queries.swapaxes(0, 1).reshape(self.shape.kv_heads, -1, self.shape.head_width)

    def combined(self, mixed: Floats, count: int) -> Floats:
        """Put what the heads read, (H_kv, group · n, d_h), side by side, and project it to (n, d)."""
        heads = mixed.reshape(-1, count, self.shape.head_width)  # (H, n, d_h)
        out: Floats = heads.swapaxes(0, 1).reshape(count, -1) @ self.out
        return out

    def finish(self, x: Floats, mixed: Floats) -> Floats:
        """Add the attention output to x, then the feed-forward output; all are (n, d)."""
        x = x + mixed
        gate_up = rms_norm(x, self.feed_forward_norm, self.shape.eps) @ self.gate_up
        gate, up = np.split(gate_up, 2, axis=-1)
        out: Floats = x + (gate / (1.0 + np.exp(-gate)) * up) @ self.down
        return out


class SlotCache(StaticCache):
    """A static KV cache: keys and values of every layer."""

    def __init__(self, shape: TargetShape, layers: int, slots: int = SLOTS) -> None:
        super().__init__(slots)
        size = (layers, shape.kv_heads, slots, shape.head_width)
        self.keys, self.values = np.zeros(size, np.float32), np.zeros(size, np.float32)

    def write(self, layer: int, slots: slice, keys: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Write one layer's rows; return its keys and values up to the last of them, (H_kv, rows, d_h) each."""
        self.keys[layer, :, slots], self.values[layer, :, slots] = keys, values
        return self.keys[layer, :, : slots.stop], self.values[layer, :, : slots.stop]

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        for array in (self.keys, self.values):
            array[:, :, slots] = array[:, :, sources]
