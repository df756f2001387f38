"""Drawing drafts: a chain or a tree, token by token, together with the rows that the tokens were drawn from.

Verification divides by the drafter's probabilities, so whoever draws a token also returns the very row of the draw.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.floating[Any]]
Probabilities = NDArray[np.float64]


def softmax(logits: Logits) -> Probabilities:
    """Turn logits into probabilities along the last axis, in double precision. (…, V)"""
    scores = np.asarray(logits, dtype=np.float64)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rows: Probabilities = weights / weights.sum(axis=-1, keepdims=True)
    return rows


def best_probabilities(logits: Logits) -> list[float]:
    """Return the probability of the most likely token of each row. (γ,)"""
    rest = np.exp(logits - logits.max(axis=-1, keepdims=True)).sum(axis=-1)  # (γ,) all weights, where the best has 1
    best: list[float] = (1.0 / rest).tolist()
    return best


def one_hot(tokens: Sequence[int], vocabulary: int) -> Probabilities:
    """Return the rows that tokens chosen without chance are drawn from. (γ, V)"""
    rows = np.zeros((len(tokens), vocabulary))
    rows[np.arange(len(tokens)), tokens] = 1.0
    return rows


def draw(weights: Probabilities, rng: Any) -> int:
    """Draw a token with probability proportional to its weight, from one uniform number.

    Args:
        weights: (V,) nonnegative and not all zero; they need not sum to 1.
        rng: The only source of chance.

    Returns:
        A token of positive weight, whatever rounding does to the sum.
    """
    sums = weights.cumsum()  # (V,)
    last = int(sums.searchsorted(sums[-1]))  # the last token with a positive weight
    # bisect only compares the uniform number, so laws.py can follow the draw; searchsorted would convert it.
    return bisect_right(sums, rng.random() * sums[-1], 0, last)


def draw_distinct(weights: Probabilities, count: int, rng: Any) -> list[int]:
    """Draw tokens one after the other without replacement.

    Args:
        weights: (V,) nonnegative.
        count: How many tokens; fewer are drawn if fewer have a positive weight.
        rng: The only source of chance.

    Returns:
        Tokens in the order in which they were drawn.
    """
    rest, drawn = weights.copy(), list[int]()
    for _ in range(min(count, int(np.count_nonzero(rest)))):
        drawn.append(draw(rest, rng))
        rest[drawn[-1]] = 0.0
    return drawn


def corrected(row: Logits, previous: int, bias: Any) -> Logits:
    """Add the bias of the previous token, if it has one, to a row of base logits. (V,)"""
    extra = bias.get(previous)
    return row if extra is None else row + extra


def sample_chain(
    anchor: int,
    block_size: int,
    next_logits: Callable[[int, int], Logits],
    temperature: float,
    rng: np.random.Generator | None,
) -> tuple[list[int], Probabilities]:
    """Draft a block token by token, each from the logits that the token before it leads to.

    Args:
        anchor: The token before the block.
        block_size: γ, at least 1.
        next_logits: Called with a position k = 0..γ−1 and the token before it; returns the logits (V,) of position k.
        temperature: Of the draws; at 0 each token is the best of its row.
        rng: The only source of chance; may be None at temperature 0.

    Returns:
        γ tokens, and the rows (γ, V) that they were drawn from; at temperature 0 the rows at temperature 1.

    Source: DSpark (arXiv 2607.05147), semi-autoregressive generation.
    """
    previous, tokens, rows = anchor, list[int](), list[Probabilities]()
    for k in range(block_size):
        logits = next_logits(k, previous)  # (V,)
        rows.append(softmax(logits / (temperature or 1.0)))
        previous = draw(rows[-1], rng) if temperature else int(logits.argmax())
        tokens.append(previous)
    return tokens, np.array(rows)


def sample_markov_chain(
    base: Logits, anchor: int, bias: Any, temperature: float, rng: np.random.Generator | None
) -> tuple[list[int], Probabilities]:
    """Draft a block from parallel base logits (γ, V), each row corrected by the token before it; see sample_chain."""
    return sample_chain(anchor, len(base), lambda k, token: corrected(base[k], token, bias), temperature, rng)


def sample_tree(
    base: Logits, anchor: int, bias: Any, widths: Sequence[int], temperature: float, rng: np.random.Generator
) -> tuple[list[int], list[int], Probabilities]:
    """Draw a tree of a fixed shape, the children of each node without replacement from the node's row.

    The shape must not depend on the tokens drawn; only then can the tree be verified without loss.

    Args:
        base: (γ, V) base logits.
        anchor: The token at the root.
        bias: Answers .get(token) with a row (V,), or None for a token without a bias.
        widths: Children per node, by depth, the root first; the tree has at most γ levels.
        temperature: Of the draws, above 0.
        rng: The only source of chance.

    Returns:
        Tokens (n,) and parents (n,), level by level, −1 for a child of the root, siblings in the order of their
        draws; and the next-token rows (n + 1, V) at the root and at each node, uniform at leaves.

    Source: drawing without replacement: arXiv 2402.14160; the bias: DSpark (arXiv 2607.05147).
    """
    tokens, parents, q = list[int](), list[int](), list[Probabilities]()  # q: one array per level
    level = range(-1, 0)  # the nodes of one depth; first the root
    for row, width in zip(base, widths):
        logits = [corrected(row, anchor if node < 0 else tokens[node], bias) for node in level]
        q.append(softmax(np.array(logits) / temperature))  # (nodes of the level, V)
        for node, node_row in zip(level, q[-1]):
            children = draw_distinct(node_row, width, rng)
            tokens += children
            parents += [node] * len(children)
        level = range(level.stop, len(tokens))
    q.append(np.full((len(level), base.shape[1]), 1.0 / base.shape[1]))
    return tokens, parents, np.concatenate(q)


def spread(rows: Logits, ids: Sequence[int] | None, vocabulary: int, missing: float = -np.inf) -> Logits:
    """Spread rows over a draft vocabulary to the target's vocabulary, in double precision. (…, V)

    Args:
        rows: (…, V_draft).
        ids: The target's id of each column; None if the columns are the target's.
        vocabulary: V.
        missing: What stands at tokens that cannot be drafted.
    """
    if ids is None:
        return rows.astype(np.float64)
    full = np.full((*rows.shape[:-1], vocabulary), missing)
    full[..., list(ids)] = rows
    return full
