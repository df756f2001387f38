"""Distributions over tokens: how draft and target overlap, where the mass goes, and what is emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from dspark_mini.contracts import chances, numbers, probabilities, takes
from dspark_mini.kinds import whole
from dspark_mini.viz.arguments import labelled
from dspark_mini.viz.colors import BLUE, GREEN, INK, OPEN, ORANGE, Look
from dspark_mini.viz.labels import _, short, word
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, plot_axes, unit_ticks

Array = NDArray[np.float64]


@takes(q=probabilities("γ", "V"), p=probabilities("γ", "V"), accepted=chances("γ"))
def overlap_picture(q: Array, p: Array, accepted: Array, words: Sequence[object] | None = None) -> Picture:
    """Draw the distributions of draft and target over each other, one panel per position.

    Args:
        q: (γ, V) draft distributions, at most 4 positions and 12 tokens.
        p: (γ, V) target distributions.
        accepted: (γ,) probability that the draft token is accepted, written above each panel.
        words: (V,) word of each token; numbers are shown without it.

    Returns:
        The picture: the filled part of the bars is min(q, p).
    """
    positions = whole("the number of positions of q", len(q), 1, 4)
    tokens = whole("the number of tokens of q", q.shape[1], 1, 12)
    figure, axes = plot_axes(min(9.0, 1.0 + positions * (0.8 + 0.45 * tokens)), 3.0, positions)
    looks: dict[str, Look] = {
        _("q, the draft"): {"facecolor": "none", "edgecolor": BLUE, "linestyle": "--", "linewidth": 1.6},
        _("p, the target"): {"facecolor": "none", "edgecolor": ORANGE, "linewidth": 1.6},
        _("min(q, p): accepted"): {"facecolor": GREEN, "alpha": 0.55},
    }
    for k, ax in enumerate(axes):
        heights = zip(looks.items(), (q[k], p[k], np.minimum(q[k], p[k])), (0.74, 0.66, 0.7))
        for (label, look), values, width in heights:
            ax.bar(range(tokens), values, width=width, label=label, **look)
        ax.set_ylim(0.0, 1.0)
        _token_ticks(ax, tokens, words)
        unit_ticks(ax.yaxis)
        title = _("position {number}: accepted {share}") if positions > 1 else _("accepted {share}")
        label_axes(ax, title.format(number=k + 1, share=short(accepted[k])), pad=12)
    legend(figure, [Patch(label=label, **look) for label, look in looks.items()], handle_length=2.0)
    return figure


@takes(p=probabilities("V"), q=probabilities("V"), acceptance=numbers("V"), residual=numbers("V"))
def accepted_mass(
    p: Array, q: Array, acceptance: Array, residual: Array | None = None, words: Sequence[str] | None = None
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
    through = q * acceptance  # (V,)
    rejected = float(1.0 - through.sum())
    figure, (left, right) = plot_axes(7.2, 3.3, 2)
    xs = range(p.size)
    left.bar(xs, through, 0.6, color=GREEN, label=_("drafted and accepted"))
    left.bar(xs, q - through, 0.6, bottom=through, label=_("drafted and rejected"), **OPEN)
    right.bar(xs, through, 0.6, color=GREEN, label=_("drafted and accepted"))
    if residual is not None:
        right.bar(xs, rejected * residual, 0.6, bottom=through, color=ORANGE, label=_("drawn from the residual"))
    _draw_target(right, p)
    label_axes(left, _("drafted from q: {share:.2f} accepted", share=1 - rejected), y=_("probability"))
    label_axes(right, _("emitted"))
    for ax in (left, right):
        _token_ticks(ax, p.size, words)
        hide_spines(ax, "left")
    legend(figure, handle_length=2.0)
    return figure


@takes(target=probabilities("V"), laws=labelled("distribution", numbers("V", low=0.0)))
def emitted_laws(
    target: Array, laws: Mapping[str, Array], words: Sequence[str] | None = None, tolerance: float = 1e-9
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
    figure, axes = plot_axes(min(8.4, max(4.2, 0.8 + 2.3 * len(laws))), 3.1, len(laws))
    label_axes(axes[0], y=_("probability (line: target p)"))
    for ax, (label, law) in zip(axes, laws.items(), strict=True):
        distance = 0.5 * float(np.abs(law - target).sum())
        look = {"color": BLUE} if distance <= tolerance else OPEN | {"edgecolor": ORANGE}
        ax.bar(range(target.size), law, 0.6, **look)
        _draw_target(ax, target)
        _token_ticks(ax, target.size, words)
        hide_spines(ax, "left")
        difference = _("total variation {distance:.3f}", distance=distance)
        label_axes(ax, fill(_(label), max(10, 44 // len(laws))), x=difference)
    return figure


def _draw_target(ax: Axes, target: Array) -> None:
    """Draw the target's probabilities as short lines, which a bar reaches or does not."""
    xs = np.arange(target.size)
    ax.hlines(target, xs - 0.42, xs + 0.42, color=INK, linewidth=2.4, zorder=4, label=_("target p"))


def _token_ticks(ax: Axes, size: int, words: Sequence[object] | None) -> None:
    ax.set_xticks(range(size), [word(token, words) for token in range(size)], parse_math=False)
    ax.set_xlim(-0.6, size - 0.4)
