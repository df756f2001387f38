"""Rows of token ids to train on: documents of the corpus end to end, or texts that the target wrote itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from dspark_mini.appendix.model import KVCache, Target
from dspark_mini.corpus import DOMAINS, END, WRITERS
from dspark_mini.words import Tokenizer


def corpus_rows(tokenizer: Tokenizer, seed: int, length: int, shares: Sequence[float]) -> Iterator[list[int]]:
    """Yield rows of documents end to end, each row from the beginning of one. (length,)

    Args:
        tokenizer: of the model.
        seed: of documents and their order.
        length: tokens of a row; its last document is cut.
        shares: how often each domain comes.
    """
    rng = np.random.default_rng(seed)
    while True:
        row: list[int] = []
        while len(row) < length:
            prompt, body = WRITERS[DOMAINS[int(rng.choice(len(DOMAINS), p=shares))]](rng)
            row += tokenizer.encode([*prompt, *body, END])
        yield row[:length]


@torch.inference_mode()
def written_rows(target: Target, tokenizer: Tokenizer, rows: int, length: int, seed: int, batch: int = 500) -> Tensor:
    """Let the target write rows at temperature 1, each from the tag of a domain. (rows, length)"""
    device = next(target.parameters()).device
    generator = torch.Generator(device=device).manual_seed(seed)
    tags = torch.tensor([tokenizer.encode([f"<{domain}>"])[0] for domain in DOMAINS], device=device)
    shape, written = target.shape, []
    for start in range(0, rows, batch):
        count = min(batch, rows - start)
        cache = KVCache(shape.layers, count, shape.kv_heads, length, shape.head_width, device)
        tokens = tags[torch.arange(start, start + count, device=device) % len(tags), None]  # (B, 1)
        text = [tokens]
        for _ in range(length - 1):
            logits, _ = target(tokens, cache)
            tokens = torch.multinomial(logits[:, -1].softmax(-1), 1, generator=generator)
            text.append(tokens)
        written.append(torch.cat(text, dim=1))
    return torch.cat(written)
