"""The small language model: a target, its drafters, and the words they speak.

Target and drafters have the methods that the engine asks for, so that `generate` runs on them as on the toy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dspark_mini.corpus import DOMAINS, WRITERS
from dspark_mini.drafters import make_drafter
from dspark_mini.transformer import LanguageModel
from dspark_mini.weights import SHIPPED, drafter_header, load_weights, target_header, told_of
from dspark_mini.words import Tokenizer

DRAFTERS = ("autoregressive", "dflash", "dspark", "dspark-rnn")


@dataclass
class SmallLM:
    """A target, its drafters by name, and its words."""

    target: Any  # LanguageModel, or what the appendix makes of the same weights
    drafters: dict[str, Any]
    tokenizer: Tokenizer
    accelerator: str | None = None  # the name of the GPU that it runs on

    def clear(self) -> None:
        """Empty all caches, for another text."""
        for cache in (self.target.cache, *(drafter.cache for drafter in self.drafters.values())):
            cache.drop(cache.rows)


def load(folder: Path = SHIPPED, drafters: Sequence[str] = DRAFTERS) -> SmallLM:
    """Load the small language model.

    Args:
        folder: of the weight files, by default those of the package.
        drafters: which drafters.

    Raises:
        ValueError: weights that are missing, or do not fit.
    """
    path = folder / "target.safetensors"
    weights, header = load_weights(path)
    shape, tokenizer = target_header(path, header)
    with told_of(path):
        target = LanguageModel(weights, shape)
    made = {}
    for name in drafters:
        path = folder / f"{name}.safetensors"
        weights, header = load_weights(path)
        with told_of(path):
            made[name] = make_drafter(weights, drafter_header(path, header), target)
    return SmallLM(target, made, tokenizer)


def prompts(tokenizer: Tokenizer, domain: str, count: int, seed: int = 0) -> list[list[int]]:
    """Make prompts of a domain: a sum to compute, the header of a function, or a question for help.

    Args:
        tokenizer: of the model.
        domain: math, code or chat.
        count: how many.
        seed: of the prompts.

    Returns:
        The token ids of each prompt.

    Raises:
        ValueError: another domain.
    """
    if domain not in WRITERS:
        raise ValueError(f"domain is {domain!r}; it must be one of {', '.join(DOMAINS)}.")
    rng = np.random.default_rng([seed, DOMAINS.index(domain), 2607])  # no stream of the training's
    return [tokenizer.encode(WRITERS[domain](rng)[0]) for _ in range(count)]
