"""Training data: rows of corpus documents for the target, and rows that the target wrote for the drafters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from dspark_mini.appendix.model import KVCache, Target
from dspark_mini.corpus import DOMAINS, END, WRITERS
from dspark_mini.words import Tokenizer


def corpus_rows(tokenizer: Tokenizer, seed: int, length: int, domain_weights: Sequence[float]) -> Iterator[list[int]]:
    """Yield rows of concatenated documents; each row starts with a new document. (length,)

    Args:
        tokenizer: Tokenizer of the model.
        seed: Seed of the documents and their order.
        length: Tokens per row; the last document is cut.
        domain_weights: Probability of each domain.
    """
    rng = np.random.default_rng(seed)
    while True:
        row: list[int] = []
        while len(row) < length:
            prompt, body = WRITERS[DOMAINS[int(rng.choice(len(DOMAINS), p=domain_weights))]](rng)
            row += tokenizer.encode([*prompt, *body, END])
        yield row[:length]


@torch.inference_mode()
def written_rows(target: Target, tokenizer: Tokenizer, rows: int, length: int, seed: int, batch: int = 500) -> Tensor:
    """Let the target write rows at temperature 1; the first token of each is the tag of a domain. (rows, length)"""
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
