"""How much of a block is accepted: by domain and drafter (Table 1), and by position (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recorder import Recorder
from dspark_mini.appendix.evidence.recording import Recording, each
from dspark_mini.appendix.evidence.settings import COMPARED, NEEDS, seeded
from dspark_mini.appendix.evidence.statistics import BY_PROMPTS, Estimate, over_prompts, over_seeds, ratio
from dspark_mini.corpus import DOMAINS

HEADLESS = "dspark without its head"

TABLE_1: dict[str, Any] = {
    "model": "Qwen3-4B, γ = 7, temperature 1",
    "sets": ["GSM8K", "MATH", "AIME25", "MBPP", "HumanEval", "LCB", "MT-Bench", "Alpaca", "Arena-Hard"],
    "tau": {
        "EAGLE-3": [5.14, 4.62, 3.92, 3.69, 4.16, 3.77, 2.39, 2.26, 2.55],
        "DFlash": [5.40, 4.85, 4.15, 4.40, 4.74, 4.18, 3.07, 2.96, 2.83],
        "DSpark": [6.11, 5.70, 4.89, 5.13, 5.38, 4.86, 3.64, 3.54, 3.29],
    },
    "tau_of_dspark_by_domain": {"math": 5.57, "code": 5.12, "chat": 3.49},
    "gain_of_dspark": {"over DFlash": 0.163, "over EAGLE-3": 0.309},
}
FIGURE_2: dict[str, Any] = {
    "first_and_last_position": {
        "DFlash": {"code": [0.87, 0.78], "chat": [0.72, 0.63]},
        "EAGLE-3": {"chat": [0.53, 0.74]},
    },
    "shape": "DFlash starts high and decays; EAGLE-3 starts low and rises; DSpark starts high and stays.",
}


def tau(recording: Recording, prompts: NDArray[np.float64] | None = None) -> Any:
    """Return the tokens a round brings, bonus included, with prompts weighted alike or as given. (…)"""
    weights = np.ones(recording.prompts) if prompts is None else prompts
    return (weights @ recording.by_prompt(recording.emitted)) / (weights @ recording.rounds)


def tau_estimate(recording: Recording) -> Estimate:
    """Estimate τ, with its interval over prompts."""
    return ratio(recording.by_prompt(recording.emitted), recording.rounds)


def gain(better: Mapping[str, Recording], other: Mapping[str, Recording]) -> Estimate:
    """Estimate the gain in τ, averaged over the domains; both drafters met the same prompts."""

    def statistic(weights: NDArray[np.float64]) -> Any:
        return np.mean([tau(better[d], weights) / tau(other[d], weights) - 1.0 for d in DOMAINS], axis=0)

    return over_prompts(statistic, better[DOMAINS[0]].prompts)


def table_1(recorder: Recorder) -> dict[str, Any]:
    """Measure τ by domain and drafter for each training seed, and DSpark's gain with and without its head."""
    runs = {
        name: {seed: recorder.by_domain(seeded(name, seed)) for seed in recorder.settings.seeds} for name in COMPARED
    }
    runs[HEADLESS] = {
        seed: recorder.by_domain(seeded("dspark", seed), headless=True) for seed in recorder.settings.seeds
    }
    gains = {
        f"{one} over {other}": _gains(runs[one], runs[other])
        for one, other in (("dspark", "dflash"), ("dspark", "autoregressive"), (HEADLESS, "dflash"))
    }
    rows = {name: {domain: _over_seeds(seeds, domain) for domain in DOMAINS} for name, seeds in runs.items()}
    return {"paper": TABLE_1, "ours": {"tau": rows, "gain": gains}}


Seeds = Mapping[int, Mapping[str, Recording] | None]


def _over_seeds(seeds: Seeds, domain: str) -> dict[str, Any] | None:
    """Collect τ of each training seed, and the mean of those that are there."""
    each = {str(seed): tau_estimate(runs[domain]) for seed, runs in seeds.items() if runs is not None}
    return {"over_seeds": over_seeds([one["mean"] for one in each.values()]), "seeds": each} if each else None


def _gains(better: Seeds, other: Seeds) -> dict[str, Any] | None:
    """Compare drafters of the same training seed."""
    each = {str(s): gain(a, b) for s, a in better.items() if a is not None and (b := other[s]) is not None}
    return {"over_seeds": over_seeds([one["mean"] for one in each.values()]), "seeds": each} if each else None


def figure_2(recorder: Recorder) -> dict[str, Any]:
    """Measure how often a position is accepted once those before it were, by domain and drafter, of the first seed."""
    rows = {name: each(recorder.by_domain(name), by_position) for name in NEEDS["figure_2"]}
    return {"paper": FIGURE_2, "ours": {"interval": BY_PROMPTS, "conditional_acceptance": rows}}


def by_position(recording: Recording) -> list[Estimate]:
    """Estimate the conditional acceptance of each position; those behind the end of a text do not count. (γ,)"""
    counted, survived = recording.counted(), recording.survived()
    before = np.column_stack((np.ones(len(counted), bool), survived[:, :-1]))  # (N, γ) all before it were accepted
    out = []
    for k in range(recording.block_size):
        tried = before[:, k] & counted[:, k]
        rate = ratio(recording.by_prompt(tried & survived[:, k]), recording.by_prompt(tried))
        out.append({"rounds": int(tried.sum())} | {key: rate[key] for key in ("n", "mean", "low", "high")})
    return out
