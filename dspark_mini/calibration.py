"""Calibration: what a confidence should say, what it says, and the temperatures that bring the two together."""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import chances, integer, logits, numbers, probabilities, takes


@takes(q=probabilities("γ", "V"), p=probabilities("γ", "V"))
def acceptance_target(q, p):
    """Compute what each confidence should be: the chance that its draft is accepted.

    Args:
        q: (γ, V) draft distributions, one row per position.
        p: (γ, V) target distributions at the same positions.

    Returns:
        (γ,) chances, one per position.

    Example:
        q = [[.2, .2, .6]], p = [[.5, .3, .2]]  →  [.6]

    Source: DSpark (arXiv 2607.05147): the label of the confidence head, 1 − ½‖q_k − p_k‖₁.
    """
    ### BEGIN SOLUTION
    distance = 0.5 * np.abs(q - p).sum(axis=1)  # (γ,)
    return 1.0 - distance.clip(max=1.0)  # rounding must not make a chance negative
    ### END SOLUTION


@takes(confidences=chances("…", "γ"))
def prefix_survival(confidences):
    """Compute the chance that the first j drafts all survive, for every j.

    Args:
        confidences: (γ,) or (…, γ) chances c_k, each given that the tokens before k passed; may be empty.

    Returns:
        a_1..a_γ, in the shape of the confidences.

    Example:
        [.5, .5, 1., .5]  →  [.5, .25, .25, .125]

    Source: DSpark (arXiv 2607.05147): prefix survival.
    """
    ### BEGIN SOLUTION
    return np.cumprod(confidences, axis=-1)
    ### END SOLUTION


@takes(predicted=chances("N"), observed=chances("N"), n_bins=integer(low=1))
def expected_calibration_error(predicted, observed, n_bins=10):
    """Measure how far predicted chances are from what happened, bin by bin.

    Args:
        predicted: (N,) chances.
        observed: (N,) outcomes, 1 where it happened, 0 where it did not.
        n_bins: Number of equal bins of [0, 1].

    Returns:
        The expected calibration error.

    Example:
        predicted [.25, .75, .75, .75], observed [0, 1, 1, 0], n_bins 2  →  .125

    Source: Naeini et al. 2015, Obtaining Well Calibrated Probabilities Using Bayesian Binning (AAAI).
    """
    ### BEGIN SOLUTION
    bins = np.minimum((predicted * n_bins).astype(int), n_bins - 1)  # (N,)
    gaps = np.bincount(bins, weights=predicted - observed)  # per bin: its gap, times its samples
    return float(np.abs(gaps).sum() / len(predicted))
    ### END SOLUTION


@takes(confidence_logits=logits("N", "γ"), accepted=chances("N", "γ"), grid=numbers("temperatures", above=0.0))
def fit_sequential_temperatures(confidence_logits, accepted, grid):
    """Fit one temperature per position, from left to right, so that prefix survival is calibrated.

    Args:
        confidence_logits: (N, γ) logits of the confidences, one row per round.
        accepted: (N, γ) 1 where token k and all before it were accepted, otherwise 0.
        grid: Temperatures to try.

    Returns:
        T_1..T_γ (γ,), each from the grid.

    Example:
        four rounds with logits [ln 9, ln 2], accepted [[1, 1], [1, 1], [1, 0], [0, 0]], grid [1, 2]
        →  [2., 1.]

    Source: DSpark (arXiv 2607.05147), Section 3.2.1: sequential temperature scaling.
    """
    ### BEGIN SOLUTION
    survival, fitted = 1.0, []
    for logit, outcome in zip(confidence_logits.T, accepted.T):  # (N,) each
        options = {t: survival * (0.5 + 0.5 * np.tanh(0.5 * logit / t)) for t in grid}  # σ(logit / t), (N,) each
        best = min(grid, key=lambda t: (expected_calibration_error(options[t], outcome), abs(t - 1.0), t))
        survival = options[best]
        fitted.append(best)
    return np.array(fitted)
    ### END SOLUTION
