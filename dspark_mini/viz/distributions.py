"""Distributions over tokens: how draft and target overlap, where the mass goes, and what is emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_shape, numbers, probability_row, probability_rows, unit_numbers, whole_number
from dspark_mini.viz.colors import BLUE, GREEN, INK, OPEN, ORANGE, Look
from dspark_mini.viz.labels import check_count, check_labelled, short, word
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, picture, plot_axes, unit_ticks

Row = NDArray[np.float64]


def overlap_picture(q: ArrayLike, p: ArrayLike, accepted: ArrayLike, words: Sequence[object] | None = None) -> Picture:
    """Draw the distributions of draft and target over each other, one panel per position.

    Args:
        q: (γ, V) draft distributions, at most 4 positions and 12 tokens.
        p: (γ, V) target distributions.
        accepted: (γ,) probability that the draft token is accepted, written above each panel.
        words: (V,) word of each token; numbers are shown without it.

    Returns:
        The picture: the filled part of the bars is min(q, p).
    """
    draft, target = probability_rows("q", q), probability_rows("p", p)  # (γ, V), (γ, V)
    check_same_shape("q", draft, "p", target)
    chances = unit_numbers("accepted", accepted)  # (γ,)
    positions = whole_number("the number of positions of q", len(draft), low=1, high=4)
    tokens = whole_number("the number of tokens of q", draft.shape[1], low=1, high=12)
    check_count("accepted", chances.tolist(), positions, "positions")
    figure = picture(min(9.0, 1.0 + positions * (0.8 + 0.45 * tokens)), 3.0)
    looks: dict[str, Look] = {
        "q, the draft": {"facecolor": "none", "edgecolor": BLUE, "linestyle": "--", "linewidth": 1.6},
        "p, the target": {"facecolor": "none", "edgecolor": ORANGE, "linewidth": 1.6},
        "min(q, p): accepted": {"facecolor": GREEN, "alpha": 0.55},
    }
    for k, ax in enumerate(plot_axes(figure, positions)):
        heights = zip(looks.items(), (draft[k], target[k], np.minimum(draft[k], target[k])), (0.74, 0.66, 0.7))
        for (label, look), values, width in heights:
            ax.bar(range(tokens), values, width=width, label=label, **look)
        ax.set_ylim(0.0, 1.0)
        _token_ticks(ax, tokens, words)
        unit_ticks(ax.yaxis)
        name = f"position {k + 1}: " if positions > 1 else ""
        label_axes(ax, f"{name}accepted {short(chances[k])}", pad=12)
    legend(figure, [Patch(label=label, **look) for label, look in looks.items()], handle_length=2.0)
    return figure


def accepted_mass(
    p: ArrayLike,
    q: ArrayLike,
    acceptance: ArrayLike,
    residual: ArrayLike | None = None,
    words: Sequence[str] | None = None,
) -> Picture:
    """Draw where the probability of each token goes: drafted and accepted, rejected, replaced.

    Args:
        p: (V,) target distribution.
        q: (V,) draft distribution.
        acceptance: (V,) probability that each token is accepted once it is drafted.
        residual: (V,) distribution of the replacement after a rejection; without it the gaps stay open.
        words: (V,) word of each token; numbers are shown without it.

    Returns:
        The picture: what is drafted on the left, what is emitted on the right, with p as a line.
    """
    target, draft = probability_row("p", p), probability_row("q", q)  # (V,), (V,)
    chances = numbers("acceptance", acceptance)  # (V,)
    replacement = np.zeros(target.size) if residual is None else numbers("residual", residual)  # (V,)
    for name, values in (("q", draft), ("acceptance", chances), ("residual", replacement)):
        check_same_shape("p", target, name, values)
    through = draft * chances  # (V,)
    rejected = float(1.0 - through.sum())
    figure = picture(7.2, 3.3)
    left, right = plot_axes(figure, 2)
    xs = range(target.size)
    left.bar(xs, through, 0.6, color=GREEN, label="drafted and accepted")
    left.bar(xs, draft - through, 0.6, bottom=through, label="drafted and rejected", **OPEN)
    right.bar(xs, through, 0.6, color=GREEN, label="drafted and accepted")
    if residual is not None:
        right.bar(xs, rejected * replacement, 0.6, bottom=through, color=ORANGE, label="drawn from the residual")
    _draw_target(right, target)
    label_axes(left, f"drafted from q: {1 - rejected:.2f} accepted", y="probability")
    label_axes(right, "emitted")
    for ax in (left, right):
        _token_ticks(ax, target.size, words)
        hide_spines(ax, "left")
    legend(figure, handle_length=2.0)
    return figure


def emitted_laws(
    target: ArrayLike, laws: Mapping[str, ArrayLike], words: Sequence[str] | None = None, tolerance: float = 1e-9
) -> Picture:
    """Draw the distribution of the emitted token under several rules, next to the target's.

    Args:
        target: (V,) target distribution, drawn as a line over each bar.
        laws: Label → (V,) distribution that a rule emits, exact or counted; that of a wrong rule need not sum to 1.
        words: (V,) word of each token; numbers are shown without it.
        tolerance: Largest total variation at which a law counts as the target's; larger for counted laws.

    Returns:
        The picture: one panel per rule, with its total variation from the target; a rule that deviates is hatched.
    """
    row = probability_row("target", target)  # (V,)
    check_labelled("laws", laws, "distribution")
    figure = picture(min(8.4, max(4.2, 0.8 + 2.3 * len(laws))), 3.1)
    axes = plot_axes(figure, len(laws))
    label_axes(axes[0], y="probability (line: target p)")
    for ax, (label, law) in zip(axes, laws.items(), strict=True):
        emitted = numbers(f"laws[{label!r}]", law, low=0.0)  # (V,)
        check_count(f"laws[{label!r}]", emitted.tolist(), row.size, "tokens of target")
        distance = 0.5 * float(np.abs(emitted - row).sum())
        ax.bar(
            range(row.size),
            emitted,
            0.6,
            **({"color": BLUE} if distance <= tolerance else OPEN | {"edgecolor": ORANGE}),
        )
        _draw_target(ax, row)
        _token_ticks(ax, row.size, words)
        hide_spines(ax, "left")
        label_axes(ax, fill(label, max(10, 44 // len(laws))), x=f"total variation {distance:.3f}")
    return figure


def _draw_target(ax: Axes, target: Row) -> None:
    """Draw the target's probabilities as short lines, which a bar reaches or does not."""
    xs = np.arange(target.size)
    ax.hlines(target, xs - 0.42, xs + 0.42, color=INK, linewidth=2.4, zorder=4, label="target p")


def _token_ticks(ax: Axes, size: int, words: Sequence[object] | None) -> None:
    ax.set_xticks(range(size), [word(token, words) for token in range(size)], parse_math=False)
    ax.set_xlim(-0.6, size - 0.4)
