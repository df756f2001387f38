"""Confidence: how much of a drafted block is worth verifying, and how often its positions survive."""

from __future__ import annotations

import math

from dspark_mini.contracts import chance, chances, integer, integers, takes


@takes(confidences=chances("γ"), threshold=chance(), min_tokens=integer(low=1), max_tokens=integer(low="min_tokens"))
def choose_confident_prefix(confidences, threshold, min_tokens=1, max_tokens=8):
    """Choose the verify length: how many draft tokens, from the first on, go to the target.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        threshold: from 0 to 1; the first confidence below it ends the prefix.
        min_tokens: the least verify length, in tokens; no more than there are confidences are verified.
        max_tokens: the greatest verify length, in tokens.

    Returns:
        The verify length.

    Example:
        confidences [.9, .8, .3, .95], threshold .5, from 1 to 4 tokens  →  2

    Source: DSpark (arXiv 2607.05147): confidence head and threshold.
    """
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(confidences) and confidences[prefix] >= threshold:
        prefix += 1
    return min(max(prefix, min_tokens), max_tokens, len(confidences))
    ### END SOLUTION


@takes(block_size=integer(low=1), accepted_counts=integers("rounds", high="block_size", empty=True))
def conditional_acceptance(accepted_counts, block_size):
    """Measure how often each position of the block is accepted once the positions before it were.

    Args:
        accepted_counts: accepted draft tokens of each round, without the bonus token, from 0 to block_size.
        block_size: γ, the number of draft tokens per round.

    Returns:
        γ rates; nan where no round came that far.

    Example:
        accepted_counts [0, 1, 2, 2], block_size 3  →  [3/4, 2/3, 0.0]

    Source: DSpark (arXiv 2607.05147): conditional acceptance by position, Figure 2.
    """
    ### BEGIN SOLUTION
    reached = [sum(count >= k for count in accepted_counts) for k in range(block_size + 1)]  # rounds with ≥ k
    return [kept / tried if tried else math.nan for tried, kept in zip(reached, reached[1:])]
    ### END SOLUTION
