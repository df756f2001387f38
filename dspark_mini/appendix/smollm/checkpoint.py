"""Read a Hugging Face folder of a Llama-type model from disk: config.json and one or several safetensors files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

ATTENTION_TENSORS = tuple(f"self_attn.{letter}_proj" for letter in "qkvo")
LAYER_TENSORS = (
    *ATTENTION_TENSORS,
    *("input_layernorm", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


@dataclass(frozen=True)
class Config:
    """Sizes of a Llama-type model, with the names of its config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    intermediate_size: int
    vocab_size: int
    head_dim: int
    rope_theta: float
    rms_norm_eps: float
    tie_word_embeddings: bool

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by its name."""
        width, inner = self.hidden_size, self.intermediate_size
        queries, keys = self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        sizes: dict[str, tuple[int, ...]] = {
            "q_proj": (queries, width), "k_proj": (keys, width), "v_proj": (keys, width), "o_proj": (width, queries),
            "gate_proj": (inner, width), "up_proj": (inner, width), "down_proj": (width, inner),
        }  # fmt: skip
        shapes = {"model.embed_tokens.weight": (self.vocab_size, width), "model.norm.weight": (width,)}
        for index in range(self.num_hidden_layers):
            for name in LAYER_TENSORS:
                shapes[f"model.layers.{index}.{name}.weight"] = sizes.get(name.split(".")[-1], (width,))
        if not self.tie_word_embeddings:
            shapes["lm_head.weight"] = (self.vocab_size, width)
        return shapes


def read_config(folder: Path) -> Config:
    """Read config.json.

    Raises:
        ValueError: It is missing or damaged, or describes a model of another type.
    """
    path = folder / "config.json"
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} has no config.json, so it is not a Hugging Face model.") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}.") from error
    if data.get("model_type") != "llama":
        raise ValueError(f"{path} says model_type {data.get('model_type')!r}; only 'llama' can be loaded.")
    for name in ("rope_scaling", "attention_bias", "mlp_bias"):
        if data.get(name):
            raise ValueError(f"{path} sets {name} to {data[name]!r}, which this reader does not support.")
    heads = data.get("num_attention_heads")
    data.setdefault("num_key_value_heads", heads)
    data.setdefault("tie_word_embeddings", False)
    data.setdefault("rope_theta", (data.get("rope_parameters") or {}).get("rope_theta", 10_000.0))
    if not data.get("head_dim") and heads and "hidden_size" in data:
        data["head_dim"] = data["hidden_size"] // heads
    missing = [name for name in Config.__annotations__ if name not in data]
    if missing:
        raise ValueError(f"{path} does not say {missing[0]}.")
    return Config(**{name: data[name] for name in Config.__annotations__})


def read_weights(folder: Path, config: Config, dtype: torch.dtype) -> dict[str, Tensor]:
    """Read all tensors of a model by their names.

    Args:
        folder: Hugging Face folder.
        config: What config.json says.
        dtype: Dtype to convert them to.

    Raises:
        ValueError: A file is missing or damaged, or a tensor is missing, unknown or misshapen.
    """
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise ValueError(f"{folder} has no *.safetensors file with the model's weights.")
    weights: dict[str, Tensor] = {}
    for path in paths:
        try:
            with safe_open(path, "pt") as file:
                weights.update((name, file.get_tensor(name).to(dtype)) for name in file.keys())  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise ValueError(f"{path} is damaged or not a safetensors file: {error}.") from error
    weights = {name: value for name, value in weights.items() if not name.endswith("rotary_emb.inv_freq")}
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    _check_shapes(folder, weights, config.shapes())
    return weights


def _check_shapes(folder: Path, weights: dict[str, Tensor], shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name not in weights:
            raise ValueError(f"The weights in {folder} lack the tensor {name}.")
        if tuple(weights[name].shape) != shape:
            raise ValueError(f"{name} in {folder} has the shape {tuple(weights[name].shape)}; it must be {shape}.")
    for name in weights:
        if name not in shapes:
            raise ValueError(f"The weights in {folder} hold {name}, which a Llama-type model does not have.")
