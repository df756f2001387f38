"""Scheduling: how many draft tokens of each request the target verifies."""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import chance_rows, integer, speeds, takes


@takes(confidences=chance_rows("R"), steps_per_second=speeds("R"))
def schedule_prefixes(confidences, steps_per_second):
    """Choose how many draft tokens of each request to verify, by Algorithm 1 of DSpark.

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.

    Returns:
        R verify lengths.

    Example:
        confidences [[.5, .5], [.75]], steps_per_second [0, 9, 8, 7, 6, 5]  →  [1, 1]

    Source: DSpark (arXiv 2607.05147), Section 3.2: the prefix scheduler, Algorithm 1.
    """
    ### BEGIN SOLUTION
    requests, survival = len(confidences), np.cumprod(confidences, axis=1)  # (R, γ), falls along each row
    order = np.argsort(-survival, axis=None, kind="stable")[: np.count_nonzero(survival)]  # ties in the batch's order
    tau = np.cumsum(np.append(requests, survival.ravel()[order]))  # with 0, 1, 2, … draft tokens
    steps = steps_per_second[requests : requests + len(tau)]  # no batch beyond the table
    theta = tau[: len(steps)] * steps
    admitted = int(np.append(theta[1:] > theta[:-1], False).argmin())  # while Θ rises
    return np.bincount(order[:admitted] // confidences.shape[1], minlength=len(confidences)).tolist()
    ### END SOLUTION


@takes(confidences=chance_rows("R"), budget=integer())
def allocate_budget(confidences, budget):
    """Give a fixed number of draft tokens to the likeliest survivors of a batch.

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        budget: K, the number of draft tokens of the whole batch.

    Returns:
        R verify lengths, together at most K.

    Example:
        confidences [[.5, .5], [.75, .5]], budget 3  →  [1, 2]

    Source: DSpark (arXiv 2607.05147), Section 5.2: the budget goes to the tokens of the highest current survival.
    """
    ### BEGIN SOLUTION
    survival = np.cumprod(confidences, axis=1)  # (R, γ)
    order = np.argsort(-survival, axis=None, kind="stable")  # ties in the batch's order
    chosen = order[: min(budget, np.count_nonzero(survival))]
    return np.bincount(chosen // confidences.shape[1], minlength=len(confidences)).tolist()
    ### END SOLUTION


@takes(old_confidences=chance_rows("R"), steps_per_second=speeds("R"))
def lagged_budget(old_confidences, steps_per_second):
    """Find the number of draft tokens with the highest Θ, from confidences that are two rounds old.

    Args:
        old_confidences: (R, γ) chances of two rounds ago, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.

    Returns:
        The budget K.

    Example:
        old_confidences [[.5, .5]], steps_per_second [0, 8, 4, 6]  →  2

    Source: DSpark (arXiv 2607.05147), Section 5.2: the budget comes from the confidences of two steps ago.
    """
    ### BEGIN SOLUTION
    requests, survival = len(old_confidences), np.cumprod(old_confidences, axis=1)  # (R, γ)
    best_first = -np.sort(-survival[survival > 0])
    tau = np.cumsum(np.append(requests, best_first))  # with 0, 1, 2, … draft tokens
    steps = steps_per_second[requests : requests + len(tau)]  # no batch beyond the table
    theta = tau[: len(steps)] * steps
    return int(theta.argmax())
    ### END SOLUTION
