"""Estimates with their intervals, as lines or points: in a row of axes, with one legend for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.viz.style import INK, NORMAL, SMALL, Picture, head, picture, plot_axes

Estimates = Sequence[Mapping[str, Any] | None]
Stroke = tuple[str, str, str]  # colour, line, marker


def curve(ax: Axes, x: Sequence[float], estimates: Estimates, stroke: Stroke, label: str, line: bool = True) -> None:
    """Draw estimates with their intervals; one that is missing, or unknown, leaves a gap."""
    mean, low, high = (
        np.array([np.nan if one is None or one.get(key) is None else one[key] for one in estimates], dtype=np.float64)
        for key in ("mean", "low", "high")
    )
    reach = np.nan_to_num(np.stack((mean - low, high - mean)).clip(min=0.0))  # (2, n) no interval: no bar
    color, dashes, marker = stroke
    ax.errorbar(
        x,
        mean,
        reach,
        label=label,
        color=color,
        linestyle=dashes if line else "none",
        marker=marker,
        markersize=6,
        linewidth=1.8,
        elinewidth=1.2,
        capsize=2.5,
        zorder=3,
    )


def row_of_axes(count: int, titles: Sequence[str], x_name: str, share_y: bool = True, width: float = 3.0) -> list[Axes]:
    """Add a row of axes with a title each."""
    figure = picture(width * count, 3.3)
    row = plot_axes(figure, count, share_y)
    for ax, title in zip(row, titles):
        ax.grid(True, axis="y", color=INK, alpha=0.25, linewidth=0.6)
        ax.set_xlabel(x_name, color=INK, fontsize=NORMAL)
        head(ax, title, pad=8)
    return row


def with_legend(row: Sequence[Axes]) -> Picture:
    """Explain all lines once, below the picture."""
    handles = {label: handle for ax in row for handle, label in zip(*ax.get_legend_handles_labels())}
    figure = row[0].figure
    assert isinstance(figure, Picture)
    figure.legend(
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        handlelength=3.0,
    )
    return figure
