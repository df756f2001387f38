"""Time and gain: where a round spends its time, when it beats plain decoding, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from dspark_mini.contracts import number, numbers, takes
from dspark_mini.language import N_
from dspark_mini.viz.arguments import fields, labelled
from dspark_mini.viz.colors import BLUE, GREEN, INK, LARGE, NORMAL, OPEN, ORANGE, PURPLE, SMALL
from dspark_mini.viz.draw import cell_text, cells, write
from dspark_mini.viz.labels import _
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, plot_axes

GAIN = LinearSegmentedColormap.from_list("gain", ["#dde5ec", "#5aa5d6", "#00639c"])
LOSS = LinearSegmentedColormap.from_list("loss", ["#f3e6dc", "#dd9a63", "#a84b00"])
Array = NDArray[np.float64]
STEPS = {N_("draft"): BLUE, N_("verify"): GREEN, N_("target"): GREEN, N_("correct"): PURPLE}


@takes(rows=labelled("steps"))
def time_line(rows: Mapping[str, Sequence[tuple[str, float]]], tokens: Mapping[str, float]) -> Picture:
    """Draw the steps of several decoders as blocks along a common time axis.

    Args:
        rows: Label → (step, duration) in order; a step is 'draft', 'verify', 'target' or 'correct'.
        tokens: Label → number of tokens that the row yields.

    Returns:
        The picture: one row per decoder, followed by its time per token.
    """
    figure, (ax,) = plot_axes(8.6, 0.62 * len(rows) + 0.9)
    ends = [_draw_steps(ax, y, label, steps) for y, (label, steps) in enumerate(rows.items())]
    for y, (label, end) in enumerate(zip(rows, ends, strict=True)):
        if label not in tokens:
            raise ValueError(f"tokens has no entry {label!r}, but rows has one.")
        found = {"tokens": tokens[label], "time": end, "each": end / tokens[label]}
        text = _("{tokens:g} tokens in {time:g}: {each:.2f} per token", **found)
        write(ax, end + 0.15, y, text, size=SMALL, bold=True, ha="left", va="center_baseline")
    ax.set(xlim=(0, max(ends) * 1.42), ylim=(len(rows) - 0.5, -0.5))
    ax.set_yticks(range(len(rows)), [_(label) for label in rows])
    ax.tick_params(axis="y", labelsize=NORMAL)
    ax.set_xticks(range(int(max(ends)) + 1))
    label_axes(ax, x=_("time, in forwards of the target"))
    hide_spines(ax, "left")
    written = {text.get_text() for text in ax.texts}
    unnamed = {patch.get_gid() for patch in ax.patches if _(str(patch.get_gid())) not in written}
    if unnamed:  # all blocks of these steps are too narrow for the name
        legend(figure, {step: color for step, color in STEPS.items() if step in unnamed})
    return figure


def _draw_steps(ax: Axes, y: int, label: str, steps: Sequence[tuple[str, float]]) -> float:
    """Draw one row, and return where it ends."""
    now = 0.0
    for step, duration in steps:
        width = number(low=0.0)(f"rows[{label!r}]", duration, {})
        if step not in STEPS:
            raise ValueError(f"rows[{label!r}] has a step {step!r}, but a step is one of {', '.join(STEPS)}.")
        block = Rectangle((now + 0.02, y - 0.3), width - 0.04, 0.6, facecolor=STEPS[step], edgecolor="none", gid=step)
        ax.add_patch(block)
        if width > 0.55:
            cell_text(ax, now + width / 2, y, _(step), "white")
        now += width
    return now


@takes(
    acceptance=numbers("columns"), draft_cost=numbers("rows"), panels=labelled("speed-ups", numbers("rows", "columns"))
)
def speedup_map(panels: Mapping[str, Array], acceptance: Array, draft_cost: Array) -> Picture:
    """Draw the speed-up over acceptance and draft cost as shaded cells, with the line of break-even.

    Args:
        panels: Title → (rows, columns) speed-ups, one row per draft cost, one column per acceptance.
        acceptance: (columns,) probability that a draft token is accepted, given that all before it were.
        draft_cost: (rows,) time of one forward of the drafter, in forwards of the target.

    Returns:
        The picture; the thick line separates the cells below 1 from the rest.
    """
    columns, rows = acceptance.size, draft_cost.size
    figure, axes = plot_axes(0.44 * (columns + 1.4) * len(panels) + 0.6, 0.4 * rows + 1.3, len(panels))
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        _draw_speedups(ax, values)
        _draw_break_even(ax, values)
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(-0.6, rows - 0.4), aspect="equal")
        ax.set_xticks(range(columns), [f"{value:.2g}".removeprefix("0") for value in acceptance])
        ax.set_yticks(range(rows), [f"{value:g}" for value in draft_cost])
        label_axes(ax, title, x=_("acceptance of a draft token"))
        hide_spines(ax)
    label_axes(axes[0], y=_("one forward of the drafter\n(target = 1)"))
    return figure


def _draw_speedups(ax: Axes, values: Array) -> None:
    strength = np.minimum(np.abs(np.log2(np.maximum(values, 1e-3))) / 1.5, 1.0)  # a factor of 2.8 has the full colour
    at = list(np.ndindex(values.shape))
    colors = [(GAIN if values[index] >= 1.0 else LOSS)(strength[index]) for index in at]
    cells(ax, [(x, y) for y, x in at], colors, "speed-ups")
    for y, x in at:
        cell_text(ax, x, y, f"{values[y, x]:.2f}", "white" if strength[y, x] > 0.6 else "black")


def _draw_break_even(ax: Axes, values: Array) -> None:
    gains = values >= 1.0
    for y, x in np.argwhere(gains[:, 1:] != gains[:, :-1]):
        ax.plot([x + 0.5, x + 0.5], [y - 0.5, y + 0.5], color=INK, linewidth=2.6, solid_capstyle="projecting")
    for y, x in np.argwhere(gains[1:] != gains[:-1]):
        ax.plot([x - 0.5, x + 0.5], [y + 0.5, y + 0.5], color=INK, linewidth=2.6, solid_capstyle="projecting")


@takes(decisions=labelled("the result of net_benefit", fields(gains=numbers("γ+1")), same_sizes=False))
def gain_bars(decisions: Mapping[str, Mapping[str, Any]], current: int, min_gain: float = 0.0) -> Picture:
    """Draw the gain of every verify length, the gain that is required, and the decision.

    Args:
        decisions: Title → result of net_benefit: decision, verify_length, gain and gains.
        current: Verify length before the decision.
        min_gain: Least gain that is required.

    Returns:
        The picture: bars that reach min_gain are filled, the others hatched; a triangle marks the decision.
    """
    figure, axes = plot_axes(2.0 + 2.5 * len(decisions), 3.3, len(decisions))
    label_axes(axes[0], y=_("gain over plain decoding, %"))
    for ax, (title, result) in zip(axes, decisions.items(), strict=True):
        gains = result["gains"]  # (γ + 1,)
        for length, gain in enumerate(gains):
            look = {"color": BLUE} if length > 0 and gain >= min_gain else OPEN
            ax.bar(length, 100 * gain, width=0.7, linewidth=1.1, **look)
        ax.axhline(0, color=INK, linewidth=1.0)
        if min_gain:
            ax.axhline(100 * min_gain, color=ORANGE, linestyle="--", linewidth=1.5)
        now = f"{current}\n" + _("now")
        ax.set_xticks(range(gains.size), [now if ell == current else str(ell) for ell in range(gains.size)])
        label_axes(ax, title, x=_("verify length ℓ"), pad=24)
        hide_spines(ax, "left")
        _write_decision(ax, result, gains)
    return figure


def _write_decision(ax: Axes, result: Mapping[str, Any], gains: Array) -> None:
    chosen, text = result["verify_length"], _("reject: decode plainly")
    if chosen:
        text = f"{result['decision']}: ℓ = {chosen}, {100 * result['gain']:+.0f} %"
        ax.plot(chosen, 100 * max(gains[chosen], 0) + 4, marker="v", color=ORANGE, markersize=8)
    write(ax, 0.5, 1.02, text, size=LARGE, color=ORANGE, bold=True, va="bottom", transform=ax.transAxes)
