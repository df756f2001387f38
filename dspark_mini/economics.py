"""Economics: what a round of speculative decoding yields, what it costs, and when it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dspark_mini.inputs import number, numbers, unit_numbers, whole_number


def expected_accepted_length(confidences: ArrayLike, verify_length: int | None = None) -> float:
    """Compute how many tokens a round is expected to yield, the target's own token included.

    Draft token j survives only if all before it do, so its chance is the product c_1 · … · c_j.
    The expected length is 1 + the sum of these products over the tokens that are verified.

    Args:
        confidences: (γ,) chances in [0, 1] that token k is accepted, given that those before were.
        verify_length: ℓ, how many draft tokens the target verifies, 0 to γ; None for all of them.

    Returns:
        τ(ℓ) in tokens a round, a plain float; 1.0 where nothing is verified.

    Raises:
        ValueError: a confidence outside [0, 1] or NaN, or a verify_length outside 0..γ.

    Example:
        confidences [.5, .5]  →  1 + .5 + .25 = 1.75; with verify_length 1  →  1.5

    Source: DSpark (arXiv 2607.05147): prefix survival and accepted length.
    """
    values = unit_numbers("confidences", confidences, may_be_empty=True)  # (γ,)
    if verify_length is None:
        verify_length = values.size
    verify_length = whole_number("verify_length", verify_length, low=0, high=values.size)
    ### BEGIN SOLUTION
    survival = np.cumprod(values[:verify_length])  # (ℓ,)
    return float(1.0 + survival.sum())
    ### END SOLUTION


def speedup(
    accepted_length: float,
    draft_time: float,
    verify_time: float,
    target_time: float,
    correction_time: float = 0.0,
) -> float:
    """Compute how much faster speculative decoding is than decoding token by token.

    A round takes draft_time + verify_time + correction_time and yields accepted_length tokens;
    plain decoding would take target_time for each of them.

    Args:
        accepted_length: τ, tokens a round, the target's own token included, at least 1.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_time: time of the target's forward over the drafts.
        target_time: time of a plain decoding step, above 0.
        correction_time: time to mend the caches behind a rejection (rollback, replay).

    Returns:
        The ratio of the two speeds, a plain float: 2.0 is twice as fast, below 1.0 is slower.

    Raises:
        ValueError: accepted_length below 1, a time that is negative, NaN or infinite, a
            target_time of 0, or a round that takes no time at all.

    Example:
        accepted_length 3, draft_time 0.5, verify_time 1.25, target_time 1, correction_time 0.25
        →  3 · 1 / (0.5 + 1.25 + 0.25) = 1.5

    Source: Leviathan et al. (arXiv 2211.17192), Section 3.3: walltime improvement.
    """
    accepted_length = number("accepted_length", accepted_length, low=1.0)
    draft_time = number("draft_time", draft_time, low=0.0)
    verify_time = number("verify_time", verify_time, low=0.0)
    target_time = number("target_time", target_time, low=0.0, above=True)
    correction_time = number("correction_time", correction_time, low=0.0)
    if not any((draft_time, verify_time, correction_time)):
        raise ValueError("draft_time, verify_time and correction_time are all 0.")
    ### BEGIN SOLUTION
    round_time = draft_time + verify_time + correction_time
    return accepted_length * target_time / round_time
    ### END SOLUTION


def net_benefit(
    confidences: ArrayLike,
    verify_length: int,
    draft_time: float,
    verify_times: ArrayLike,
    target_time: float,
    correction_time: float = 0.0,
    min_gain: float = 0.0,
) -> dict[str, Any]:
    """Decide whether drafting pays: keep the verify length, tune it, or decode token by token.

    The gain of a verify length ℓ is its speed-up minus 1, where the round takes draft_time +
    verify_times[ℓ] + correction_time and yields 1 + the sum of the first ℓ prefix survivals.
    'accept' keeps the current ℓ ≥ 1 if its gain is at least min_gain. Otherwise 'tune' goes to the
    ℓ ≥ 1 of the highest gain, the smallest of equal ones, if that is at least min_gain. Otherwise
    'reject' returns ℓ = 0 with a gain of 0.0: plain decoding, without a draft.

    Args:
        confidences: (γ,) chances in [0, 1] that token k is accepted, given that those before were.
        verify_length: the current ℓ, from 0 to γ.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_times: (γ+1,) time of the target's forward by number ℓ of drafts, from ℓ = 0 on.
        target_time: time of a plain decoding step, above 0.
        correction_time: time to mend the caches in a round (rollback, replay).
        min_gain: the least gain worth having, 0.1 for ten percent.

    Returns:
        A dict: decision, 'accept', 'tune' or 'reject'; verify_length, the ℓ decided on, an int;
        gain, its gain, a float; gains, those of ℓ = 0..γ, a list of floats. The first of them pays
        for the draft as well.

    Raises:
        ValueError: no confidences, one of them outside [0, 1] or NaN, a verify_length outside
            0..γ, another number of verify_times than γ + 1, a time that is negative, NaN or
            infinite, a target_time of 0, a round that takes no time, or a min_gain that is NaN
            or infinite.

    Example:
        confidences [.5, .5], verify_length 2, draft_time .25, verify_times [.75, .75, 1],
        target_time 1, min_gain .45: the gains are 1/1 − 1, 1.5/1 − 1 and 1.75/1.25 − 1
        →  decision 'tune', verify_length 1, gain .5, gains [0, .5, .4]

    Source: DSpark (arXiv 2607.05147): latency per token, L = (T_draft + T_verify) / τ.
    """
    values = unit_numbers("confidences", confidences)  # (γ,)
    verify_length = whole_number("verify_length", verify_length, low=0, high=values.size)
    draft_time = number("draft_time", draft_time, low=0.0)
    correction_time = number("correction_time", correction_time, low=0.0)
    costs_nothing = draft_time + correction_time == 0.0
    times = numbers("verify_times", verify_times, low=0.0, above=costs_nothing)  # (γ+1,)
    if times.size != values.size + 1:
        raise ValueError(f"verify_times has {times.size} entries, but needs {values.size + 1}.")
    target_time = number("target_time", target_time, low=0.0, above=True)
    min_gain = number("min_gain", min_gain)
    ### BEGIN SOLUTION
    tau = 1.0 + np.append(0.0, np.cumsum(np.cumprod(values)))  # (γ+1,)
    gains = tau * target_time / (draft_time + times + correction_time) - 1.0
    best = 1 + int(gains[1:].argmax())
    decision, length = "reject", 0
    if verify_length >= 1 and gains[verify_length] >= min_gain:
        decision, length = "accept", verify_length
    elif gains[best] >= min_gain:
        decision, length = "tune", best
    gain = float(gains[length]) if length else 0.0
    return {"decision": decision, "verify_length": length, "gain": gain, "gains": gains.tolist()}
    ### END SOLUTION
