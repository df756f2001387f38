"""Accepted length τ and acceptance by position: Table 1 and Figures 2 to 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recordings import Recorder, Recording, Runs, per_domain
from dspark_mini.appendix.evidence.settings import COMPARED, DRAFTERS, HEADS, PAIR
from dspark_mini.appendix.evidence.statistics import BY_PROMPTS, Estimate, over_prompts, over_repeats, ratio
from dspark_mini.appendix.plan import DEPTHS, block_name, layers_name, seed_name
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.trace import PARTS

HEADLESS = "dspark without its head"
BLOCK_SIZES = (3, 7, 11, 15)  # the paper's draft lengths of 4 to 16 include the anchor
COUNTED_4 = "γ counts drafts alone; the paper's draft lengths of 4, 8, 12 and 16 count the anchor as well."
Seeds = Mapping[int, Runs | None]  # the runs of each training seed
DIFFERS = {  # reasons; what differs, and by how much, the results say
    "table_1": (
        "dflash-ce is the paper's baseline: DFlash as DeepSpec's configs train it, by cross-entropy alone and anchor "
        "first. dflash has DSpark's distillation loss and masks, but neither of its heads. All weights of positions "
        "fall by exp(−(k − 1) / 4), as in these configs at γ = 7. The autoregressive drafter is not behind in τ: one "
        "more layer after eight of the target learns such short texts well; its cost makes it slower than DSpark in "
        "`dspark-mini race`. DSpark without its head falls below DFlash, since its base logits learned to leave to the "
        "head what depends on the previous token. Heads have equal data, layers, steps and rank; Domino's is trained "
        "without the curriculum of its authors, which first strengthens the base logits."
    ),
    "figure_2": (
        "Acceptance is conditional on the prefix, so late positions see easier blocks; DSpark's own confidence tests "
        "this: at the last position it is lower on average over all blocks than over those that are left. The "
        "autoregressive drafter starts so high that little is left to rise."
    ),
    "figure_3": (
        "It agrees. With one layer DSpark falls short: one is little for any drafter of this small width. DFlash has "
        "DSpark's distillation loss here and in Figure 4; intervals are over prompts, for one training seed."
    ),
    "figure_4": (
        "One drafter of each kind was trained for γ = 15, and shorter blocks are its first drafts; the draft forward "
        "always covers the whole block, which understates the head's share in short blocks. Weights of positions fall "
        "by exp(−(k − 1) / 8). The head takes more than in the paper because the target is far smaller, and each step "
        "of the head costs several NumPy calls, however little there is to compute."
    ),
}


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
    """Measure τ by domain and drafter for each training seed, gains, and the time of each head.

    dflash-ce is DFlash as DeepSpec trains it: by cross-entropy alone, anchor first. dflash has DSpark's loss, and one
    mask more.
    """
    seeds = recorder.settings.seeds
    runs = {name: {seed: recorder.by_domain(seed_name(name, seed)) for seed in seeds} for name in COMPARED}
    runs[HEADLESS] = {seed: recorder.by_domain(seed_name("dspark", seed), headless=True) for seed in seeds}
    pairs = [("dspark", other) for other in ("dflash-ce", "dflash", "autoregressive")] + [(HEADLESS, "dflash")]
    pairs += [(head, "dspark") for head in HEADS[1:]]
    first = {name: row[seeds[0]] for name, row in runs.items() if name in ("dflash", *HEADS)}
    spent = {name: round_seconds(run) if run else None for name, run in first.items()}
    return {
        "tau": {name: {domain: _tau_over_seeds(row, domain) for domain in DOMAINS} for name, row in runs.items()},
        "gain": {f"{one} over {other}": _gain_over_seeds(runs[one], runs[other]) for one, other in pairs},
        "seconds_of_the_head": {name: _head_seconds(spent[name], spent["dflash"]) for name in HEADS},
        "round_seconds": spent,
        "hardware": hardware("numpy", "cpu", None),
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
    chosen = per_domain(recorder.by_domain("dspark"), _confidence_at_the_last_position)
    return {"interval": BY_PROMPTS, "conditional_acceptance": rows, "confidence_at_the_last_position": chosen}


def _confidence_at_the_last_position(run: Recording) -> dict[str, float | None]:
    """Average the confidence over all whole blocks, and over those that were accepted up to there."""
    whole = run.usable == run.block_size
    left = whole & (run.accepted >= run.block_size - 1)
    values = {name: run.confidences[rows, -1] for name, rows in (("all", whole), ("reached", left))}
    return {name: float(last.mean()) if last.size else None for name, last in values.items()}


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
    runs = {kind: [recorder.by_domain(layers_name(kind, depth)) for depth in DEPTHS] for kind in PAIR}
    deep = runs["dflash"][-1]
    return {
        "layers": list(DEPTHS),
        "tau": {kind: [per_domain(run, tau_estimate) for run in row] for kind, row in runs.items()},
        "gain_of_dspark_over_the_deepest_dflash": [gain(run, deep) if run and deep else None for run in runs["dspark"]],
    }


def figure_4(recorder: Recorder) -> dict[str, Any]:
    """Measure τ and the head's share of a round by γ; the drafters were trained for 15 and use their first γ drafts."""
    runs = {kind: [recorder.by_domain(block_name(kind), block_size=size) for size in BLOCK_SIZES] for kind in PAIR}
    parts = {kind: [round_seconds(run) if run else None for run in row] for kind, row in runs.items()}
    return {
        "counted": COUNTED_4,
        "block_size": list(BLOCK_SIZES),
        "tau": {kind: [per_domain(run, tau_estimate) for run in row] for kind, row in runs.items()},
        "gain": [gain(one, other) if one and other else None for one, other in zip(runs["dspark"], runs["dflash"])],
        "round": parts,
        "share_of_the_head": [_head_share(one, other) for one, other in zip(parts["dspark"], parts["dflash"])],
        "hardware": hardware("numpy", "cpu", None),
    }


def round_seconds(runs: Runs) -> dict[str, float]:
    """Return the median seconds of each part of a round: one request, NumPy, one thread."""
    seconds = np.median(np.concatenate([run.seconds for run in runs.values()]), axis=0)  # (4,)
    return dict(zip(PARTS, seconds.tolist()))


def _head_seconds(spent: dict[str, float] | None, dflash: dict[str, float] | None) -> float | None:
    """Return the seconds per round that a head takes beyond the sampling that DFlash needs as well."""
    return spent["head"] - dflash["head"] if spent and dflash else None


def _head_share(dspark: dict[str, float] | None, dflash: dict[str, float] | None) -> float | None:
    """Return the share of a DSpark round spent in the head."""
    seconds = _head_seconds(dspark, dflash)
    return seconds / sum(dspark.values()) if dspark and seconds is not None else None
