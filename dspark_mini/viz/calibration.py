"""Confidence against what happened: how far two distributions overlap, and reliability diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_shape, probability_rows, unit_numbers, whole_number
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    Picture,
    head,
    one_line,
    picture,
    plot_axes,
    write,
)

TICKS = ([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


def overlap_picture(q: ArrayLike, p: ArrayLike, accepted: ArrayLike, words: Sequence[object] | None = None) -> Picture:
    """Draw the draft's and the target's distribution over each other, one panel a position.

    Args:
        q: (γ, V) draft distributions, at most 4 positions and 12 tokens.
        p: (γ, V) target distributions.
        accepted: (γ,) the chance that the draft is accepted, written above each panel.
        words: (V,) what to write for each token; its number by default.

    Returns:
        The picture: the filled part of the bars is min(q, p).
    """
    draft, target = probability_rows("q", q), probability_rows("p", p)
    check_same_shape("q", draft, "p", target)
    chances = unit_numbers("accepted", accepted)
    positions = whole_number("the number of positions of q", len(draft), low=1, high=4)
    tokens = whole_number("the number of tokens of q", draft.shape[1], low=1, high=12)
    if chances.size != positions:
        raise ValueError(f"accepted has {chances.size} entries for {positions} positions.")
    names = [str(token) if words is None else one_line(words[token]) for token in range(tokens)]
    figure = picture(min(9.0, 1.0 + positions * (0.8 + 0.45 * tokens)), 3.0)
    for k, ax in enumerate(plot_axes(figure, positions)):
        _draw_overlap(ax, draft[k], target[k], names)
        name = f"position {k + 1}: " if positions > 1 else ""
        head(ax, f"{name}accepted {chances[k]:.2f}".replace(" 0.", " ."))
    keys = [
        Patch(facecolor="none", edgecolor=BLUE, linestyle="--", linewidth=1.6, label="q, the draft"),
        Patch(facecolor="none", edgecolor=ORANGE, linewidth=1.6, label="p, the target"),
        Patch(facecolor=GREEN, alpha=0.55, label="both: accepted"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK, fontsize=SMALL)
    return figure


def _draw_overlap(ax: Axes, draft: NDArray[np.float64], target: NDArray[np.float64], names: list[str]) -> None:
    xs = np.arange(len(names))
    ax.bar(xs, np.minimum(draft, target), width=0.7, color=GREEN, alpha=0.55, zorder=2, label="both")
    for values, color, line, width, label in ((draft, BLUE, "--", 0.74, "q"), (target, ORANGE, "-", 0.66, "p")):
        ax.bar(xs, values, width=width, facecolor="none", edgecolor=color, linestyle=line, linewidth=1.6, label=label)
    ax.set(xlim=(-0.6, len(names) - 0.4), ylim=(0.0, 1.0))
    ax.set_xticks(xs, names, parse_math=False)
    ax.set_yticks(*TICKS)


def reliability_diagram(
    samples: Mapping[str, tuple[ArrayLike, ArrayLike]], errors: Mapping[str, float] | None = None, n_bins: int = 10
) -> Picture:
    """Draw, bin by bin, how often it happened against how often it was predicted to, one panel a label.

    Args:
        samples: label → (predicted, observed), each (N,): chances in [0, 1] and outcomes 0 or 1.
        errors: label → calibration error, to write above the panel.
        n_bins: the number of bins.

    Returns:
        The picture: a disc's area is the bin's share of samples, its bar the gap to the diagonal.
    """
    if not isinstance(samples, Mapping) or not samples:
        raise ValueError("samples must be a dict from label to predictions and outcomes, with at least one entry.")
    bins = whole_number("n_bins", n_bins, low=1)
    figure = picture(min(9.0, 0.9 + 2.9 * len(samples)), 3.5)
    axes = plot_axes(figure, len(samples))
    for ax, (label, (predicted, observed)) in zip(axes, samples.items(), strict=True):
        values, outcomes = unit_numbers(f"{label}: predicted", predicted), unit_numbers(f"{label}: observed", observed)
        check_same_shape(f"{label}: predicted", values, f"{label}: observed", outcomes)
        _draw_bins(ax, values, outcomes, bins)
        error = f", ECE {100 * errors[label]:.1f} %" if errors and label in errors else ""
        head(ax, f"{label}{error}")
    axes[0].set_ylabel("happened", color=INK, fontsize=NORMAL)
    return figure


def _draw_bins(ax: Axes, values: NDArray[np.float64], outcomes: NDArray[np.float64], n_bins: int) -> None:
    number = np.minimum((values * n_bins).astype(int), n_bins - 1)
    count = np.bincount(number, minlength=n_bins)
    used = np.flatnonzero(count)
    predicted = np.bincount(number, values, minlength=n_bins)[used] / count[used]
    happened = np.bincount(number, outcomes, minlength=n_bins)[used] / count[used]
    ax.add_line(Line2D([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.3))
    ax.vlines(predicted, predicted, happened, color=ORANGE, linewidth=2.2, zorder=2, label="gap")
    area = 12 + 500 * count[used] / len(values)
    ax.scatter(predicted, happened, s=area, color=BLUE, alpha=0.9, zorder=3, clip_on=False, label="bins")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    ax.set_xticks(*TICKS)
    ax.set_yticks(*TICKS)
    ax.set_xlabel("predicted", color=INK, fontsize=NORMAL)
    write(ax, 0.04, 0.93, "better than promised", size=SMALL, ha="left")
    write(ax, 0.97, 0.05, "worse than promised", size=SMALL, ha="right")
