"""Checkpoints of drafters, of DeepSpec and Speculators: what their config.json says and which tensors they hold.

Source: github.com/deepseek-ai/DeepSpec (deepspec/modeling/dspark), github.com/vllm-project/speculators
(src/speculators/models/dflash and dspark).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.files import Tensors, read_json
from dspark_mini.appendix.huggingface import SIZE, Config, checked, file_names, parse_config
from dspark_mini.kinds import integer
from dspark_mini.shapes import DrafterShape

HEADS = {"vanilla": "markov", "gated": "gated", "rnn": "rnn"}  # markov_head_type, and the name of the head here
EMBEDDING, LM_HEAD = "embed_tokens.weight", "lm_head.weight"  # the target's stand in where a checkpoint has none
UNUSED = ("t2d", "verifier_norm.weight", "verifier_lm_head.weight")
NAMES = {
    "fuse": "fc",
    "fuse_norm": "hidden_norm",
    "norm": "norm",
    "embedding": "embed_tokens",
    "lm_head": "lm_head",
    "head.previous": "markov_head.markov_w1",
    "head.next": "markov_head.markov_w2",
    "head.joint": "markov_head.joint_proj",
    "head.gate": "markov_head.gate_proj",
    "head.confidence": "confidence_head.proj",
}


@dataclass(frozen=True)
class Checkpoint:
    """A drafter's folder: what its config.json says, and the headers of its files."""

    folder: Path
    format: str  # DeepSpec or Speculators
    config: Config  # sizes of the drafter's layers
    shape: DrafterShape
    feature_layers: tuple[int, ...]  # of the target, from 0; −1 is the embedding
    target_layers: int | None  # how many the target has, where the config says so
    mask_token: int
    causal_windows: bool
    tensors: Tensors

    @cached_property
    def model(self) -> BlockDrafter:
        """The drafter, without memory for its weights."""
        layers = max(self.target_layers or 0, *self.feature_layers) + 1
        sizes = replace(self.config.shape(), layers=layers, feature_layers=self.feature_layers)
        vocabulary, width = self.config.vocab_size, self.config.hidden_size
        with torch.device("meta"):
            model = BlockDrafter(self.shape, sizes)
            if model.head is not None and self.shape.head == "rnn":
                model.head.joint.bias = nn.Parameter(torch.zeros(3 * self.shape.rank))
            if EMBEDDING in self.tensors.shapes:
                model.embedding = nn.Embedding(vocabulary, width)
            if LM_HEAD in self.tensors.shapes:
                model.lm_head = nn.Linear(width, len(self.shape.draft_vocabulary or range(vocabulary)), bias=False)
        model.windows, model.causal_windows = list(self.config.windows), self.causal_windows
        return model

    @property
    def names(self) -> dict[str, str]:
        """The name in the file of each weight of the drafter."""
        return file_names(self.model, NAMES)

    def problems(self) -> list[str]:
        """Say in a sentence each which tensors are missing, misshapen or unknown."""
        state = self.model.state_dict()
        expected = {file_name: tuple(state[name].shape) for name, file_name in self.names.items()}
        if self.shape.draft_vocabulary is not None:
            expected["d2t"] = (len(self.shape.draft_vocabulary),)
        return list(self.tensors.problems(expected, (*UNUSED, "d2t")))


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read what a drafter's folder says, without its weights.

    Raises:
        ValueError: It is not a drafter that can be loaded, or a file is missing or damaged.
    """
    path = folder / "config.json"
    data, kind = read_json(path), "DeepSpec"
    if "speculators_model_type" in data:
        data, kind = _as_deepspec(data, path), "Speculators"
    elif "target_layer_ids" not in data:
        raise ValueError(f"{path} says neither target_layer_ids nor speculators_model_type, so it is not a drafter's.")
    config, tensors = replace(parse_config(data, path), qk_norm=True), Tensors(folder)
    layers, count = data["target_layer_ids"], data.get("num_target_layers")
    if not isinstance(layers, list) or not layers:
        raise ValueError(f"{path} says target_layer_ids = {layers!r}; it must be a list of at least one layer.")
    layer = integer(low=-1, below=None if count is None else checked(path, "num_target_layers", count, SIZE))
    return Checkpoint(
        folder,
        kind,
        config,
        _drafter_shape(data, path, config, tensors),
        tuple(checked(path, f"target_layer_ids[{i}]", value, layer) for i, value in enumerate(layers)),
        count,
        checked(path, "mask_token_id", data.get("mask_token_id"), integer(below=config.vocab_size)),
        not data.get("sliding_window_non_causal"),
        tensors,
    )


def _as_deepspec(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the config of a Speculators drafter with DeepSpec's keys, and with what Speculators takes by default."""
    kind, layers = data["speculators_model_type"], data.get("transformer_layer_config")
    if kind not in ("dflash", "dspark"):
        raise ValueError(f"{path} says speculators_model_type {kind!r}; only 'dflash' and 'dspark' can be loaded.")
    ids = data.get("aux_hidden_state_layer_ids")
    if not isinstance(layers, dict) or not isinstance(ids, list):
        raise ValueError(f"{path} does not say transformer_layer_config and aux_hidden_state_layer_ids.")
    dspark = kind == "dspark"
    defaults = {"block_size": 8, "draft_vocab_size": 32_000, "sample_from_anchor": dspark, "markov_rank": 256 * dspark}
    heads = {"markov_head_type": "vanilla", "enable_confidence_head": dspark, "confidence_head_with_markov": dspark}
    # id i is the state before layer i: the output of layer i − 1
    layer_ids = [layer - 1 if type(layer) is int else layer for layer in ids]
    return {**defaults, **heads, **data, "model_type": "qwen3", **layers, "target_layer_ids": layer_ids}


def _drafter_shape(data: Mapping[str, Any], path: Path, config: Config, tensors: Tensors) -> DrafterShape:
    for name in ("block_size", "markov_rank", "enable_confidence_head"):
        if name not in data:
            raise ValueError(f"{path} does not say {name}.")
    anchor_drafts = bool(data.get("sample_from_anchor", True))
    rank = checked(path, "markov_rank", data["markov_rank"], integer(high=2**20))
    size = checked(path, "block_size", data["block_size"], integer(1 if anchor_drafts else 2, 1024))
    kind = str(data.get("markov_head_type")).lower()
    if rank and kind not in HEADS:
        raise ValueError(f"{path} says markov_head_type {kind!r}; it must be one of {', '.join(HEADS)}.")
    if rank and kind == "rnn" and not anchor_drafts:
        raise ValueError(f"{path} joins an RNN head with sample_from_anchor = false, which cannot be loaded.")
    if not rank and data["enable_confidence_head"]:
        raise ValueError(f"{path} has a confidence head but no Markov head, which cannot be loaded.")
    reads = "markov" if data.get("confidence_head_with_markov") else "hidden"
    return DrafterShape(
        layout="dspark" if anchor_drafts else "dflash",
        head=HEADS[kind] if rank else "none",
        layers=config.num_hidden_layers,
        block_size=size if anchor_drafts else size - 1,
        rank=rank,
        draft_vocabulary=_draft_vocabulary(data, path, config, tensors),
        confidence=reads if data["enable_confidence_head"] else "none",
    )


def _draft_vocabulary(data: Mapping[str, Any], path: Path, config: Config, tensors: Tensors) -> tuple[int, ...] | None:
    """Return the target's id of each draft token i, which is i + d2t[i]; None if all can be drafted."""
    most = config.vocab_size
    count = checked(path, "draft_vocab_size", data.get("draft_vocab_size", most), integer(1, most))
    if count == most:
        return None
    for problem in tensors.problems({"d2t": (count,)}, tensors.shapes):
        raise ValueError(problem)
    ids: list[int] = (tensors.read(["d2t"])["d2t"] + torch.arange(count)).tolist()
    drafted = integer(below=most)
    for i, token in enumerate(ids):
        checked(tensors.folder, f"{i} + d2t[{i}]", token, drafted)
    return tuple(ids)
