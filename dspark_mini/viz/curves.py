"""Curves and bars by position: how acceptance decays along a block, and what confidence lets through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import unit_number, unit_numbers, whole_number
from dspark_mini.viz.style import (
    BLUE,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    STROKES,
    Picture,
    head,
    one_line,
    picture,
    plot_axes,
    subscript,
    write,
)


def acceptance_decay(curves: Mapping[str, ArrayLike], title: str | None = None) -> Picture:
    """Draw how often each position of the block is accepted once the positions before it were.

    Args:
        curves: label → (γ,) rates in [0, 1]; nan where no round came that far, which leaves a gap.
        title: what to write above.

    Returns:
        The picture; each curve is named at its end.
    """
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError("curves must be a dict from label to rates, with at least one entry.")
    rates = {str(label): _rates(f"curves[{label!r}]", values) for label, values in curves.items()}
    longest = max(values.size for values in rates.values())
    figure = picture(6.4, 3.4)
    ax = plot_axes(figure)[0]
    for number, (label, values) in enumerate(rates.items()):
        color, line, marker = STROKES[number % len(STROKES)]
        ax.plot(
            range(1, values.size + 1),
            values,
            label=label,
            color=color,
            linestyle=line,
            marker=marker,
            linewidth=2,
            markersize=7,
            clip_on=False,
            zorder=3,
        )
    ax.hlines([0.25, 0.5, 0.75, 1.0], 0.6, longest + 0.4, color=INK, linewidth=0.6, alpha=0.3, zorder=0)
    _name_curves(ax, rates, longest)
    _name_axes(ax, longest, "accepted, given that all before it were")
    head(ax, title)
    return figure


def _rates(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Check rates, with nan for the unknown ones."""
    try:
        rates = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a flat list of numbers, not {values!r}.") from None
    if rates.ndim != 1 or rates.size == 0:
        raise ValueError(f"{name} must be a flat list with at least one rate, not an array of shape {rates.shape}.")
    unit_numbers(name, np.where(np.isnan(rates), 0.0, rates))
    return rates


def _name_curves(ax: Axes, rates: Mapping[str, NDArray[np.float64]], longest: int) -> None:
    """Write each curve's label to the right of the plot, at the height of its last known rate, labels kept apart."""
    known = {label: np.flatnonzero(~np.isnan(values)) for label, values in rates.items()}
    ends = {label: float(rates[label][at[-1]]) if at.size else 0.0 for label, at in known.items()}
    y = -0.05
    for label in sorted(ends, key=lambda name: ends[name]):
        y = max(ends[label], y + 0.08)
        color = STROKES[list(rates).index(label) % len(STROKES)][0]
        text = label if known[label].size else f"{label} (no data)"
        write(ax, 1.01, y, text, color=color, bold=True, ha="left").set_transform(ax.get_yaxis_transform())
        for at in known[label][-1:]:
            ax.plot([at + 1, longest + 0.4], [ends[label], y], color=INK, linewidth=0.8, linestyle=":", clip_on=False)


def _name_axes(ax: Axes, positions: int, meaning: str) -> None:
    ax.set(xlim=(0.6, positions + 0.4), ylim=(0.0, 1.0))
    ax.set_xticks(range(1, positions + 1), [subscript("x", k) for k in range(1, positions + 1)])
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("position in the block", color=INK, fontsize=NORMAL)
    ax.set_ylabel(meaning, color=INK, fontsize=NORMAL)


def confidence_budget(
    confidences: ArrayLike, threshold: float, budget: int, tokens: Sequence[object] | None = None
) -> Picture:
    """Draw the confidence of each drafted token, the threshold, and where the budget cuts the block.

    Args:
        confidences: (γ,) numbers in [0, 1].
        threshold: number in [0, 1].
        budget: ℓ, how many tokens the target verifies, from 0 to γ.
        tokens: (γ,) what was drafted, ids or words, to write below.

    Returns:
        The picture: filled bars are verified, hatched ones are trimmed.
    """
    values = unit_numbers("confidences", confidences)  # (γ,)
    threshold = unit_number("threshold", threshold)
    budget = whole_number("budget", budget, low=0, high=values.size)
    if tokens is not None and len(tokens) != values.size:
        raise ValueError(f"tokens has {len(tokens)} entries for {values.size} confidences.")
    figure = picture(max(4.2, 1.6 + 0.62 * values.size), 3.2)
    ax = plot_axes(figure)[0]
    _name_axes(ax, values.size, "confidence")
    if tokens is not None:
        names = [f"{subscript('x', k)}\n{one_line(token)}" for k, token in enumerate(tokens, start=1)]
        ax.set_xticks(range(1, values.size + 1), names, parse_math=False)
    _draw_bars(ax, values, budget, threshold)
    _draw_cut(ax, values.size, budget, threshold)
    return figure


def _draw_bars(ax: Axes, values: NDArray[np.float64], budget: int, threshold: float) -> None:
    for k, value in enumerate(values, start=1):
        verified = k <= budget
        ax.bar(
            k,
            value,
            width=0.62,
            facecolor=BLUE if verified else "none",
            edgecolor=BLUE if verified else INK,
            hatch="" if verified else "////",
            linewidth=1.2,
            zorder=2,
            label="verified" if verified else "trimmed",
        )
        y = value + 0.03
        if y - 0.02 < threshold < y + 0.08:  # the number would lie on the threshold line
            y = threshold + 0.03
        write(ax, k, y, f"{value:.2f}".removeprefix("0"), size=SMALL, va="bottom")


def _draw_cut(ax: Axes, positions: int, budget: int, threshold: float) -> None:
    """Draw the threshold, the cut behind the verified prefix, and what lies on either side of it."""
    ax.axhline(threshold, color=ORANGE, linestyle="--", linewidth=1.8, zorder=3)
    write(ax, positions + 0.5, threshold, f"threshold {threshold:g}", color=ORANGE, ha="left")
    if 0 < budget < positions:
        ax.axvline(budget + 0.5, color=INK, linestyle=":", linewidth=1.4, ymax=1.22, clip_on=False)
    if budget > 0:
        write(ax, budget + 0.35, 1.16, f"verified: {budget}", bold=True, ha="right", va="bottom")
    if budget < positions:
        write(ax, budget + 0.65, 1.16, f"trimmed: {positions - budget}", bold=True, ha="left", va="bottom")
