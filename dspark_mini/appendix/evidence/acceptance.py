"""Accepted length τ and acceptance by position: Table 1 and Figures 2 to 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recordings import Recorder, Recording, Runs, per_domain
from dspark_mini.appendix.evidence.settings import COMPARED, DRAFTERS, seeded
from dspark_mini.appendix.evidence.statistics import BY_PROMPTS, Estimate, over_prompts, over_repeats, ratio
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.trace import PARTS

HEADLESS = "dspark without its head"
BLOCK_SIZES = (4, 8, 12, 16)
Seeds = Mapping[int, Runs | None]  # the runs of each training seed


def tau(run: Recording, weights: NDArray[np.float64]) -> Any:
    """Compute τ, the tokens per round with the bonus token, for weighted prompts (…, prompts). (…)"""
    return (weights @ run.per_prompt(run.emitted)) / (weights @ run.rounds)


def tau_estimate(run: Recording) -> Estimate:
    """Estimate τ with its interval over prompts."""
    return ratio(run.per_prompt(run.emitted), run.rounds)


def gain(better: Runs, other: Runs) -> Estimate:
    """Estimate the relative gain in τ, averaged over domains; both drafters saw the same prompts."""

    def statistic(weights: NDArray[np.float64]) -> Any:
        return np.mean([tau(better[d], weights) / tau(other[d], weights) - 1.0 for d in DOMAINS], axis=0)

    return over_prompts(statistic, better[DOMAINS[0]].prompts)


def table_1(recorder: Recorder) -> dict[str, Any]:
    """Measure τ by domain and drafter for each training seed, and DSpark's gain with and without its head."""
    seeds = recorder.settings.seeds
    runs = {name: {seed: recorder.by_domain(seeded(name, seed)) for seed in seeds} for name in COMPARED}
    runs[HEADLESS] = {seed: recorder.by_domain(seeded("dspark", seed), headless=True) for seed in seeds}
    pairs = (("dspark", "dflash"), ("dspark", "autoregressive"), (HEADLESS, "dflash"))
    return {
        "tau": {name: {domain: _tau_over_seeds(row, domain) for domain in DOMAINS} for name, row in runs.items()},
        "gain": {f"{one} over {other}": _gain_over_seeds(runs[one], runs[other]) for one, other in pairs},
    }


def _tau_over_seeds(seeds: Seeds, domain: str) -> dict[str, Any] | None:
    return _over_seeds({seed: tau_estimate(runs[domain]) for seed, runs in seeds.items() if runs})


def _gain_over_seeds(better: Seeds, other: Seeds) -> dict[str, Any] | None:
    """Compare drafters of the same training seed."""
    return _over_seeds({seed: gain(a, b) for seed, a in better.items() if a and (b := other[seed])})


def _over_seeds(estimates: Mapping[int, Estimate]) -> dict[str, Any] | None:
    """Average the estimates of the training seeds that have weights."""
    if not estimates:
        return None
    mean = over_repeats([estimate["mean"] for estimate in estimates.values()], "training seeds")
    return {"over_seeds": mean, "seeds": {str(seed): estimate for seed, estimate in estimates.items()}}


def figure_2(recorder: Recorder) -> dict[str, Any]:
    """Measure the conditional acceptance of each position, by domain and drafter."""
    rows = {name: per_domain(recorder.by_domain(name), acceptance_by_position) for name in DRAFTERS["figure_2"]}
    return {"interval": BY_PROMPTS, "conditional_acceptance": rows}


def acceptance_by_position(run: Recording) -> list[Estimate]:
    """Estimate how often x_k is accepted, given that x_<k was; positions after the end of a text do not count. (γ,)"""
    usable, survived = run.first(run.usable), run.first(run.accepted)
    reached = run.first(run.accepted + 1) & usable  # (N, γ) everything before was accepted
    out = []
    for k in range(run.block_size):
        rate = ratio(run.per_prompt(reached[:, k] & survived[:, k]), run.per_prompt(reached[:, k]))
        out.append({"rounds": int(reached[:, k].sum())} | {key: rate[key] for key in ("n", "mean", "low", "high")})
    return out


def figure_3(recorder: Recorder) -> dict[str, Any]:
    """Measure τ by the drafter's number of layers, at the same number of training steps."""
    runs = {name: recorder.by_domain(name) for name in DRAFTERS["figure_3"]}
    shallow, deep = runs["dspark-2"], runs["dflash-4"]
    return {
        "tau": {name: per_domain(run, tau_estimate) for name, run in runs.items()},
        "gain of dspark-2 over dflash-4": gain(shallow, deep) if shallow and deep else None,
    }


def figure_4(recorder: Recorder) -> dict[str, Any]:
    """Measure τ and the head's share of a round by γ; the drafters were trained for 16 and use their first γ drafts."""
    dflash, dspark = (
        [recorder.by_domain(name, block_size=size) for size in BLOCK_SIZES] for name in DRAFTERS["figure_4"]
    )
    runs = {"dflash-16": dflash, "dspark-16": dspark}
    parts = {name: [round_seconds(run) if run else None for run in row] for name, row in runs.items()}
    return {
        "block_length": list(BLOCK_SIZES),
        "tau": {name: [per_domain(run, tau_estimate) for run in row] for name, row in runs.items()},
        "gain": [gain(one, other) if one and other else None for one, other in zip(dspark, dflash)],
        "round": parts,
        "share_of_the_head": [_head_share(one, other) for one, other in zip(parts["dspark-16"], parts["dflash-16"])],
        "hardware": hardware("numpy", "cpu", None),
    }


def round_seconds(runs: Runs) -> dict[str, float]:
    """Return the median seconds of each part of a round: one request, NumPy, one thread."""
    seconds = np.median(np.concatenate([run.seconds for run in runs.values()]), axis=0)  # (4,)
    return dict(zip(PARTS, seconds.tolist()))


def _head_share(dspark: dict[str, float] | None, dflash: dict[str, float] | None) -> float | None:
    """Return the share of a DSpark round spent in the head, beyond the sampling that DFlash needs as well."""
    return (dspark["head"] - dflash["head"]) / sum(dspark.values()) if dspark and dflash else None
