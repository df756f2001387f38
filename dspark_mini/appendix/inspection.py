"""What a checkpoint is, what it lacks, and what a round costs in bytes and multiply-adds, from its headers alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import nn

from dspark_mini.appendix.checkpoints import EMBEDDING, LM_HEAD, Checkpoint, read_checkpoint
from dspark_mini.appendix.files import Tensors, read_json
from dspark_mini.appendix.huggingface import Config, empty_target, read_config

Cost = dict[str, tuple[int, int]]  # by part of a round: numbers read from memory, multiply-adds of its products


def lines(folder: Path, context: int) -> Iterator[str]:
    """Yield the lines of a report on a drafter's checkpoint, or on a target's folder.

    Args:
        folder: With config.json and safetensors.
        context: Tokens of the text before the round.

    Raises:
        ValueError: It is neither, or a file is missing or damaged.
    """
    data = read_json(folder / "config.json")
    if "speculators_model_type" in data or "target_layer_ids" in data:
        checkpoint = read_checkpoint(folder)
        tensors, problems, cost = checkpoint.tensors, checkpoint.problems(), drafter_cost(checkpoint, context)
        yield from _describe_drafter(checkpoint)
    else:
        config, tensors = read_config(folder), Tensors(folder)
        problems = list(tensors.problems(empty_target(config.shape())[2], [LM_HEAD]))
        cost = {f"forward, {count} at a time": target_cost(config, count, context) for count in (1, 8)}
        yield f"{folder}: a target of type {data['model_type']}."
        yield f"  layers      {_sizes(config)}; {config.vocab_size} tokens"
        if not (folder / "tokenizer.json").is_file():
            problems.append(f"{folder} has no tokenizer.json.")
    yield f"  files       {len(tensors.shapes)} tensors, {sum(tensors.sizes.values()):,} bytes"
    yield from (f"  problem     {problem}" for problem in problems or ["none"])
    largest = max(tensors.sizes, key=lambda name: tensors.sizes[name])
    width = tensors.sizes[largest] / math.prod(tensors.shapes[largest])  # bytes of a number
    yield f"After {context} tokens, in bytes read (weights and cache) and multiply-adds:"
    yield from (f"  {part:30}{round(read * width):>18,}{products:>18,}" for part, (read, products) in cost.items())


def _describe_drafter(checkpoint: Checkpoint) -> Iterator[str]:
    shape, config, stored = checkpoint.shape, checkpoint.config, checkpoint.tensors.shapes
    kind = "DFlash" if shape.head == "none" else f"DSpark with a {shape.head} head of rank {shape.rank}"
    reads = {"markov": "from h_k and W1[x_{k−1}]", "hidden": "from h_k", "none": "none"}[shape.confidence]
    first = "the anchor and the masks predict" if shape.layout == "dspark" else "the masks predict"
    yield f"{checkpoint.folder}: a drafter, {kind}, in the format of {checkpoint.format}."
    yield f"  block       {shape.block_size} drafts per round: {first}; the mask is token {checkpoint.mask_token}"
    yield f"  layers      {_sizes(config)}"
    if any(config.windows):
        yield f"  windows     {[*config.windows]} features (0: all){', causal' * checkpoint.causal_windows}"
    yield f"  features    outputs of the target's layers {[*checkpoint.feature_layers]} (from 0; −1 is the embedding)"
    yield f"  vocabulary  {len(shape.draft_vocabulary or range(config.vocab_size))} of {config.vocab_size} tokens"
    yield f"  confidence  {reads}"
    if absent := [name for name in (EMBEDDING, LM_HEAD) if name not in stored]:
        yield f"  borrowed    {' and '.join(absent)}: the target's"


def _sizes(config: Config) -> str:
    return (
        f"{config.num_hidden_layers} of width {config.hidden_size}, {config.num_attention_heads} heads of "
        f"{config.head_dim} on {config.num_key_value_heads} of keys and values, feed-forward {config.intermediate_size}"
    )


def drafter_cost(checkpoint: Checkpoint, context: int) -> Cost:
    """Count what a drafter reads and multiplies in a round that commits one token, without norms and lookups."""
    shape, config, model = checkpoint.shape, checkpoint.config, checkpoint.model
    rows = shape.block_size + (shape.layout == "dflash")
    attention: list[Any] = [layer.attention for layer in model.layers]
    fused = _numbers(model.fuse) + sum(_numbers(part.key) + _numbers(part.value) for part in attention)
    seen = [min(window or context, context) for window in config.windows]
    layers, (cached, scores) = _numbers(model.layers), _attention(config, rows, seen)
    head = len(shape.draft_vocabulary or range(config.vocab_size)) * config.hidden_size
    cost = {
        "features of the new token": (fused, fused),
        f"layers, block of {rows}": (layers + cached, rows * layers + scores),
        "LM head": (head, shape.block_size * head),
    }
    if model.head is not None:
        confidence = _numbers(model.head.confidence)
        sequential = _numbers(model.head) - _numbers(model.head.previous) - confidence  # W1 is looked up
        for name, numbers in (("sequential head", sequential), ("confidence head", confidence)):
            cost[name] = numbers, shape.block_size * numbers
    cost["round"] = sum(read for read, _ in cost.values()), sum(products for _, products in cost.values())
    return cost


def target_cost(config: Config, count: int, context: int) -> tuple[int, int]:
    """Count what a target reads and multiplies in a forward of some tokens, without norms and lookups."""
    layers = _numbers(empty_target(config.shape())[0].layers)
    cached, scores = _attention(config, count, [context] * config.num_hidden_layers)
    head = config.vocab_size * config.hidden_size
    return layers + cached + head, count * (layers + head) + scores


def _attention(config: Config, rows: int, seen: list[int]) -> tuple[int, int]:
    """Return the numbers read from the cache, and the multiply-adds of scores and mixing."""
    cached = 2 * config.num_key_value_heads * config.head_dim * sum(seen)
    return cached, 2 * config.num_attention_heads * config.head_dim * rows * sum(count + rows for count in seen)


def _numbers(part: nn.Module | None) -> int:
    """Return how many numbers the matrices of a part have."""
    return 0 if part is None else sum(weight.numel() for weight in part.parameters() if weight.dim() > 1)
