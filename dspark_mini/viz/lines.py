"""Measured quantities as lines: side by side over one common axis, with marks at the places that matter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import numbers
from dspark_mini.viz.style import INK, NORMAL, ORANGE, SMALL, STROKES, Picture, head, picture, write


def lines(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    x: ArrayLike,
    x_name: str,
    marks: Mapping[str, float] | None = None,
    log_x: bool = False,
) -> Picture:
    """Draw one or more quantities as lines over the same axis, each quantity in a panel of its own.

    Args:
        panels: what is drawn, the title of the panel → label → (n,) values; nan leaves a gap.
        x: (n,) where the values belong.
        x_name: what x is.
        marks: text → x; a dotted vertical line in every panel, with the text beside it.
        log_x: whether x is drawn with equal steps for a doubling.

    Returns:
        The picture; a label means the same line in every panel.
    """
    places = numbers("x", x)  # (n,)
    if not isinstance(panels, Mapping) or not panels or not all(panels.values()):
        raise ValueError("panels must be a dict from title to lines, with at least one line in each.")
    curves = {
        title: {label: _values(f"panels[{title!r}][{label!r}]", y, places.size) for label, y in group.items()}
        for title, group in panels.items()
    }
    labels = list(dict.fromkeys(label for group in curves.values() for label in group))
    figure = picture(5.4 if len(curves) == 1 else 8.6, 3.5)
    for index, (title, group) in enumerate(curves.items()):
        ax = figure.add_subplot(1, len(curves), index + 1)
        _dress(ax, places, x_name, log_x)
        head(ax, title, pad=20 if marks else 10)
        for label, values in group.items():
            color, line, marker = STROKES[labels.index(label) % len(STROKES)]
            size = 5 if places.size <= 24 else 0
            ax.plot(
                places, values, line, label=label, color=color, marker=marker, markersize=size, linewidth=2, zorder=3
            )
        low = min(0.0, *(float(np.nanmin(values)) for values in group.values()))
        ax.set_ylim(low, 1.08 * max(float(np.nanmax(values)) for values in group.values()) or 1.0)
        _draw_marks(ax, marks or {})
    if any(len(group) > 1 for group in curves.values()):
        handles = {line.get_label(): line for ax in figure.axes for line in ax.lines if line.get_label() in labels}
        figure.legend(
            handles=[handles[label] for label in labels],
            loc="outside lower center",
            ncols=len(labels),
            frameon=False,
            labelcolor=INK,
            fontsize=SMALL,
            handlelength=2.6,
        )
    return figure


def _values(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    y = np.asarray(values, dtype=np.float64)
    if y.shape != (size,):
        raise ValueError(f"{name} has shape {y.shape}, but there are {size} places on the x axis.")
    if np.isnan(y).all() or np.isinf(y).any():
        raise ValueError(f"{name} must hold finite numbers, and nan only where one is missing.")
    return y


def _dress(ax: Axes, places: NDArray[np.float64], x_name: str, log_x: bool) -> None:
    ax.set_facecolor("none")
    ax.tick_params(which="both", colors=INK, labelsize=SMALL, length=0, pad=5)
    ax.grid(True, axis="y", color=INK, alpha=0.25, linewidth=0.6)
    for side, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_visible(side == "bottom")
    if log_x:
        ax.set_xscale("log", base=2)
        few = places[:: -(-places.size // 9)]  # more names than nine would touch
        ax.set_xticks(few, [f"{place:g}" for place in few])
        ax.minorticks_off()
    elif places.size <= 12:
        ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.set_xlabel(x_name, color=INK, fontsize=NORMAL)


def _draw_marks(ax: Axes, marks: Mapping[str, float]) -> None:
    for text, place in marks.items():
        ax.axvline(place, color=ORANGE, linestyle=":", linewidth=1.6, zorder=1)
        low, high = ax.get_xlim()
        side = "right" if place > (low + high) / 2 else "left"
        write(ax, place, 1.01, text, size=SMALL, color=ORANGE, ha=side, va="bottom").set_transform(
            ax.get_xaxis_transform()
        )
