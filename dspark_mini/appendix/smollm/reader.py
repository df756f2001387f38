"""A second reader of GGUF files, to check the first: it decodes the bytes and runs the model in NumPy, the plain way.

It shares nothing with the converted model: the bytes are decoded here, and rotary pairs stay as the file has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLOCK = 32  # weights that share a scale


def gguf_logits(path: Path, tokens: list[int]) -> Array:
    """Compute the next-token logits after each token, with weights rounded to bfloat16. (n, V)

    Args:
        path: GGUF file of a Llama-type model with tied embeddings, in Q4_1, Q8_0 and F32.
        tokens: Token ids.
    """
    from gguf import GGUFReader

    reader = GGUFReader(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weight(name: str) -> Array:
        return _bfloat16(_numbers(tensors[f"{name}.weight"]))

    def size(name: str) -> Any:
        return reader.fields[f"llama.{name}"].contents()

    eps = size("attention.layer_norm_rms_epsilon")
    embedding = weight("token_embd")
    x = embedding[tokens]  # (n, d)
    for layer in range(size("block_count")):
        prefix = f"blk.{layer}."
        normed = _normed(x, weight(f"{prefix}attn_norm"), eps)
        q, k, v = (_rows(normed @ weight(f"{prefix}attn_{part}").T, size("rope.dimension_count")) for part in "qkv")
        x = x + _attention(q, k, v, size("rope.freq_base")) @ weight(f"{prefix}attn_output").T
        normed = _normed(x, weight(f"{prefix}ffn_norm"), eps)
        gate = normed @ weight(f"{prefix}ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (normed @ weight(f"{prefix}ffn_up").T)) @ weight(f"{prefix}ffn_down").T
    return _normed(x, weight("output_norm"), eps) @ embedding.T


def _numbers(tensor: Any) -> Array:
    """Decode a tensor: blocks of 32 weights, each with a scale, and in Q4_1 with a minimum."""
    shape, kind = [int(size) for size in reversed(tensor.shape)], tensor.tensor_type.name
    data = np.ascontiguousarray(tensor.data).view(np.uint8).reshape(-1)
    if kind == "F32":
        return data.view(np.float32).astype(np.float64).reshape(shape)
    if kind == "Q8_0":
        blocks = data.reshape(-1, 2 + BLOCK)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float64)
        values: Array = blocks[:, 2:].view(np.int8).astype(np.float64) * scale
    elif kind == "Q4_1":
        blocks = data.reshape(-1, 4 + BLOCK // 2)
        scale, minimum = blocks[:, :4].copy().view(np.float16).astype(np.float64).T[..., None]  # (2, blocks, 1)
        values = np.concatenate((blocks[:, 4:] & 15, blocks[:, 4:] >> 4), axis=1) * scale + minimum
    else:
        raise ValueError(f"{tensor.name} is stored as {kind}; only F32, Q8_0 and Q4_1 can be read.")
    return values.reshape(shape)


def _bfloat16(values: Array) -> Array:
    """Round to the nearest bfloat16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def _normed(x: Array, weight: Array, eps: float) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def _rows(x: Array, head_width: int) -> Array:
    return x.reshape(len(x), -1, head_width).swapaxes(0, 1)  # (heads, n, d_h)


def _attention(queries: Array, keys: Array, values: Array, theta: float) -> Array:
    """Attend, each query head to the keys of its group. (n, d)"""
    count, width = queries.shape[1:]
    angles = np.arange(count)[:, None] * theta ** (-np.arange(0, width, 2) / width)
    turn = np.exp(1j * angles)  # (n, d_h / 2) a rotary pair (2i, 2i + 1) is a complex number
    queries, keys = (
        np.stack((pairs.real, pairs.imag), axis=-1).reshape(x.shape)
        for x, pairs in ((x, (x[..., 0::2] + 1j * x[..., 1::2]) * turn) for x in (queries, keys))
    )
    group = len(queries) // len(keys)
    scores = queries @ np.repeat(keys, group, axis=0).swapaxes(1, 2) / np.sqrt(width)  # (heads, n, n)
    scores = np.where(np.tril(np.ones((count, count), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ np.repeat(values, group, axis=0)
    return mixed.swapaxes(0, 1).reshape(count, -1)
