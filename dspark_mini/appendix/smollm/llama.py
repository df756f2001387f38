"""A Llama-type model on the CPU for one text at a time: fused projections, preallocated caches, few calls per layer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dspark_mini.appendix.huggingface import Config, read_config, read_weights
from dspark_mini.appendix.model import rope_frequencies
from dspark_mini.appendix.smollm.codes import CodedLinear, fits

TYPICAL_ROWS = 4  # tokens of a verification: the anchor and its drafts


class Linear:
    """A product with a matrix (out, in), laid out in advance where oneDNN can; otherwise every block does that anew."""

    def __init__(self, weight: Tensor) -> None:
        self.weight, self.packed, self.bytes = weight, False, weight.nbytes
        with contextlib.suppress(RuntimeError, AttributeError):  # no such dtype on this processor; another torch
            self.weight, self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, TYPICAL_ROWS), True

    def __call__(self, x: Tensor) -> Tensor:
        if not self.packed:
            return F.linear(x, self.weight)
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, None, "none", [], "")


def coded_linear(weight: Tensor) -> Linear | CodedLinear:
    """Return a product with the codes of a matrix; with the matrix itself where its size is unusual."""
    return CodedLinear(weight) if fits(weight) else Linear(weight)


FORMS: dict[str, tuple[torch.dtype, Any]] = {  # of a model in memory: dtype of all but matrices, and their products
    "float32": (torch.float32, Linear),
    "bfloat16": (torch.bfloat16, Linear),
    "int4": (torch.float32, coded_linear),
}


@dataclass(frozen=True)
class Layer:
    """Weights of a layer; projections of the same input are one matrix."""

    input_norm: Tensor  # (d,)
    query_key_value: Linear | CodedLinear  # ((H + 2 H_kv) · d_h, d)
    output: Linear | CodedLinear  # (d, H · d_h)
    post_norm: Tensor  # (d,)
    gate_up: Linear | CodedLinear  # (2 d_ff, d)
    down: Linear | CodedLinear  # (d, d_ff)

    @property
    def bytes(self) -> int:
        """The bytes of its matrices."""
        return self.query_key_value.bytes + self.output.bytes + self.gate_up.bytes + self.down.bytes


class Llama:
    """A Llama-type model with the cache of one text; `rows` is the number of tokens in it, and may be lowered.

    Args:
        folder: Hugging Face folder with config.json and safetensors.
        form: One of FORMS.
        slots: Tokens that the cache can hold.
        feature_layers: Layers whose outputs are kept in `features` (slots, m, d).

    Raises:
        ValueError: The folder does not hold such a model, or not all of it.
    """

    def __init__(
        self, folder: Path, form: str = "float32", slots: int = 1024, feature_layers: tuple[int, ...] = ()
    ) -> None:
        self.form, (dtype, linear) = form, FORMS[form]
        self.config = config = read_config(folder, ("llama",))
        weights = read_weights(folder, config, dtype)
        self.embedding = weights["model.embed_tokens.weight"]
        self.head = linear(weights.get("lm_head.weight", self.embedding))
        self.norm = weights["model.norm.weight"]
        count = config.num_hidden_layers
        self.layers = [_layer(weights, f"model.layers.{index}.", linear) for index in range(count)]
        self.weight_bytes = self.head.bytes + sum(layer.bytes for layer in self.layers)  # that one token reads
        self.cos, self.sin = (table.to(dtype) for table in _rotation(config, slots))
        self.rows, self.slots, self.feature_layers = 0, slots, feature_layers
        # keys of all key-value heads, then their values
        self.cache = torch.zeros(len(self.layers), 2 * config.num_key_value_heads, slots, config.head_dim, dtype=dtype)
        self.features = torch.zeros(slots, len(feature_layers), config.hidden_size, dtype=dtype)
        self.seen = torch.ones(slots, slots, dtype=torch.bool).tril()

    @torch.inference_mode()
    def forward(self, tokens: Tensor) -> Tensor:
        """Run the next tokens (n,), add a row per token to the cache, and return their last hidden states. (n, d)

        Raises:
            ValueError: The cache is full.
        """
        start, stop = self.rows, self.rows + len(tokens)
        if stop > self.slots:
            raise ValueError(f"The text has {stop} tokens, but the cache has {self.slots} slots.")
        cos, sin = self.cos[start:stop], self.sin[start:stop]
        groups = self.config.num_attention_heads // self.config.num_key_value_heads
        mask = self.seen[start:stop, :stop].repeat_interleave(groups, 0) if len(tokens) > 1 else None
        size, eps = (self.config.hidden_size,), self.config.rms_norm_eps
        x = self.embedding[tokens]
        for index, layer in enumerate(self.layers):
            normed = F.rms_norm(x, size, layer.input_norm, eps)
            mixed = self._attend(index, layer.query_key_value(normed), cos, sin, mask)
            x = x + layer.output(mixed)
            gate, up = layer.gate_up(F.rms_norm(x, size, layer.post_norm, eps)).chunk(2, -1)
            x = x + layer.down(F.silu(gate) * up)
            if index in self.feature_layers:
                self.features[start:stop, self.feature_layers.index(index)] = x
        self.rows = stop
        return F.rms_norm(x, size, self.norm, eps)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """Apply the LM head to last hidden states (n, d). (n, V)"""
        return self.head(hidden)

    def _attend(self, index: int, projected: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        """Rotate queries and keys, write keys and values into the cache, and attend. (n, H · d_h)"""
        count, kv_heads, heads = len(cos), self.config.num_key_value_heads, self.config.num_attention_heads
        projected = projected.view(count, -1, self.config.head_dim)
        turned = torch.addcmul(projected * cos, projected.roll(self.config.head_dim // 2, -1), sin)  # values stay
        cache, stop = self.cache[index], self.rows + count
        cache[:, self.rows : stop] = turned[:, heads:].transpose(0, 1)
        queries = turned[:, :heads].unflatten(1, (kv_heads, -1)).transpose(0, 1)  # (H_kv, n, groups, d_h)
        keys, values = cache[None, :kv_heads, :stop], cache[None, kv_heads:, :stop]
        mixed = F.scaled_dot_product_attention(queries.flatten(1, 2)[None], keys, values, mask)[0]
        return mixed.unflatten(1, (count, -1)).transpose(0, 1).flatten(1)


def _layer(weights: dict[str, Tensor], prefix: str, linear: Any) -> Layer:
    def fused(*names: str) -> Any:
        return linear(torch.cat([weights[f"{prefix}{name}.weight"] for name in names]))

    return Layer(
        weights[f"{prefix}input_layernorm.weight"],
        fused("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        fused("self_attn.o_proj"),
        weights[f"{prefix}post_attention_layernorm.weight"],
        fused("mlp.gate_proj", "mlp.up_proj"),
        fused("mlp.down_proj"),
    )


def _rotation(config: Config, slots: int) -> tuple[Tensor, Tensor]:
    """Return factors of x and of x rolled by half a head, for queries, keys and values. (slots, heads, d_h) each

    x · cos + roll(x) · sin turns each pair (i, i + d_h / 2) by its angle (RoPE); the angle of values is 0.
    """
    angles = torch.arange(slots)[:, None].float() * rope_frequencies(config.shape())  # (slots, d_h / 2)
    cos, sin = torch.cat((angles.cos(), angles.cos()), -1), torch.cat((-angles.sin(), angles.sin()), -1)
    turned, kept = config.num_attention_heads + config.num_key_value_heads, config.num_key_value_heads
    cos = torch.cat((cos[:, None].expand(-1, turned, -1), torch.ones(slots, kept, config.head_dim)), 1)
    sin = torch.cat((sin[:, None].expand(-1, turned, -1), torch.zeros(slots, kept, config.head_dim)), 1)
    return cos, sin
