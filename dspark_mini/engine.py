"""The engine: one loop of draft → trim → verify → commit, in which every step can be swapped.

A target and a drafter are whatever has the methods that ToyTarget and ToyDrafter show. After every round both
caches hold exactly the committed tokens but the last; the engine asserts it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dspark_mini.drafting import dspark_markov_candidates
from dspark_mini.inputs import number, token_ids, whole_number
from dspark_mini.rounds import rollback_rows, round_totals
from dspark_mini.toy import Cache, Logits, softmax
from dspark_mini.verification import cut_output, verify_greedy, verify_sampling


class Target(Protocol):
    """The model whose text comes out."""

    cache: Cache

    def forward(self, tokens: Sequence[int]) -> Logits:
        """Return the next-token logits behind each token, and add a row a token to the cache. (n, V)"""
        ...


class Drafter(Protocol):
    """The model that guesses ahead: base logits for a whole block, and a bias between its neighbours."""

    cache: Cache
    bias: Any  # answers .get(token) with a row (V,) or None

    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Return the base logits of a block behind the anchor, without changing the cache. (γ, V)"""
        ...


@dataclass
class Round:
    """What happened in one round."""

    drafted: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    verified: int = 0  # ℓ
    accepted: int = 0
    emitted: list[int] = field(default_factory=list)  # what the output got
    seconds: dict[str, float] = field(default_factory=dict)  # of draft and verify


@dataclass
class Trace:
    """A generated text and its rounds."""

    output: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, list[int]]:
        """The counts of every round, under the names that round_totals takes."""
        return {
            "drafted": [len(r.drafted) for r in self.rounds],
            "verified": [r.verified for r in self.rounds],
            "accepted": [r.accepted for r in self.rounds],
            "emitted": [len(r.emitted) for r in self.rounds],
        }

    @property
    def totals(self) -> dict[str, Any]:
        """The sums of round_totals."""
        return round_totals(**self.counts)


def never_trim(confidences: Sequence[float]) -> int:
    """Verify every draft."""
    return len(confidences)


@dataclass(frozen=True)
class Steps:
    """The steps of a round, each with the signature of its task; any of them can be a learner's own.

    block_size and keep_drafting look at the rounds so far; the others are pure functions of one round. Above
    temperature 0 the engine draws the drafts itself, without `draft`, and the text's law stays the target's only
    if `trim` decides on each draft from the confidences up to its own.
    """

    draft: Callable[..., list[int]] = dspark_markov_candidates  # 2.2; 2.1 without its last two arguments
    trim: Callable[[Sequence[float]], int] = never_trim  # 2.3, or 5.1 and 5.2 for a batch of one
    verify_greedy: Callable[..., dict[str, Any]] = verify_greedy  # 1.1
    verify_sampling: Callable[..., dict[str, Any]] = verify_sampling  # 1.4
    cut: Callable[..., list[int]] = cut_output  # 1.6
    rollback: Callable[[int, int], int] = rollback_rows  # 7.1
    block_size: Callable[[Trace], int] = lambda trace: 4  # 7.3
    keep_drafting: Callable[[Trace], bool] = lambda trace: True  # 7.4


PLAIN = Steps(keep_drafting=lambda trace: False)  # decoding token by token


def generate(
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    max_new_tokens: int,
    stop_tokens: Sequence[int] = (),
    temperature: float = 0.0,
    rng: np.random.Generator | None = None,
    steps: Steps = Steps(),
) -> Trace:
    """Generate a text by speculative decoding; it is the target's own text, whatever the drafter guesses.

    Args:
        target: the model whose text comes out; its cache must be empty.
        drafter: the model that guesses; its cache must be empty.
        prompt: at least one token.
        max_new_tokens: the cap, in tokens, at least 0.
        stop_tokens: tokens that end the output.
        temperature: of target and drafter; 0 is greedy.
        rng: the only source of chance; needed above temperature 0.
        steps: the steps of a round.

    Returns:
        The output, without the prompt, and a trace of every round.

    Raises:
        ValueError: no prompt, caches that are not empty, or a temperature without a generator.
        AssertionError: a step broke the cache contract.

    Source: Leviathan et al. (arXiv 2211.17192), Algorithm 1; DSpark (arXiv 2607.05147) for trimming.
    """
    context = token_ids("prompt", prompt)
    cap = whole_number("max_new_tokens", max_new_tokens, low=0)
    heat = number("temperature", temperature, low=0.0)
    if not context or target.cache.rows or drafter.cache.rows:
        raise ValueError("prompt must hold at least one token, and both caches must be empty.")
    if heat > 0.0 and rng is None:
        raise ValueError("rng is None, but a temperature above 0 needs a generator.")
    target.forward(context[:-1])
    drafter.cache.extend(context[:-1])
    trace = Trace()
    while len(trace.output) < cap and not set(trace.output[-1:]) & set(stop_tokens):
        anchor = [*context, *trace.output][-1]
        size = steps.block_size(trace) if steps.keep_drafting(trace) else 0
        this = Round()
        q = _draft(this, drafter, anchor, whole_number("steps.block_size", size, low=0), heat, rng, steps)
        this.verified = whole_number("steps.trim", steps.trim(this.confidences), low=0, high=len(this.drafted))
        emitted = _verify(this, target, anchor, q, heat, rng, steps)
        output = steps.cut([*trace.output, *emitted], stop_tokens, cap)
        this.emitted = output[len(trace.output) :]
        _commit(this, target, drafter, anchor, len(emitted) - len(this.emitted), steps)
        trace.output = output
        trace.rounds.append(this)
        _assert_contract(target, drafter, len(context) + len(output) - 1)
    return trace


def _draft(this: Round, drafter: Drafter, anchor: int, size: int, heat: float, rng: Any, steps: Steps) -> Logits:
    """Draft a block and return its rows q: those that its tokens were drawn from, or are the best of. (γ, V)"""
    start = time.perf_counter()
    q = np.zeros((0, 0))
    if size > 0:
        base = drafter.block_logits(anchor, size)  # (γ, V)
        if heat == 0.0:
            this.drafted = steps.draft(base, anchor, drafter.bias)
            q = softmax(corrected(base, [anchor, *this.drafted], drafter.bias))
        else:
            q = _sample(this.drafted, base, anchor, drafter.bias, heat, rng)
        # The drafter's best probability, which does not depend on the token that was drawn from the row.
        this.confidences = q.max(axis=1).tolist()
    this.seconds["draft"] = time.perf_counter() - start
    return q


def corrected(base: Logits, previous: Sequence[int], bias: Any) -> Logits:
    """Add to each row of base logits the bias of the token in front of it. (γ, V)"""
    zero = np.zeros(base.shape[1])
    return np.array([row + bias.get(token, zero) for row, token in zip(base, previous)])


def _sample(tokens: list[int], base: Logits, anchor: int, bias: Mapping[int, Any], heat: float, rng: Any) -> Logits:
    """Draw the tokens of a block one after the other and return the very rows they were drawn from. (γ, V)"""
    rows = []
    for row in base:  # (V,)
        previous = tokens[-1] if tokens else anchor
        rows.append(softmax(corrected(row[None], [previous], bias)[0] / heat))
        tokens.append(int(rng.choice(row.size, p=rows[-1])))
    return np.array(rows)


def _verify(this: Round, target: Target, anchor: int, q: Logits, heat: float, rng: Any, steps: Steps) -> list[int]:
    """Run the target over the anchor and the trimmed block, and return what the round emits."""
    start = time.perf_counter()
    drafts = this.drafted[: this.verified]
    logits = target.forward([anchor, *drafts])  # (1 + ℓ, V)
    if heat == 0.0:
        verdict = steps.verify_greedy(drafts, logits)
    else:
        seen = q[: this.verified] if drafts else logits[:0]  # (ℓ, V)
        verdict = steps.verify_sampling(drafts, seen, softmax(logits / heat), rng)
    this.accepted = verdict["accepted"]
    this.seconds["verify"] = time.perf_counter() - start
    tokens: list[int] = verdict["tokens"]
    return tokens


def _commit(this: Round, target: Target, drafter: Drafter, anchor: int, cut: int, steps: Steps) -> None:
    """Bring both caches to what was committed: refused drafts go, and so do tokens behind the end of the output."""
    target.cache.drop(steps.rollback(1 + this.verified, this.accepted) + cut)
    drafter.cache.extend([anchor, *this.emitted][:-1])


def _assert_contract(target: Target, drafter: Drafter, rows: int) -> None:
    for name, cache in (("target", target.cache), ("drafter", drafter.cache)):
        if cache.rows != rows:
            raise AssertionError(
                f"The {name}'s cache has {cache.rows} rows after the round, but {rows} tokens are committed before "
                "the next anchor."
            )
