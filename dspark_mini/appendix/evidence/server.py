"""A small server: R requests decode together, with one batched block draft and one ragged verification per round.

When a request ends, the next prompt takes its place. Everything but the reading of prompts is on the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dspark_mini.appendix.blocks import to_target_vocabulary
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.evidence.batched import RaggedCache, Rows, block_hidden, ragged_forward, write_context
from dspark_mini.appendix.model import Target
from dspark_mini.layers import SLOTS
from dspark_mini.verification import cut_output

PARTS = ("draft", "head", "trim", "verify")
Trim = Callable[[NDArray[np.float64]], list[int]]  # confidences (R, γ) -> R verify lengths


def now(device: torch.device) -> float:
    """Return the time on the clock, once a GPU has done the work that it was given."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()
    return time.perf_counter()


@dataclass(frozen=True)
class Drafts:
    """The blocks of a round."""

    tokens: Tensor  # (R, γ)
    q: Tensor  # (R, γ, V) the rows that the tokens were sampled from
    confidences: Tensor  # (R, γ)


@dataclass
class ServingTotals:
    """What a server did, and the seconds of each part of its rounds."""

    tokens: int = 0
    rounds: int = 0
    verified: int = 0  # drafts
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    @property
    def elapsed(self) -> float:
        """Seconds on the clock."""
        return sum(self.seconds.values())

    @property
    def tokens_per_second(self) -> float:
        """Throughput of all requests together."""
        return self.tokens / self.elapsed


class Server:
    """Requests that decode together at temperature 1.

    Args:
        model, drafter: Target and a DSpark drafter with a Markov head.
        prompts: Endless supply of prompts.
        requests: R.
        end: Token that ends a text.
        max_new_tokens: Most new tokens per text.
        seed: Seed of the sampling.
        slots: Cache slots per request: prompt, new tokens and one block.
    """

    def __init__(
        self,
        model: Target,
        drafter: BlockDrafter,
        prompts: Iterator[list[int]],
        requests: int,
        end: int,
        max_new_tokens: int,
        seed: int = 0,
        slots: int = SLOTS,
    ) -> None:
        if drafter.head is None or drafter.head.kind != "markov":
            raise ValueError("drafter has no Markov head; the server needs a DSpark drafter with one.")
        self.model, self.drafter, self.head = model, drafter, drafter.head
        self.prompts, self.end, self.max_new_tokens = prompts, end, max_new_tokens
        self.device = model.embedding.weight.device
        self.block_size = drafter.shape.block_size
        self.cache = RaggedCache(model.shape, model.shape.layers, requests, slots)
        self.draft_cache = RaggedCache(model.shape, drafter.shape.layers, requests, slots)
        self.starts = torch.zeros(requests, dtype=torch.long)  # cached tokens of each text: all but the anchor
        self.anchors = torch.zeros(requests, dtype=torch.long)
        self.tokens_left = torch.zeros(requests, dtype=torch.long)
        self.outputs: list[list[int]] = [[] for _ in range(requests)]  # the unfinished texts
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.admit(torch.ones(requests, dtype=torch.bool))

    def admit(self, free: Tensor) -> None:
        """Give the next prompts to the requests that a mask (R,) marks as free."""
        places = free.nonzero()[:, 0]
        texts = [next(self.prompts) for _ in places]
        lengths = torch.tensor([len(text) - 1 for text in texts])
        if int(lengths.max()):
            self._prefill(places, texts, lengths)
        self.starts[places], self.tokens_left[places] = lengths, self.max_new_tokens
        self.anchors[places] = torch.tensor([text[-1] for text in texts])
        for request in places.tolist():
            self.outputs[request] = []

    def _prefill(self, places: Tensor, texts: list[list[int]], lengths: Tensor) -> None:
        """Run prompts without their anchors through small caches, then copy those into place."""
        shape, slots = self.model.shape, int(lengths.max())
        cache = RaggedCache(shape, shape.layers, len(texts), slots)
        draft_cache = RaggedCache(shape, self.drafter.shape.layers, len(texts), slots)
        rows = Rows.after(torch.zeros_like(lengths), lengths)
        tokens = torch.tensor([token for text in texts for token in text[:-1]])
        _, features = ragged_forward(self.model, cache, tokens, rows)
        write_context(self.drafter, draft_cache, features, rows)
        self.cache.copy_from(cache, places)
        self.draft_cache.copy_from(draft_cache, places)

    def serve(self, trim: Trim | None, tokens: int = 0, seconds: float = 0.0, rounds: int = 1) -> ServingTotals:
        """Decode for at least so many tokens, seconds and rounds.

        Args:
            trim: Chooses the verify lengths. None is plain decoding; the drafter then falls behind for good.
            tokens, seconds, rounds: Lower limits.
        """
        totals = ServingTotals()
        while totals.tokens < tokens or totals.rounds < rounds or totals.elapsed < seconds:
            drafts, lengths, marks = None, [0] * len(self.starts), [now(self.device)] * 4
            if trim is not None:
                hidden, marks[1] = self.block(), now(self.device)
                drafts, marks[2] = self.chain(hidden), now(self.device)
                lengths, marks[3] = trim(drafts.confidences.cpu().double().numpy()), now(self.device)
            emitted, ended = self.verify(drafts, torch.tensor(lengths))
            marks.append(now(self.device))
            for part, begin, end in zip(PARTS, marks, marks[1:]):
                totals.seconds[part] += end - begin
            totals.tokens += emitted
            totals.rounds += 1
            totals.verified += sum(lengths)
            if ended.any():
                self.admit(ended)
        return totals

    def block(self) -> Tensor:
        """Draft a block for every request in one forward. (R, γ, d)"""
        return block_hidden(self.drafter, self.model, self.draft_cache, self.anchors, self.starts)

    @torch.inference_mode()
    def chain(self, hidden: Tensor) -> Drafts:
        """Sample every block from left to right with the Markov head."""
        base, ids = self.drafter.base_logits(hidden, self.model), self.drafter.shape.draft_vocabulary
        tokens, rows = [self.anchors], []
        for k in range(self.block_size):
            logits = base[:, k] + self.head.next(self.head.previous(tokens[-1]))  # (R, V)
            if ids is not None:
                logits = to_target_vocabulary(logits, ids, self.model.shape.vocabulary)
            rows.append(logits.softmax(-1))
            tokens.append(self.sample(rows[-1]))
        previous = torch.stack(tokens[:-1], dim=1)  # (R, γ)
        confidences = self.head.confidence_logits(hidden, previous).sigmoid()
        return Drafts(torch.stack(tokens[1:], dim=1), torch.stack(rows, dim=1), confidences)

    @torch.inference_mode()
    def verify(self, drafts: Drafts | None, lengths: Tensor) -> tuple[int, Tensor]:
        """Verify the first `lengths` (R,) drafts of each request in one forward, and commit the accepted ones.

        Returns:
            The number of tokens emitted, and which requests ended (R,).
        """
        rows = Rows.after(self.starts, 1 + lengths)
        block = self.anchors[:, None] if drafts is None else torch.column_stack((self.anchors, drafts.tokens))
        logits, features = ragged_forward(self.model, self.cache, block[rows.owner, rows.offset], rows)
        p = logits.softmax(-1)  # (B, V)
        first = (1 + lengths).cumsum(0) - 1 - lengths  # (R,) row of each anchor
        accepted = self.count_accepted(drafts, p, first, lengths)
        last = self.sample(self.final_weights(drafts, p, first, accepted, lengths))  # (R,)
        kept = rows.offset <= accepted[rows.owner]
        if drafts is not None:  # plain decoding does not pay for the drafter
            write_context(self.drafter, self.draft_cache, features[kept], rows.where(kept))
        return self.commit(block, accepted, last)

    def count_accepted(self, drafts: Drafts | None, p: Tensor, first: Tensor, lengths: Tensor) -> Tensor:
        """Accept each draft with probability min(1, p/q) up to the first rejection. (R,)"""
        longest = int(lengths.max())
        if drafts is None or longest == 0:
            return torch.zeros_like(lengths)
        tokens, offsets = drafts.tokens[:, :longest, None], torch.arange(longest)
        rows = (first[:, None] + offsets).clamp(max=len(p) - 1)  # (R, n); those past a length are masked below
        chance = p[rows].gather(2, tokens) / drafts.q[:, :longest].gather(2, tokens)  # (R, n, 1)
        accepted = torch.rand(rows.shape, generator=self.generator) < chance[..., 0]
        return (accepted & (offsets < lengths[:, None])).long().cumprod(dim=1).sum(dim=1)

    def final_weights(
        self, drafts: Drafts | None, p: Tensor, first: Tensor, accepted: Tensor, lengths: Tensor
    ) -> Tensor:
        """Return the residual after a rejection, and p where every verified draft was accepted. (R, V)"""
        rows = p[first + accepted]
        if drafts is None:
            return rows
        rejected_at = accepted.clamp(max=self.block_size - 1)
        residual = (rows - drafts.q[torch.arange(len(rows)), rejected_at]).clamp(min=0.0)
        rejected = (accepted < lengths) & (residual.sum(-1) > 0.0)
        return torch.where(rejected[:, None], residual, rows)

    def sample(self, weights: Tensor) -> Tensor:
        """Sample a token from each row of weights, by exponential races. (R,)"""
        waits = torch.empty_like(weights).exponential_(generator=self.generator)
        return (weights / waits).argmax(dim=-1)

    def commit(self, block: Tensor, accepted: Tensor, last: Tensor) -> tuple[int, Tensor]:
        """Add the accepted drafts and the last token to every text; return the token count and who ended (R,)."""
        count, ended = 0, torch.zeros(len(last), dtype=torch.bool)
        for request, (tokens, kept, token) in enumerate(zip(block.tolist(), accepted.tolist(), last.tolist())):
            emitted = cut_output([*tokens[1 : 1 + kept], token], [self.end], int(self.tokens_left[request]))
            count += len(emitted)
            self.outputs[request] += emitted
            self.tokens_left[request] -= len(emitted)
            ended[request] = emitted[-1] == self.end or self.tokens_left[request] == 0
        self.starts += accepted + 1
        self.anchors.copy_(last)
        return count, ended
