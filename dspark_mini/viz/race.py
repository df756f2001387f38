"""The race as a picture: speed-up by domain and method, with τ beside it, and acceptance by position below."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.viz.style import (
    DPI,
    INK,
    NORMAL,
    SMALL,
    STROKES,
    Picture,
    head,
    picture,
    plain_axes,
    subscript,
    svg,
    write,
)

Run = Mapping[str, Any]

LOOKS = (*STROKES, (INK, "-", "v"))  # all five drafters may race


def race_picture(runs: Sequence[Run]) -> Picture:
    """Draw a race.

    Args:
        runs: of one or more domains, as the race's JSON has them; plain decoding is the line at 1.

    Returns:
        The picture: one column a domain, bars of speed-up with τ behind them, curves of conditional acceptance below.

    Raises:
        ValueError: no run of a drafter.
    """
    drafting = [run for run in runs if run["conditional_acceptance"] is not None]
    if not drafting:
        raise ValueError("runs holds no drafter's run, so there is nothing to compare.")
    domains = list(dict.fromkeys(run["domain"] for run in drafting))
    methods = list(dict.fromkeys(run["method"] for run in drafting))
    figure = picture(max(2.0 + 2.5 * len(domains), 5.6), 3.4 + 0.36 * len(methods))
    heights = (0.36 * len(methods) + 0.1, 2.0)
    axes = figure.subplots(2, len(domains), sharey="row", squeeze=False, height_ratios=heights)
    fastest = max(1.0, *(run["speedup"] for run in drafting))
    for (upper, lower), domain in zip(axes.T, domains):
        mine = [run for run in drafting if run["domain"] == domain]
        _bars(upper, mine, methods, fastest)
        _curves(lower, mine, methods)
        head(upper, domain)
    axes[1, 0].set_ylabel("accepted, given that\nall before it were", color=INK, fontsize=NORMAL)
    handles, _ = axes[1, 0].get_legend_handles_labels()
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        handlelength=3.2,
    )
    return figure


def _bars(ax: Axes, runs: Sequence[Run], methods: Sequence[str], fastest: float) -> None:
    """Draw the speed-ups of a domain, and plain decoding as the line at 1."""
    plain_axes(ax)
    for run in runs:
        y = methods.index(run["method"])
        ax.barh(y, run["speedup"], height=0.62, color=LOOKS[y % len(LOOKS)][0], zorder=2)
        text = f"{run['speedup']:.2f}  τ {run['tau']:.1f}"
        write(ax, max(run["speedup"], 1.0) + 0.03 * fastest, y, text, size=SMALL, ha="left", va="center_baseline")
    ax.axvline(1.0, color=INK, linestyle=":", linewidth=1.4, zorder=3)
    ax.set(xlim=(0.0, 1.55 * fastest), ylim=(len(methods) - 0.5, -0.5))
    ax.set_yticks(range(len(methods)), methods)
    ax.set_xticks([0, 1], ["0", "plain"])
    ax.set_xlabel("speed-up", color=INK, fontsize=NORMAL)


def _curves(ax: Axes, runs: Sequence[Run], methods: Sequence[str]) -> None:
    """Draw conditional acceptance by position; an unknown rate leaves a gap."""
    plain_axes(ax)
    for run in runs:
        color, line, marker = LOOKS[methods.index(run["method"]) % len(LOOKS)]
        rates = np.array(run["conditional_acceptance"], dtype=np.float64)  # None becomes nan
        look: dict[str, Any] = {"color": color, "linestyle": line, "marker": marker, "label": run["method"]}
        ax.plot(range(1, rates.size + 1), rates, linewidth=2, markersize=5, clip_on=False, zorder=3, **look)
    size = max(len(run["conditional_acceptance"]) for run in runs)
    ax.hlines([0.25, 0.5, 0.75, 1.0], 0.6, size + 0.4, color=INK, linewidth=0.6, alpha=0.3, zorder=0)
    ax.set(xlim=(0.6, size + 0.4), ylim=(0.0, 1.0))
    ax.set_xticks(range(1, size + 1), [subscript("x", k) for k in range(1, size + 1)])
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    ax.set_xlabel("position in the block", color=INK, fontsize=NORMAL)


def save_race(runs: Sequence[Run], path: str | os.PathLike[str], form: str) -> None:
    """Save the picture of a race.

    Args:
        runs: as for race_picture.
        path: the file.
        form: png or svg.
    """
    figure = race_picture(runs)
    if form == "svg":
        svg(figure, path)
    else:
        figure.savefig(path, format=form, dpi=2 * DPI, facecolor="none", bbox_inches="tight", pad_inches=0.08)
