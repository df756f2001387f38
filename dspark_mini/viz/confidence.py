"""Confidence: the prefix it keeps, its survival, its calibration, and what a threshold lets through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_shape, numbers, unit_number, unit_numbers, whole_number
from dspark_mini.viz.colors import BLUE, GREEN, INK, NORMAL, OPEN, ORANGE, SMALL
from dspark_mini.viz.draw import name_ends, write
from dspark_mini.viz.labels import check_count, check_labelled, one_line, short, subscript
from dspark_mini.viz.style import Picture, block_axes, hide_spines, label_axes, picture, plot_axes, unit_ticks

Row = NDArray[np.float64]


def confidence_budget(
    confidences: ArrayLike, threshold: float, budget: int, tokens: Sequence[object] | None = None
) -> Picture:
    """Draw the confidence of each draft token, the threshold, and where the block is cut.

    Args:
        confidences: (γ,) numbers in [0, 1].
        threshold: Number in [0, 1].
        budget: ℓ, number of tokens that the target verifies, from 0 to γ.
        tokens: (γ,) draft tokens, ids or words, written below the bars.

    Returns:
        The picture: filled bars are verified, hatched ones trimmed.
    """
    values = unit_numbers("confidences", confidences)  # (γ,)
    threshold = unit_number("threshold", threshold)
    budget = whole_number("budget", budget, low=0, high=values.size)
    figure = picture(max(4.2, 1.6 + 0.62 * values.size), 3.2)
    (ax,) = plot_axes(figure)
    block_axes(ax, values.size, "confidence")
    hide_spines(ax, "left")
    if tokens is not None:
        check_count("tokens", tokens, values.size, "confidences")
        names = [f"{subscript('x', k)}\n{one_line(token)}" for k, token in enumerate(tokens, start=1)]
        ax.set_xticks(range(1, values.size + 1), names, parse_math=False)
    for k, value in enumerate(values, start=1):
        ax.bar(k, value, width=0.62, linewidth=1.2, zorder=2, **({"color": BLUE} if k <= budget else OPEN))
        hits_line = value + 0.01 < threshold < value + 0.11  # the threshold would cross the number
        write(ax, k, (threshold if hits_line else value) + 0.03, short(value), size=SMALL, va="bottom")
    _draw_cut(ax, values.size, budget, threshold)
    return figure


def _draw_cut(ax: Axes, block_size: int, budget: int, threshold: float) -> None:
    """Draw the threshold, and the cut after the verified prefix."""
    ax.axhline(threshold, color=ORANGE, linestyle="--", linewidth=1.8, zorder=3)
    write(ax, block_size + 0.5, threshold, f"threshold {threshold:g}", color=ORANGE, ha="left")
    if 0 < budget < block_size:
        ax.axvline(budget + 0.5, color=INK, linestyle=":", linewidth=1.4, ymax=1.22, clip_on=False)
    if budget > 0:
        write(ax, budget + 0.35, 1.16, f"verified: {budget}", bold=True, ha="right", va="bottom")
    if budget < block_size:
        write(ax, budget + 0.65, 1.16, f"trimmed: {block_size - budget}", bold=True, ha="left", va="bottom")


def survival_bars(confidences: ArrayLike, survival: ArrayLike, title: str | None = None) -> Picture:
    """Draw the confidence of each position and the survival of the prefix that ends there.

    Args:
        confidences: (γ,) numbers in [0, 1].
        survival: (γ,) a_1 … a_γ, numbers in [0, 1].
        title: Title of the picture.

    Returns:
        The picture: discs are confidences, bars are survivals; their sum is written to the right.
    """
    chances, bars = unit_numbers("confidences", confidences), unit_numbers("survival", survival)  # (γ,), (γ,)
    check_same_shape("confidences", chances, "survival", bars)
    positions = np.arange(1, chances.size + 1)
    figure = picture(max(4.6, 1.8 + 0.62 * chances.size), 3.2)
    (ax,) = plot_axes(figure)
    block_axes(ax, chances.size, "probability")
    ax.bar(positions, bars, width=0.62, color=BLUE, zorder=2, label="survival")
    ax.plot(positions, chances, "o-", color=ORANGE, markersize=7, linewidth=2, clip_on=False, label="confidence")
    for k, value in enumerate(bars, start=1):
        fits = value > 0.12
        write(ax, k, 0.05 if fits else value + 0.05, short(value), size=SMALL, color="white" if fits else INK)
    sum_ = f"survival a\n(Σ a = {bars.sum():.2f})"
    name_ends(ax, [(min(bars[-1], chances[-1] - 0.15), sum_, BLUE), (chances[-1], "confidence c", ORANGE)])
    label_axes(ax, title)
    return figure


def reliability_diagram(
    samples: Mapping[str, tuple[ArrayLike, ArrayLike]], errors: Mapping[str, float] | None = None, n_bins: int = 10
) -> Picture:
    """Draw the observed frequency against the predicted probability, bin by bin.

    Args:
        samples: Label → (predicted, observed), each (N,): numbers in [0, 1], and outcomes 0 or 1; one panel per label.
        errors: Label → expected calibration error, written above the panel.
        n_bins: Number of bins.

    Returns:
        The picture: the area of a disc is the bin's share of the samples, its line the gap to the diagonal.
    """
    check_labelled("samples", samples, "predictions and outcomes")
    bins = whole_number("n_bins", n_bins, low=1)
    figure = picture(min(9.0, 0.9 + 2.9 * len(samples)), 3.5)
    axes = plot_axes(figure, len(samples))
    for ax, (label, (predicted, observed)) in zip(axes, samples.items(), strict=True):
        values, outcomes = unit_numbers(f"{label}: predicted", predicted), unit_numbers(f"{label}: observed", observed)
        check_same_shape(f"{label}: predicted", values, f"{label}: observed", outcomes)
        _draw_bins(ax, values, outcomes, bins)
        error = f", ECE {100 * errors[label]:.1f} %" if errors and label in errors else ""
        label_axes(ax, f"{label}{error}", x="predicted probability", pad=12)
    label_axes(axes[0], y="observed frequency")
    return figure


def _draw_bins(ax: Axes, values: Row, outcomes: Row, n_bins: int) -> None:
    number = np.minimum((values * n_bins).astype(int), n_bins - 1)  # (N,)
    count = np.bincount(number, minlength=n_bins)  # (n_bins,)
    used = np.flatnonzero(count)
    predicted = np.bincount(number, values, minlength=n_bins)[used] / count[used]
    observed = np.bincount(number, outcomes, minlength=n_bins)[used] / count[used]
    ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.3)
    ax.vlines(predicted, predicted, observed, color=ORANGE, linewidth=2.2, zorder=2, label="gap")
    area = 12 + 500 * count[used] / len(values)
    ax.scatter(predicted, observed, s=area, color=BLUE, alpha=0.9, zorder=3, clip_on=False, label="bins")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    unit_ticks(ax.xaxis)
    unit_ticks(ax.yaxis)
    write(ax, 0.04, 0.93, "underconfident", size=SMALL, ha="left")
    write(ax, 0.97, 0.05, "overconfident", size=SMALL, ha="right")


def threshold_sweep(
    thresholds: ArrayLike, accepted: ArrayLike, rejected: ArrayLike, title: str | None = None
) -> Picture:
    """Draw what a confidence threshold does to the draft tokens per round and to the acceptance rate.

    Args:
        thresholds: (n,) thresholds in [0, 1], rising.
        accepted: (n,) accepted draft tokens per round.
        rejected: (n,) verified but rejected draft tokens per round.
        title: Title of the picture.

    Returns:
        The picture: the draft tokens on the left, accepted / (accepted + rejected) on the right.
    """
    xs = unit_numbers("thresholds", thresholds)  # (n,)
    kept, lost = numbers("accepted", accepted, low=0.0), numbers("rejected", rejected, low=0.0)  # (n,), (n,)
    check_same_shape("thresholds", xs, "accepted", kept)
    check_same_shape("thresholds", xs, "rejected", lost)
    figure = picture(8.4, 3.3)
    left, right = plot_axes(figure, 2, share_y=False)
    left.fill_between(xs, kept, color=GREEN, alpha=0.75, linewidth=0, label="accepted")
    left.fill_between(xs, kept, kept + lost, linewidth=1.0, label="rejected", **OPEN)
    left.set_ylim(0.0, float((kept + lost).max()) * 1.05 or 1.0)
    left.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=SMALL)
    rate = np.divide(kept, kept + lost, out=np.full_like(kept, np.nan), where=kept + lost > 0)
    right.plot(xs, rate, "o-", color=ORANGE, markersize=5, linewidth=2, clip_on=False, label="rate")
    right.set_ylim(0.0, 1.0)
    unit_ticks(right.yaxis)
    for ax, name in ((left, "draft tokens per round"), (right, "acceptance rate")):
        label_axes(ax, name, x="threshold")
        ax.set_xlim(xs[0], xs[-1])
    if title is not None:
        figure.suptitle(title, color=INK, fontsize=NORMAL, parse_math=False)
    return figure
