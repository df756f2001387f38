"""Confidence: how much of a drafted block is worth verifying, and how often its positions survive."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dspark_mini.inputs import unit_number, unit_numbers, whole_number, whole_numbers


def choose_confident_prefix(
    confidences: ArrayLike,
    threshold: float,
    min_tokens: int = 1,
    max_tokens: int = 8,
) -> int:
    """Choose the verify length: how many draft tokens, from the first on, go to the target.

    The first confidence below the threshold ends the prefix. One that equals the threshold passes, and what
    comes behind the stop does not count, however high. The length is then clamped:
    min(max(prefix, min_tokens), max_tokens, number of confidences).

    Args:
        confidences: (γ,) chances in [0, 1] that token k survives, given that those before it did.
        threshold: number in [0, 1].
        min_tokens: least verify length, in tokens, at least 1.
        max_tokens: greatest verify length, in tokens, at least min_tokens.

    Returns:
        The verify length, a plain int.

    Raises:
        ValueError: no confidences, one of them outside [0, 1] or NaN (also behind the stop), a threshold
            outside [0, 1], or counts that break 1 ≤ min_tokens ≤ max_tokens.

    Example:
        confidences [.9, .8, .3, .95], threshold .5, from 1 to 4 tokens  →  2

    Source: DSpark (arXiv 2607.05147): confidence head and threshold.
    """
    values = unit_numbers("confidences", confidences)  # (γ,)
    threshold = unit_number("threshold", threshold)
    min_tokens = whole_number("min_tokens", min_tokens, low=1)
    max_tokens = whole_number("max_tokens", max_tokens, low=min_tokens)
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(values) and values[prefix] >= threshold:
        prefix += 1
    return min(max(prefix, min_tokens), max_tokens, len(values))
    ### END SOLUTION


def conditional_acceptance(accepted_counts: ArrayLike, block_size: int) -> list[float]:
    """Measure how often each position of the block survives once the positions before it did.

    Position k (k = 1..γ) gets the number of rounds with at least k accepted tokens, divided by the number
    with at least k − 1. Where no round came that far, the rate is unknown: nan.

    Args:
        accepted_counts: accepted draft tokens of each round, without the bonus token, 0 to block_size.
        block_size: γ, the number of drafted tokens a round, at least 1.

    Returns:
        γ rates, plain floats; all of them nan when there are no rounds.

    Raises:
        ValueError: a count that is no whole number from 0 to block_size, or a block_size below 1.

    Example:
        accepted_counts [0, 1, 2, 2], block_size 3  →  [3/4, 2/3, 0.0]

    Source: DSpark (arXiv 2607.05147): conditional acceptance by position, Figure 2.
    """
    block_size = whole_number("block_size", block_size, low=1)
    rounds = whole_numbers("accepted_counts", accepted_counts, low=0, high=block_size)
    counts = np.array(rounds, dtype=int)  # (rounds,)
    ### BEGIN SOLUTION
    reached = [int((counts >= k).sum()) for k in range(block_size + 1)]  # rounds with ≥ k accepted
    return [kept / tried if tried else math.nan for tried, kept in zip(reached, reached[1:])]
    ### END SOLUTION
