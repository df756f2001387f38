"""Hugging Face folders of Llama- and Qwen3-type models: config.json, safetensors and tokenizer.json, from disk only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dspark_mini.appendix.files import Tensors, read_json
from dspark_mini.appendix.model import MAX_POSITIONS, Rotary, Target
from dspark_mini.kinds import Kind, integer, number
from dspark_mini.shapes import TargetShape

MODEL_TYPES = ("llama", "qwen3")
SIZE = integer(low=1, high=2**20)  # with larger ones a model cannot be built, not even without its weights
LAYERS, POSITIVE = integer(low=1, high=1000), number(above=0.0)
INT8 = {  # the one quantisation that can be read, as compressed-tensors describes it: a scale per row
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "config_groups": {
        "group_0": {
            "targets": ["Linear", "Embedding"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"},
        }
    },
}
CAN_BE = {  # what is read, the usual value first
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "hidden_act": ("silu",),
    "quantization_config": (None, INT8),
}
SCALINGS = {  # of RoPE, with what each needs
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
ATTENTION = ("full_attention", "sliding_attention")  # of a layer
LAYER_NAMES = {  # of this package, and in a Hugging Face file
    "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    **{f"attention.{name}": f"self_attn.{name[0]}_proj" for name in ("query", "key", "value", "out")},
    **{f"feed_forward.{name}": f"mlp.{name}_proj" for name in ("gate", "up", "down")},
}
TARGET_NAMES = {"embedding": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}


@dataclass(frozen=True)
class Config:
    """Sizes of a model, with the names of its config.json."""

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
    rope_scaling: dict[str, Any] | None  # None, or one of SCALINGS
    qk_norm: bool
    windows: tuple[int, ...]  # how far each layer looks back; 0: to the start

    def shape(self, feature_layers: tuple[int, ...] = (-1,)) -> TargetShape:
        """Return the sizes as the shape of a target, with the layers whose outputs a drafter reads."""
        return TargetShape(
            vocabulary=self.vocab_size,
            width=self.hidden_size,
            layers=self.num_hidden_layers,
            heads=self.num_attention_heads,
            kv_heads=self.num_key_value_heads,
            feed_forward=self.intermediate_size,
            rope_theta=self.rope_theta,
            eps=self.rms_norm_eps,
            tied=self.tie_word_embeddings,
            feature_layers=feature_layers,
            head_dim=self.head_dim,
            qk_norm=self.qk_norm,
            rope_scaling=self.rope_scaling,
        )


def read_config(folder: Path, types: tuple[str, ...] = MODEL_TYPES) -> Config:
    """Read config.json.

    Args:
        folder: Hugging Face folder.
        types: Values of model_type that the caller can run.

    Raises:
        ValueError: It is missing or damaged, or describes a model of another type.
    """
    path = folder / "config.json"
    return parse_config(read_json(path), path, types)


def parse_config(data: Mapping[str, Any], path: Path, types: tuple[str, ...] = MODEL_TYPES) -> Config:
    """Check the content of a config.json, and fill in what transformers takes where a key is missing."""
    kind = data.get("model_type")
    if kind not in types:
        raise ValueError(f"{path} says model_type {kind!r}; only {' and '.join(map(repr, types))} can be loaded.")
    for name, values in CAN_BE.items():
        if (data.get(name) or values[0]) not in values:
            raise ValueError(f"{path} sets {name} to {data[name]!r}, which this reader does not support.")
    config = dict(data, qk_norm=kind == "qwen3", tie_word_embeddings=bool(data.get("tie_word_embeddings")))
    if config.get("num_key_value_heads") is None:
        config["num_key_value_heads"] = config.get("num_attention_heads")
    for name in ("hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size"):
        checked(path, name, config.get(name), SIZE)
    if config.get("head_dim") is None:
        config["head_dim"] = 128 if kind == "qwen3" else config["hidden_size"] // config["num_attention_heads"]
    if checked(path, "head_dim", config["head_dim"], SIZE) % 2:
        raise ValueError(f"{path} says head_dim = {config['head_dim']}; RoPE needs an even one.")
    if config["num_attention_heads"] % config["num_key_value_heads"]:
        raise ValueError(
            f"{path} says num_attention_heads = {config['num_attention_heads']}, not a multiple of num_key_value_heads."
        )
    checked(path, "num_hidden_layers", config.get("num_hidden_layers"), LAYERS)
    config["rms_norm_eps"] = checked(path, "rms_norm_eps", config.get("rms_norm_eps"), POSITIVE)
    config["rope_theta"], config["rope_scaling"] = _rope(data, path)
    config["windows"] = _windows(config, path)
    return Config(**{field.name: config[field.name] for field in fields(Config)})


def checked(path: Path, name: str, value: Any, kind: Kind) -> Any:
    """Check a value of a config.json."""
    if value is None:
        raise ValueError(f"{path} does not say {name}.")
    try:
        return kind(name, value, {})
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}") from error


def _rope(data: Mapping[str, Any], path: Path) -> tuple[float, dict[str, Any] | None]:
    """Return the base of RoPE and its scaling, from the keys of any version of transformers."""
    rope = data.get("rope_parameters") or data.get("rope_scaling") or {}
    kind = str(rope.get("rope_type", rope.get("type", "default"))) if isinstance(rope, dict) else ""
    needed = SCALINGS.get(kind)
    if needed is None or set(rope) - {"rope_theta", "rope_type", "type", *needed}:
        raise ValueError(f"{path} scales RoPE by {rope!r}, which this reader does not support.")
    scaling = {name: checked(path, f"{name} of its {kind} RoPE", rope.get(name), POSITIVE) for name in needed}
    theta = checked(path, "rope_theta", rope.get("rope_theta") or data.get("rope_theta") or 10_000.0, POSITIVE)
    return theta, {"rope_type": kind, **scaling} if needed else None


def _windows(config: Mapping[str, Any], path: Path) -> tuple[int, ...]:
    count, window = config["num_hidden_layers"], config.get("sliding_window", 4096)
    if not config.get("use_sliding_window") or window is None:
        return (0,) * count
    checked(path, "sliding_window", window, SIZE)
    first = checked(path, "max_window_layers", config.get("max_window_layers", 28), integer())
    kinds = config.get("layer_types") or [ATTENTION[i >= first] for i in range(count)]
    if not isinstance(kinds, list) or len(kinds) != count or any(kind not in ATTENTION for kind in kinds):
        raise ValueError(f"{path} says layer_types = {kinds!r}; each of {count} must be {' or '.join(ATTENTION)}.")
    return tuple(window * ATTENTION.index(kind) for kind in kinds)


def file_names(model: nn.Module, names: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return the name in a Hugging Face file of each weight of a model.

    Args:
        model: Target or drafter.
        names: File names of its parts outside the layers; parts that are not listed are not in a file.
        prefix: Of the layers in the file.
    """
    out = {}
    for name in model.state_dict():
        part, _, kind = name.rpartition(".")
        if part.startswith("layers."):
            _, index, inner = part.split(".", 2)
            out[name] = f"{prefix}layers.{index}.{LAYER_NAMES[inner]}.{kind}"
        elif part in names:
            out[name] = f"{names[part]}.{kind}"
    return out


def empty_target(shape: TargetShape) -> tuple[Target, dict[str, str], dict[str, tuple[int, ...]]]:
    """Build a target without memory for its weights; return it with their names in a file, and the shapes by these."""
    with torch.device("meta"):
        model = Target(shape)
    names, state = file_names(model, TARGET_NAMES, "model."), model.state_dict()
    return model, names, {names[name]: tuple(tensor.shape) for name, tensor in state.items()}


def read_weights(folder: Path, config: Config, dtype: torch.dtype) -> dict[str, Tensor]:
    """Read all tensors of a model by their names.

    Args:
        folder: Hugging Face folder.
        config: What config.json says.
        dtype: Dtype to convert them to.

    Raises:
        ValueError: A file is missing or damaged, or a tensor is missing, unknown or misshapen.
    """
    tensors, (_, _, shapes) = Tensors(folder), empty_target(config.shape())
    for problem in tensors.problems(shapes, ["lm_head.weight"]):
        raise ValueError(problem)
    return tensors.read(shapes, dtype)


def load_target(
    folder: Path,
    feature_layers: tuple[int, ...] = (-1,),
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    positions: int = MAX_POSITIONS,
) -> Target:
    """Load a Llama- or Qwen3-type model as a target.

    Args:
        folder: Hugging Face folder.
        feature_layers: Layers whose outputs the drafter reads, from 0; −1 is the embedding.
        device, dtype: Where to put the weights, and as what.
        positions: Most tokens of a text.

    Raises:
        ValueError: The folder does not hold such a model, or not all of it.
    """
    config = read_config(folder)
    if any(config.windows):
        raise ValueError(f"{folder} has layers with sliding-window attention, which a target cannot have here.")
    model, names, _ = empty_target(config.shape(feature_layers))
    weights = read_weights(folder, config, dtype)
    model.load_state_dict({name: weights[names[name]] for name in names}, assign=True)
    model.rotary = Rotary(model.shape, positions)
    return model.to(device, dtype).eval().requires_grad_(False)


class Text:
    """The tokenizer of a Hugging Face folder.

    Args:
        folder: With tokenizer.json.

    Attributes:
        stops: Ids of the tokens that end a text, as generation_config.json or config.json says.

    Raises:
        ValueError: tokenizer.json is missing or damaged, or the package tokenizers is missing.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise ValueError('This needs tokenizers; `python -m pip install -e ".[smollm]"` installs it.') from None
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ValueError(f"{folder} has no tokenizer.json.")
        try:
            self.tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers has no class of its own
            raise ValueError(f"{path} is damaged or not a tokenizer: {error}.") from error
        stops: Any = None
        for name in ("generation_config.json", "config.json"):
            if stops is None and (folder / name).is_file():
                stops = read_json(folder / name).get("eos_token_id")
        self.stops: list[int] = stops if isinstance(stops, list) else [] if stops is None else [stops]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; special tokens may be spelt out."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, without special tokens."""
        text: str = self.tokenizer.decode(ids)
        return text
