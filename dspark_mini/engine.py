"""The engine: one loop of draft → trim → verify → commit, in which every step can be swapped.

A target and a drafter are whatever answers the two protocols of protocol.py. After every round both caches hold
exactly the committed tokens but the last; the engine asserts it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dspark_mini.drafting import dspark_markov_candidates
from dspark_mini.drafts import Logits, Probabilities, corrected, sample_tree, softmax
from dspark_mini.inputs import number, token_ids, whole_number
from dspark_mini.protocol import Drafter, Target
from dspark_mini.rounds import rollback_rows
from dspark_mini.trace import Round, Trace
from dspark_mini.trees import build_conditional_tree, verify_tree_greedy, verify_tree_sampling
from dspark_mini.verification import cut_output, verify_greedy, verify_sampling

__all__ = ["PLAIN", "Drafter", "Round", "Steps", "Target", "Trace", "TreeSteps", "generate"]


def never_trim(confidences: Sequence[float]) -> int:
    """Verify every draft."""
    return len(confidences)


@dataclass(frozen=True)
class TreeSteps:
    """The steps of a round that drafts a tree; it is verified whole, since trim is a rule for chains.

    The greedy tree grows best first; its levels are at most block_size. Above temperature 0 its shape is fixed.
    """

    width: int = 3  # of the greedy tree: most children of a node
    max_nodes: int = 16  # of the greedy tree
    widths: tuple[int, ...] = (3, 2, 1, 1)  # of the drawn tree: children of each node, by depth
    build: Callable[..., dict[str, list[Any]]] = build_conditional_tree  # 6.1
    draw: Callable[..., tuple[list[int], list[int], Probabilities]] = sample_tree
    verify_greedy: Callable[..., dict[str, list[int]]] = verify_tree_greedy  # 6.3
    verify_sampling: Callable[..., dict[str, list[int]]] = verify_tree_sampling  # 6.4


@dataclass(frozen=True)
class Steps:
    """The steps of a round, each with the signature of its task; any of them can be a learner's own.

    block_size and keep_drafting look at the rounds so far; the others are pure functions of one round. Above
    temperature 0, and for a drafter without a bias, the drafter draws its own chain, without `draft`. The text's
    law stays the target's only if `trim` decides on each draft from the confidences up to its own.
    """

    draft: Callable[..., list[int]] = dspark_markov_candidates  # 2.2; 2.1 without its last two arguments
    trim: Callable[[Sequence[float]], int] = never_trim  # 2.3, or 5.1 and 5.2 for a batch of one
    verify_greedy: Callable[..., dict[str, Any]] = verify_greedy  # 1.1
    verify_sampling: Callable[..., dict[str, Any]] = verify_sampling  # 1.4
    cut: Callable[..., list[int]] = cut_output  # 1.6
    rollback: Callable[[int, int], int] = rollback_rows  # 7.1
    block_size: Callable[[Trace], int] = lambda trace: 4  # 7.3
    keep_drafting: Callable[[Trace], bool] = lambda trace: True  # 7.4
    tree: TreeSteps | None = None  # draft trees instead of chains


PLAIN = Steps(keep_drafting=lambda trace: False)  # decoding token by token


@dataclass(frozen=True)
class _Request:
    """What stays the same in all rounds of a text."""

    target: Target
    drafter: Drafter
    heat: float
    rng: Any
    steps: Steps


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
        ValueError: no prompt, caches that are not empty, a temperature without a generator, or trees from a drafter
            without a bias.
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
    if steps.tree is not None and drafter.bias is None:
        raise ValueError("steps.tree needs a drafter whose bias depends on the previous token alone, but bias is None.")
    request = _Request(target, drafter, heat, rng, steps)
    target.forward(context[:-1])
    drafter.cache.extend(context[:-1])
    trace = Trace()
    while len(trace.output) < cap and not set(trace.output[-1:]) & set(stop_tokens):
        this, anchor = Round(), (trace.output or context)[-1]
        size = steps.block_size(trace) if steps.keep_drafting(trace) else 0
        q = _draft(request, this, anchor, whole_number("steps.block_size", size, low=0))
        emitted = _verify(request, this, anchor, q)
        with _clock(this, "commit"):
            _commit(request, this, anchor, steps.cut(emitted, stop_tokens, cap - len(trace.output)), len(emitted))
        trace.output += this.emitted
        trace.rounds.append(this)
        _assert_contract(request, len(context) + len(trace.output) - 1)
    return trace


@contextmanager
def _clock(this: Round, part: str) -> Iterator[None]:
    """Note how long a part of the round takes."""
    start = time.perf_counter()
    yield
    this.seconds[part] = time.perf_counter() - start


def _draft(request: _Request, this: Round, anchor: int, size: int) -> Probabilities:
    """Draft a block and decide how much of it is verified; return the rows that it was drawn from. (γ, V)

    Of a tree these are the rows behind the root and behind each node, (n + 1, V).
    """
    q = np.zeros((0, 0))
    with _clock(this, "draft"):
        base = request.drafter.block_logits(anchor, size) if size else q  # (γ, V)
    with _clock(this, "head"):
        if size and request.steps.tree:
            q = _grow(request, this, base, anchor, request.steps.tree)
        elif size:
            q = _chain(request, this, base, anchor, size)
            this.confidences = request.drafter.confidences(anchor, this.drafted, q)
    length = request.steps.trim(this.confidences) if this.parents is None else len(this.drafted)
    this.verified = whole_number("steps.trim", length, low=0, high=len(this.drafted))
    return q


def _chain(request: _Request, this: Round, base: Logits, anchor: int, size: int) -> Probabilities:
    """Draft the tokens of a block one after the other; return the rows they were drawn from, or are the best of."""
    drafter, bias = request.drafter, request.drafter.bias
    if request.heat > 0.0 or bias is None:
        this.drafted, q = drafter.chain(base, anchor, size, request.heat, request.rng)
        return q
    this.drafted = request.steps.draft(base, anchor, bias)
    return softmax(np.array([corrected(row, token, bias) for row, token in zip(base, [anchor, *this.drafted])]))


def _grow(request: _Request, this: Round, base: Logits, anchor: int, tree: TreeSteps) -> Probabilities:
    """Draft a tree; return the rows that its nodes were drawn from, none where it is greedy."""
    bias = request.drafter.bias
    if request.heat > 0.0:
        this.drafted, this.parents, q = tree.draw(base, anchor, bias, tree.widths, request.heat, request.rng)
        return q
    grown = tree.build(base, anchor, bias, tree.width, tree.max_nodes)
    this.drafted, this.parents = grown["tokens"], grown["parents"]
    return np.zeros((0, 0))


def _verify(request: _Request, this: Round, anchor: int, q: Probabilities) -> list[int]:
    """Run the target over the anchor and what is verified; return what the round emits."""
    judge = _judge_chain if this.parents is None else _judge_tree
    with _clock(this, "verify"):
        logits = request.target.forward([anchor, *this.drafted[: this.verified]], this.parents)  # (1 + ℓ, V)
        return judge(request, this, logits, q)


def _judge_chain(request: _Request, this: Round, logits: Logits, q: Probabilities) -> list[int]:
    """Let the target's rows decide on a chain."""
    drafts = this.drafted[: this.verified]
    if request.heat == 0.0:
        verdict = request.steps.verify_greedy(drafts, logits)
    else:
        p = softmax(logits / request.heat)  # (1 + ℓ, V)
        verdict = request.steps.verify_sampling(drafts, q[: this.verified] if drafts else p[:0], p, request.rng)
    this.accepted, this.path = verdict["accepted"], list(range(verdict["accepted"]))
    return list(verdict["tokens"])


def _judge_tree(request: _Request, this: Round, logits: Logits, q: Probabilities) -> list[int]:
    """Let the target's rows decide on a tree, and assert that the path is one, and is what is emitted."""
    tree, parents = request.steps.tree, this.parents
    assert tree is not None and parents is not None
    if request.heat == 0.0:
        verdict = tree.verify_greedy(this.drafted, parents, logits.argmax(axis=1))
    else:
        verdict = tree.verify_sampling(this.drafted, parents, q, softmax(logits / request.heat), request.rng)
    this.path, this.accepted, emitted = verdict["path"], len(verdict["path"]), verdict["tokens"]
    walk = [(parents[node], this.drafted[node]) for node in this.path]
    if walk != list(zip([-1, *this.path], emitted[:-1])):
        raise AssertionError(f"The path {this.path} is no path of the tree, or its tokens are not {emitted[:-1]}.")
    return emitted


def _commit(request: _Request, this: Round, anchor: int, output: list[int], emitted: int) -> None:
    """Bring both caches to what was committed: refused drafts go, and so do tokens behind the end of the output."""
    this.emitted = output
    if this.parents is None:
        rows = request.steps.rollback(1 + this.verified, this.accepted) + emitted - len(output)
        request.target.cache.drop(rows)
    else:
        request.target.cache.keep_last(1 + this.verified, [0, *(node + 1 for node in this.path)][: len(output)])
    request.drafter.cache.extend([anchor, *output[:-1]])


def _assert_contract(request: _Request, rows: int) -> None:
    for name, cache in (("target", request.target.cache), ("drafter", request.drafter.cache)):
        if cache.rows != rows:
            raise AssertionError(
                f"The {name}'s cache has {cache.rows} rows after the round, but {rows} tokens are committed before "
                "the next anchor."
            )
