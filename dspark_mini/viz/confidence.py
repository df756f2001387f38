"""Confidence: the prefix it keeps, its survival, its calibration, and what a threshold lets through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dspark_mini.contracts import chance, chances, integer, numbers, takes
from dspark_mini.viz.arguments import labelled, pair, texts
from dspark_mini.viz.colors import BLUE, GREEN, INK, NORMAL, OPEN, ORANGE, SMALL
from dspark_mini.viz.draw import name_ends, write
from dspark_mini.viz.labels import _, short, subscript
from dspark_mini.viz.style import Picture, block_axes, hide_spines, label_axes, plot_axes, unit_ticks

Row = NDArray[np.float64]


@takes(confidences=chances("γ"), threshold=chance(), budget=integer(high="γ"), tokens=texts("γ"))
def confidence_budget(
    confidences: Row, threshold: float, budget: int, tokens: Sequence[object] | None = None
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
    figure, (ax,) = plot_axes(max(4.2, 1.6 + 0.62 * confidences.size), 3.2)
    block_axes(ax, confidences.size, _("confidence"))
    hide_spines(ax, "left")
    if tokens is not None:
        ticks = [f"{subscript('x', k)}\n{token}" for k, token in enumerate(tokens, start=1)]
        ax.set_xticks(range(1, confidences.size + 1), ticks, parse_math=False)
    for k, value in enumerate(confidences, start=1):
        ax.bar(k, value, width=0.62, linewidth=1.2, zorder=2, **({"color": BLUE} if k <= budget else OPEN))
        hits_line = value + 0.01 < threshold < value + 0.11  # the threshold would cross the number
        write(ax, k, (threshold if hits_line else value) + 0.03, short(value), size=SMALL, va="bottom")
    _draw_cut(ax, confidences.size, budget, threshold)
    return figure


def _draw_cut(ax: Axes, block_size: int, budget: int, threshold: float) -> None:
    """Draw the threshold, and the cut after the verified prefix."""
    ax.axhline(threshold, color=ORANGE, linestyle="--", linewidth=1.8, zorder=3)
    write(ax, block_size + 0.5, threshold, _("threshold {value:g}", value=threshold), color=ORANGE, ha="left")
    if 0 < budget < block_size:
        ax.axvline(budget + 0.5, color=INK, linestyle=":", linewidth=1.4, ymax=1.22, clip_on=False)
    if budget > 0:
        write(ax, budget + 0.35, 1.16, _("verified: {count}", count=budget), bold=True, ha="right", va="bottom")
    if budget < block_size:
        trimmed = _("trimmed: {count}", count=block_size - budget)
        write(ax, budget + 0.65, 1.16, trimmed, bold=True, ha="left", va="bottom")


@takes(confidences=chances("γ"), survival=chances("γ"))
def survival_bars(confidences: Row, survival: Row, title: str | None = None) -> Picture:
    """Draw the confidence of each position and the survival of the prefix that ends there.

    Args:
        confidences: (γ,) numbers in [0, 1].
        survival: (γ,) a_1 … a_γ, numbers in [0, 1].
        title: Title of the picture.

    Returns:
        The picture: discs are confidences, bars are survivals; their sum is written to the right.
    """
    positions = np.arange(1, confidences.size + 1)
    figure, (ax,) = plot_axes(max(4.6, 1.8 + 0.62 * confidences.size), 3.2)
    block_axes(ax, confidences.size, _("probability"))
    ax.bar(positions, survival, width=0.62, color=BLUE, zorder=2, label=_("survival"))
    ax.plot(positions, confidences, "o-", color=ORANGE, markersize=7, linewidth=2, clip_on=False, label=_("confidence"))
    for k, value in enumerate(survival, start=1):
        fits = value > 0.12
        write(ax, k, 0.05 if fits else value + 0.05, short(value), size=SMALL, color="white" if fits else INK)
    sum_ = _("survival a\n(Σ a = {sum:.2f})", sum=survival.sum())
    last = confidences[-1]
    name_ends(ax, [(min(survival[-1], last - 0.15), sum_, BLUE), (last, _("confidence c"), ORANGE)])
    label_axes(ax, title)
    return figure


@takes(
    samples=labelled("predictions and outcomes", pair(chances("N"), chances("N")), same_sizes=False),
    n_bins=integer(low=1),
)
def reliability_diagram(
    samples: Mapping[str, tuple[Row, Row]], errors: Mapping[str, float] | None = None, n_bins: int = 10
) -> Picture:
    """Draw the observed frequency against the predicted probability, bin by bin.

    Args:
        samples: Label → (predicted, observed), each (N,): numbers in [0, 1], and outcomes 0 or 1; one panel per label.
        errors: Label → expected calibration error, written above the panel.
        n_bins: Number of bins.

    Returns:
        The picture: the area of a disc is the bin's share of the samples, its line the gap to the diagonal.
    """
    figure, axes = plot_axes(min(9.0, 0.9 + 2.9 * len(samples)), 3.5, len(samples))
    for ax, (label, (predicted, observed)) in zip(axes, samples.items(), strict=True):
        _draw_bins(ax, predicted, observed, n_bins)
        error = f", ECE {100 * errors[label]:.1f} %" if errors and label in errors else ""
        label_axes(ax, f"{_(label)}{error}", x=_("predicted probability"), pad=12)
    label_axes(axes[0], y=_("observed frequency"))
    return figure


def _draw_bins(ax: Axes, values: Row, outcomes: Row, n_bins: int) -> None:
    number = np.minimum((values * n_bins).astype(int), n_bins - 1)  # (N,)
    count = np.bincount(number, minlength=n_bins)  # (n_bins,)
    used = np.flatnonzero(count)
    predicted = np.bincount(number, values, minlength=n_bins)[used] / count[used]
    observed = np.bincount(number, outcomes, minlength=n_bins)[used] / count[used]
    ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.3)
    ax.vlines(predicted, predicted, observed, color=ORANGE, linewidth=2.2, zorder=2, label=_("gap"))
    area = 12 + 500 * count[used] / len(values)
    ax.scatter(predicted, observed, s=area, color=BLUE, alpha=0.9, zorder=3, clip_on=False, label=_("bins"))
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    unit_ticks(ax.xaxis)
    unit_ticks(ax.yaxis)
    write(ax, 0.04, 0.93, _("underconfident"), size=SMALL, ha="left")
    write(ax, 0.97, 0.05, _("overconfident"), size=SMALL, ha="right")


@takes(thresholds=chances("n"), accepted=numbers("n", low=0.0), rejected=numbers("n", low=0.0))
def threshold_sweep(thresholds: Row, accepted: Row, rejected: Row, title: str | None = None) -> Picture:
    """Draw what a confidence threshold does to the draft tokens per round and to the acceptance rate.

    Args:
        thresholds: (n,) thresholds in [0, 1], rising.
        accepted: (n,) accepted draft tokens per round.
        rejected: (n,) verified but rejected draft tokens per round.
        title: Title of the picture.

    Returns:
        The picture: the draft tokens on the left, accepted / (accepted + rejected) on the right.
    """
    verified = accepted + rejected  # (n,)
    figure, (left, right) = plot_axes(8.4, 3.3, 2, share_y=False)
    left.fill_between(thresholds, accepted, color=GREEN, alpha=0.75, linewidth=0, label=_("accepted"))
    left.fill_between(thresholds, accepted, verified, linewidth=1.0, label=_("rejected"), **OPEN)
    left.set_ylim(0.0, float(verified.max()) * 1.05 or 1.0)
    left.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=SMALL)
    rate = np.divide(accepted, verified, out=np.full_like(accepted, np.nan), where=verified > 0)
    right.plot(thresholds, rate, "o-", color=ORANGE, markersize=5, linewidth=2, clip_on=False, label=_("rate"))
    right.set_ylim(0.0, 1.0)
    unit_ticks(right.yaxis)
    for ax, name in ((left, _("draft tokens per round")), (right, _("acceptance rate"))):
        label_axes(ax, name, x=_("threshold"))
        ax.set_xlim(thresholds[0], thresholds[-1])
    if title is not None:
        figure.suptitle(_(title), color=INK, fontsize=NORMAL, parse_math=False)
    return figure
