"""A Llama-type model on the CPU for one text at a time: fused projections, preallocated caches, few calls per layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dspark_mini.appendix.huggingface import Config, read_config, read_weights
from dspark_mini.appendix.model import rope_frequencies
from dspark_mini.appendix.smollm.products import Linear, Product, coded


class Norm:
    """An RMS norm, x · w √d / √(‖x‖² + ε d), in fewer calls than torch makes for its own on a CPU."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        size = len(weight)
        self.weight, self.floor = weight.float() * size**0.5, torch.tensor((eps * size) ** 0.5)

    def __call__(self, x: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        return (x / torch.hypot(length, self.floor) * self.weight).to(x.dtype)


FORMS: dict[str, tuple[torch.dtype, Any]] = {  # of a model in memory: dtype of all but matrices, and their products
    "float32": (torch.float32, Linear),
    "bfloat16": (torch.bfloat16, Linear),
    "int4": (torch.float32, coded),
}


@dataclass(frozen=True)
class Layer:
    """Weights of a layer; projections of the same input are one matrix."""

    input_norm: Norm
    query_key_value: Product  # ((H + 2 H_kv) · d_h, d)
    output: Product  # (d, H · d_h)
    post_norm: Norm
    gate_up: Product  # (2 d_ff, d)
    down: Product  # (d, d_ff)

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
        self.norm = Norm(weights["model.norm.weight"], config.rms_norm_eps)
        count = config.num_hidden_layers
        self.layers = [_layer(weights, f"model.layers.{index}.", linear, config.rms_norm_eps) for index in range(count)]
        self.weight_bytes = self.head.bytes + sum(layer.bytes for layer in self.layers)  # that one token reads
        self.cos, self.sin = (table.to(dtype) for table in _rotation(config, slots))
        self.rows, self.slots, self.feature_layers = 0, slots, feature_layers
        # keys of all key-value heads, then their values
        self.cache = torch.zeros(len(self.layers), 2 * config.num_key_value_heads, slots, config.head_dim, dtype=dtype)
        self.features = torch.zeros(slots, len(feature_layers), config.hidden_size, dtype=dtype)
        self.unseen = torch.full((slots, slots), -torch.inf, dtype=dtype).triu(1)  # added to scores

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
        mask = self.unseen[start:stop, :stop].repeat_interleave(groups, 0) if len(tokens) > 1 else None
        x = self.embedding[tokens]
        for index, layer in enumerate(self.layers):
            mixed = self._attend(index, layer.query_key_value(layer.input_norm(x)), cos, sin, mask)
            x = x + layer.output(mixed)
            gate, up = layer.gate_up(layer.post_norm(x)).chunk(2, -1)
            x = x + layer.down(F.silu(gate) * up)
            if index in self.feature_layers:
                self.features[start:stop, self.feature_layers.index(index)] = x
        self.rows = stop
        return self.norm(x)

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


def _layer(weights: dict[str, Tensor], prefix: str, linear: Any, eps: float) -> Layer:
    def fused(*names: str) -> Any:
        return linear(torch.cat([weights[f"{prefix}{name}.weight"] for name in names]))

    return Layer(
        Norm(weights[f"{prefix}input_layernorm.weight"], eps),
        fused("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        fused("self_attn.o_proj"),
        Norm(weights[f"{prefix}post_attention_layernorm.weight"], eps),
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
