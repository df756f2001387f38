"""What verification does to a block and to a distribution: rounds, accepted mass, and the law that comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import numbers, probability_row, whole_number, whole_numbers
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    Picture,
    box,
    canvas,
    head,
    one_line,
    picture,
    plot_axes,
    write,
)

Row = NDArray[np.float64]
ROUND = 2.5  # height of a round: drafts above, what was emitted below


def verified_rounds(
    rounds: Sequence[tuple[ArrayLike, Mapping[str, Any]]],
    words: Sequence[str] | None = None,
    kept: int | None = None,
) -> Picture:
    """Draw rounds of verification: what was drafted, what became of it, and what was emitted.

    Args:
        rounds: pairs of draft tokens (γ,) and the verifier's result, a dict with accepted and tokens.
        words: what to write for each token; its number by default.
        kept: how many of all emitted tokens belong to the output; all of them by default.

    Returns:
        The picture: accepted drafts are filled, the first rejected one is hatched, the dropped ones are dashed.
    """
    if not rounds:
        raise ValueError("rounds is empty: it needs at least one pair of drafts and result.")
    pairs = [(whole_numbers("draft_tokens", drafts, low=0), result) for drafts, result in rounds]
    widest = max(max(len(drafts), len(result["tokens"])) for drafts, result in pairs)
    left = kept if kept is not None else sum(len(result["tokens"]) for _, result in pairs)
    height = ROUND * (len(pairs) - 1) + 1.5
    inch = min(0.62, 7.6 / (widest + 3.2))
    figure = picture(inch * (widest + 3.2), inch * (height + 0.8))
    ax = canvas(figure, -2.6, widest + 0.6, -height, 0.8)
    for number, (drafts, result) in enumerate(pairs):
        _draw_round(ax, -ROUND * number, number + 1, drafts, result, words, left)
        left = max(left - len(result["tokens"]), 0)
    return figure


def _draw_round(
    ax: Axes,
    top: float,
    number: int,
    drafts: list[int],
    result: Mapping[str, Any],
    words: Sequence[str] | None,
    left: int,
) -> None:
    accepted = whole_number("accepted", result["accepted"], low=0)
    write(ax, -0.3, top, f"round {number}: drafted", size=SMALL, ha="right")
    write(ax, -0.3, top - 1.0, "emitted", size=SMALL, ha="right")
    for k, token in enumerate(drafts):
        if k < accepted:
            look = {"fill": GREEN, "edge": GREEN, "ink": "white"}
        else:
            look = {"hatch": "////"} if k == accepted else {"line": "--"}
        _token(ax, k, top, "" if k == accepted else _word(token, words), look)
        if k == accepted:  # the hatch would cross out the word, so it stands on the page
            write(ax, k + 0.5, top + 0.56, _word(token, words), size=SMALL)
    for k, token in enumerate(result["tokens"]):
        color = GREEN if k < accepted else ORANGE
        look = {"fill": color, "edge": color, "ink": "white"} if k < left else {"line": ":", "edge": color}
        _token(ax, k, top - 1.0, _word(token, words), look)


def _token(ax: Axes, k: int, y: float, text: str, look: dict[str, str]) -> None:
    box(ax, k + 0.5, y, 0.9, 0.72, text, size=SMALL, **look)  # type: ignore[arg-type]


def _word(token: int, words: Sequence[str] | None) -> str:
    return one_line(words[token]) if words is not None else str(token)


def accepted_mass(
    p: ArrayLike,
    q: ArrayLike,
    acceptance: ArrayLike,
    residual: ArrayLike | None = None,
    words: Sequence[str] | None = None,
) -> Picture:
    """Draw where the probability of every token goes: drafted and accepted, rejected, replaced.

    Args:
        p: (V,) the target's distribution.
        q: (V,) the draft's distribution.
        acceptance: (V,) the chance that each token is accepted once it is drafted.
        residual: (V,) what a rejected round emits; left out, the gap to the target stays open.
        words: (V,) what to write for each token; its number by default.

    Returns:
        The picture: on the left what is drafted, on the right what is emitted, with p as a mark.
    """
    target, draft = probability_row("p", p), probability_row("q", q)
    through = draft * np.asarray(acceptance, dtype=np.float64)  # (V,)
    rejected = float(1.0 - through.sum())
    figure = picture(7.2, 3.3)
    first, second = plot_axes(figure, 2)
    xs = np.arange(target.size)
    first.bar(xs, through, 0.6, color=GREEN, label="accepted")
    first.bar(xs, draft - through, 0.6, bottom=through, facecolor="none", edgecolor=INK, hatch="////", label="rejected")
    second.bar(xs, through, 0.6, color=GREEN)
    if residual is not None:
        replaced = rejected * np.asarray(residual, dtype=np.float64)
        second.bar(xs, replaced, 0.6, bottom=through, color=ORANGE, label="from the residual")
    _mark(second, target)
    head(first, f"drafted from q: {1 - rejected:.2f} accepted", pad=8)
    head(second, "emitted", pad=8)
    for ax in (first, second):
        _name_tokens(ax, target.size, words)
    first.set_ylabel("probability", color=INK, fontsize=NORMAL)
    _explain(figure, with_residual=residual is not None)
    return figure


def emitted_laws(
    target: ArrayLike,
    laws: Mapping[str, ArrayLike],
    words: Sequence[str] | None = None,
    tolerance: float = 1e-9,
) -> Picture:
    """Draw the distribution of the emitted token under several rules, next to the target's.

    Args:
        target: (V,) the target's distribution, drawn as a mark over each bar.
        laws: label → (V,) the distribution that a rule emits, exact or counted; that of a wrong rule need not sum to 1.
        words: (V,) what to write for each token; its number by default.
        tolerance: up to which total variation a law counts as the target's; larger for laws that were counted.

    Returns:
        The picture, one panel a rule, with its total variation from the target; a rule that deviates is hatched.
    """
    row = probability_row("target", target)
    if not isinstance(laws, Mapping) or not laws:
        raise ValueError("laws must be a dict from label to distribution, with at least one entry.")
    figure = picture(min(8.4, max(4.2, 0.8 + 2.3 * len(laws))), 3.1)
    panels = plot_axes(figure, len(laws))
    panels[0].set_ylabel("probability (line: target p)", color=INK, fontsize=NORMAL)
    for ax, (label, law) in zip(panels, laws.items(), strict=True):
        emitted = numbers(f"laws[{label!r}]", law, low=0.0)
        if emitted.size != row.size:
            raise ValueError(f"laws[{label!r}] has {emitted.size} entries, but target has {row.size}.")
        distance = 0.5 * float(np.abs(emitted - row).sum())
        exact = distance <= tolerance
        look = {"color": BLUE} if exact else {"facecolor": "none", "edgecolor": ORANGE, "hatch": "////"}
        ax.bar(np.arange(row.size), emitted, 0.6, **look)  # type: ignore[arg-type]
        _mark(ax, row)
        head(ax, fill(label, max(10, 44 // len(laws))), pad=8)
        _name_tokens(ax, row.size, words)
        ax.set_xlabel(f"total variation {abs(distance):.3f}", color=INK, fontsize=NORMAL)
    return figure


def _mark(ax: Axes, target: Row) -> None:
    """Draw the target's probabilities as short lines, which a bar reaches or does not."""
    xs = np.arange(target.size)
    ax.hlines(target, xs - 0.42, xs + 0.42, color=INK, linewidth=2.4, zorder=4, label="target p")


def _name_tokens(ax: Axes, vocabulary: int, words: Sequence[str] | None) -> None:
    names = [_word(token, words) for token in range(vocabulary)]
    ax.set_xticks(range(vocabulary), names, parse_math=False)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(-0.6, vocabulary - 0.4)


def _explain(figure: Picture, with_residual: bool) -> None:
    keys = [
        Patch(color=GREEN, label="drafted and accepted"),
        Patch(facecolor="none", edgecolor=INK, hatch="////", label="drafted and rejected"),
    ]
    if with_residual:
        keys.append(Patch(color=ORANGE, label="drawn from the residual"))
    keys.append(Patch(color=INK, label="target p (line)"))
    figure.legend(handles=keys, loc="outside lower center", ncols=4, frameon=False, labelcolor=INK, fontsize=SMALL)
