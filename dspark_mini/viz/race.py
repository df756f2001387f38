"""The race as a picture: speed-up and τ by domain and method, and conditional acceptance below."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.viz.colors import INK, SMALL, stroke
from dspark_mini.viz.draw import write
from dspark_mini.viz.labels import _
from dspark_mini.viz.style import PNG, Picture, block_axes, grid, label_axes, legend, picture, plain_axes, svg

Run = Mapping[str, Any]


def race_picture(runs: Sequence[Run]) -> Picture:
    """Draw a race.

    Args:
        runs: Runs of one or more domains, as in the race's JSON; plain decoding is the line at 1.

    Returns:
        The picture: one column per domain, bars of speed-up with τ above, curves of conditional acceptance below.

    Raises:
        ValueError: There is no drafter's run.
    """
    drafting = [run for run in runs if run["conditional_acceptance"] is not None]
    if not drafting:
        raise ValueError("runs holds no drafter's run, so there is nothing to compare.")
    domains = list(dict.fromkeys(run["domain"] for run in drafting))
    methods = list(dict.fromkeys(run["method"] for run in drafting))
    bars = 0.36 * len(methods)  # inches
    figure = picture(max(2.0 + 2.5 * len(domains), 5.6), 3.4 + bars)
    axes = figure.subplots(2, len(domains), sharey="row", squeeze=False, height_ratios=(bars + 0.1, 2.0))
    fastest = max(1.0, *(run["speedup"] for run in drafting))
    for (upper, lower), domain in zip(axes.T, domains):
        own = [run for run in drafting if run["domain"] == domain]
        _draw_speedups(upper, own, methods, fastest)
        _draw_acceptance(lower, own, methods)
        label_axes(upper, domain, pad=12)
    label_axes(axes[1, 0], y=_("conditional\nacceptance"))
    legend(figure, handle_length=3.2)
    return figure


def _draw_speedups(ax: Axes, runs: Sequence[Run], methods: Sequence[str], fastest: float) -> None:
    plain_axes(ax)
    for run in runs:
        y = methods.index(run["method"])
        ax.barh(y, run["speedup"], height=0.62, color=stroke(y)["color"], zorder=2)
        text = f"{run['speedup']:.2f}  τ {run['tau']:.1f}"
        write(ax, max(run["speedup"], 1.0) + 0.03 * fastest, y, text, size=SMALL, ha="left", va="center_baseline")
    ax.axvline(1.0, color=INK, linestyle=":", linewidth=1.4, zorder=3)
    ax.set(xlim=(0.0, 1.55 * fastest), ylim=(len(methods) - 0.5, -0.5))
    ax.set_yticks(range(len(methods)), methods)
    ax.set_xticks([0, 1], ["0", _("plain")])
    label_axes(ax, x=_("speed-up"))


def _draw_acceptance(ax: Axes, runs: Sequence[Run], methods: Sequence[str]) -> None:
    """Draw conditional acceptance by position; an unknown rate leaves a gap."""
    plain_axes(ax)
    block_axes(ax, max(len(run["conditional_acceptance"]) for run in runs), y="")
    grid(ax)
    for run in runs:
        look = stroke(methods.index(run["method"]))
        rates = np.array(run["conditional_acceptance"], dtype=np.float64)  # None becomes nan
        ax.plot(range(1, rates.size + 1), rates, label=run["method"], clip_on=False, **look)


def save_race(runs: Sequence[Run], path: str | os.PathLike[str], form: str) -> None:
    """Save the picture of a race.

    Args:
        runs: Runs, as for race_picture.
        path: File to write.
        form: png or svg.
    """
    figure = race_picture(runs)
    if form == "svg":
        svg(figure, path)
    else:
        figure.savefig(path, **PNG)  # type: ignore[arg-type]
