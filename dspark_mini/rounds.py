"""The round loop's own decisions: trim before the forward, drop what was refused, adapt, give up, and count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dspark_mini.inputs import (
    check_same_length,
    entries,
    number,
    numbers,
    token_ids,
    unit_number,
    unit_numbers,
    whole_number,
    whole_numbers,
)


def rollback_rows(verified_rows: int, accepted: int) -> int:
    """Count the rows that the cache has to drop after a round of verification.

    The forward wrote one row for the anchor and one for each verified draft. The rows of the anchor
    and of the accepted drafts stay; the last emitted token has no row yet, it is the next anchor.

    Args:
        verified_rows: 1 + ℓ, all rows that the forward wrote, the anchor's included.
        accepted: how many drafts the target accepted, 0 to ℓ.

    Returns:
        The number of rows to drop from the end of the cache, a plain int.

    Raises:
        ValueError: no row at all, or a number of accepted drafts outside 0..ℓ.

    Example:
        verified_rows 5 (the anchor and four drafts), accepted 3  →  1

    Source: the cache contract of speculative decoding: after a round the cache holds exactly the
        committed tokens but the last.
    """
    verified_rows = whole_number("verified_rows", verified_rows, low=1)
    accepted = whole_number("accepted", accepted, low=0, high=verified_rows - 1)
    ### BEGIN SOLUTION
    return verified_rows - 1 - accepted
    ### END SOLUTION


def decode_round(
    draft_tokens: ArrayLike,
    confidences: ArrayLike,
    target_tokens: ArrayLike,
    threshold: float,
) -> dict[str, Any]:
    """Play one greedy round: trim the block, verify what is left, and say what the cache drops.

    The verify length ℓ is the number of confidences before the first one below the threshold; it may
    be 0. One forward over the anchor and ℓ drafts then makes 1 + ℓ rows. Drafts are accepted while
    they are what the target says, and the target's own next token follows.

    Args:
        draft_tokens: (γ,) drafted tokens x_1..x_γ; γ = 0 is legal.
        confidences: (γ,) chances in [0, 1], one a draft.
        target_tokens: (γ+1,) the target's choices; entry k follows the first k drafts. Entries
            beyond ℓ belong to rows that are never computed, and may be anything.
        threshold: number in [0, 1]; a confidence that equals it passes.

    Returns:
        A dict: verified_rows, accepted, dropped_rows, plain ints; tokens, a list of plain ints:
        the accepted drafts and one more.

    Raises:
        ValueError: lengths that do not fit, a confidence or a threshold outside [0, 1], or a used
            token that is no token id.

    Example:
        draft_tokens [5, 7, 2], confidences [.9, .8, .3], target_tokens [5, 6, 1, 4], threshold .5
        ℓ = 2, so 3 rows; 5 is accepted, 7 is not, the target says 6
        →  {'verified_rows': 3, 'accepted': 1, 'tokens': [5, 6], 'dropped_rows': 1}

    Source: DSpark (arXiv 2607.05147): the verified prefix; Leviathan et al. (arXiv 2211.17192).
    """
    drafts = token_ids("draft_tokens", draft_tokens)  # (γ,)
    values = unit_numbers("confidences", confidences, may_be_empty=True)  # (γ,)
    check_same_length("draft_tokens", drafts, "confidences", values)
    threshold = unit_number("threshold", threshold)
    targets = entries("target_tokens", target_tokens, len(drafts) + 1)  # checked where they are used
    ### BEGIN SOLUTION
    length = 0
    while length < len(drafts) and values[length] >= threshold:
        length += 1
    tokens: list[int] = []
    for k in range(length + 1):  # the rows of the forward
        tokens.append(whole_number(f"target_tokens[{k}]", targets[k], low=0))
        if k == length or drafts[k] != tokens[k]:
            break
    accepted = len(tokens) - 1
    return {
        "verified_rows": 1 + length,
        "accepted": accepted,
        "tokens": tokens,
        "dropped_rows": length - accepted,
    }
    ### END SOLUTION


def best_block_size(
    accepted_counts: ArrayLike,
    verified_counts: ArrayLike,
    round_times: ArrayLike,
) -> int:
    """Choose how many tokens to draft next, from what the last rounds accepted.

    One rate α stands for every position: accepted drafts over drafts that were put to the test. A
    round tests its accepted drafts and, if it rejected one, that one; what lies behind a rejection
    was never tested. A block of γ tokens then yields 1 + α + α² + … + α^γ tokens a round.

    Args:
        accepted_counts: accepted drafts of each recent round.
        verified_counts: verified drafts of the same rounds, at least as many as were accepted.
        round_times: entry γ is the time of a round with γ drafts, in any unit; entry 0 is a step of
            plain decoding. The largest γ is the last entry's.

    Returns:
        The γ of the most tokens per time, a plain int; of equal ones the smallest.

    Raises:
        ValueError: counts that do not fit, rounds in which no draft was tested, or a time that is
            no finite number above 0.

    Example:
        accepted_counts [1, 2], verified_counts [2, 2], round_times [4, 5, 6]
        α = 3 / 4, since three of four tested drafts were accepted
        1 / 4 = .25, 1.75 / 5 = .35, 2.3125 / 6 = .385  →  2

    Source: Leviathan et al. (arXiv 2211.17192), Section 3: the choice of γ.
    """
    accepted = whole_numbers("accepted_counts", accepted_counts, low=0)  # (n,)
    verified = whole_numbers("verified_counts", verified_counts, low=0)  # (n,)
    check_same_length("accepted_counts", accepted, "verified_counts", verified)
    for i, most in enumerate(verified):
        whole_number(f"accepted_counts[{i}]", accepted[i], low=0, high=most)
    if sum(verified) == 0:
        raise ValueError("verified_counts holds no draft, so there is nothing to learn from.")
    times = numbers("round_times", round_times, low=0.0, above=True)  # (γ_max + 1,)
    if times.size == 0:
        raise ValueError("round_times is empty: it needs the time of plain decoding at least.")
    ### BEGIN SOLUTION
    tested = sum(min(kept + 1, most) for kept, most in zip(accepted, verified))
    alpha = sum(accepted) / tested
    tokens = np.cumsum(alpha ** np.arange(times.size))  # (γ_max + 1,) tokens a round
    return int(np.argmax(tokens / times))
    ### END SOLUTION


def keep_drafting(
    drafted: ArrayLike,
    emitted: ArrayLike,
    break_even: float,
    patience: int,
    retry_after: int,
) -> bool:
    """Decide whether the next round drafts, or falls back to one step of plain decoding.

    While drafting: give up when the last `patience` rounds, all of which drafted, emitted fewer than
    break_even tokens on average; with fewer such rounds in a row, go on. While plain: try again once
    the last `retry_after` rounds were all plain. At the very beginning, draft.

    Args:
        drafted: drafts of each round so far, 0 for a plain one.
        emitted: tokens that each of these rounds emitted, at least 1.
        break_even: tokens a round at which drafting is as fast as plain decoding.
        patience: how many rounds are looked at, at least 1.
        retry_after: how many plain rounds a pause lasts, at least 1.

    Returns:
        Whether to draft, a plain bool.

    Raises:
        ValueError: lengths that do not fit, a round that emitted nothing or more than its drafts and
            one, a break_even that is no finite number, or a count below 1.

    Example:
        drafted [4, 4, 4], emitted [3, 1, 1], break_even 1.5, patience 2, retry_after 8
        the last two emitted 1 on average  →  False

    Source: DSpark (arXiv 2607.05147): a round that does not pay is decoded plainly.
    """
    blocks = whole_numbers("drafted", drafted, low=0)  # (n,)
    yields = whole_numbers("emitted", emitted, low=1)  # (n,)
    check_same_length("drafted", blocks, "emitted", yields)
    for i, size in enumerate(blocks):
        whole_number(f"emitted[{i}]", yields[i], low=1, high=size + 1)
    break_even = number("break_even", break_even)
    patience = whole_number("patience", patience, low=1)
    retry_after = whole_number("retry_after", retry_after, low=1)
    ### BEGIN SOLUTION
    if blocks and blocks[-1] == 0:
        pause = blocks[-retry_after:]
        return len(pause) == retry_after and not any(pause)
    if len(blocks) < patience or 0 in blocks[-patience:]:
        return True
    return sum(yields[-patience:]) >= break_even * patience
    ### END SOLUTION


def round_totals(
    drafted: ArrayLike,
    verified: ArrayLike,
    accepted: ArrayLike,
    emitted: ArrayLike,
) -> dict[str, Any]:
    """Sum a request's rounds up, so that every drafted and every emitted token is counted once.

    A draft is trimmed before the forward, rejected by it, or accepted: the three sum to drafted. A
    round emits its accepted drafts and one token more; only the last round of a request may emit
    less, where the output is cut by a stop token or the cap: accepted + rounds = emitted + cut.

    Args:
        drafted: drafted tokens of each round.
        verified: drafts that the target's forward saw, at most as many as were drafted.
        accepted: drafts that it accepted, at most as many as were verified.
        emitted: tokens that the round added to the output.

    Returns:
        A dict of plain ints: rounds, drafted, trimmed, rejected, accepted, emitted, cut; and tau,
        the tokens emitted a round, a plain float, nan without rounds.

    Raises:
        ValueError: lengths that do not fit, or counts that cannot be: the message names the argument
            and the round.

    Example:
        drafted [4, 4], verified [3, 4], accepted [2, 4], emitted [3, 2]
        the last round is cut after 2 of its 5 tokens
        →  rounds 2, drafted 8, trimmed 1, rejected 1, accepted 6, emitted 5, cut 3, tau 2.5

    Source: the definition of the accepted length τ, the bonus token included.
    """
    blocks = whole_numbers("drafted", drafted, low=0)  # (n,)
    seen = whole_numbers("verified", verified, low=0)  # (n,)
    kept = whole_numbers("accepted", accepted, low=0)  # (n,)
    out = whole_numbers("emitted", emitted, low=1)  # (n,)
    for name, counts in (("verified", seen), ("accepted", kept), ("emitted", out)):
        check_same_length("drafted", blocks, name, counts)
    for i in range(len(blocks)):
        whole_number(f"verified[{i}]", seen[i], low=0, high=blocks[i])
        whole_number(f"accepted[{i}]", kept[i], low=0, high=seen[i])
        least = 1 if i == len(blocks) - 1 else kept[i] + 1  # only the last round may be cut
        whole_number(f"emitted[{i}]", out[i], low=least, high=kept[i] + 1)
    ### BEGIN SOLUTION
    return {
        "rounds": len(blocks),
        "drafted": sum(blocks),
        "trimmed": sum(blocks) - sum(seen),
        "rejected": sum(seen) - sum(kept),
        "accepted": sum(kept),
        "emitted": sum(out),
        "cut": sum(kept) + len(blocks) - sum(out),
        "tau": sum(out) / len(blocks) if blocks else math.nan,
    }
    ### END SOLUTION
