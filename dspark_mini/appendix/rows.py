"""Rows of token ids to train on: documents of the corpus end to end, or texts that the target wrote itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from dspark_mini.appendix.model import KVCache, Target
from dspark_mini.corpus import DOMAINS, END, WRITERS
from dspark_mini.words import Tokenizer

ROW = 256


def corpus_rows(tokenizer: Tokenizer, seed: int) -> Iterator[list[int]]:
    """Yield rows of documents of all domains in turn of chance; each row begins with a document. (ROW,)"""
    rng = np.random.default_rng(seed)
    while True:
        row: list[int] = []
        while len(row) < ROW:
            prompt, body = WRITERS[DOMAINS[int(rng.integers(len(DOMAINS)))]](rng)
            row += tokenizer.encode([*prompt, *body, END])
        yield row[:ROW]


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
