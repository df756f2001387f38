"""Calibration: what a confidence should say, what it says, and the temperatures that bring the two together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    check_same_shape,
    checked_logits,
    numbers,
    probability_rows,
    unit_array,
    unit_numbers,
    whole_number,
)


def acceptance_target(q: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """Compute what each confidence should be: the chance that its draft is accepted.

    Position k gets 1 − ½‖q_k − p_k‖₁, the overlap of the draft's distribution with the target's. It
    equals Σ_x min(q_k(x), p_k(x)), the chance that verification accepts a token drawn from q_k.

    Args:
        q: (γ, V) draft distributions, one row a position.
        p: (γ, V) target distributions at the same positions.

    Returns:
        Array (γ,) of chances in [0, 1], one a position.

    Raises:
        ValueError: no positions, a row of q or p that is no probability distribution, or a p whose
            shape is not that of q.

    Example:
        q = [[.2, .2, .6]], p = [[.5, .3, .2]]  →  [.6], because ½(.3 + .1 + .4) = .4

    Source: DSpark (arXiv 2607.05147): the label of the confidence head.
    """
    draft = probability_rows("q", q)  # (γ, V)
    target = probability_rows("p", p)  # (γ, V)
    check_same_shape("q", draft, "p", target)
    if draft.size == 0:
        raise ValueError("q is empty: it needs at least one position.")
    ### BEGIN SOLUTION
    distance: NDArray[np.float64] = 0.5 * np.abs(draft - target).sum(axis=1)  # (γ,)
    return 1.0 - distance.clip(max=1.0)  # rounding must not make a chance negative
    ### END SOLUTION


def prefix_survival(confidences: ArrayLike) -> NDArray[np.float64]:
    """Compute the chance that the first j drafts all survive, for every j.

    c_k is conditional on the tokens before k, so a_j = c_1 · c_2 · … · c_j, the running product.

    Args:
        confidences: (γ,) numbers in [0, 1], or (…, γ), one block along the last axis; may be empty.

    Returns:
        Array of the same shape: a_1..a_γ along the last axis.

    Raises:
        ValueError: a confidence outside [0, 1] or NaN, ragged rows, or a single number.

    Example:
        [.5, .5, 1., .5]  →  [.5, .25, .25, .125]

    Source: DSpark (arXiv 2607.05147): prefix survival.
    """
    values = unit_array("confidences", confidences)  # (…, γ)
    ### BEGIN SOLUTION
    return np.cumprod(values, axis=-1, dtype=np.float64)
    ### END SOLUTION


def expected_calibration_error(predicted: ArrayLike, observed: ArrayLike, n_bins: int = 10) -> float:
    """Measure how far predicted chances are from what happened, on average over equal bins.

    Sample p goes to bin min(⌊p·n⌋, n − 1). A bin's gap is the distance between the mean of its
    predictions and the mean of its outcomes. The gaps are averaged, weighted by share of samples.

    Args:
        predicted: (N,) chances in [0, 1], at least one.
        observed: (N,) outcomes, 1 or True where it happened, 0 or False where it did not.
        n_bins: n, the number of bins, at least 1.

    Returns:
        The error, a plain float in [0, 1].

    Raises:
        ValueError: no samples, a number outside [0, 1] or NaN, another number of outcomes than of
            predictions, or n_bins below 1.

    Example:
        predicted [.25, .75, .75, .75], observed [0, 1, 1, 0], n_bins 2  →  .125

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks (arXiv 1706.04599).
    """
    values = unit_numbers("predicted", predicted)  # (N,)
    outcomes = unit_numbers("observed", observed)  # (N,)
    check_same_shape("predicted", values, "observed", outcomes)
    n_bins = whole_number("n_bins", n_bins, low=1)
    ### BEGIN SOLUTION
    bins = np.minimum((values * n_bins).astype(int), n_bins - 1)  # (N,)
    gaps = np.bincount(bins, weights=values - outcomes)  # per bin: samples in it, times its gap
    return float(np.abs(gaps).sum() / values.size)
    ### END SOLUTION


def fit_sequential_temperatures(
    confidence_logits: ArrayLike, accepted: ArrayLike, grid: ArrayLike
) -> NDArray[np.float64]:
    """Fit one temperature a position, from left to right, so that prefix survival is calibrated.

    For k = 1..γ, T_k is the value of the grid with the least calibration error (10 bins) of
    Π_{i≤k} σ(logit_i / T_i) against "prefix k was accepted"; the earlier temperatures stay as they
    are. Of equal errors the value closest to 1 wins, then the smaller.

    Args:
        confidence_logits: (N, γ) logits of the confidences, one row a round.
        accepted: (N, γ) 1 or True where token k and all before it were accepted.
        grid: temperatures to try, above 0, in any order, at least one.

    Returns:
        Array (γ,): T_1..T_γ, each of them from the grid.

    Raises:
        ValueError: no rounds or positions, a row of logits with NaN, +inf or only −inf, accepted of
            another shape or outside [0, 1], an empty grid, or a temperature that is not above 0.

    Example:
        four rounds with logits [ln 9, ln 2], accepted [[1, 1], [1, 1], [1, 0], [0, 0]], grid [1, 2]
        →  [2., 1.]: .9 becomes .75 = 3/4 at T = 2, and then .75 · 2/3 = 2/4 at T = 1

    Source: DSpark (arXiv 2607.05147), Section 3.2.1: sequential temperature scaling.
    """
    logits = checked_logits("confidence_logits", confidence_logits)  # (N, γ)
    labels = unit_array("accepted", accepted)  # (N, γ)
    check_same_shape("confidence_logits", logits, "accepted", labels)
    temperatures = numbers("grid", grid, low=0.0, above=True)
    if temperatures.size == 0:
        raise ValueError("grid is empty: it needs at least one temperature.")
    ### BEGIN SOLUTION
    order = np.array(sorted(temperatures, key=lambda t: (abs(t - 1.0), t)))  # the first wins a tie
    survival, fitted = np.ones(len(logits)), []  # (N,)
    for column, outcome in zip(logits.T, labels.T):  # (N,) and (N,)
        options = survival * (0.5 + 0.5 * np.tanh(0.5 * column / order[:, None]))  # (T, N)
        bins = np.minimum((options * 10).astype(int), 9)
        gaps = [np.bincount(b, weights=w) for b, w in zip(bins, options - outcome)]
        best = int(np.argmin([np.abs(gap).sum() for gap in gaps]))
        survival = options[best]
        fitted.append(order[best])
    return np.array(fitted)
    ### END SOLUTION
