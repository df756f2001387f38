"""The small language model: a target, its drafters and their tokenizer.

They have the interface of protocol.py, so `generate` runs on them as it does on the toy models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dspark_mini.corpus import DOMAINS, WRITERS
from dspark_mini.drafters import BlockDrafter, make_drafter, per_head
from dspark_mini.drafting import block_attention
from dspark_mini.drafts import Logits
from dspark_mini.transformer import LanguageModel
from dspark_mini.weights import SHIPPED, drafter_header, load_weights, target_header, weight_file_errors
from dspark_mini.words import Tokenizer

DRAFTERS = ("autoregressive", "dflash", "dspark", "dspark-gated", "dspark-rnn", "domino")


@dataclass
class SmallLM:
    """A target, its drafters by name, and the tokenizer that they share."""

    target: Any  # a LanguageModel, or its torch adapter
    drafters: dict[str, Any]
    tokenizer: Any  # a Tokenizer, or the Text of a Hugging Face folder
    accelerator: str | None = None  # name of the GPU that it runs on

    def clear(self) -> None:
        """Empty all caches, ready for the next text."""
        for cache in (self.target.cache, *(drafter.cache for drafter in self.drafters.values())):
            cache.drop(cache.rows)


def load(
    folder: Path = SHIPPED, drafters: Sequence[str] = DRAFTERS, attention: Callable[..., Any] | None = None
) -> SmallLM:
    """Load the small language model in NumPy.

    Args:
        folder: Directory with the weight files; by default those of the package.
        drafters: Names of the drafters to load.
        attention: Your own block_attention (task 2.6), for DFlash and DSpark; by default the package's.

    Raises:
        ValueError: Weights are missing or do not fit together.
    """
    path = folder / "target.safetensors"
    weights, header = load_weights(path)
    shape, tokenizer = target_header(path, header)
    with weight_file_errors(path):
        model = SmallLM(LanguageModel(weights, shape), {}, tokenizer)
    for name in drafters:
        path = folder / f"{name}.safetensors"
        weights, header = load_weights(path)
        with weight_file_errors(path):
            drafter = make_drafter(weights, drafter_header(path, header), model.target)
        if attention not in (None, block_attention) and isinstance(drafter, BlockDrafter):
            drafter.attention = per_head(attention)
        model.drafters[name] = drafter
    return model


def prompts(tokenizer: Tokenizer, domain: str, count: int, seed: int = 0) -> list[list[int]]:
    """Write prompts of one domain: sums to compute, headers of functions, or requests for help.

    Args:
        tokenizer: The model's tokenizer.
        domain: math, code or chat.
        count: Number of prompts.
        seed: Seed of the prompts.

    Returns:
        The token ids of each prompt.

    Raises:
        ValueError: The domain is unknown.
    """
    if domain not in WRITERS:
        raise ValueError(f"domain is {domain!r}; it must be one of {', '.join(DOMAINS)}.")
    rng = np.random.default_rng([seed, DOMAINS.index(domain), 2607])  # 2607 keeps the stream apart from training's
    return [tokenizer.encode(WRITERS[domain](rng)[0]) for _ in range(count)]


def write_and_draft(
    model: SmallLM, prompt: list[int], length: int, drafter: str = ""
) -> tuple[list[int], list[Logits]]:
    """Let the target continue a prompt greedily, and draft a block after every token of the continuation.

    Args:
        model: Target and drafters; their caches are emptied first.
        prompt: Token ids.
        length: Tokens of the continuation, unless it ends before.
        drafter: Name of the drafter; without one nothing is drafted.

    Returns:
        The text without the prompt's tokens but the last; and one block of base logits (γ, V) per token of it but the
        last, so that block i is drafted after token i.
    """
    model.clear()
    before, text = prompt[:-1], prompt[-1:]
    model.target.forward(before)
    while len(text) <= length and text[-1:] != [model.tokenizer.end]:
        text.append(int(model.target.forward(text[-1:])[-1].argmax()))
    if not drafter:
        return text, []
    reader, blocks = model.drafters[drafter], list[Logits]()
    reader.cache.extend(before)
    for token in text[:-1]:
        blocks.append(reader.block_logits(token, reader.shape.block_size))
        reader.cache.extend([token])
    return text, blocks
