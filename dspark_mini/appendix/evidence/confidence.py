"""What confidence is good for: a threshold (Figure 5), and how far it can be believed (Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recorder import Recorder
from dspark_mini.appendix.evidence.recording import Recording, each
from dspark_mini.appendix.evidence.statistics import Estimate, area_under_curve, over_prompts, ratio
from dspark_mini.calibration import fit_sequential_temperatures, prefix_survival
from dspark_mini.confidence import choose_confident_prefix

THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
TEMPERATURES = np.geomspace(0.2, 5.0, 65)  # that STS tries
BINS = 10
RESAMPLES = 200

FIGURE_5 = {
    "acceptance_rate_from_to": {"chat": [0.457, 0.957], "math": [0.769, 0.925], "code": [0.676, 0.920]},
}
FIGURE_6: dict[str, Any] = {"ece_before": [0.03, 0.08], "ece_after": 0.01, "auc": [0.81, 0.91]}
SHIFT = (
    "The confidence head learned the chance of acceptance at temperature 1. Here drafts are the best tokens of their "
    "rows, and verification is greedy, so that a draft survives only if it is the target's best token. Temperatures "
    "are fitted on every second prompt and tested on the others; rounds in which a text ends are left out."
)
PREDICTED = "Prefix survival is predicted, and compared with whether the prefix was accepted, all positions together."
KEPT = (
    "Rounds were recorded with whole blocks verified; a threshold cuts them afterwards, so that all thresholds see the "
    "same blocks; at least one draft of a block is verified."
)


def figure_5(recorder: Recorder) -> dict[str, Any]:
    """Sweep the threshold over recorded rounds of DSpark at temperature 1."""
    runs = recorder.by_domain("dspark")
    rows = each(runs, lambda run: [cut(run, threshold) for threshold in THRESHOLDS])
    ours = {"how": KEPT, "threshold": list(THRESHOLDS), "by_domain": rows}
    return {"paper": FIGURE_5, "ours": ours}


def cut(run: Recording, threshold: float) -> dict[str, Estimate]:
    """Count what a threshold verifies: the acceptance rate, and accepted and rejected drafts a round."""
    length = np.array([choose_confident_prefix(row, threshold, 1, run.block_size) for row in run.confidences])  # (N,)
    length = np.minimum(length, run.usable)
    accepted = np.minimum(length, run.accepted)
    verified, kept = run.by_prompt(length), run.by_prompt(accepted)
    return {
        "acceptance_rate": ratio(kept, verified),
        "accepted": ratio(kept, run.rounds),
        "rejected": ratio(verified - kept, run.rounds),
    }


def figure_6(recorder: Recorder) -> dict[str, Any]:
    """Measure how far confidences can be believed, before and after STS, under a shift and without one."""
    ours: dict[str, Any] = {"shift": SHIFT, "predicted": PREDICTED}
    for name, temperature in (("greedy, a shift", 0.0), ("temperature 1, no shift", 1.0)):
        runs = recorder.by_domain("dspark", temperature=temperature)
        ours[name] = runs and reliability(runs)
    return {"paper": FIGURE_6, "ours": ours}


def reliability(runs: Mapping[str, Recording]) -> dict[str, Any]:
    """Fit temperatures on every second prompt, of all domains together, and measure on the others."""
    fitting, testing = ([_part(run, odd) for run in runs.values()] for odd in (False, True))
    temperatures = fit_sequential_temperatures(
        np.concatenate([logits for logits, _, _ in fitting]),
        np.concatenate([survived for _, survived, _ in fitting]),
        TEMPERATURES,
    )
    out: dict[str, Any] = {"temperatures": temperatures.tolist()}
    for name, divisor in (("before", np.ones_like(temperatures)), ("after", temperatures)):
        parts = {domain: _predicted(*part, divisor) for domain, part in zip(runs, testing)}
        out[name] = {domain: measure(*part) for domain, part in parts.items()}
        offsets = np.cumsum([0, *(run.prompts for run in runs.values())])  # prompts of all domains, each its own number
        together = [
            np.concatenate(group) for group in zip(*((p, s, n + o) for (p, s, n), o in zip(parts.values(), offsets)))
        ]
        out[name]["all"] = measure(*together)
    return out


Part = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]


def _part(run: Recording, odd: bool) -> Part:
    """Return logits (n, γ), survivals (n, γ) and prompts (n,) of the whole rounds of every second prompt."""
    rows = (run.usable == run.block_size) & (run.prompt % 2 == odd)
    values = run.confidences[rows].clip(1e-12, 1.0 - 1e-12)
    return np.log(values / (1.0 - values)), run.survived()[rows], run.prompt[rows]


def _predicted(
    logits: NDArray[np.float64],
    survived: NDArray[np.bool_],
    prompt: NDArray[np.int64],
    temperatures: NDArray[np.float64],
) -> Part:
    """Predict prefix survival of every position, and lay rounds and positions out in one row. (n · γ,) each"""
    predicted = prefix_survival(1.0 / (1.0 + np.exp(-logits / temperatures)))  # (n, γ)
    return predicted.ravel(), survived.ravel(), np.repeat(prompt, logits.shape[1])


def measure(predicted: NDArray[np.float64], happened: NDArray[np.bool_], prompt: NDArray[np.int64]) -> dict[str, Any]:
    """Measure calibration error and ROC-AUC over prompts, and the bins of the reliability diagram."""
    _, prompt = np.unique(prompt, return_inverse=True)
    bins, prompts = np.minimum((predicted * BINS).astype(int), BINS - 1), int(prompt.max()) + 1
    gaps = np.zeros((prompts, BINS))
    np.add.at(gaps, (prompt, bins), predicted - happened)
    samples = np.bincount(prompt)

    def error(weights: NDArray[np.float64]) -> Any:
        return np.abs(weights @ gaps).sum(axis=-1) / (weights @ samples)

    def area(weights: NDArray[np.float64]) -> Any:
        rows = np.atleast_2d(weights)
        return np.squeeze([area_under_curve(predicted, happened, row[prompt]) for row in rows])

    count = np.bincount(bins, minlength=BINS)
    return {
        "samples": int(happened.size),
        "ece": over_prompts(error, prompts, RESAMPLES),
        "auc": over_prompts(area, prompts, RESAMPLES),
        "bins": {
            "samples": count.tolist(),
            "predicted": (np.bincount(bins, predicted, BINS) / count.clip(1)).tolist(),
            "happened": np.bincount(bins, happened, BINS).astype(int).tolist(),
        },
    }
