"""Whether a tree can pay at temperature 1: the best shape of all, found as Sequoia does, against the best chain.

Children of a node are drawn without replacement, and one is accepted with a chance that depends on its rank among them
and on the depth. Given these chances, measured on the model, the best shape of every size follows by dynamic
programming, and the measured times of a round say which size is fastest. Source: Sequoia (arXiv 2402.12374).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recordings import Recorder, record
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.drafts import draw_distinct
from dspark_mini.lm import load, prompts
from dspark_mini.race import BLOCK_SIZE, forward_times
from dspark_mini.trace import PARTS
from dspark_mini.verification import verify_sampling

RANKS, MOST_NODES, MOST_PROMPTS = 4, 16, 40
HOW = (
    "Decoding with DSpark's chain, NumPy, one request. At every depth that a round reached, siblings were drawn "
    "without replacement, and the chance of each to be accepted noted. A chain is the best shape with one child per "
    "node. A round's time is the draft, a draw per node, a forward over all nodes and the anchor, and the commit, all "
    "measured. `bound` does not charge a tree's draws beyond those of a chain as deep. The shape was chosen on the "
    "rounds that it is judged by, and the chances of siblings are those on a chain's path: both flatter the tree."
)
Floats = NDArray[np.float64]
Shape = tuple["Shape", ...]  # the subtrees of a node


def trees(recorder: Recorder) -> dict[str, Any] | None:
    """Search the fastest tree and the fastest chain of DSpark in every domain."""
    settings = recorder.settings
    if not settings.has("dspark"):
        return None
    model = load(settings.weights, ["dspark"])
    ours: dict[str, Any] = {"how": HOW, "hardware": hardware("numpy", "cpu", None), "by_domain": {}}
    for domain in DOMAINS:
        recorder.say(f"  {domain}")
        texts = prompts(model.tokenizer, domain, min(settings.prompts, MOST_PROMPTS))
        seen: list[list[Floats]] = [[] for _ in range(BLOCK_SIZE)]
        timed, _ = (
            record(model, "dspark", texts, 1.0, BLOCK_SIZE, settings.max_new_tokens, verify_sampling=verify)
            for verify in (verify_sampling, _watching(seen))
        )
        chances = np.array([np.mean(rows, axis=0) if rows else np.zeros(RANKS) for rows in seen])  # (γ, RANKS)
        forward = forward_times(model, texts[0], range(1, MOST_NODES + 2), clock=time.process_time)
        seconds = dict(zip(PARTS, np.median(timed.seconds, axis=0).tolist()))
        seconds["verify"] = max(0.0, seconds["verify"] - forward[1 + BLOCK_SIZE])  # beside the forward
        ours["by_domain"][domain] = {
            "chances": chances.tolist(),
            "seconds": seconds,
            "forward_seconds": list(forward.values()),
            **fastest(chances, seconds, list(forward.values())),
        }
    return ours


def _watching(seen: list[list[Floats]]) -> Callable[..., dict[str, Any]]:
    """Return a verification that notes the chances of siblings at every depth that a round reaches."""
    own = np.random.default_rng(0)

    def verify(drafts: list[int], q: Floats, p: Floats, rng: np.random.Generator) -> dict[str, Any]:
        verdict: dict[str, Any] = verify_sampling(drafts, q, p, rng)
        for depth in range(min(verdict["accepted"] + 1, len(drafts))):
            seen[depth].append(rank_chances(p[depth], q[depth], RANKS, own))
        return verdict

    return verify


def rank_chances(p: Floats, q: Floats, ranks: int, rng: np.random.Generator) -> Floats:
    """Draw siblings without replacement, and return each one's chance to be the one that is accepted. (ranks,)

    Args:
        p, q: (V,) next-token rows of target and drafter.
        ranks: How many siblings.
        rng: Of the draws.
    """
    chances, none_before, q = np.zeros(ranks), 1.0, q.copy()
    for rank, token in enumerate(draw_distinct(q, ranks, rng)):
        accepted = min(1.0, p[token] / q[token])
        chances[rank] = none_before * accepted
        none_before *= 1.0 - accepted
        rest = np.maximum(p - q, 0.0)
        p = rest / rest.sum() if rest.any() else p
        q[token] = 0.0
        q /= q.sum() or 1.0
    return chances


def best_shapes(chances: Floats, most: int) -> list[tuple[float, Shape]]:
    """Find the shapes of which most is accepted, for every number of nodes.

    Args:
        chances: (γ, ranks) that the child of a rank is accepted, given that its parent was, by depth.
        most: The most nodes.

    Returns:
        For n = 0 … most nodes, the expected number of accepted ones, and the subtrees of the root.
    """
    nothing: list[tuple[float, Shape]] = [(0.0, ())] * (most + 1)
    below = nothing  # the best under a node, by the number of nodes; nothing under the last level
    for row in chances[::-1].tolist():
        best = nothing  # the best children from some rank on
        for chance in row[::-1]:
            options = [
                [
                    (chance * (1.0 + below[size - 1][0]) + best[n - size][0], (below[size - 1][1], *best[n - size][1]))
                    for size in range(1, n + 1)
                ]
                for n in range(most + 1)
            ]
            best = [max([(0.0, ()), *some], key=lambda option: option[0]) for some in options]
        below = best
    return below


def fastest(chances: Floats, seconds: dict[str, float], forward: Sequence[float]) -> dict[str, Any]:
    """Return the fastest chain and tree by number of nodes, in tokens per second, and the tree's gain.

    Args:
        chances: (γ, ranks) see best_shapes.
        seconds: Of the parts of a round with γ drafts, without the target's forward.
        forward: Seconds of the target's forward over 1, 2, … tokens.
    """
    most, draw = len(forward) - 1, seconds["head"] / len(chances)
    fixed = seconds["draft"] + seconds["verify"] + seconds["commit"]
    chain, tree = best_shapes(chances[:, :1], most)[: len(chances) + 1], best_shapes(chances, most)

    def speeds(shapes: list[tuple[float, Shape]], draws: Callable[[int], int]) -> list[float]:
        return [(1.0 + shapes[n][0]) / (fixed + draws(n) * draw + forward[n]) for n in range(len(shapes))]

    ways = {
        "chain": speeds(chain, lambda n: n),
        "tree": speeds(tree, lambda n: n),
        "bound": speeds(tree, lambda n: len(widths(tree[n][1]))),
    }
    best = {name: int(np.argmax(values)) for name, values in ways.items()}
    best_chain = ways["chain"][best["chain"]]
    return {
        "tokens_per_second": ways,
        "nodes": best,
        "tau": {"chain": 1.0 + chain[best["chain"]][0], "tree": 1.0 + tree[best["tree"]][0]},
        "widths": widths(tree[best["tree"]][1]),
        "gain": {name: ways[name][best[name]] / best_chain - 1.0 for name in ("tree", "bound")},
    }


def widths(shape: Shape) -> list[int]:
    """Return the number of nodes on each level of a shape."""
    return [len(shape), *widths(tuple(child for subtree in shape for child in subtree))] if shape else []
