"""Means with 95 % intervals: bootstrap over prompts, or Student's t over repeated measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Estimate = dict[str, Any]  # n, mean, low, high, interval

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal value is close enough.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
BY_PROMPTS = "95 %, bootstrap over prompts"


def over_prompts(
    statistic: Callable[[NDArray[np.float64]], ArrayLike], prompts: int, resamples: int = 1000, seed: int = 0
) -> Estimate:
    """Estimate a statistic and its interval by resampling the prompts.

    Args:
        statistic: Maps weights (…, prompts), how often each prompt counts, to values (…).
        prompts: Number of prompts.
        resamples: Number of bootstrap samples.
        seed: Seed of the bootstrap.

    Returns:
        n, mean, low, high and the kind of interval; mean and bounds are None where the statistic is undefined.
    """
    weights = np.random.default_rng(seed).multinomial(prompts, np.full(prompts, 1.0 / prompts), size=resamples)
    values = np.asarray(statistic(weights.astype(np.float64)), dtype=np.float64)  # (resamples,)
    values = values[np.isfinite(values)]
    low, high = np.percentile(values, (2.5, 97.5)).tolist() if values.size else (None, None)
    mean = float(np.asarray(statistic(np.ones(prompts))))
    return {
        "n": prompts,
        "mean": mean if np.isfinite(mean) else None,
        "low": low,
        "high": high,
        "interval": BY_PROMPTS,
    }


def ratio(numerators: ArrayLike, denominators: ArrayLike, resamples: int = 1000) -> Estimate:
    """Estimate Σ numerators / Σ denominators, given one of each per prompt. (prompts,) each"""
    above, below = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)

    def statistic(weights: NDArray[np.float64]) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (weights @ above) / (weights @ below)

    return over_prompts(statistic, above.size, resamples)


def over_repeats(values: Sequence[float], repeats: str) -> Estimate:
    """Estimate the mean of repeated measurements; a single one has no interval.

    Args:
        values: One value per repeat.
        repeats: What was repeated, such as "training seeds".
    """
    count, mean = len(values), float(np.mean(values))
    estimate: Estimate = {"n": count, "mean": mean, "low": None, "high": None}
    if count > 1:
        t = STUDENT_T[count - 2] if count - 2 < len(STUDENT_T) else 1.96
        half = t * float(np.std(values, ddof=1)) / count**0.5
        estimate |= {"low": mean - half, "high": mean + half}
    return estimate | {"interval": f"95 %, Student's t over {repeats}"}


def area_under_curve(scores: ArrayLike, happened: ArrayLike, weights: ArrayLike) -> float:
    """Return ROC-AUC: the chance that an event scored higher than a non-event, ties counting one half.

    Args:
        scores: (N,) predictions.
        happened: (N,) True where the event happened.
        weights: (N,) how often each sample counts.

    Returns:
        A number in 0..1, or NaN where all samples are events, or none is.
    """
    outcomes, counts = np.asarray(happened, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    _, rank = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)  # (N,)
    yes, no = np.bincount(rank, counts * outcomes), np.bincount(rank, counts * (1.0 - outcomes))
    pairs = yes.sum() * no.sum()
    return float(yes @ (no.cumsum() - no / 2.0) / pairs) if pairs else float("nan")
