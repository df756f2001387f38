"""What the size of a drafter buys: more layers (Figure 3), and longer blocks (Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dspark_mini.appendix.evidence.acceptance import gain, tau_estimate
from dspark_mini.appendix.evidence.recorder import Recorder
from dspark_mini.appendix.evidence.recording import Recording, each
from dspark_mini.appendix.evidence.settings import NEEDS
from dspark_mini.backends import hardware
from dspark_mini.trace import PARTS

LENGTHS = (4, 8, 12, 16)

FIGURE_3 = {"shape": "A DSpark of 2 layers beats a DFlash of 5."}
FIGURE_4: dict[str, Any] = {
    "gain_of_dspark_over_dflash_at_15": [0.30, 0.26, 0.22],
    "share_of_the_head": [0.002, 0.013],
    "shape": "The gain over DFlash grows with γ; the head's share of a round stays between 0.2 and 1.3 %.",
}


def figure_3(recorder: Recorder) -> dict[str, Any]:
    """Measure τ by the number of the drafter's layers, all trained for the same number of steps."""
    runs = {name: recorder.by_domain(name) for name in NEEDS["figure_3"]}
    rows = {name: each(run, tau_estimate) for name, run in runs.items()}
    shallow, deep = runs["dspark-2"], runs["dflash-4"]
    ahead = gain(shallow, deep) if shallow and deep else None
    ours = {"tau": rows, "gain of dspark-2 over dflash-4": ahead}
    return {"paper": FIGURE_3, "ours": ours}


def figure_4(recorder: Recorder) -> dict[str, Any]:
    """Measure τ and the share of the head by block length: drafters for 16, of which the first γ drafts are used."""
    plain, headed = NEEDS["figure_4"]
    runs = {name: [recorder.by_domain(name, block_size=size) for size in LENGTHS] for name in (plain, headed)}
    rows = {name: [each(run, tau_estimate) for run in sizes] for name, sizes in runs.items()}
    gains = [gain(ours, other) if ours and other else None for ours, other in zip(runs[headed], runs[plain])]
    parts = {name: [None if run is None else round_parts(run) for run in sizes] for name, sizes in runs.items()}
    ours = {
        "block_length": list(LENGTHS),
        "tau": rows,
        "gain": gains,
        "round": parts,
        "share_of_the_head": _added(parts),
        "hardware": hardware("numpy", "cpu", None),
    }
    return {"paper": FIGURE_4, "ours": ours}


def round_parts(run: Mapping[str, Recording]) -> dict[str, float]:
    """Return the median seconds of each part of a round: one request, NumPy, one thread."""
    seconds = np.median(np.concatenate([one.seconds for one in run.values()]), axis=0)  # (4,)
    return dict(zip(PARTS, seconds.tolist()))


def _added(parts: Mapping[str, list[dict[str, float] | None]]) -> list[float | None]:
    """Return the share of a DSpark round that its head adds: what the part takes beyond DFlash, which only draws."""
    return [
        (ours["head"] - plain["head"]) / sum(ours.values()) if ours and plain else None
        for ours, plain in zip(parts["dspark-16"], parts["dflash-16"])
    ]
