"""Scheduling: how many draft tokens of each request the target verifies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dspark_mini.inputs import check_speeds, confidence_rows, speed_table, whole_number


def schedule_prefixes(confidences: ArrayLike, steps_per_second: ArrayLike) -> list[int]:
    """Choose the verify length of every request, so that the expected throughput is highest.

    Draft tokens are admitted one by one in descending prefix survival, the product of a request's
    confidences up to that token. Equal ones go by lower request, then by lower position; those with
    a survival of 0 are never admitted. The first token that does not raise Θ = τ · SPS(B) ends it:
    B = R + the number admitted, τ = R + the sum of their survivals, SPS(B) the entry of the table.
    A batch beyond the end of the table is never tried.

    Args:
        confidences: R sequences of chances in [0, 1], one a request; their lengths may differ.
        steps_per_second: entry B is the profiled speed of the engine, in steps per second, at a
            batch of B tokens; entry 0 is not used.

    Returns:
        R verify lengths, plain ints.

    Raises:
        ValueError: a confidence outside [0, 1] or NaN (the message names request and position),
            no entry for B = R, or an entry that was tried and is no finite number above 0.

    Example:
        confidences [[.5, .5], [.75]], steps_per_second [0, 9, 8, 7, 6, 5]
        Θ = 2 · 8 = 16, then 2.75 · 7 = 19.25, 3.25 · 6 = 19.5; 3.5 · 5 = 17.5 stops  →  [1, 1]

    Source: DSpark (arXiv 2607.05147), Section 3.2: the prefix scheduler, Algorithm 1.
    """
    values = confidence_rows("confidences", confidences)  # (R, γ), filled up with 0
    requests = len(values)
    if requests == 0:
        return []
    speeds = speed_table("steps_per_second", steps_per_second, requests)
    ### BEGIN SOLUTION
    survival = np.cumprod(values, axis=1)  # (R, γ), falls along each row
    best_first = -np.sort(-survival[survival > 0])  # the order of admission
    tau = np.cumsum(np.append(requests, best_first))  # with 0, 1, 2, … draft tokens
    steps = speeds[requests : requests + tau.size]  # no batch beyond the table
    theta = tau[: steps.size] * steps
    admitted = int(np.append(theta[1:] > theta[:-1], False).argmin())  # while Θ rises
    check_speeds("steps_per_second", requests, steps[: admitted + 2])
    last = best_first[admitted - 1] if admitted else np.inf  # the least that is admitted
    chosen = survival > last
    tied = np.flatnonzero(survival == last)  # lower request first, then lower position
    chosen.flat[tied[: admitted - chosen.sum()]] = True
    lengths: list[int] = chosen.sum(axis=1).tolist()
    return lengths
    ### END SOLUTION


def allocate_budget(confidences: ArrayLike, budget: int) -> list[int]:
    """Hand out a fixed number of draft tokens to verify over the requests of a batch.

    The tokens of the highest prefix survival get it, the product of a request's confidences up to
    that token. Equal ones go by lower request, then by lower position; those with a survival of 0
    get nothing. What nobody can use is left over.

    Args:
        confidences: R sequences of chances in [0, 1], one a request; their lengths may differ.
        budget: K, the number of draft tokens for the whole batch, at least 0.

    Returns:
        R verify lengths, plain ints, with a sum of at most budget.

    Raises:
        ValueError: a confidence outside [0, 1] or NaN (the message names request and position),
            or a negative budget.

    Example:
        confidences [[.5, .5], [.75, .5]], budget 3
        survivals .5, .25 and .75, .375; the best three are .75, .5 and .375  →  [1, 2]

    Source: DSpark (arXiv 2607.05147), Section 3.2: tokens are sorted by current confidences.
    """
    values = confidence_rows("confidences", confidences)  # (R, γ), filled up with 0
    budget = whole_number("budget", budget, low=0)
    ### BEGIN SOLUTION
    survival = np.cumprod(values, axis=1)  # (R, γ)
    order = np.argsort(-survival, axis=None, kind="stable")  # ties stay in the batch's order
    chosen = np.zeros(survival.size, dtype=int)
    chosen[order[: min(budget, np.count_nonzero(survival))]] = 1
    lengths: list[int] = chosen.reshape(survival.shape).sum(axis=1).tolist()
    return lengths
    ### END SOLUTION


def lagged_budget(old_confidences: ArrayLike, steps_per_second: ArrayLike) -> int:
    """Choose how many draft tokens the batch may verify, from confidences of two rounds ago.

    It is the number K for which Θ(K) = (R + the K highest survivals) · SPS(R + K) is highest of
    all, and the smallest such K. Only tokens with a survival above 0 count, and only those K for
    which the table has an entry.

    Args:
        old_confidences: R sequences of chances in [0, 1], one a request, as they were two rounds
            ago; their lengths may differ.
        steps_per_second: entry B is the profiled speed of the engine, in steps per second, at a
            batch of B tokens; entry 0 is not used.

    Returns:
        The budget K, a plain int.

    Raises:
        ValueError: a confidence outside [0, 1] or NaN (the message names request and position),
            no entry for B = R, or an entry R + K that is no finite number above 0.

    Example:
        old_confidences [[.5, .5]], steps_per_second [0, 8, 4, 6]
        Θ = 1 · 8 = 8, 1.5 · 4 = 6, 1.75 · 6 = 10.5; the last is highest  →  2

    Source: DSpark (arXiv 2607.05147), Section 3.2: capacity from the confidences two steps prior.
    """
    values = confidence_rows("old_confidences", old_confidences)  # (R, γ), filled up with 0
    requests = len(values)
    if requests == 0:
        return 0
    speeds = speed_table("steps_per_second", steps_per_second, requests)
    ### BEGIN SOLUTION
    survival = np.cumprod(values, axis=1)  # (R, γ)
    best_first = -np.sort(-survival[survival > 0])
    tau = np.cumsum(np.append(requests, best_first))  # with 0, 1, 2, … draft tokens
    steps = speeds[requests : requests + tau.size]  # no batch beyond the table
    check_speeds("steps_per_second", requests, steps)
    return int(np.argmax(tau[: steps.size] * steps))
    ### END SOLUTION
