"""The engine: a loop of rounds, draft → trim → verify → commit, with every step replaceable.

Any target and drafter that implement the two protocols of protocol.py will do. After every round both caches hold
exactly the committed tokens but the last; the engine asserts it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dspark_mini import kinds
from dspark_mini.contracts import takes
from dspark_mini.drafts import Logits, Probabilities, one_hot, sample_tree, softmax
from dspark_mini.protocol import Drafter, Rows, Target
from dspark_mini.rounds import rollback_rows
from dspark_mini.trace import PARTS, Round, Trace
from dspark_mini.trees import build_conditional_tree, verify_tree_greedy, verify_tree_sampling
from dspark_mini.verification import cut_output, verify_greedy, verify_sampling

__all__ = ["Drafter", "Round", "Steps", "Target", "Trace", "TreeSteps", "generate"]

clock = time.perf_counter  # of the seconds in a Round


def never_trim(confidences: Sequence[float]) -> int:
    """Verify every draft."""
    return len(confidences)


@dataclass(frozen=True)
class TreeSteps:
    """The steps of a round that drafts a tree; the whole tree is verified, because trimming is a rule for chains.

    At temperature 0 the tree grows best first; above, its shape is fixed by `widths`. It has at most block_size levels.
    """

    width: int = 3  # greedy: most children per node
    max_nodes: int = 16  # greedy
    widths: tuple[int, ...] = (3, 2, 1, 1)  # sampling: children per node, by depth
    build: Callable[..., dict[str, list[Any]]] = build_conditional_tree  # 6.1
    sample: Callable[..., tuple[list[int], list[int], Probabilities]] = sample_tree
    verify_greedy: Callable[..., dict[str, list[int]]] = verify_tree_greedy  # 6.3
    verify_sampling: Callable[..., dict[str, list[int]]] = verify_tree_sampling  # 6.4


@dataclass(frozen=True)
class Steps:
    """The steps of a round, each with the signature of its task; replace any of them with your own function.

    Without a draft step the drafter chains its block itself. A draft step runs at every temperature; if two are given,
    draft_sampling runs above temperature 0 and the other one at 0. block_size and keep_drafting see the rounds so far;
    the other steps see one round. The text follows the target's distribution only if `trim` decides about each draft
    from the confidences up to that draft.
    """

    draft_parallel: Callable[..., list[int]] | None = None  # 2.1
    draft_markov: Callable[..., list[int]] | None = None  # 2.2
    draft_sampling: Callable[..., tuple[list[int], Probabilities]] | None = None  # 3.2
    trim: Callable[[Sequence[float]], int] = never_trim  # 2.3, or 5.1 and 5.2 for a batch of one
    verify_greedy: Callable[..., dict[str, Any]] = verify_greedy  # 1.1
    verify_sampling: Callable[..., dict[str, Any]] = verify_sampling  # 1.4
    cut: Callable[..., list[int]] = cut_output  # 1.6
    rollback: Callable[[int, int], int] = rollback_rows  # 7.1
    block_size: Callable[[Trace], int] = lambda trace: 4  # 7.3
    keep_drafting: Callable[[Trace], bool] = lambda trace: True  # 7.4
    tree: TreeSteps | None = None  # draft trees instead of chains


@takes(
    prompt=kinds.tokens("n", empty=False),
    max_new_tokens=kinds.integer(),
    stop_tokens=kinds.tokens("stops"),
    temperature=kinds.temperature(),
    rng=kinds.generator(),
)
def generate(
    target: Target,
    drafter: Drafter | None,
    prompt: Sequence[int],
    max_new_tokens: int,
    stop_tokens: Sequence[int] = (),
    temperature: float = 0.0,
    rng: np.random.Generator | None = None,
    steps: Steps = Steps(),
) -> Trace:
    """Generate a text by speculative decoding; it is the target's own text, whatever the drafter guesses.

    Args:
        target: The model whose text comes out; its cache must be empty.
        drafter: The model that guesses; its cache must be empty. None decodes plainly, token by token.
        prompt: At least one token.
        max_new_tokens: The most tokens of the output, at least 0.
        stop_tokens: Tokens that end the output.
        temperature: Of target and drafter; greedy below 1e-5.
        rng: The only source of chance; needed above temperature 0.
        steps: The steps of a round.

    Returns:
        The output without the prompt, and a record of every round.

    Raises:
        ValueError: A bad argument, or more tokens than the target's cache has rows.
        AssertionError: A step broke the cache contract.

    Source: Leviathan et al. (arXiv 2211.17192), Algorithm 1; DSpark (arXiv 2607.05147) for trimming.
    """
    setup, trace = _Setup(target, drafter, stop_tokens, temperature, rng, steps), Trace()
    _begin(setup, prompt)
    while len(trace.output) < max_new_tokens and not set(trace.output[-1:]) & set(stop_tokens):
        anchor, left = (trace.output or prompt)[-1], max_new_tokens - len(trace.output)
        block_size = _block_size(setup, trace, min(left, target.cache.free) - 1)
        play = _tree_round if steps.tree is not None and block_size else _chain_round
        trace.rounds.append(play(setup, anchor, block_size, left))
        trace.output += trace.rounds[-1].emitted
        _assert_contract(len(prompt) + len(trace.output) - 1, target, drafter)
    return trace


@dataclass(frozen=True)
class _Setup:
    """What is the same in all rounds of a text."""

    target: Target
    drafter: Drafter | None
    stop_tokens: Sequence[int]
    temperature: float
    rng: Any
    steps: Steps


def _begin(setup: _Setup, prompt: Sequence[int]) -> None:
    """Check the models, and let them read the prompt but for its last token, the first anchor."""
    _check_models(setup.target, setup.drafter, setup.steps)
    if setup.rng is None and setup.temperature:
        raise ValueError("rng is None, but a temperature above 0 needs a generator.")
    setup.target.forward(prompt[:-1])
    if setup.drafter is not None:
        setup.drafter.cache.extend(prompt[:-1])


def _chain_round(setup: _Setup, anchor: int, block_size: int, left: int) -> Round:
    """Draft γ tokens one after the other, verify the first ℓ and commit the accepted ones; γ = 0 decodes plainly."""
    target, drafter, steps = setup.target, setup.drafter, setup.steps
    times, drafted, confidences, q = [clock(), clock()], list[int](), list[float](), np.zeros((0, 0))
    # Draft: tokens x_1..x_γ, and the rows q (γ, V) that they were drawn from.
    if drafter is not None and block_size:
        base = drafter.block_logits(anchor, block_size)  # (γ, V)
        times[1] = clock()
        drafted, q = _draft_chain(drafter, base, anchor, block_size, setup)
        confidences = drafter.confidences(anchor, drafted, base)
    # Trim: only the first ℓ drafts will be verified.
    length = kinds.whole("steps.trim", steps.trim(confidences) if drafted else 0, 0, len(drafted))
    drafts = drafted[:length]
    times.append(clock())
    # Verify: one forward scores the anchor and ℓ drafts.
    logits = target.forward([anchor, *drafts])  # (1 + ℓ, V)
    if setup.temperature:
        p = softmax(logits / setup.temperature)  # (1 + ℓ, V)
        verdict = steps.verify_sampling(drafts, q[:length] if drafts else p[:0], p, setup.rng)
    else:
        verdict = steps.verify_greedy(drafts, logits)
    accepted, tokens = verdict["accepted"], verdict["tokens"]
    times.append(clock())
    # Commit: rejected drafts leave the target's cache, and so do tokens past the end of the output.
    emitted = steps.cut(tokens, setup.stop_tokens, left)
    target.cache.drop(steps.rollback(1 + length, accepted) + len(tokens) - len(emitted))
    times.append(clock())
    if drafter is not None:
        drafter.cache.extend([anchor, *emitted[:-1]])
    times.append(clock())
    return Round(drafted, None, confidences, length, accepted, list(range(accepted)), emitted, _seconds(times))


def _tree_round(setup: _Setup, anchor: int, depth: int, left: int) -> Round:
    """Draft a tree of at most `depth` levels, verify it and commit the accepted path."""
    target, drafter, tree = setup.target, setup.drafter, setup.steps.tree
    assert drafter is not None and tree is not None
    nodes, times = target.cache.free - 1, [clock()]
    base = drafter.block_logits(anchor, depth)  # (γ, V)
    times.append(clock())
    if setup.temperature:
        widths = fitting_widths(tree.widths[:depth], nodes)
        drafted, parents, q = tree.sample(base, anchor, drafter.bias, widths, setup.temperature, setup.rng)
    else:
        grown = tree.build(base, anchor, drafter.bias, tree.width, min(tree.max_nodes, nodes))
        drafted, parents = grown["tokens"], grown["parents"]
    times.append(clock())
    logits = target.forward([anchor, *drafted], parents)  # (n + 1, V)
    if setup.temperature:
        verdict = tree.verify_sampling(drafted, parents, q, softmax(logits / setup.temperature), setup.rng)
    else:
        verdict = tree.verify_greedy(drafted, parents, logits.argmax(axis=1))
    path, tokens = verdict["path"], verdict["tokens"]
    if [(parents[node], drafted[node]) for node in path] != list(zip([-1, *path], tokens[:-1])):
        raise AssertionError(f"The path {path} is not a path of the tree, or its tokens are not {tokens[:-1]}.")
    times.append(clock())
    emitted = setup.steps.cut(tokens, setup.stop_tokens, left)
    target.cache.keep_last(1 + len(drafted), [0, *(node + 1 for node in path)][: len(emitted)])
    times.append(clock())
    drafter.cache.extend([anchor, *emitted[:-1]])
    times.append(clock())
    return Round(drafted, parents, [], len(drafted), len(path), path, emitted, _seconds(times))


def _seconds(times: Sequence[float]) -> dict[str, float]:
    """Turn the six times at which the parts of a round begin or end into seconds per part.

    Last of all the drafter projects the features of the committed tokens. In the papers its next forward does that,
    so it counts as draft.
    """
    *parts, extended = (end - start for start, end in zip(times, times[1:]))
    parts[0] += extended
    return dict(zip(PARTS, parts))


def _check_models(target: Target, drafter: Drafter | None, steps: Steps) -> None:
    """Check that both caches are empty, and that the drafter has what the steps ask of it."""
    for name, model in (("target", target), ("drafter", drafter)):
        if model is not None and model.cache.rows:
            raise ValueError(f"{name} has {model.cache.rows} rows in its cache, which must be empty: drop them first.")
    if steps.draft_parallel and steps.draft_markov:
        raise ValueError("steps has both draft_parallel and draft_markov; give one of them.")
    for name in ("draft_parallel", "draft_markov", "draft_sampling", "tree"):
        if drafter is not None and drafter.bias is None and getattr(steps, name) is not None:
            raise ValueError(
                f"steps.{name} needs a drafter whose rows depend on the previous token alone, but its bias is None."
            )


def _block_size(setup: _Setup, trace: Trace, useful: int) -> int:
    """Choose γ: what the steps ask for, but at most the `useful` drafts that the round could still commit."""
    if setup.drafter is None or useful <= 0 or not setup.steps.keep_drafting(trace):
        return 0
    return min(kinds.whole("steps.block_size", setup.steps.block_size(trace), low=0), useful)


def _draft_chain(
    drafter: Drafter, base: Logits, anchor: int, block_size: int, setup: _Setup
) -> tuple[list[int], Probabilities]:
    """Draft a chain with the given draft step, or else with the drafter; return γ tokens and their rows q (γ, V).

    A deterministic draft is a draw from one-hot rows, so verification at a temperature stays lossless.
    """
    steps, temperature, rng = setup.steps, setup.temperature, setup.rng
    rng = np.random.default_rng(0) if rng is None else rng  # greedy, but a 3.2 of one's own may still ask for one
    if steps.draft_sampling and (temperature or not (steps.draft_parallel or steps.draft_markov)):
        assert drafter.factors is not None
        return steps.draft_sampling(base, anchor, *drafter.factors, rng, temperature)
    if steps.draft_parallel:
        tokens = steps.draft_parallel(base)
    elif steps.draft_markov:
        tokens = steps.draft_markov(base, anchor, drafter.bias)
    else:
        return drafter.chain(base, anchor, block_size, temperature, rng)
    return tokens, one_hot(tokens, base.shape[1])


def fitting_widths(widths: Sequence[int], nodes: int) -> list[int]:
    """Cut the shape of a sampled tree to a number of nodes: (3, 2, 1) and 9 nodes give [3, 2]."""
    fitting, level = list[int](), 1  # level: the nodes of one depth, first the root
    for depth, width in enumerate(widths):
        width = min(kinds.whole(f"widths[{depth}]", width, low=1), nodes // level)
        if width == 0:
            break
        fitting.append(width)
        level *= width
        nodes -= level
    return fitting


def _assert_contract(rows: int, target: Target, drafter: Drafter | None) -> None:
    """Assert that the caches hold exactly the committed tokens but the last."""
    caches: dict[str, Rows] = {"target": target.cache} | ({} if drafter is None else {"drafter": drafter.cache})
    for name, cache in caches.items():
        if cache.rows != rows:
            raise AssertionError(
                f"The {name}'s cache has {cache.rows} rows after the round, but {rows} tokens are committed before "
                "the next anchor."
            )
