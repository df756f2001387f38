"""Time and gain: where a round spends its time, when it is faster than plain decoding, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import number, numbers
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    LARGE,
    NORMAL,
    ORANGE,
    PURPLE,
    SMALL,
    Picture,
    cells,
    head,
    hide_frame,
    picture,
    plot_axes,
    write,
)

GAIN = LinearSegmentedColormap.from_list("gain", ["#dde5ec", "#5aa5d6", "#00639c"])
LOSS = LinearSegmentedColormap.from_list("loss", ["#f3e6dc", "#dd9a63", "#a84b00"])
FILLS = {"target": GREEN, "verify": GREEN, "draft": BLUE, "correct": PURPLE}


def time_line(rows: Mapping[str, Sequence[tuple[str, float]]], tokens: Mapping[str, float]) -> Picture:
    """Draw what a decoder does one after the other, as blocks along a common axis of time.

    Args:
        rows: label → (what, how long), in order; what is 'draft', 'verify', 'target' or 'correct'.
        tokens: label → how many tokens come out by the end of the row.

    Returns:
        The picture: one row a decoder, with the time a token behind it.
    """
    figure = picture(8.6, 0.62 * len(rows) + 0.9)
    ax = plot_axes(figure)[0]
    for y, (label, steps) in enumerate(rows.items()):
        now = 0.0
        for what, duration in steps:
            width = number(f"rows[{label!r}]", duration, low=0.0)
            if what not in FILLS:
                raise ValueError(f"rows[{label!r}] has a step {what!r}, but a step is one of {', '.join(FILLS)}.")
            box = Rectangle((now + 0.02, y - 0.3), width - 0.04, 0.6, facecolor=FILLS[what], edgecolor="none", gid=what)
            ax.add_patch(box)
            if width > 0.55:
                write(ax, now + width / 2, y, what, size=SMALL, color="white", va="center_baseline")
            now += width
        text = f"{tokens[label]:g} tokens in {now:g}: {now / tokens[label]:.2f} a token"
        write(ax, now + 0.15, y, text, size=SMALL, bold=True, ha="left", va="center_baseline")
    longest = max(sum(duration for _, duration in steps) for steps in rows.values())
    ax.set(xlim=(0, longest * 1.42), ylim=(len(rows) - 0.5, -0.5))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(axis="y", labelsize=NORMAL)
    ax.set_xticks(range(int(longest) + 1))
    ax.set_xlabel("time, in forwards of the target", color=INK, fontsize=NORMAL)
    ax.spines["left"].set_visible(False)
    return figure


def speedup_map(panels: Mapping[str, ArrayLike], acceptance: ArrayLike, draft_cost: ArrayLike) -> Picture:
    """Draw the speed-up over acceptance and draft cost as a table of shaded cells, with the line of break-even.

    Args:
        panels: title → (rows, columns) speed-ups, one row a draft cost, one column an acceptance.
        acceptance: (columns,) the chance that a draft token is accepted, given that those before were.
        draft_cost: (rows,) the time of one forward of the drafter, in forwards of the target.

    Returns:
        The picture; the thick line separates the cells below 1 from the rest.
    """
    columns, rows = numbers("acceptance", acceptance), numbers("draft_cost", draft_cost)
    tables = {title: np.asarray(values, dtype=np.float64) for title, values in panels.items()}
    figure = picture(0.44 * (columns.size + 1.4) * len(tables) + 0.6, 0.4 * rows.size + 1.3)
    for ax, (title, values) in zip(plot_axes(figure, len(tables)), tables.items(), strict=True):
        if values.shape != (rows.size, columns.size):
            raise ValueError(f"panels[{title!r}] has shape {values.shape}, not {(rows.size, columns.size)}.")
        _draw_speedups(ax, values)
        _draw_break_even(ax, values)
        ax.set(xlim=(-0.6, columns.size - 0.4), ylim=(-0.6, rows.size - 0.4), aspect="equal")
        ax.set_xticks(range(columns.size), [f"{value:.2g}".removeprefix("0") for value in columns])
        ax.set_yticks(range(rows.size), [f"{value:g}" for value in rows])
        ax.set_xlabel("acceptance of a draft token", color=INK, fontsize=NORMAL)
        head(ax, title, pad=8)
        hide_frame(ax)
    figure.axes[0].set_ylabel("one forward of the drafter\n(target = 1)", color=INK, fontsize=NORMAL)
    return figure


def _draw_speedups(ax: Axes, values: NDArray[np.float64]) -> None:
    points, colors = [], []
    for (y, x), value in np.ndenumerate(values):
        strength = min(abs(np.log2(value)) / 1.5, 1.0)  # a factor of 2.8 has the full colour
        points.append((float(x), float(y)))
        colors.append(GAIN(strength) if value >= 1.0 else LOSS(strength))
        ink = "white" if strength > 0.6 else "black"
        write(ax, x, y, f"{value:.2f}", size=SMALL, color=ink, va="center_baseline")
    cells(ax, points, colors, "speed-ups")


def _draw_break_even(ax: Axes, values: NDArray[np.float64]) -> None:
    gains = values >= 1.0
    for y, x in np.argwhere(gains[:, 1:] != gains[:, :-1]):
        ax.plot([x + 0.5, x + 0.5], [y - 0.5, y + 0.5], color=INK, linewidth=2.6, solid_capstyle="projecting")
    for y, x in np.argwhere(gains[1:] != gains[:-1]):
        ax.plot([x - 0.5, x + 0.5], [y + 0.5, y + 0.5], color=INK, linewidth=2.6, solid_capstyle="projecting")


def gain_bars(decisions: Mapping[str, Mapping[str, Any]], current: int, min_gain: float = 0.0) -> Picture:
    """Draw the gain of every verify length, the least that is wanted, and what was decided.

    Args:
        decisions: title → what net_benefit returned: decision, verify_length, gain and gains.
        current: the verify length before the decision.
        min_gain: the least gain that is wanted.

    Returns:
        The picture: bars that reach min_gain are filled, the others hatched; an arrow goes to the decision.
    """
    figure = picture(2.0 + 2.5 * len(decisions), 3.3)
    for ax, (title, found) in zip(plot_axes(figure, len(decisions)), decisions.items(), strict=True):
        gains = 100.0 * numbers("gains", found["gains"])
        for length, gain in enumerate(gains):
            reaches = length > 0 and found["gains"][length] >= min_gain
            color, hatch = (BLUE, "") if reaches else (INK, "////")
            fill = BLUE if reaches else "none"
            ax.bar(length, gain, width=0.7, linewidth=1.1, edgecolor=color, facecolor=fill, hatch=hatch)
        ax.axhline(0, color=INK, linewidth=1.0)
        if min_gain:
            ax.axhline(100.0 * min_gain, color=ORANGE, linestyle="--", linewidth=1.5)
        names = [f"{length}\nnow" if length == current else str(length) for length in range(gains.size)]
        ax.set_xticks(range(gains.size), names)
        ax.set_xlabel("verify length ℓ", color=INK, fontsize=NORMAL)
        head(ax, title, pad=24)
        chosen = found["verify_length"]
        text = (
            f"{found['decision']}: ℓ = {chosen}, {100 * found['gain']:+.0f} %" if chosen else "reject: decode plainly"
        )
        write(ax, 0.5, 1.02, text, size=LARGE, color=ORANGE, bold=True, va="bottom").set_transform(ax.transAxes)
        if chosen:
            ax.plot(chosen, max(gains[chosen], 0) + 4, marker="v", color=ORANGE, markersize=8)
        ax.spines["left"].set_visible(False)
    figure.axes[0].set_ylabel("gain over plain decoding, %", color=INK, fontsize=NORMAL)
    return figure
