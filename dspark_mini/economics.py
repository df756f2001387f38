"""Economics: what a round of speculative decoding yields, what it costs, and when it pays."""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import chances, integer, number, numbers, takes
from dspark_mini.rules import every_length_takes_time, round_takes_time


@takes(confidences=chances("γ", empty=True), verify_length=integer(high="γ"))
def expected_accepted_length(confidences, verify_length=None):
    """Compute how many tokens a round is expected to yield, the target's own token included.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        verify_length: ℓ, how many draft tokens the target verifies; None for all of them.

    Returns:
        τ(ℓ) in tokens per round.

    Example:
        confidences [.8, .5], verify_length 1  →  1.8

    Source: DSpark (arXiv 2607.05147): prefix survival and accepted length.
    """
    ### BEGIN SOLUTION
    survival = np.cumprod(confidences[:verify_length])  # (ℓ,)
    return float(1.0 + survival.sum())
    ### END SOLUTION


@takes(
    round_takes_time,
    accepted_length=number(low=1.0),
    draft_time=number(low=0.0),
    verify_time=number(low=0.0),
    target_time=number(above=0.0),
    correction_time=number(low=0.0),
)
def speedup(accepted_length, draft_time, verify_time, target_time, correction_time=0.0):
    """Compute how much faster speculative decoding is than decoding token by token.

    Args:
        accepted_length: τ, tokens per round, the target's own token included.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_time: time of the target's forward over the drafts.
        target_time: time of a plain decoding step, which yields one token.
        correction_time: time to mend the caches after a rejection (rollback, replay).

    Returns:
        The ratio of the two speeds: 2.0 is twice as fast, below 1.0 is slower.

    Example:
        accepted_length 4, draft_time 1, verify_time 1, target_time 1  →  2.0

    Source: Leviathan et al. (arXiv 2211.17192), Section 3.3: walltime improvement.
    """
    ### BEGIN SOLUTION
    round_time = draft_time + verify_time + correction_time
    return accepted_length * target_time / round_time
    ### END SOLUTION


@takes(
    every_length_takes_time,
    confidences=chances("γ"),
    verify_length=integer(high="γ"),
    draft_time=number(low=0.0),
    verify_times=numbers("γ+1", low=0.0),
    target_time=number(above=0.0),
    correction_time=number(low=0.0),
    min_gain=number(),
)
def net_benefit(confidences, verify_length, draft_time, verify_times, target_time, correction_time=0.0, min_gain=0.0):
    """Decide whether drafting pays: keep the verify length, tune it, or decode token by token.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        verify_length: the current ℓ, from 0 to γ.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_times: (γ+1,) time of the target's forward by number ℓ of drafts, from ℓ = 0 on.
        target_time: time of a plain decoding step.
        correction_time: time to mend the caches in a round (rollback, replay).
        min_gain: the least gain worth having, 0.1 for ten percent.

    Returns:
        A dict: decision ('accept', 'tune' or 'reject'), verify_length (the ℓ decided on), gain (its
        gain) and gains (those of ℓ = 0..γ; that of ℓ = 0 pays for the draft as well).

    Example:
        [.5, .5], 1, .25, [.75, .75, 1], 1  →  'accept', 1, .5, [0, .5, .4]

    Source: DSpark (arXiv 2607.05147): latency per token, (T_draft + T_verify) / τ; no correction and no 'reject'.
    """
    ### BEGIN SOLUTION
    tau = np.cumprod([1.0, *confidences]).cumsum()  # (γ+1,)
    gains = tau * target_time / (draft_time + verify_times + correction_time) - 1.0  # (γ+1,)
    best = 1 + int(gains[1:].argmax())
    decision, length, gain = "reject", 0, 0.0
    if verify_length >= 1 and gains[verify_length] >= min_gain:
        decision, length, gain = "accept", verify_length, float(gains[verify_length])
    elif gains[best] >= min_gain:
        decision, length, gain = "tune", best, float(gains[best])
    return {"decision": decision, "verify_length": length, "gain": gain, "gains": gains.tolist()}
    ### END SOLUTION
