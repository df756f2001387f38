"""The draft record: the one thing a drafter hands to the target verifier, whatever its mode."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from dspark_mini.confidence import choose_confident_prefix
from dspark_mini.inputs import check_same_length, drafter_mode, token_ids


def build_draft_record(
    mode: str, candidates: ArrayLike, confidences: ArrayLike, threshold: float, max_tokens: int = 8
) -> dict[str, Any]:
    """Put one drafted block into the form that the target verifier consumes, in either mode.

    Confidence trims the budget: verify_tokens are the first choose_confident_prefix(confidences, threshold,
    1, max_tokens) candidates. It accepts nothing; only the target does that.

    Args:
        mode: 'dflash' or 'dspark'.
        candidates: (γ,) draft tokens, token ids from 0.
        confidences: (γ,) numbers in [0, 1], one a candidate.
        threshold: number in [0, 1].
        max_tokens: greatest verify length, in tokens, at least 1.

    Returns:
        A dict of plain ints and lists: mode; block_tokens, all γ candidates; verify_tokens, the prefix that
        the target will check; proposed, γ; verify_budget, the number ℓ of verify_tokens.

    Raises:
        ValueError: another mode, a candidate that is no token id, another number of confidences than of
            candidates, or what choose_confident_prefix refuses.

    Example:
        'dspark', candidates [4, 5, 6], confidences [.9, .7, .2], threshold .5, max_tokens 3
        →  verify_tokens [4, 5], proposed 3, verify_budget 2

    Source: DSpark (arXiv 2607.05147): the target verifies the scheduled prefix of the block.
    """
    mode = drafter_mode("mode", mode)
    block = token_ids("candidates", candidates)
    check_same_length("candidates", candidates, "confidences", confidences)
    ### BEGIN SOLUTION
    budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)
    return {
        "mode": mode,
        "block_tokens": block,
        "verify_tokens": block[:budget],
        "proposed": len(block),
        "verify_budget": budget,
    }
    ### END SOLUTION
