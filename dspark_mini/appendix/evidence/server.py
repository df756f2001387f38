"""A server in miniature: R requests decode together, each round one block draft and one ragged verification.

A request that ends makes place for the next prompt. Reading prompts is not part of the clock, everything else is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dspark_mini.appendix.blocks import spread
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.evidence.batched import RaggedCache, Rows, block_hidden, ragged_forward, write_context
from dspark_mini.appendix.evidence.served import Served
from dspark_mini.appendix.model import Target
from dspark_mini.layers import SLOTS
from dspark_mini.verification import cut_output

Trim = Callable[[NDArray[np.float64]], list[int]]  # from confidences (R, γ) to R verify lengths


@dataclass(frozen=True)
class Drafts:
    """The blocks of a round."""

    tokens: Tensor  # (R, γ)
    q: Tensor  # (R, γ, V) the rows that they were drawn from
    confidences: Tensor  # (R, γ)


class Server:
    """Requests that are decoded together at temperature 1.

    Args:
        model, drafter: a target and a DSpark drafter with a Markov head.
        prompts: an endless supply.
        requests: R.
        end: the token that ends a text.
        cap: the most new tokens of a text.
        seed: of all draws.
        slots: tokens that a text, its prompt and a block may have together.
    """

    def __init__(
        self,
        model: Target,
        drafter: BlockDrafter,
        prompts: Iterator[list[int]],
        requests: int,
        end: int,
        cap: int,
        seed: int = 0,
        slots: int = SLOTS,
    ) -> None:
        if drafter.head is None or drafter.head.joint is not None:
            raise ValueError("drafter has no Markov head; the server drafts with a DSpark of that kind.")
        self.model, self.drafter, self.prompts, self.end, self.cap = model, drafter, prompts, end, cap
        self.head, self.gamma = drafter.head, drafter.shape.block_size
        self.cache = RaggedCache(model.shape, model.shape.layers, requests, slots)
        self.draft_cache = RaggedCache(model.shape, drafter.shape.layers, requests, slots)
        self.caches = self.cache, self.draft_cache
        self.rows = torch.zeros(requests, dtype=torch.long)  # of each text, without the anchor
        self.left = torch.zeros(requests, dtype=torch.long)  # tokens up to the cap
        self.anchors = torch.zeros(requests, dtype=torch.long)
        self.outputs: list[list[int]] = [[] for _ in range(requests)]  # of the texts that are being written
        self.random = torch.Generator().manual_seed(seed)
        self.admit(torch.ones(requests, dtype=torch.bool))

    def admit(self, free: Tensor) -> None:
        """Read new prompts into the free places (R,)."""
        places = free.nonzero()[:, 0]
        texts = [next(self.prompts) for _ in places]
        lengths = torch.tensor([len(text) - 1 for text in texts])
        shape, longest = self.model.shape, int(lengths.max())
        if longest:  # the new texts alone, then into their places
            rows = Rows.behind(torch.zeros_like(lengths), lengths)
            tokens = torch.tensor([token for text in texts for token in text[:-1]])
            cache, draft_cache = (RaggedCache(shape, len(one.keys), len(texts), longest) for one in self.caches)
            _, features = ragged_forward(self.model, cache, tokens, rows)
            write_context(self.drafter, draft_cache, features, rows)
            for mine, new in zip(self.caches, (cache, draft_cache)):
                mine.put(places, new)
        self.rows[places], self.left[places] = lengths, self.cap
        self.anchors[places] = torch.tensor([text[-1] for text in texts])
        for request in places.tolist():
            self.outputs[request] = []

    def serve(self, trim: Trim | None, tokens: int = 0, seconds: float = 0.0, rounds: int = 1) -> Served:
        """Decode until so many tokens, seconds and rounds are done.

        Args:
            trim: chooses the verify lengths; without it nothing is drafted, now and later, and a round brings a token a
                request.
            tokens, seconds, rounds: how long, at least.
        """
        done = Served()
        while done.tokens < tokens or done.rounds < rounds or sum(done.seconds.values()) < seconds:
            drafts, lengths, marks = None, [0] * len(self.rows), [time.perf_counter()] * 4
            if trim is not None:
                hidden, marks[1] = self.block(), time.perf_counter()
                drafts, marks[2] = self.chain(hidden), time.perf_counter()
                lengths, marks[3] = trim(drafts.confidences.double().numpy()), time.perf_counter()
            emitted, ended = self.verify(drafts, torch.tensor(lengths))
            done.clock([*marks, time.perf_counter()])
            done.tokens += emitted
            done.rounds += 1
            done.verified += sum(lengths)
            if ended.any():
                self.admit(ended)
        return done

    def block(self) -> Tensor:
        """Draft a block for every request in one forward. (R, γ, d)"""
        return block_hidden(self.drafter, self.model, self.draft_cache, self.anchors, self.rows)

    @torch.inference_mode()
    def chain(self, hidden: Tensor) -> Drafts:
        """Let the Markov head choose the tokens of every block, one after the other."""
        base, ids = self.drafter.base_logits(hidden, self.model), self.drafter.shape.draft_vocabulary
        tokens, rows = [self.anchors], []
        for k in range(self.gamma):
            logits = base[:, k] + self.head.next(self.head.previous(tokens[-1]))  # (R, V)
            rows.append((logits if ids is None else spread(logits, ids, self.model.shape.vocabulary)).softmax(-1))
            tokens.append(self.draw(rows[-1]))
        previous = torch.stack(tokens[:-1], dim=1)  # (R, γ)
        confidences = self.head.confidence_logits(hidden, previous).sigmoid()
        return Drafts(torch.stack(tokens[1:], dim=1), torch.stack(rows, dim=1), confidences)

    @torch.inference_mode()
    def verify(self, drafts: Drafts | None, lengths: Tensor) -> tuple[int, Tensor]:
        """Verify the first lengths (R,) drafts of each request in one forward, and commit what was accepted.

        Returns:
            How many tokens came out, and which requests are at their end (R,).
        """
        rows = Rows.behind(self.rows, 1 + lengths)
        block = self.anchors[:, None] if drafts is None else torch.column_stack((self.anchors, drafts.tokens))
        logits, features = ragged_forward(self.model, self.cache, block[rows.owner, rows.offset], rows)
        p, first = logits.softmax(-1), (1 + lengths).cumsum(0) - 1 - lengths  # (B, V); (R,) the anchors' rows
        accepted = self.judge(drafts, p, first, lengths)
        last = self.draw(self.final_rows(drafts, p, first, accepted, lengths))  # (R,)
        kept = rows.offset <= accepted[rows.owner]
        if drafts is not None:  # who never drafts does not pay for the drafter
            write_context(self.drafter, self.draft_cache, features[kept], rows.chosen(kept))
        return self.commit(block, accepted, last)

    def judge(self, drafts: Drafts | None, p: Tensor, first: Tensor, lengths: Tensor) -> Tensor:
        """Accept each draft with probability min(1, p/q), up to the first refusal. (R,)"""
        longest = int(lengths.max())
        if drafts is None or longest == 0:
            return torch.zeros_like(lengths)
        tokens, places = drafts.tokens[:, :longest, None], torch.arange(longest)
        rows = (first[:, None] + places).clamp(max=len(p) - 1)  # (R, n); what lies beyond a length is masked below
        chance = p[rows].gather(2, tokens) / drafts.q[:, :longest].gather(2, tokens)  # (R, n, 1)
        coins = torch.rand(rows.shape, generator=self.random)
        good = (coins < chance[..., 0]) & (places < lengths[:, None])
        return good.long().cumprod(dim=1).sum(dim=1)

    def final_rows(self, drafts: Drafts | None, p: Tensor, first: Tensor, accepted: Tensor, lengths: Tensor) -> Tensor:
        """Return what each request's last token is drawn from: the residual, or p where nothing was refused. (R, V)"""
        rows = p[first + accepted]
        if drafts is None:
            return rows
        place = accepted.clamp(max=self.gamma - 1)
        excess = (rows - drafts.q[torch.arange(len(rows)), place]).clamp(min=0.0)
        refused = (accepted < lengths) & (excess.sum(-1) > 0.0)
        return torch.where(refused[:, None], excess, rows)

    def draw(self, weights: Tensor) -> Tensor:
        """Draw a token from each row of weights: the first of races at those speeds. (R,)"""
        waits = torch.empty_like(weights).exponential_(generator=self.random)
        return (weights / waits).argmax(dim=-1)

    def commit(self, block: Tensor, accepted: Tensor, last: Tensor) -> tuple[int, Tensor]:
        """Move every request on, and count what belongs to the texts."""
        count, ended = 0, torch.zeros(len(last), dtype=torch.bool)
        for request, (tokens, kept, new) in enumerate(zip(block.tolist(), accepted.tolist(), last.tolist())):
            emitted = cut_output([*tokens[1 : 1 + kept], new], [self.end], int(self.left[request]))
            count += len(emitted)
            self.outputs[request] += emitted
            self.left[request] -= len(emitted)
            ended[request] = emitted[-1] == self.end or self.left[request] == 0
        self.rows += accepted + 1
        self.anchors.copy_(last)
        return count, ended
