"""Drafts that are drawn: a chain or a tree from a block's base logits and a bias, with the rows they were drawn from.

Verification divides by the drafter's probabilities, so whoever draws also returns the very rows of the draw.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import whole_numbers

Logits = NDArray[np.floating[Any]]
Probabilities = NDArray[np.float64]


def softmax(logits: Logits) -> Probabilities:
    """Return the distributions that rows of logits stand for, along the last axis, in double precision."""
    scores = np.asarray(logits, dtype=np.float64)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rows: Probabilities = weights / weights.sum(axis=-1, keepdims=True)
    return rows


def draw(weights: Probabilities, rng: Any) -> int:
    """Draw a token with a probability in proportion to its weight, from one uniform number.

    Args:
        weights: (V,) not negative, some of them positive; they need not sum to 1.
        rng: the only source of chance.

    Returns:
        A token of positive weight, whatever rounding does to the sum.
    """
    sums = weights.cumsum()  # (V,)
    last = int(sums.searchsorted(sums[-1]))  # where the sum is complete: nothing behind it has any weight
    # bisect, and not searchsorted, because it only compares the number: so laws.py can follow the draw.
    return bisect_right(sums, rng.random() * sums[-1], 0, last)


def draw_distinct(weights: Probabilities, count: int, rng: Any) -> list[int]:
    """Draw tokens one after the other without replacement: what was drawn leaves, the rest is normalised again.

    Args:
        weights: (V,) not negative.
        count: how many tokens; there are fewer where fewer have a weight.
        rng: the only source of chance.

    Returns:
        Tokens in the order of their draws.
    """
    rest, drawn = weights.copy(), list[int]()
    for _ in range(min(count, int(np.count_nonzero(rest)))):
        drawn.append(draw(rest, rng))
        rest[drawn[-1]] = 0.0
    return drawn


def corrected(row: Logits, previous: int, bias: Any) -> Logits:
    """Add to a row of base logits the bias of the token in front of it, if that has one. (V,)"""
    extra = bias.get(previous)
    return row if extra is None else row + extra


def choose(scores: Logits, temperature: float, rng: np.random.Generator | None) -> tuple[int, Probabilities]:
    """Draw a token from a row of logits, or take the best at temperature 0.

    Returns:
        The token, and the row (V,) it was drawn from; at temperature 0 the row at temperature 1.
    """
    row = softmax(scores / (temperature or 1.0))
    return (draw(row, rng) if temperature else int(scores.argmax())), row


def self_fed_chain(
    first: Logits, size: int, temperature: float, rng: np.random.Generator | None, forward: Callable[[int], Logits]
) -> tuple[list[int], Probabilities]:
    """Draw the tokens of a block by a forward for each of them, as an autoregressive drafter does.

    Args:
        first: (1, V) the logits of the first token.
        size: γ.
        temperature: of the draws; at 0 each token is the best of its row.
        rng: the only source of chance.
        forward: returns the logits (1, V) behind a drafted token.

    Returns:
        γ tokens, and the rows (γ, V) that they were drawn from.
    """
    logits, tokens, rows = first, list[int](), list[Probabilities]()
    for k in range(size):
        token, row = choose(logits[0], temperature, rng)
        tokens.append(token)
        rows.append(row)
        if k + 1 < size:
            logits = forward(token)
    return tokens, np.array(rows)


def spread(rows: Logits, ids: Sequence[int] | None, vocabulary: int, missing: float = -np.inf) -> Logits:
    """Put rows over a draft vocabulary at its ids in the target's, in double precision. (…, V)

    Args:
        rows: (…, V_draft).
        ids: the target's id of each column; without them the columns are the target's.
        vocabulary: V.
        missing: what stands at a token that cannot be drafted.
    """
    if ids is None:
        return rows.astype(np.float64)
    full = np.full((*rows.shape[:-1], vocabulary), missing)
    full[..., list(ids)] = rows
    return full


def sample_chain(
    base: Logits, anchor: int, bias: Any, temperature: float, rng: np.random.Generator | None
) -> tuple[list[int], Probabilities]:
    """Draw the tokens of a block one after the other, each from its row corrected by the token before it.

    Args:
        base: (γ, V) base logits.
        anchor: the token in front of the block.
        bias: answers .get(token) with a row (V,), or None where that token adds nothing.
        temperature: of the draws; at 0 each token is the best of its row.
        rng: the only source of chance; not needed at temperature 0.

    Returns:
        γ tokens, and the rows (γ, V) that they were drawn from; at temperature 0 the rows at temperature 1.

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation.
    """
    tokens, weights = list[int](), np.empty(base.shape)  # (γ, V)
    for k, row in enumerate(base):  # (V,)
        scores = corrected(row, tokens[-1] if tokens else anchor, bias).astype(np.float64)
        weights[k] = np.exp((scores - scores.max()) / (temperature or 1.0))
        tokens.append(draw(weights[k], rng) if temperature else int(scores.argmax()))
    return tokens, weights / weights.sum(axis=1, keepdims=True)


def sample_tree(
    base: Logits, anchor: int, bias: Any, widths: Sequence[int], temperature: float, rng: np.random.Generator
) -> tuple[list[int], list[int], Probabilities]:
    """Draw a tree of a fixed shape, each node's children without replacement from the row behind the node.

    The shape may not depend on the tokens drawn; then the tree can be verified without loss.

    Args:
        base: (γ, V) base logits.
        anchor: the token at the root.
        bias: answers .get(token) with a row (V,), or None where that token adds nothing.
        widths: how many children a node has, by depth, the root's first; the tree has at most γ levels.
        temperature: of the draws, above 0.
        rng: the only source of chance.

    Returns:
        Tokens (n,) and parents (n,), level by level, −1 for a child of the root, siblings in the order of their
        draws; and the rows (n + 1, V) behind the root and each node, uniform where nothing was drawn from a row.

    Source: drawing without replacement: arXiv 2402.14160; the bias: DSpark (arXiv 2607.05147).
    """
    tokens, parents, q = list[int](), list[int](), list[Probabilities]()  # q: by levels
    level = range(-1, 0)  # the nodes of one depth, at first the root
    for row, width in zip(base, whole_numbers("widths", widths, low=1)):
        scores = [corrected(row, anchor if node < 0 else tokens[node], bias) for node in level]
        q.append(softmax(np.array(scores) / temperature))  # (nodes of the level, V)
        for node, behind in zip(level, q[-1]):
            children = draw_distinct(behind, width, rng)
            tokens += children
            parents += [node] * len(children)
        level = range(level.stop, len(tokens))
    q.append(np.full((len(level), base.shape[1]), 1.0 / base.shape[1]))
    return tokens, parents, np.concatenate(q)
