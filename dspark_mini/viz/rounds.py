"""What becomes of the tokens of a round: in the block, in the cache, and summed up over a whole request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from dspark_mini.inputs import whole_number
from dspark_mini.viz.style import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    Picture,
    box,
    canvas,
    one_line,
    picture,
    plot_axes,
    subscript,
    write,
)

# The look of a token by its fate; each differs from the others without colour too.
LOOKS: dict[str, dict[str, str]] = {
    "accepted": {"fill": GREEN, "edge": GREEN, "ink": "white"},
    "rejected": {"hatch": "////", "edge": INK},
    "trimmed": {"line": "--", "edge": INK},
    "the target's own": {"fill": ORANGE, "edge": ORANGE, "ink": "white"},
    "cut": {"line": ":", "edge": ORANGE, "ink": ORANGE},
}


def round_rows(rounds: Sequence[Mapping[str, Any]], words: Sequence[str] | None = None) -> Picture:
    """Draw rounds of the engine, one a line: the drafts and their fate, and at the end the target's own token.

    Args:
        rounds: dicts with drafted (tokens), verified and accepted (counts), and emitted (tokens; a round that was
            cut emitted fewer than accepted + 1).
        words: what to write for each token; its number by default.

    Returns:
        The picture: accepted drafts are filled, rejected ones hatched, trimmed ones dashed.
    """
    if not rounds:
        raise ValueError("rounds is empty: it needs at least one round.")
    widest = max(len(this["drafted"]) for this in rounds)
    inch = min(0.42, 7.6 / (widest + 4.5))
    figure = picture(inch * (widest + 4.5), inch * (len(rounds) + 1.6))
    ax = canvas(figure, -2.6, widest + 1.9, -len(rounds) - 1.0, 0.6)
    used: set[str] = set()
    for number, this in enumerate(rounds):
        used |= _draw_round(ax, -number, number + 1, this, widest, words)
    _explain(figure, [name for name in LOOKS if name in used])
    return figure


def _draw_round(
    ax: Axes, y: float, number: int, this: Mapping[str, Any], widest: int, words: Sequence[str] | None
) -> set[str]:
    drafted, accepted = list(this["drafted"]), this["accepted"]
    verified = whole_number("verified", this["verified"], low=accepted, high=len(drafted))
    write(ax, -0.3, y, f"round {number}", size=SMALL, ha="right")
    fates = ["accepted"] * accepted + ["rejected"] * (verified - accepted) + ["trimmed"] * (len(drafted) - verified)
    fates = [fate if k < len(this["emitted"]) or fate != "accepted" else "cut" for k, fate in enumerate(fates)]
    for k, (token, fate) in enumerate(zip(drafted, fates)):
        _token(ax, k, y, _word(token, words) if fate != "rejected" else "", fate)
    if len(this["emitted"]) > accepted:
        fates.append("the target's own")
        _token(ax, widest + 0.5, y, _word(this["emitted"][accepted], words), "the target's own")
    return set(fates)


def _token(ax: Axes, x: float, y: float, text: str, fate: str) -> None:
    box(ax, x + 0.5, y, 0.88, 0.76, text, size=SMALL, **LOOKS[fate])  # type: ignore[arg-type]


def _word(token: int, words: Sequence[str] | None) -> str:
    return one_line(words[token]) if words is not None else str(token)


def cache_rows(rounds: Mapping[str, tuple[int, int]]) -> Picture:
    """Draw the cache rows that one forward wrote, and those that are dropped again.

    Args:
        rounds: label → (rows that the forward wrote, the anchor's included; rows to drop from the end).

    Returns:
        The picture: one line a round; rows that stay are filled, dropped ones are empty, with a dashed edge.
    """
    if not rounds:
        raise ValueError("rounds is empty: it needs at least one pair of rows.")
    widest = max(rows for rows, _ in rounds.values())
    inch = min(0.44, 7.6 / (widest + 6.5))
    figure = picture(inch * (widest + 6.5), inch * (len(rounds) + 1.4))
    ax = canvas(figure, -6.3, widest + 0.2, -len(rounds) - 0.6, 0.8)
    for number, (label, (rows, dropped)) in enumerate(rounds.items()):
        whole_number(f"rounds[{label!r}]", dropped, low=0, high=rows)
        write(ax, -0.3, -number, label, size=SMALL, ha="right")
        for k in range(rows):
            look = {"fill": BLUE, "edge": BLUE, "ink": "white"} if k < rows - dropped else {"line": "--", "edge": INK}
            box(ax, k + 0.5, -number, 0.88, 0.76, subscript("x", k), size=SMALL, **look)  # type: ignore[arg-type]
    keys = [Patch(color=BLUE, label="row stays"), Patch(fill=False, edgecolor=INK, ls="--", label="row is dropped")]
    _legend(figure, keys)
    return figure


def draft_fates(totals: Mapping[str, Mapping[str, Any]]) -> Picture:
    """Draw what became of all drafts of some runs, and the tokens a round that each run made.

    Args:
        totals: label → the dict of round_totals.

    Returns:
        The picture: a bar a run, from the accepted drafts to the trimmed ones, with τ beside it.
    """
    if not totals:
        raise ValueError("totals is empty: it needs at least one run.")
    figure = picture(7.4, 0.55 * len(totals) + 1.3)
    (ax,) = plot_axes(figure)
    places = -np.arange(len(totals))
    left = np.zeros(len(totals))
    parts = {"accepted": (GREEN, ""), "rejected": ("none", "////"), "trimmed": (FAINT, "")}
    for name, (color, hatch) in parts.items():
        widths = np.array([float(found[name]) for found in totals.values()])
        ax.barh(places, widths, 0.6, left, color=color, edgecolor=INK, hatch=hatch, linewidth=0.8, label=name)
        left += widths
    for place, end, found in zip(places, left, totals.values()):
        write(ax, float(end + 0.015 * left.max()), float(place), f"τ = {found['tau']:.2f}", size=NORMAL, ha="left")
    ax.set_yticks(places, list(totals))
    ax.set_xlim(0, 1.18 * max(left.max(), 1.0))
    ax.set_xlabel("drafted tokens", color=INK, fontsize=NORMAL)
    _legend(figure, ax.get_legend_handles_labels()[0], outside=True)
    return figure


def _explain(figure: Picture, fates: Sequence[str]) -> None:
    keys = []
    for fate in fates:
        look = LOOKS[fate]
        key = Patch(facecolor=look.get("fill", "none"), edgecolor=look["edge"], hatch=look.get("hatch", ""), label=fate)
        key.set(linestyle=look.get("line", "-"))
        keys.append(key)
    _legend(figure, keys)


def _legend(figure: Picture, keys: Sequence[Any], outside: bool = False) -> None:
    figure.legend(
        handles=list(keys),
        loc="outside lower center" if outside else "lower center",
        ncols=len(keys),
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        handlelength=1.2,
        handleheight=1.0,
    )
