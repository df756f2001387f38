"""Laws: with which probability each token is emitted, beside what the target wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import numbers, probability_row
from dspark_mini.viz.style import INK, NORMAL, SMALL, STROKES, Picture, head, one_line, picture, plot_axes

HATCHES = ["", "////", "....", "xxxx"]


def clinic_laws(
    target: ArrayLike, laws: Mapping[str, ArrayLike], words: Sequence[object] | None = None, title: str | None = None
) -> Picture:
    """Draw with which probability each token is emitted, beside what the target wants.

    Args:
        target: (V,) the target's distribution, drawn as a line over the bars of each token.
        laws: label → (V,) the law that is emitted.
        words: (V,) what to write for each token; its number by default.
        title: what to write above.

    Returns:
        The picture; the legend says how far each law is from the target, in total variation.
    """
    p = probability_row("target", target)  # (V,)
    rows = {str(label): numbers(f"laws[{label!r}]", law) for label, law in laws.items()}
    for label, row in rows.items():
        if row.size != p.size:
            raise ValueError(f"laws[{label!r}] has {row.size} entries, but target has {p.size}.")
    names = [str(t) for t in range(p.size)] if words is None else [one_line(word) for word in words]
    figure = picture(max(4.6, 1.2 + 1.1 * p.size), 3.2)
    ax = plot_axes(figure)[0]
    width = 0.76 / max(1, len(rows))
    for number, (label, row) in enumerate(rows.items()):
        color = STROKES[number % len(STROKES)][0]
        ax.bar(
            np.arange(row.size) - 0.38 + (number + 0.5) * width,
            row,
            width=0.88 * width,
            facecolor=color if number == 0 else "none",
            edgecolor=color,
            hatch=HATCHES[number % len(HATCHES)],
            linewidth=1.2,
            label=f"{label}: off by {_distance(p, row)}",
        )
    ax.hlines(p, np.arange(p.size) - 0.46, np.arange(p.size) + 0.46, color=INK, linewidth=2.4, label="target p")
    ax.set_xticks(range(p.size), names, parse_math=False)
    ax.set_ylabel("emitted with probability", color=INK, fontsize=NORMAL)
    ax.spines["left"].set_visible(False)
    figure.legend(loc="outside lower center", ncols=1, frameon=False, labelcolor=INK, fontsize=SMALL)
    head(ax, title)
    return figure


def _distance(p: NDArray[np.float64], law: NDArray[np.float64]) -> str:
    """Write a total variation distance down, rounding noise as 0."""
    distance = 0.5 * float(np.abs(p - law).sum())
    return f"{distance:.3f}" if distance > 1e-9 else "0"
