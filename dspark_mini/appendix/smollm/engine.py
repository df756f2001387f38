"""SmolLM2 with the engine's interface, and its drafters: prompt lookup, DSpark, and the two together.

`generate` runs on them as it does on the small models, and verifies greedy and sampled drafts with the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dspark_mini.appendix.checkpoints import read_checkpoint
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.engine import TorchBlockDrafter
from dspark_mini.appendix.pretrained import load_drafter
from dspark_mini.appendix.smollm.llama import FORMS, Llama, Norm
from dspark_mini.appendix.smollm.products import eight_bits
from dspark_mini.appendix.smollm.speed import CONTEXT, forward_times, least_seconds
from dspark_mini.appendix.smollm.text import Text
from dspark_mini.appendix.smollm.train import Ends, read_ends
from dspark_mini.caches import StaticCache
from dspark_mini.drafts import Logits, Probabilities, one_hot, sample_chain, softmax, spread
from dspark_mini.lm import SmallLM
from dspark_mini.race_options import SMOLLM_DRAFTERS

LONGEST = 7  # most drafts per round
MATCHED = (3, 2)  # tokens that prompt lookup compares, the longer match first
MOST_CREDIT, RETRY_AFTER = 2.0, 48  # tokens; rounds of a pause


class LlamaTarget:
    """The model with the engine's interface; it verifies chains only.

    Args:
        llama: The model, with the drafter's feature layers.
        ends: Its embedding and LM head, for the drafter.
    """

    def __init__(self, llama: Llama, ends: Ends) -> None:
        self.llama, self.model, self.shape, self.device = llama, ends, ends.shape, torch.device("cpu")
        cache: Any = StaticCache(llama.slots)
        cache.features, cache.places = llama.features.flatten(1)[None], torch.arange(llama.slots)
        self.cache = cache

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        """Return the next-token logits after each token, and add one row per token to the cache. (n, V)"""
        if parents is not None:
            raise ValueError("parents is given, but this target verifies chains only.")
        if not tokens:
            return np.zeros((0, self.shape.vocabulary))
        self.llama.rows = self.cache.rows
        self.cache.take(len(tokens))
        logits: Logits = self.llama.logits(self.llama.forward(torch.tensor(list(tokens)))).float().numpy()
        return logits


@dataclass
class Costs:
    """What a round costs here, in forwards of one token."""

    verify: Sequence[float] = (1.0,) * (LONGEST + 1)  # a forward of the anchor and ℓ drafts, by ℓ
    draft: float = 0.0  # a block of DSpark's

    def worthwhile(self, confidences: Sequence[float]) -> int:
        """Count the drafts whose survival probability is worth the cost of one more token in the forward.

        It decides about each draft from the confidences up to that draft, so that sampling stays lossless.
        """
        survival = 1.0
        for k, confidence in enumerate(confidences):
            survival *= confidence
            if survival < self.verify[k + 1] - self.verify[k]:
                return k
        return len(confidences)


@dataclass
class History:
    """What a drafter has gained over plain decoding in one text, for a fall-back as in lesson 07."""

    balance: float = 0.3  # tokens gained; a text begins with a little credit
    plain: int = 0  # rounds since the last draft
    tested: int = 0  # drafts that were accepted or rejected
    accepted: int = 0

    def add(self, drafted: int, emitted: int, cost: float) -> None:
        """Add a round with drafts; its cost is in forwards of one token, each of which is a token of plain decoding."""
        self.balance = min(self.balance + emitted - cost, MOST_CREDIT)
        self.plain = 0
        self.tested += min(drafted, emitted)
        self.accepted += emitted - 1

    def may_draft(self) -> bool:
        """Pause once drafting has cost more than it gained, and try again later."""
        return self.balance >= 0 or self.plain >= RETRY_AFTER


class PromptLookup:
    """Drafts what followed the latest earlier occurrence of the text's last tokens.

    Source: Saxena, Prompt Lookup Decoding (2023), github.com/apoorvumang/prompt-lookup-decoding.
    """

    def __init__(self, vocabulary: int, history: History) -> None:
        self.vocabulary, self.history = vocabulary, history

    def start(self, tokens: list[int], block_size: int) -> list[int]:
        """Return the drafts after a text, possibly none."""
        for size in MATCHED:
            tail = tokens[-size:]
            for start in range(len(tokens) - size - 1, -1, -1):
                if tokens[start : start + size] == tail:
                    return tokens[start + size : start + size + block_size]
        return []

    def chain(self, base: list[int], *_: Any) -> tuple[list[int], Probabilities]:
        """Return the drafts, and one-hot rows. (γ, V)"""
        return base, one_hot(base, self.vocabulary)

    def confidences(self, anchor: int, tokens: Sequence[int], base: Any) -> list[float]:
        """Return the share of its drafts that were accepted in this text, from a guess of 2 of 3 at the start."""
        return [(2 + self.history.accepted) / (3 + self.history.tested)] * len(tokens)


class DSpark(TorchBlockDrafter):
    """DSpark with matrices of 8 bits, as it ships; the head draws in the draft vocabulary."""

    def __init__(self, model: BlockDrafter, target: LlamaTarget) -> None:
        super().__init__(model, target)  # type: ignore[arg-type]
        self.ids = list(model.shape.draft_vocabulary or range(target.shape.vocabulary))
        rows = target.model.head_weight[self.ids] if model.lm_head is None else model.lm_head.weight
        self.lm_head = eight_bits(rows)
        # in torch: after a product of NumPy's, its threads would go on spinning while the target verifies
        self.w1, w2 = (torch.from_numpy(factor) for factor in self.factors)  # (V, r)
        self.w2 = w2[:, self.ids].contiguous()  # (r, V_draft)
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.forward = eight_bits(module.weight.detach())
            elif isinstance(module, nn.RMSNorm):
                module.forward = Norm(module.weight.detach(), module.eps or 0.0)

    def start(self, tokens: list[int], block_size: int) -> Logits:
        """Read the tokens since the last block, and return the base logits of the next one. (γ, V_draft)"""
        self.cache.extend(tokens[self.cache.rows : -1])
        return self.block_logits(tokens[-1], min(block_size, self.shape.block_size))

    def logits(self, hidden: torch.Tensor) -> Logits:
        """Apply the rows of the LM head that can be drafted. (n, V_draft)"""
        logits: Logits = self.lm_head(hidden).float().numpy()
        return logits

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token: γ tokens, and the rows q (γ, V) that they were drawn from."""

        def next_logits(k: int, previous: int) -> Logits:
            bias: Logits = (self.w1[self.ids[previous] if k else anchor] @ self.w2).numpy()
            return base[k] + bias

        places, q = sample_chain(anchor, len(base), next_logits, temperature, rng)
        # greedy verification does not read q
        rows: Any = spread(q, self.ids, self.target.shape.vocabulary, missing=0.0) if temperature else q
        return [self.ids[place] for place in places], rows


class Drafters:
    """Drafters with the engine's interface of one: in each round, the first that has a draft and is not paused drafts.

    Args:
        names: "lookup" and "dspark", in order of preference.
        vocabulary: Of the target.
        dspark: DSpark, where it is named.
        costs: What a round costs; may be measured later.
    """

    bias = factors = None

    def __init__(self, names: Sequence[str], vocabulary: int, dspark: DSpark | None, costs: Costs) -> None:
        self.names, self.vocabulary, self.dspark, self.costs = names, vocabulary, dspark, costs
        self.drop(0)

    @property
    def cache(self) -> Drafters:
        """The cache that the engine sees: the tokens so far."""
        return self

    @property
    def rows(self) -> int:
        """The number of rows, one per token."""
        return len(self.tokens)

    def drop(self, rows: int) -> None:
        """Forget the text."""
        self.tokens = list[int]()
        self.histories = {name: History() for name in self.names}
        self.answered = 0  # tokens after the prompt
        self.drafting, self.kept = "", list[float]()  # who drafts this round, and the confidences of what it verifies
        if self.dspark is not None:
            self.dspark.cache.drop(self.dspark.cache.rows)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add committed tokens; after the prompt, those of a round."""
        for name, history in self.histories.items() if self.tokens else ():
            if name == self.drafting:
                cost = self.costs.verify[len(self.kept)] + self.costs.draft * (name == "dspark")
                history.add(len(self.kept), len(tokens), cost)
            else:
                history.plain += 1
        self.answered += len(tokens) if self.tokens else 0
        self.tokens += tokens
        self.drafting, self.kept = "", []

    def block_logits(self, anchor: int, block_size: int) -> Any:
        """Begin a round, and return what the drafter of this round begins with."""
        tokens = [*self.tokens, anchor]
        for name, history in self.histories.items():
            if history.may_draft() and (self.answered or name != "dspark"):  # which has learned from answers only
                self.drafting, drafter = name, self._drafter(name)
                base = drafter.start(tokens, block_size)
                if name == "dspark" or self.costs.worthwhile(drafter.confidences(anchor, base, base)):
                    return base
        return []

    def chain(self, base: Any, anchor: int, *how: Any) -> tuple[list[int], Probabilities]:
        """Draft, and keep the drafts that are worth verifying. (ℓ,), (ℓ, V)"""
        if not self.drafting:
            return [], np.zeros((0, self.vocabulary))
        drafter = self._drafter(self.drafting)
        tokens, q = drafter.chain(base, anchor, *how)
        confidences = drafter.confidences(anchor, tokens, base)
        count = self.costs.worthwhile(confidences)
        self.kept = confidences[:count]
        return tokens[:count], q[:count]

    def confidences(self, anchor: int, tokens: Sequence[int], base: Any) -> list[float]:
        """Return the chance that each draft is accepted if all before it are, (ℓ,)."""
        return self.kept

    def _drafter(self, name: str) -> Any:
        return self.dspark if name == "dspark" else PromptLookup(self.vocabulary, self.histories[name])


def load(folder: Path, drafter: Path | None = None, form: str = "float32", slots: int = 1024) -> SmallLM:
    """Load the model and its drafters, with the engine's interface.

    Args:
        folder: Hugging Face folder of the target.
        drafter: Checkpoint of a DSpark drafter; without one there is prompt lookup only.
        form: One of FORMS, of the target in memory.
        slots: Most tokens of a text.

    Raises:
        ValueError: A folder does not hold such a model, or not all of it, or the two do not fit together.
    """
    layers = () if drafter is None else read_checkpoint(drafter).feature_layers
    ends, _ = read_ends(folder, FORMS[form][0], layers or (-1,))
    target, costs = LlamaTarget(Llama(folder, form, slots, layers), ends), Costs()
    dspark = None if drafter is None else _dspark(drafter, target)
    names = [name for name in SMOLLM_DRAFTERS if dspark is not None or "dspark" not in name]
    drafters = {name: Drafters(name.split("+"), ends.shape.vocabulary, dspark, costs) for name in names}
    return SmallLM(target, drafters, Text(folder))


def _dspark(drafter: Path, target: LlamaTarget) -> DSpark:
    model = load_drafter(drafter, target.model)  # type: ignore[arg-type]
    if model.shape.head != "markov":
        raise ValueError(f"{drafter} has the head {model.shape.head!r}; beside SmolLM2 only Markov heads run.")
    return DSpark(model, target)


def measure_costs(model: SmallLM, temperature: float = 0.0) -> None:
    """Measure what rounds cost on this machine with this number of threads; the drafters go by it."""
    model.clear()
    counts, vocabulary = np.arange(1, LONGEST + 2), model.target.shape.vocabulary
    times = np.maximum.accumulate(forward_times(model.target.llama, counts.tolist()))
    if temperature:  # a softmax per row in float64, and about as much again for draws and residuals
        times += 2 * counts * least_seconds(partial(softmax, np.ones((1, vocabulary), np.float32) / temperature), 6)
    costs = model.drafters["lookup"].costs  # all of them have the same
    costs.verify = (times / times[0]).tolist()
    if "dspark" in model.drafters:
        costs.draft = least_seconds(partial(_draft, model.drafters["dspark"].dspark, temperature), 6) / float(times[0])
    model.clear()


def _draft(dspark: DSpark, temperature: float) -> None:
    """Draft a block, and read the tokens of a round; the first call reads the whole text."""
    dspark.cache.drop(min(2, dspark.cache.rows))
    base = dspark.start([0] * (CONTEXT + 1), LONGEST)
    dspark.chain(base, 0, LONGEST, temperature, np.random.default_rng(0))
