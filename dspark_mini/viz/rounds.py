"""What becomes of the tokens of a round: in the block, in the output, in the cache, and over a whole text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from dspark_mini.contracts import takes, tokens
from dspark_mini.kinds import whole
from dspark_mini.language import N_
from dspark_mini.viz.arguments import labelled
from dspark_mini.viz.colors import BLUE, FAINT, GREEN, INK, OPEN, ORANGE, SMALL, Look, solid
from dspark_mini.viz.draw import box, write
from dspark_mini.viz.labels import _, subscript, word
from dspark_mini.viz.style import Picture, canvas, label_axes, legend, plot_axes

# The look of a token by its fate; each differs from the others without colour too.
LOOKS: dict[str, Look] = {
    N_("accepted"): solid(GREEN),
    N_("rejected"): {"hatch": "////"},
    N_("trimmed"): {"line": "--"},
    N_("the target's own"): solid(ORANGE),
    N_("cut"): {"line": ":", "edge": ORANGE, "ink": ORANGE},
}
CACHE_LOOKS: dict[str, Look] = {N_("row stays"): solid(BLUE), N_("row is dropped"): {"line": "--"}}
STEP = 2.5  # from a verified round to the next: drafts above, emitted tokens below


def round_rows(rounds: Sequence[Mapping[str, Any]], words: Sequence[str] | None = None) -> Picture:
    """Draw rounds of the engine, one per line: the drafts with their fate, and at the end the target's own token.

    Args:
        rounds: Dicts with drafted (tokens), verified and accepted (counts), and emitted (tokens; fewer than
            accepted + 1 where the output was cut).
        words: Word of each token; numbers are shown without it.

    Returns:
        The picture: accepted drafts are filled, rejected ones hatched, trimmed ones dashed.
    """
    if not rounds:
        raise ValueError("rounds is empty: it needs at least one round.")
    widest = max(len(round_["drafted"]) for round_ in rounds)
    inch = min(0.42, 7.6 / (widest + 4.5))
    figure, ax = canvas(inch, -2.6, widest + 1.9, -len(rounds) + 0.2 - 0.3 / inch, 0.6)
    used: set[str] = set()
    for number, round_ in enumerate(rounds):
        used |= _draw_round(ax, -number, _("round {number}", number=number + 1), round_, widest, words)
    _explain(figure, {fate: look for fate, look in LOOKS.items() if fate in used})
    return figure


def _draw_round(
    ax: Axes, y: float, name: str, round_: Mapping[str, Any], widest: int, words: Sequence[str] | None
) -> set[str]:
    """Draw one round, and return the fates in it."""
    drafted, emitted = list(round_["drafted"]), list(round_["emitted"])
    verified = whole("verified", round_["verified"], 0, len(drafted))
    accepted = whole("accepted", round_["accepted"], 0, verified)
    kept = min(accepted, len(emitted))
    fates = ["accepted"] * kept + ["cut"] * (accepted - kept)
    fates += ["rejected"] * (verified - accepted) + ["trimmed"] * (len(drafted) - verified)
    write(ax, -0.3, y, name, size=SMALL, ha="right")
    for k, (token, fate) in enumerate(zip(drafted, fates, strict=True)):
        _token(ax, k, y, word(token, words) if fate != "rejected" else "", LOOKS[fate])
    if len(emitted) > accepted:
        fates.append("the target's own")
        _token(ax, widest + 0.5, y, word(emitted[accepted], words), LOOKS["the target's own"])
    return set(fates)


def _token(ax: Axes, left: float, y: float, text: str, look: Look) -> None:
    box(ax, left + 0.5, y, 0.88, 0.76, text, size=SMALL, **look)


def _explain(figure: Picture, looks: Mapping[str, Look]) -> None:
    samples = [Patch(facecolor=look.get("fill", "none"), edgecolor=look.get("edge", INK)) for look in looks.values()]
    for sample, (name, look) in zip(samples, looks.items()):
        sample.set(label=name, linestyle=look.get("line", "-"), hatch=look.get("hatch", ""))
    legend(figure, samples)


def verified_rounds(
    rounds: Sequence[tuple[ArrayLike, Mapping[str, Any]]], words: Sequence[str] | None = None, kept: int | None = None
) -> Picture:
    """Draw rounds of verification: what was drafted, what became of it, and what was emitted.

    Args:
        rounds: Pairs of (γ,) draft tokens and the verifier's result, a dict with accepted and tokens.
        words: Word of each token; numbers are shown without it.
        kept: Number of emitted tokens that belong to the output; all of them by default.

    Returns:
        The picture: accepted drafts are filled, the first rejected one is hatched, the dropped ones are dashed.
    """
    if not rounds:
        raise ValueError("rounds is empty: it needs at least one pair of drafts and result.")
    pairs = [(tokens("γ")(f"rounds[{i}][0]", drafts, {}), result) for i, (drafts, result) in enumerate(rounds)]
    widest = max(max(len(drafts), len(result["tokens"])) for drafts, result in pairs)
    left = kept if kept is not None else sum(len(result["tokens"]) for _, result in pairs)
    height = STEP * (len(pairs) - 1) + 1.5
    figure, ax = canvas(min(0.62, 7.6 / (widest + 3.2)), -2.6, widest + 0.6, -height, 0.8)
    for number, (drafts, result) in enumerate(pairs):
        top = -STEP * number
        write(ax, -0.3, top, _("round {number}: drafted", number=number + 1), size=SMALL, ha="right")
        write(ax, -0.3, top - 1.0, _("emitted"), size=SMALL, ha="right")
        _draw_verified(ax, top, drafts, result, words, left)
        left = max(left - len(result["tokens"]), 0)
    return figure


def _draw_verified(
    ax: Axes, top: float, drafts: list[int], result: Mapping[str, Any], words: Sequence[str] | None, left: int
) -> None:
    """Draw one round, of which the first `left` emitted tokens belong to the output."""
    accepted = whole("accepted", result["accepted"], low=0)
    for k, token in enumerate(drafts):
        look = LOOKS["accepted" if k < accepted else "rejected" if k == accepted else "trimmed"]
        _token(ax, k, top, "" if k == accepted else word(token, words), look)
        if k == accepted:  # the hatch would cross out the word
            write(ax, k + 0.5, top + 0.56, word(token, words), size=SMALL)
    for k, token in enumerate(result["tokens"]):
        color = GREEN if k < accepted else ORANGE
        look = solid(color) if k < left else {"line": ":", "edge": color}
        _token(ax, k, top - 1.0, word(token, words), look)


@takes(rounds=labelled("a pair of row counts"))
def cache_rows(rounds: Mapping[str, tuple[int, int]]) -> Picture:
    """Draw the cache rows that one forward wrote, and those that are dropped again.

    Args:
        rounds: Label → (rows that the forward wrote, the anchor's included; rows to drop from the end).

    Returns:
        The picture: one line per round; rows that stay are filled, dropped ones dashed.
    """
    widest = max(rows for rows, _ in rounds.values())
    inch = min(0.44, 7.6 / (widest + 6.5))
    figure, ax = canvas(inch, -6.3, widest + 0.2, -len(rounds) + 0.2 - 0.3 / inch, 0.8)
    for number, (label, (rows, dropped)) in enumerate(rounds.items()):
        stays = rows - whole(f"rounds[{label!r}][1]", dropped, 0, rows)
        write(ax, -0.3, -number, _(label), size=SMALL, ha="right")
        for k in range(rows):
            _token(ax, k, -number, subscript("x", k), CACHE_LOOKS["row stays" if k < stays else "row is dropped"])
    _explain(figure, CACHE_LOOKS)
    return figure


@takes(totals=labelled("the result of round_totals"))
def draft_fates(totals: Mapping[str, Mapping[str, Any]]) -> Picture:
    """Draw what became of all drafts of several runs, and the tokens per round of each.

    Args:
        totals: Label → result of round_totals.

    Returns:
        The picture: one bar per run, from the accepted drafts to the trimmed ones, followed by τ.
    """
    figure, (ax,) = plot_axes(7.4, 0.55 * len(totals) + 1.3)
    ys, ends = -np.arange(len(totals)), np.zeros(len(totals))
    edge: Look = {"edgecolor": INK, "linewidth": 0.8}
    parts = {"accepted": {"color": GREEN} | edge, "rejected": OPEN | edge, "trimmed": {"color": FAINT} | edge}
    for name, look in parts.items():
        widths = np.array([float(run[name]) for run in totals.values()])
        ax.barh(ys, widths, 0.6, ends, label=name, **look)
        ends += widths
    for y, end, run in zip(ys.tolist(), ends, totals.values()):
        write(ax, end + 0.015 * max(ends.max(), 1.0), y, f"τ = {run['tau']:.2f}", ha="left")
    ax.set_yticks(ys, [_(label) for label in totals])
    ax.set_xlim(0, 1.18 * max(ends.max(), 1.0))
    label_axes(ax, x=_("draft tokens"))
    legend(figure)
    return figure
