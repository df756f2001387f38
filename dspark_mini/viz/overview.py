"""The picture of the README: one round of speculative decoding, from the anchor to the new tokens."""

from __future__ import annotations

import os

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.confidence import choose_confident_prefix
from dspark_mini.drafting import dspark_markov_candidates
from dspark_mini.viz.colors import BLUE, GREEN, INK, ORANGE, solid
from dspark_mini.viz.draw import arrow, box, write
from dspark_mini.viz.style import canvas, svg

WORDS = ["to", "be", "or", "not", "see", "that", "it"]  # token ids 0 to 6
ANCHOR = 0
FOLLOWERS = [1, 2, 3, 0, 5, 6, 0]  # the most probable next token, by the Markov head
CONFIDENCES = [0.97, 0.94, 0.91, 0.86, 0.62, 0.38, 0.29]
THRESHOLD = 0.5
TARGET = [1, 2, 3, 0, 1]  # what the target predicts after the anchor and after each draft token

DRAFT, TRIM, VERIFY, COMMIT = 225.0, 135.0, 95.0, 38.0  # heights of the four rows, in pixels
LEFT, STEP = 217.0, 88.0  # the anchor's column, and from one column to the next
BAR = 38.0  # height of a confidence of 1


def readme_picture(path: str | os.PathLike[str], dark: bool = False) -> None:
    """Write the picture of a round in the README as SVG, 900 by 262 pixels, with a transparent background.

    Its tokens and its cut come from dspark_markov_candidates and choose_confident_prefix.

    Args:
        path: File to write.
        dark: Whether the page is dark.
    """
    logits = np.zeros((len(CONFIDENCES), len(WORDS)))  # (γ, V)
    logits[4, WORDS.index("see")] = 3.0  # a mistake that outweighs the Markov head
    bias = dict(enumerate(2.0 * np.eye(len(WORDS))[FOLLOWERS]))
    draft = dspark_markov_candidates(logits, ANCHOR, bias)
    budget = choose_confident_prefix(CONFIDENCES, THRESHOLD)
    agrees = [ours == theirs for ours, theirs in zip(draft[:budget], TARGET, strict=False)]
    accepted = [*agrees, False].index(False)

    figure, ax = canvas(1 / 96, 0, 900, 0, 262)
    strong, soft = ("#e6edf3", "#9198a1") if dark else ("#1f2328", "#59636e")
    _name_rows(ax, strong, soft)
    _draw_draft(ax, [WORDS[token] for token in draft], soft)
    _draw_trim(ax, budget, soft)
    _draw_verdict(ax, agrees[: accepted + 1], soft)
    _draw_commit(ax, [WORDS[token] for token in TARGET[: accepted + 1]], soft)
    svg(figure, path)


def _column(k: int) -> float:
    return LEFT + STEP * k


def _name_rows(ax: Axes, strong: str, soft: str) -> None:
    rows = [
        (DRAFT, "Draft", "a block in one forward"),
        (TRIM + 22, "Trim", "by confidence"),
        (VERIFY, "Verify", "in one target forward"),
        (COMMIT, "Commit", "as plain decoding would"),
    ]
    for y, name, meaning in rows:
        write(ax, 14, y + 9, name, size=10.5, color=strong, bold=True, ha="left")
        write(ax, 14, y - 9, meaning, size=9, color=soft, ha="left")


def _draw_draft(ax: Axes, words: list[str], soft: str) -> None:
    box(ax, _column(0), DRAFT, 68, 32, WORDS[ANCHOR], fill=INK, ink="white", radius=6)
    write(ax, _column(0), DRAFT - 28, "anchor", size=9, color=soft)
    for k, word in enumerate(words, start=1):
        arrow(ax, (_column(k - 1) + 36, DRAFT), (_column(k) - 35, DRAFT), color=ORANGE)
        box(ax, _column(k), DRAFT, 68, 32, word, radius=6, **solid(BLUE))


def _draw_trim(ax: Axes, budget: int, soft: str) -> None:
    line = TRIM + BAR * THRESHOLD
    for k, value in enumerate(CONFIDENCES, start=1):
        fill, edge, hatch = (BLUE, BLUE, "") if k <= budget else ("none", soft, "/////")
        ax.bar(_column(k), BAR * value, 34, TRIM, facecolor=fill, edgecolor=edge, hatch=hatch)
        y = TRIM + BAR * value + 3
        y = line + 3 if y - 2 < line < y + 12 else y
        write(ax, _column(k), y, f"{value:.2f}"[1:], size=9, color=soft, va="bottom")
    ax.plot([_column(1) - 34, _column(7) + 34], [line, line], color=ORANGE, linestyle="--", linewidth=1.3)
    write(ax, _column(1) - 40, line, f"threshold {THRESHOLD:g}", size=9, color=soft, ha="right")


def _draw_verdict(ax: Axes, agrees: list[bool], soft: str) -> None:
    last = _column(len(agrees))
    box(ax, (_column(0) + last) / 2, VERIFY, last - _column(0) + 68, 30, fill=GREEN, edge=GREEN, radius=6)
    write(ax, _column(0), VERIFY, "target", color="white", va="center_baseline")
    for k, agreed in enumerate(agrees, start=1):
        arrow(ax, (_column(k), TRIM - 3), (_column(k), VERIFY + 16), color=soft)
        arrow(ax, (_column(k), VERIFY - 16), (_column(k), COMMIT + 18), color=soft)
        write(ax, _column(k), VERIFY, "✓" if agreed else "✗", size=13, color="white")
    write(ax, last + 48, VERIFY, "the doubtful tail\ncosts the target nothing", size=9, color=soft, ha="left")


def _draw_commit(ax: Axes, words: list[str], soft: str) -> None:
    for k, word in enumerate(words, start=1):
        fill = BLUE if k < len(words) else GREEN  # the last one is the target's own
        box(ax, _column(k), COMMIT, 68, 32, word, radius=6, **solid(fill))
    note = f"{len(words) - 1} accepted + 1 of the target's\n= {len(words)} tokens in one round"
    write(ax, _column(len(words)) + 48, COMMIT, note, size=9, color=soft, ha="left")
