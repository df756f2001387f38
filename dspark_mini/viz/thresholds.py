"""What a confidence decides: survival along a block, speed by verify length, tokens by threshold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_shape, numbers, unit_numbers
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    STROKES,
    Picture,
    head,
    picture,
    plot_axes,
    subscript,
    write,
)


def survival_bars(confidences: ArrayLike, survival: ArrayLike, title: str | None = None) -> Picture:
    """Draw the confidence of each position and the survival of the prefix that ends there.

    Args:
        confidences: (γ,) numbers in [0, 1].
        survival: (γ,) a_1..a_γ, numbers in [0, 1].
        title: what to write above.

    Returns:
        The picture: discs are confidences, bars are survivals, and their sum is written to the right.
    """
    chances, bars = unit_numbers("confidences", confidences), unit_numbers("survival", survival)
    check_same_shape("confidences", chances, "survival", bars)
    xs = np.arange(1, chances.size + 1)
    figure = picture(max(4.6, 1.8 + 0.62 * chances.size), 3.2)
    ax = plot_axes(figure)[0]
    ax.bar(xs, bars, width=0.62, color=BLUE, zorder=2, label="survival")
    ax.plot(
        xs, chances, color=ORANGE, marker="o", markersize=7, linewidth=2, zorder=3, clip_on=False, label="confidence"
    )
    for x, value in enumerate(bars, start=1):
        inside = value > 0.12
        y, color = (0.05, "white") if inside else (value + 0.05, INK)
        write(ax, x, y, f"{value:.2f}".removeprefix("0"), size=SMALL, color=color)
    ax.set(xlim=(0.5, chances.size + 0.5), ylim=(0.0, 1.0))
    ax.set_xticks(xs, [subscript("x", int(k)) for k in xs])
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    right = ax.get_yaxis_transform()
    write(ax, 1.02, chances[-1], "confidence c", color=ORANGE, bold=True, ha="left").set_transform(right)
    low = min(float(bars[-1]), float(chances[-1]) - 0.1)
    write(ax, 1.02, max(low, 0.12), "survival a", color=BLUE, bold=True, ha="left").set_transform(right)
    write(ax, 1.02, max(low, 0.12) - 0.1, f"Σ a = {bars.sum():.2f}", color=BLUE, ha="left").set_transform(right)
    head(ax, title)
    return figure


def speed_by_length(curves: Mapping[str, ArrayLike], title: str | None = None) -> Picture:
    """Draw the speed-up of every verify length, with a ring around the best of each curve.

    Args:
        curves: label → (γ + 1,) speed-ups for verify lengths 0..γ; at most four.
        title: what to write above.

    Returns:
        The picture.
    """
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError("curves must be a dict from label to speed-ups, with at least one entry.")
    speeds = {str(label): numbers(f"curves[{label!r}]", values, low=0.0) for label, values in curves.items()}
    figure = picture(6.4, 3.6)
    ax = plot_axes(figure)[0]
    for (label, values), (color, line, marker) in zip(speeds.items(), STROKES, strict=False):
        best = int(values.argmax())
        name = f"{label}: best at {best}"
        ax.plot(values, color=color, linestyle=line, marker=marker, markersize=5, linewidth=2, label=name, zorder=3)
        ax.plot([best], [values[best]], "o", markersize=14, fillstyle="none", color=color, markeredgewidth=2)
    ax.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xticks(range(max(values.size for values in speeds.values())))
    ax.set_xlabel("verify length ℓ", color=INK, fontsize=NORMAL)
    ax.set_ylabel("speed-up over plain decoding", color=INK, fontsize=NORMAL)
    figure.legend(loc="outside lower center", ncols=len(speeds), frameon=False, labelcolor=INK, fontsize=SMALL)
    head(ax, title)
    return figure


def threshold_sweep(
    thresholds: ArrayLike, accepted: ArrayLike, rejected: ArrayLike, title: str | None = None
) -> Picture:
    """Draw what a confidence threshold does: verified tokens a round, kept and lost, and the acceptance rate.

    Args:
        thresholds: (n,) thresholds in [0, 1], rising.
        accepted: (n,) accepted draft tokens a round.
        rejected: (n,) verified draft tokens a round that were thrown away.
        title: what to write above.

    Returns:
        The picture: tokens to the left, the rate accepted / (accepted + rejected) to the right.
    """
    xs = unit_numbers("thresholds", thresholds)
    kept, lost = numbers("accepted", accepted, low=0.0), numbers("rejected", rejected, low=0.0)
    check_same_shape("thresholds", xs, "accepted", kept)
    check_same_shape("thresholds", xs, "rejected", lost)
    figure = picture(8.4, 3.3)
    left, right = plot_axes(figure, 2, share_y=False)
    _draw_tokens(left, xs, kept, lost)
    with np.errstate(invalid="ignore"):
        rate = kept / (kept + lost)
    right.plot(xs, rate, color=ORANGE, marker="o", markersize=5, linewidth=2, clip_on=False, label="rate")
    right.set(ylim=(0.0, 1.0))
    right.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    for ax, name in ((left, "draft tokens a round"), (right, "acceptance rate")):
        ax.set_xlabel("threshold", color=INK, fontsize=NORMAL)
        ax.set_xlim(xs[0], xs[-1])
        head(ax, name, pad=8)
    if title is not None:
        figure.suptitle(title, color=INK, fontsize=NORMAL, parse_math=False)
    return figure


def _draw_tokens(ax: Axes, xs: NDArray[np.float64], kept: NDArray[np.float64], lost: NDArray[np.float64]) -> None:
    ax.fill_between(xs, kept, color=GREEN, alpha=0.75, linewidth=0, label="accepted")
    ax.fill_between(
        xs, kept, kept + lost, facecolor="none", edgecolor=INK, hatch="////", linewidth=1.0, label="rejected"
    )
    ax.set_ylim(0.0, float((kept + lost).max()) * 1.05 or 1.0)
    ax.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=SMALL)
