"""The draft record: what a drafter hands to the target verifier, whatever its mode."""

from __future__ import annotations

from dspark_mini.confidence import choose_confident_prefix
from dspark_mini.contracts import chance, chances, integer, one_of, takes, tokens


@takes(
    mode=one_of("dflash", "dspark"),
    candidates=tokens("γ", empty=False),
    confidences=chances("γ"),
    threshold=chance(),
    max_tokens=integer(low=1),
)
def build_draft_record(mode, candidates, confidences, threshold, max_tokens=8):
    """Describe one drafted block for the verifier: confidence trims it, and only the target accepts.

    Args:
        mode: 'dflash' or 'dspark'.
        candidates: γ draft tokens.
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        threshold: from 0 to 1; the first confidence below it ends the prefix.
        max_tokens: the greatest verify length, in tokens.

    Returns:
        A dict: mode, block_tokens (all γ), verify_tokens (the confident prefix), proposed (γ) and
        verify_budget (ℓ, the number of verify_tokens).

    Example:
        'dspark', [4, 5, 6], [.9, .7, .2], .5, 3  →  verify_tokens [4, 5], proposed 3, verify_budget 2

    Source: DSpark (arXiv 2607.05147): the target verifies the scheduled prefix of the block.
    """
    ### BEGIN SOLUTION
    budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)
    return {
        "mode": mode,
        "block_tokens": candidates,
        "verify_tokens": candidates[:budget],
        "proposed": len(candidates),
        "verify_budget": budget,
    }
    ### END SOLUTION
