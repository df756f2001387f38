"""The pictures of the paper's evidence, drawn from the results that `dspark-mini appendix reproduce` writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.corpus import DOMAINS
from dspark_mini.viz.colors import FAINT, SMALL, STROKES
from dspark_mini.viz.confidence import reliability_diagram
from dspark_mini.viz.draw import write
from dspark_mini.viz.style import Picture, grid, label_axes, legend, plot_axes, svg

Entry = Mapping[str, Any]  # the results of one experiment, as in evidence.json
Estimates = Sequence[Mapping[str, Any] | None]
Stroke = tuple[str, str, str]  # colour, line, marker

DRAFTERS: dict[str, Stroke] = dict(zip(("dflash", "dspark", "autoregressive", "dspark-rnn", "domino"), STROKES))
DRAFTERS["dspark-gated"] = (STROKES[1][0], "--", "P")
DRAFTERS["dspark without its head"] = (STROKES[1][0], ":", "X")
DRAFTERS["dflash-ce"] = (STROKES[0][0], ":", "*")  # as in DeepSpec
PAPER = {"EAGLE-3": "autoregressive", "DFlash": "dflash-ce", "DSpark": "dspark"}
FATES: dict[str, Stroke] = {"accepted": (STROKES[2][0], "-", "P"), "rejected": (STROKES[3][0], "--", "x")}
POLICIES: dict[str, Stroke] = {f"fixed {n}": (STROKES[0][0], "--", marker) for n, marker in zip((1, 3, 5, 7), "vxPs")}
POLICIES |= dict(zip(("scheduled", "lagged budget", "plain"), STROKES[1:]))
TAU = "tokens per round, τ"


def draw(name: str, entry: Entry, path: str | os.PathLike[str]) -> bool:
    """Write the picture of an experiment as SVG, if it has results.

    Args:
        name: Name of the experiment: table_1, figure_2 and so on.
        entry: Its results, as in evidence.json.
        path: File to write.

    Returns:
        Whether there was anything to draw.
    """
    figure = PICTURES[name](entry)
    if figure is not None:
        svg(figure, path)
    return figure is not None


def _axes(titles: Sequence[str], x: str, share_y: bool = True, width: float = 3.0) -> tuple[Picture, list[Axes]]:
    """Return a picture with one axes per title, and these."""
    figure, row = plot_axes(width * len(titles), 3.3, len(titles), share_y)
    for ax, title in zip(row, titles):
        grid(ax)
        label_axes(ax, title, x=x)
    return figure, row


def _curve(ax: Axes, x: Sequence[float], estimates: Estimates, stroke: Stroke, label: str, line: bool = True) -> None:
    """Draw estimates with their intervals; an unknown one leaves a gap."""
    mean, low, high = (
        np.array([np.nan if one is None or one.get(key) is None else one[key] for one in estimates], dtype=np.float64)
        for key in ("mean", "low", "high")
    )
    reach = np.nan_to_num(np.stack((mean - low, high - mean)).clip(min=0.0))  # (2, n), 0 without an interval
    color, dashes, marker = stroke
    look: dict[str, Any] = {"color": color, "linestyle": dashes if line else "none", "marker": marker, "zorder": 3}
    ax.errorbar(x, mean, reach, label=label, markersize=6, linewidth=1.8, elinewidth=1.2, capsize=2.5, **look)


def table_1(entry: Entry) -> Picture | None:
    """Draw τ by domain and drafter: here, and in the paper."""
    rows = {name: row for name, row in entry["ours"]["tau"].items() if any(row.values())}
    if not rows:
        return None
    figure, (here, paper) = _axes(["here", "in the paper, Qwen3-4B"], "", width=4.2)
    for place, (name, values) in enumerate(rows.items()):
        estimates = [values[domain] and values[domain]["over_seeds"] for domain in DOMAINS]
        _points(here, place, len(rows), estimates, name)
    for place, (published, name) in enumerate(PAPER.items()):
        means = np.reshape(entry["paper"]["tau"][published], (3, 3)).mean(axis=1)  # of three sets per domain
        _points(paper, place, len(PAPER), [{"mean": value} for value in means], name)
    for ax in (here, paper):
        ax.set_xticks(range(3), DOMAINS)
    here.set_ylim(bottom=1.0)  # a round yields at least one token
    label_axes(here, y=TAU)
    legend(figure, handle_length=3.0)
    return figure


def _points(ax: Axes, place: int, count: int, estimates: Estimates, name: str) -> None:
    """Draw the points of one of `count` drafters, beside those of the others."""
    shift = 0.5 * (place - (count - 1) / 2) / count
    _curve(ax, [domain + shift for domain in range(3)], estimates, DRAFTERS[name], name, line=False)


def figure_2(entry: Entry) -> Picture | None:
    """Draw the conditional acceptance of each position."""
    rows = {name: row for name, row in entry["ours"]["conditional_acceptance"].items() if row}
    if not rows:
        return None
    figure, axes = _axes(DOMAINS, "position in the block")
    for ax, domain in zip(axes, DOMAINS):
        for name, row in rows.items():
            positions = range(1, len(row[domain]) + 1)
            _curve(ax, positions, row[domain], DRAFTERS[name], name)
            ax.set_xticks(positions)
        ax.set_ylim(0.0, 1.03)
    label_axes(axes[0], y="conditional acceptance")
    legend(figure, handle_length=3.0)
    return figure


def figure_3(entry: Entry) -> Picture | None:
    """Draw τ by the number of layers."""
    ours = entry["ours"]
    if not any(one for row in ours["tau"].values() for one in row):
        return None
    figure, axes = _axes(DOMAINS, "layers of the drafter")
    _tau_curves(axes, ours["layers"], ours["tau"])
    legend(figure, handle_length=3.0)
    return figure


def _tau_curves(axes: Sequence[Axes], xs: Sequence[int], curves: Mapping[str, Sequence[Any]]) -> None:
    """Draw τ by domain: the estimates of each drafter at each x, with None for those that are unknown."""
    for ax, domain in zip(axes, DOMAINS):
        for name, row in curves.items():
            _curve(ax, xs, [estimate and estimate[domain] for estimate in row], DRAFTERS[name], name)
        ax.set_xticks(xs)
        ax.set_ylim(bottom=1.0)
    label_axes(axes[0], y=TAU)


def figure_4(entry: Entry) -> Picture | None:
    """Draw τ by the block size, and the share of a round that the head takes."""
    ours = entry["ours"]
    if not any(one for row in ours["tau"].values() for one in row):
        return None
    sizes = ours["block_size"]
    figure, axes = _axes([*DOMAINS, "time of the head"], "γ, drafts without the anchor", share_y=False, width=2.6)
    _tau_curves(axes, sizes, ours["tau"])
    shares = [{"mean": share and 100 * share} for share in ours["share_of_the_head"]]
    _curve(axes[3], sizes, shares, DRAFTERS["dspark"], "dspark")
    low, high = (100 * share for share in entry["paper"]["share_of_the_head"])
    axes[3].axhspan(low, high, color=FAINT, linewidth=0)
    write(axes[3], sizes[-1], (low + high) / 2, f"paper: {low:g}–{high:g} %", size=SMALL, ha="right")
    label_axes(axes[3], y="% of a round")
    axes[3].set_ylim(bottom=0.0)
    axes[3].set_xticks(sizes)
    legend(figure, handle_length=3.0)
    return figure


def figure_5(entry: Entry) -> Picture | None:
    """Draw what a confidence threshold lets through."""
    rows, thresholds = entry["ours"]["by_domain"], entry["ours"]["threshold"]
    if not rows:
        return None
    figure, axes = _axes(["acceptance rate with the bonus", *DOMAINS], "threshold", share_y=False, width=2.6)
    for domain, stroke in zip(DOMAINS, STROKES):
        _curve(axes[0], thresholds, [one["acceptance_rate"] for one in rows[domain]], stroke, domain)
    for ax, domain in zip(axes[1:], DOMAINS):
        for name, stroke in FATES.items():
            _curve(ax, thresholds, [one[name] for one in rows[domain]], stroke, f"{name} drafts per round")
        ax.set_ylim(0.0, 7.0)
    axes[0].set_ylim(0.0, 1.03)
    legend(figure, handle_length=3.0)
    return figure


def figure_6(entry: Entry) -> Picture | None:
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
    """Return predictions and outcomes that fall into these bins with these sums."""
    outcomes = [int(k < yes) for count, yes in zip(samples, happened) for k in range(count)]
    return np.repeat(predicted, samples).tolist(), outcomes


def figure_7_8(entry: Entry) -> Picture | None:
    """Draw throughput and verify budget against the number of requests."""
    if not entry["ours"]:
        return None
    rows = entry["ours"]["all domains"]["concurrency"]
    requests = [row["requests"] for row in rows]
    titles = ["tokens per second", "relative to the scheduler", "drafts verified per request"]
    figure, axes = _axes(titles, "concurrent requests", share_y=False, width=3.4)
    for name, stroke in POLICIES.items():
        speeds = [row["ways"][name]["tokens_per_second"] for row in rows]
        parts = [one["mean"] / row["ways"]["scheduled"]["tokens_per_second"]["mean"] for one, row in zip(speeds, rows)]
        _curve(axes[0], requests, speeds, stroke, name)
        _curve(axes[1], requests, [{"mean": part} for part in parts], stroke, name)
        _curve(axes[2], requests, [row["ways"][name]["verified_a_request"] for row in rows], stroke, name)
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(requests, [str(count) for count in requests])
        ax.minorticks_off()
        ax.set_ylim(bottom=0.0)
    legend(figure, handle_length=3.0)
    return figure


def trees(entry: Entry) -> Picture | None:
    """Draw the speed of the best chain and the best tree of every number of nodes."""
    if not entry["ours"]:
        return None
    figure, axes = _axes(DOMAINS, "drafts verified, at most", share_y=False)
    for ax, domain in zip(axes, DOMAINS):
        for (name, speeds), stroke in zip(entry["ours"]["by_domain"][domain]["tokens_per_second"].items(), STROKES):
            _curve(ax, range(len(speeds)), [{"mean": speed} for speed in speeds], stroke, name)
        ax.set_ylim(bottom=0.0)
    label_axes(axes[0], y="tokens per second")
    legend(figure, handle_length=3.0)
    return figure


def training(entry: Entry) -> Picture | None:
    """Draw how the chance of acceptance rose while the drafters were trained."""
    if not entry["ours"]:
        return None
    figure, (ax,) = _axes(["training"], "steps", width=9.0)
    for name, curve in entry["ours"]["overlap"].items():
        if name in DRAFTERS:
            steps = [entry["ours"]["steps_per_point"] * (k + 1) for k in range(len(curve))]
            shown = slice((len(curve) - 1) % 2, None, 2)  # every second point, the last one among them
            _curve(ax, steps[shown], [{"mean": value} for value in curve[shown]], DRAFTERS[name], name)
    label_axes(ax, y="chance of acceptance")
    legend(figure, handle_length=3.0)
    return figure


PICTURES: dict[str, Callable[[Entry], Picture | None]] = {
    function.__name__: function
    for function in (table_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7_8, trees, training)
}
