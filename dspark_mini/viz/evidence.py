"""The pictures of the paper's evidence, drawn from the results that `dspark-mini appendix reproduce` writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.corpus import DOMAINS
from dspark_mini.viz.calibration import reliability_diagram
from dspark_mini.viz.estimates import Estimates, Stroke, curve, row_of_axes, with_legend
from dspark_mini.viz.style import FAINT, INK, NORMAL, SMALL, STROKES, Picture, svg, write

DRAFTERS: dict[str, Stroke] = dict(zip(("dflash", "dspark", "autoregressive", "dspark-rnn"), STROKES))
DRAFTERS["dspark without its head"] = (STROKES[1][0], ":", "X")
PAPER = {"EAGLE-3": "autoregressive", "DFlash": "dflash", "DSpark": "dspark"}
FATES: dict[str, Stroke] = {"accepted": (STROKES[2][0], "-", "P"), "rejected": (STROKES[3][0], "--", "x")}
WAYS: dict[str, Stroke] = dict(zip(("scheduled", "lagged budget", "plain"), STROKES[1:]))
WAYS = {f"fixed {n}": (STROKES[0][0], "--", marker) for n, marker in zip((1, 3, 5, 7), "vxPs")} | WAYS


def draw(name: str, entry: Mapping[str, Any], path: str | os.PathLike[str]) -> bool:
    """Draw the picture of an experiment into a file, where it has results.

    Args:
        name: of the experiment: table_1, figure_2 and so on.
        entry: its results, as they stand in evidence.json.
        path: of the svg.

    Returns:
        Whether there was anything to draw.
    """
    figure = PICTURES[name](entry)
    if figure is not None:
        svg(figure, path)
    return figure is not None


def table_1(entry: Mapping[str, Any]) -> Picture | None:
    """Draw τ by domain and drafter: here, and in the paper."""
    rows = {name: row for name, row in entry["ours"]["tau"].items() if any(row.values())}
    if not rows:
        return None
    here, paper = row = row_of_axes(2, ["here", "in the paper, Qwen3-4B"], "", width=4.2)
    for place, (name, values) in enumerate(rows.items()):
        estimates = [values[domain] and values[domain]["over_seeds"] for domain in DOMAINS]
        _beside(here, place, len(rows), estimates, name)
    for place, (published, name) in enumerate(PAPER.items()):
        sets = np.reshape(entry["paper"]["tau"][published], (3, 3)).mean(axis=1)  # three sets a domain
        _beside(paper, place, len(PAPER), [{"mean": value} for value in sets], name)
    for ax in row:
        ax.set_xticks(range(3), DOMAINS)
    here.set_ylim(bottom=1.0)  # a round brings at least one token
    here.set_ylabel("tokens a round, τ", color=INK, fontsize=NORMAL)
    return with_legend(row)


def _beside(ax: Axes, place: int, count: int, estimates: Estimates, name: str) -> None:
    """Put the points of a drafter beside those of the others."""
    shift = 0.5 * (place - (count - 1) / 2) / count
    curve(ax, [domain + shift for domain in range(3)], estimates, DRAFTERS[name], name, line=False)


def figure_2(entry: Mapping[str, Any]) -> Picture | None:
    """Draw how often a position is accepted once those before it were."""
    rows = {name: row for name, row in entry["ours"]["conditional_acceptance"].items() if row}
    if not rows:
        return None
    axes = row_of_axes(3, DOMAINS, "position in the block")
    for ax, domain in zip(axes, DOMAINS):
        for name, row in rows.items():
            positions = range(1, len(row[domain]) + 1)
            curve(ax, positions, row[domain], DRAFTERS[name], name)
            ax.set_xticks(positions)
        ax.set_ylim(0.0, 1.03)
    axes[0].set_ylabel("accepted, given that all before it were", color=INK, fontsize=NORMAL)
    return with_legend(axes)


def figure_3(entry: Mapping[str, Any]) -> Picture | None:
    """Draw τ by the number of layers."""
    rows = entry["ours"]["tau"]
    if not any(rows.values()):
        return None
    depths = sorted({int(name.rsplit("-", 1)[1]) for name in rows})
    axes = row_of_axes(3, DOMAINS, "layers of the drafter")
    for ax, domain in zip(axes, DOMAINS):
        for kind in ("dflash", "dspark"):
            found = [rows[f"{kind}-{depth}"] for depth in depths]
            curve(ax, depths, [one and one[domain] for one in found], DRAFTERS[kind], kind)
        ax.set_xticks(depths)
    axes[0].set_ylim(bottom=1.0)
    axes[0].set_ylabel("tokens a round, τ", color=INK, fontsize=NORMAL)
    return with_legend(axes)


def figure_4(entry: Mapping[str, Any]) -> Picture | None:
    """Draw τ by the length of the block, and the share of a round that the head takes."""
    ours = entry["ours"]
    if not any(one for row in ours["tau"].values() for one in row):
        return None
    lengths = ours["block_length"]
    axes = row_of_axes(4, [*DOMAINS, "the head's share"], "length of the block, γ", share_y=False, width=2.6)
    for ax, domain in zip(axes, DOMAINS):
        for name, row in ours["tau"].items():
            kind = name.rsplit("-", 1)[0]
            curve(ax, lengths, [one and one[domain] for one in row], DRAFTERS[kind], kind)
        ax.set_ylim(bottom=1.0)
    axes[0].set_ylabel("tokens a round, τ", color=INK, fontsize=NORMAL)
    shares = [{"mean": share and 100 * share} for share in ours["share_of_the_head"]]
    curve(axes[3], lengths, shares, DRAFTERS["dspark"], "dspark")
    low, high = (100 * share for share in entry["paper"]["share_of_the_head"])
    axes[3].axhspan(low, high, color=FAINT, linewidth=0)
    write(axes[3], lengths[-1], high, f"paper: {low:g}–{high:g} %", size=SMALL, ha="right", va="bottom")
    axes[3].set_ylabel("% of a round", color=INK, fontsize=NORMAL)
    axes[3].set_ylim(bottom=0.0)
    for ax in axes:
        ax.set_xticks(lengths)
    return with_legend(axes)


def figure_5(entry: Mapping[str, Any]) -> Picture | None:
    """Draw what a threshold on the confidence lets through."""
    rows, thresholds = entry["ours"]["by_domain"], entry["ours"]["threshold"]
    if not rows:
        return None
    axes = row_of_axes(4, ["acceptance rate", *DOMAINS], "threshold", share_y=False, width=2.6)
    for domain, stroke in zip(DOMAINS, STROKES):
        curve(axes[0], thresholds, [one["acceptance_rate"] for one in rows[domain]], stroke, domain)
    for ax, domain in zip(axes[1:], DOMAINS):
        for name, stroke in FATES.items():
            curve(ax, thresholds, [one[name] for one in rows[domain]], stroke, f"{name} drafts a round")
        ax.set_ylim(0.0, 7.0)
    axes[0].set_ylim(0.0, 1.03)
    return with_legend(axes)


def figure_6(entry: Mapping[str, Any]) -> Picture | None:
    """Draw reliability diagrams before and after sequential temperature scaling, with and without a shift."""
    ours, samples, errors = entry["ours"], {}, {}
    for name, when, label in (
        ("greedy, a shift", "before", "greedy, raw"),
        ("greedy, a shift", "after", "greedy, STS"),
        ("temperature 1, no shift", "before", "T = 1, raw"),
    ):
        if ours[name]:
            measured = ours[name][when]["all"]
            samples[label], errors[label] = _samples(**measured["bins"]), measured["ece"]["mean"]
    return reliability_diagram(samples, errors) if samples else None


def _samples(samples: list[int], predicted: list[float], happened: list[int]) -> tuple[list[float], list[int]]:
    """Rebuild predictions and outcomes that fall into these bins with these sums."""
    outcomes = [k < yes for count, yes in zip(samples, happened) for k in range(count)]
    return np.repeat(predicted, samples).tolist(), [int(one) for one in outcomes]


def figure_7_8(entry: Mapping[str, Any]) -> Picture | None:
    """Draw throughput and verify budget against the number of requests."""
    if not entry["ours"]:
        return None
    rows = entry["ours"]["all domains"]["concurrency"]
    requests = [row["requests"] for row in rows]
    titles = ["tokens a second", "… as a part of the scheduler's", "drafts verified a request"]
    axes = row_of_axes(3, titles, "requests at a time", share_y=False, width=3.4)
    for name, stroke in WAYS.items():
        speeds = [row["ways"][name]["tokens_per_second"] for row in rows]
        parts = [one["mean"] / row["ways"]["scheduled"]["tokens_per_second"]["mean"] for one, row in zip(speeds, rows)]
        curve(axes[0], requests, speeds, stroke, name)
        curve(axes[1], requests, [{"mean": part} for part in parts], stroke, name)
        curve(axes[2], requests, [row["ways"][name]["verified_a_request"] for row in rows], stroke, name)
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(requests, [str(count) for count in requests])
        ax.minorticks_off()
        ax.set_ylim(bottom=0.0)
    return with_legend(axes)


PICTURES: dict[str, Callable[[Mapping[str, Any]], Picture | None]] = {
    "table_1": table_1,
    "figure_2": figure_2,
    "figure_3": figure_3,
    "figure_4": figure_4,
    "figure_5": figure_5,
    "figure_6": figure_6,
    "figure_7_8": figure_7_8,
}
