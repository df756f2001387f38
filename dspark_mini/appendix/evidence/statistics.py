"""Means with the intervals in which they may lie: by resampling prompts, or over training seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Estimate = dict[str, Any]  # n, mean, low, high, interval

# Student's t, two-sided 95 %, by degrees of freedom; beyond the last one the normal value is close enough here.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
BY_PROMPTS = "95 %, bootstrap over prompts"
BY_SEEDS = "95 %, Student's t over training seeds"
BY_PASSES = "95 %, Student's t over passes"


def over_prompts(
    statistic: Callable[[NDArray[np.float64]], ArrayLike], prompts: int, resamples: int = 1000, seed: int = 0
) -> Estimate:
    """Estimate a number from texts, with the interval that resampling the prompts gives.

    Args:
        statistic: of (…, prompts) weights, how often each prompt counts, makes (…) numbers.
        prompts: how many there are.
        resamples: how many times they are drawn with replacement.
        seed: of the draws.

    Returns:
        n, mean, low, high, and which interval it is; the bounds are None where no resample gives a number.
    """
    drawn = np.random.default_rng(seed).multinomial(prompts, np.full(prompts, 1.0 / prompts), size=resamples)
    values = np.asarray(statistic(drawn.astype(np.float64)), dtype=np.float64)  # (resamples,)
    values = values[np.isfinite(values)]
    low, high = np.percentile(values, (2.5, 97.5)).tolist() if values.size else (None, None)
    mean = float(np.asarray(statistic(np.ones(prompts))))
    return {"n": prompts, "mean": _number(mean), "low": low, "high": high, "interval": BY_PROMPTS}


def ratio(parts: ArrayLike, wholes: ArrayLike, **settings: Any) -> Estimate:
    """Estimate Σ parts / Σ wholes from one pair of sums a prompt, (prompts,) each."""
    above, below = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)

    def statistic(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            out: NDArray[np.float64] = (weights @ above) / (weights @ below)
        return out

    return over_prompts(statistic, above.size, **settings)


def over_seeds(values: Sequence[float]) -> Estimate:
    """Estimate the mean over training seeds; with a single one there is no interval."""
    return _student(values, BY_SEEDS)


def over_passes(values: Sequence[float]) -> Estimate:
    """Estimate the mean over repeated measurements."""
    return _student(values, BY_PASSES)


def _student(values: Sequence[float], interval: str) -> Estimate:
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return {"n": count, "mean": mean, "low": None, "high": None, "interval": interval}
    quantile = STUDENT[count - 2] if count - 2 < len(STUDENT) else 1.96
    half = quantile * float(np.std(values, ddof=1)) / count**0.5
    return {"n": count, "mean": mean, "low": mean - half, "high": mean + half, "interval": interval}


def area_under_curve(scores: ArrayLike, happened: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the chance that what happened was given a higher score than what did not (ROC-AUC), ties as one half.

    Args:
        scores: (N,) numbers.
        happened: (N,) 1 or True where it happened.
        weights: (N,) how often each counts; once by default.

    Returns:
        A number from 0 to 1; nan where everything happened, or nothing.
    """
    outcomes = np.asarray(happened, dtype=np.float64)
    counts = np.ones(outcomes.size) if weights is None else np.asarray(weights, dtype=np.float64)
    _, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)  # (N,) rank of the score
    yes, no = np.bincount(place, counts * outcomes), np.bincount(place, counts * (1.0 - outcomes))
    pairs = yes.sum() * no.sum()
    return float(yes @ (no.cumsum() - no / 2.0) / pairs) if pairs else float("nan")


def _number(value: float) -> float | None:
    """Write what is no number as None, so that the JSON can be read anywhere."""
    return value if np.isfinite(value) else None
