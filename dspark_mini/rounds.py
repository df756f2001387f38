"""The round loop's own decisions: trim before the forward, drop rejected rows, adapt, fall back, and count."""

from __future__ import annotations

import math

import numpy as np

from dspark_mini.contracts import chance, chances, integer, integers, number, numbers, takes, tokens
from dspark_mini.rules import accepted_of_verified, emitted_of_drafted, rounds_add_up, some_draft_was_verified


@takes(verified_rows=integer(low=1), accepted=integer(below="verified_rows"))
def rollback_rows(verified_rows, accepted):
    """Count the rows that the cache has to drop after a round of verification.

    The forward wrote one row for the anchor and one per verified draft. The rows of the anchor and of the accepted
    drafts stay; the last emitted token has no row yet, because it is the next anchor.

    Args:
        verified_rows: 1 + ℓ, all rows that the forward wrote.
        accepted: Number of accepted drafts, 0 to ℓ.

    Returns:
        The number of rows to drop from the end of the cache.

    Example:
        verified_rows 5 (the anchor and four drafts), accepted 3  →  1

    Source: the cache contract of speculative decoding: after a round the cache holds exactly the committed tokens but
        the last.
    """
    ### BEGIN SOLUTION
    return verified_rows - 1 - accepted
    ### END SOLUTION


@takes(
    draft_tokens=tokens("γ"),
    confidences=chances("γ", empty=True),
    target_tokens=integers("γ+1", low=-1),
    threshold=chance(),
)
def decode_round(draft_tokens, confidences, target_tokens, threshold):
    """Play one greedy round: trim the block, verify what is left, and say what the cache drops.

    Args:
        draft_tokens: list (γ,), drafted tokens x_1..x_γ; there may be none.
        confidences: (γ,) confidences of the drafts; the first one below the threshold ends the block, at length ℓ ≥ 0.
        target_tokens: (γ+1,) the target's choice after the anchor and the first k drafts; −1 in rows past ℓ, which are
            never computed.
        threshold: From 0 to 1; an equal confidence passes.

    Returns:
        A dict: verified_rows and dropped_rows, rows of the cache; accepted, drafts; tokens, the accepted drafts and one
        token of the target's.

    Example:
        draft_tokens [5, 7, 2], confidences [.9, .8, .3], target_tokens [5, 6, 1, −1], threshold .5
        →  {'verified_rows': 3, 'accepted': 1, 'tokens': [5, 6], 'dropped_rows': 1}

    Source: DSpark (arXiv 2607.05147): the verified prefix; Leviathan et al. (arXiv 2211.17192).
    """
    ### BEGIN SOLUTION
    length = 0
    while length < len(draft_tokens) and confidences[length] >= threshold:
        length += 1
    accepted = 0
    while accepted < length and draft_tokens[accepted] == target_tokens[accepted]:
        accepted += 1
    emitted = [*draft_tokens[:accepted], target_tokens[accepted]]
    rows = {"verified_rows": 1 + length, "dropped_rows": length - accepted}
    return {"accepted": accepted, "tokens": emitted, **rows}
    ### END SOLUTION


@takes(
    accepted_of_verified,
    some_draft_was_verified,
    accepted_counts=integers("n"),
    verified_counts=integers("n"),
    round_times=numbers("sizes", above=0.0),
)
def best_block_size(accepted_counts, verified_counts, round_times):
    """Choose how many tokens to draft next, from what the last rounds accepted.

    One rate α stands for every position: accepted drafts over tested drafts. A round tests its accepted drafts and, if
    it rejected one, that one; drafts after a rejection were never tested.

    Args:
        accepted_counts: list (n,), accepted drafts of each recent round.
        verified_counts: list (n,), verified drafts of the same rounds.
        round_times: (γ_max + 1,) the time of a round with γ drafts, in any unit; entry 0 is a step of plain decoding.

    Returns:
        The γ whose 1 + α + … + α^γ tokens per round cost the least time each; of equal ones the smallest.

    Example:
        accepted_counts [1, 2], verified_counts [2, 2], round_times [4, 5, 6]
        α = 3 / 4; 1 / 4 = .25, 1.75 / 5 = .35, 2.3125 / 6 = .385  →  2

    Source: Leviathan et al. (arXiv 2211.17192), Section 3: the choice of γ.
    """
    ### BEGIN SOLUTION
    tested = sum(min(accepted + 1, verified) for accepted, verified in zip(accepted_counts, verified_counts))
    alpha = sum(accepted_counts) / tested
    tokens_per_round = np.cumsum(alpha ** np.arange(round_times.size))  # (γ_max + 1,)
    return int(np.argmax(tokens_per_round / round_times))
    ### END SOLUTION


@takes(
    emitted_of_drafted,
    drafted=integers("n", empty=True),
    emitted=integers("n", low=1, empty=True),
    break_even=number(),
    patience=integer(low=1),
    retry_after=integer(low=1),
)
def keep_drafting(drafted, emitted, break_even, patience, retry_after):
    """Decide whether the next round drafts, or falls back to one step of plain decoding.

    While drafting, give up when the last `patience` rounds, all of which drafted, emitted fewer than break_even tokens
    on average. While plain, try again once the last `retry_after` rounds were all plain. At the beginning, draft.

    Args:
        drafted: list (n,), drafts of each round so far, 0 for a plain one.
        emitted: list (n,), tokens that each of these rounds emitted.
        break_even: Tokens per round at which drafting is as fast as plain decoding.
        patience: Number of rounds to judge by.
        retry_after: Number of plain rounds in a pause.

    Returns:
        Whether to draft.

    Example:
        drafted [4, 4, 4], emitted [3, 1, 1], break_even 1.5, patience 2, retry_after 8
        the last two emitted 1 on average  →  False

    Source: this kit's; the DSpark paper does not fall back to plain decoding.
    """
    ### BEGIN SOLUTION
    if drafted and drafted[-1] == 0:
        pause = drafted[-retry_after:]
        return len(pause) == retry_after and not any(pause)
    if len(drafted) < patience or 0 in drafted[-patience:]:
        return True  # too early to judge
    return sum(emitted[-patience:]) >= break_even * patience
    ### END SOLUTION


@takes(
    rounds_add_up,
    drafted=integers("n", empty=True),
    verified=integers("n", empty=True),
    accepted=integers("n", empty=True),
    emitted=integers("n", low=1, empty=True),
)
def round_totals(drafted, verified, accepted, emitted):
    """Sum up a request's rounds, so that every drafted and every emitted token is counted once.

    A draft is trimmed before the forward, rejected by it, or accepted. A round emits its accepted drafts and one token
    more; only the last round may emit fewer, where a stop token or the cap cuts the output.

    Args:
        drafted: list (n,), drafted tokens per round.
        verified: list (n,), drafts that the target's forward saw.
        accepted: list (n,), drafts that it accepted.
        emitted: list (n,), tokens that the round added to the output.

    Returns:
        A dict: rounds, drafted, trimmed, rejected, accepted, emitted, cut; and tau, tokens emitted per round (nan
        without rounds).

    Example:
        drafted [4, 4], verified [3, 4], accepted [2, 4], emitted [3, 2]: the last round is cut after 2 of its 5 tokens
        →  rounds 2, drafted 8, trimmed 1, rejected 1, accepted 6, emitted 5, cut 3, tau 2.5

    Source: the definition of the accepted length τ, the bonus token included.
    """
    ### BEGIN SOLUTION
    rounds = len(drafted)
    return {
        "rounds": rounds,
        "drafted": sum(drafted),
        "trimmed": sum(drafted) - sum(verified),
        "rejected": sum(verified) - sum(accepted),
        "accepted": sum(accepted),
        "emitted": sum(emitted),
        "cut": sum(accepted) + rounds - sum(emitted),
        "tau": sum(emitted) / rounds if rounds else math.nan,
    }
    ### END SOLUTION
