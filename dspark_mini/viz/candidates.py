"""The candidates of a block, shaded by probability, with the chain that was chosen through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_best, logit_rows, token_id, whole_numbers
from dspark_mini.viz.style import (
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    STROKES,
    Picture,
    box,
    cells,
    head,
    hide_frame,
    one_line,
    picture,
    plot_axes,
    subscript,
    write,
)

MOST_TOKENS = 16  # a larger vocabulary is shown by its likeliest tokens
SHADE = LinearSegmentedColormap.from_list("probability", ["#dde5ec", "#5aa5d6", "#004f86"])


class Panel(NamedTuple):
    """One chain and the probabilities that it was chosen from."""

    label: str
    probabilities: NDArray[np.float64]  # (γ, V)
    tokens: list[int]  # (γ,)


def candidate_grid(
    block_logits: ArrayLike | Mapping[str, ArrayLike],
    chains: Mapping[str, ArrayLike],
    anchor: int | None = None,
    words: Sequence[str] | None = None,
) -> Picture:
    """Draw the tokens a block could hold, shaded by probability, and the chain that was chosen through them.

    Args:
        block_logits: (γ, V) logits, or a dict label → (γ, V) with the logits of each chain.
        chains: label → (γ,) chosen tokens; each gets a panel of its own, side by side.
        anchor: x_0, the last committed token; it may lie outside the vocabulary.
        words: (V,) what to write for each token; its number by default.

    Returns:
        The picture. Of a large vocabulary it shows the 16 likeliest tokens and all that were chosen.
    """
    panels = _panels(block_logits, chains)
    vocabulary = panels[0].probabilities.shape[1]
    if words is not None and len(words) != vocabulary:
        raise ValueError(f"words has {len(words)} entries, but the vocabulary has {vocabulary} tokens.")
    first = None if anchor is None else token_id("anchor", anchor)
    shown = _shown_tokens(panels, first)
    names = [str(token) if words is None else one_line(words[token]) for token in range(vocabulary)]
    start = int(first is None)  # the anchor has a column of its own, 0
    columns = sum(len(panel.tokens) + 1.2 - start for panel in panels)
    cell = min(0.46, 7.3 / columns, 6.0 / len(shown))  # inches
    figure = picture(cell * columns + 0.3 * len(panels) + 0.7, cell * len(shown) + 1.0)
    for index, (ax, panel) in enumerate(zip(plot_axes(figure, len(panels)), panels, strict=True)):
        _draw_probabilities(ax, panel, shown, with_numbers=cell > 0.34)
        _draw_chain(ax, panel, shown, first, STROKES[index % 4][1] if len(panels) > 1 else "-", cell > 0.34)
        _name_axes(ax, panel, shown, names, start, cell)
    return figure


def _panels(block_logits: ArrayLike | Mapping[str, ArrayLike], chains: Mapping[str, ArrayLike]) -> list[Panel]:
    if not isinstance(chains, Mapping) or not chains:
        raise ValueError("chains must be a dict from label to chosen tokens, with at least one entry.")
    panels: list[Panel] = []
    for label, tokens in chains.items():
        source: Any = block_logits
        if isinstance(block_logits, Mapping):
            if label not in block_logits:
                raise ValueError(f"block_logits has no entry {label!r}, but chains has one.")
            source = block_logits[label]
        logits = logit_rows("block_logits", source).astype(np.float64)  # (γ, V)
        for k, row in enumerate(logits):
            check_best(row[row.argmax()], block_logits=(k, row))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        chosen = whole_numbers(f"chains[{label!r}]", tokens, low=0, high=logits.shape[1] - 1)
        if len(chosen) != len(logits):
            raise ValueError(f"chains[{label!r}] has {len(chosen)} tokens for {len(logits)} positions.")
        panels.append(Panel(str(label), weights / weights.sum(axis=1, keepdims=True), chosen))
        if panels[0].probabilities.shape[1] != logits.shape[1]:
            raise ValueError(f"block_logits[{label!r}] has another vocabulary than the first entry.")
    return panels


def _shown_tokens(panels: list[Panel], anchor: int | None) -> list[int]:
    """Return the tokens that get a row: all of them, or the chosen and the likeliest of a large vocabulary."""
    peak = np.max([panel.probabilities.max(axis=0) for panel in panels], axis=0)  # (V,)
    for panel in panels:
        peak[panel.tokens] = 2.0
    if anchor is not None and 0 <= anchor < peak.size:
        peak[anchor] = 2.0
    keep = max(MOST_TOKENS, int((peak == 2.0).sum()))
    return sorted(np.argsort(-peak, kind="stable")[:keep].tolist())


def _draw_probabilities(ax: Axes, panel: Panel, shown: list[int], with_numbers: bool) -> None:
    points, colors = [], []
    for k, row in enumerate(panel.probabilities, start=1):
        for y, token in enumerate(shown):
            points.append((float(k), float(y)))
            colors.append(SHADE(row[token]))
            if with_numbers and token != panel.tokens[k - 1]:
                ink = "white" if row[token] > 0.6 else "black"
                text = write(ax, k, y, _short(row[token]), size=SMALL, color=ink, va="center_baseline")
                text.set_zorder(2.5)  # below the chain's nodes, above its line
                text.set_path_effects([withStroke(linewidth=3, foreground=SHADE(row[token]))])
    cells(ax, points, colors, "probabilities")


def _draw_chain(ax: Axes, panel: Panel, shown: list[int], anchor: int | None, line: str, with_numbers: bool) -> None:
    ys = [float(shown.index(token)) for token in panel.tokens]
    xs = list(range(1, len(ys) + 1))
    corner = 0.36 if line == "-" else 0.1  # discs on a solid line, squares on any other
    for k, y in zip(xs, ys, strict=True):
        number = _short(panel.probabilities[k - 1, panel.tokens[k - 1]]) if with_numbers else ""
        box(ax, k, y, 0.72, 0.72, number, fill=ORANGE, edge="white", ink="white", size=SMALL, radius=corner)
    if anchor is not None:
        y = float(shown.index(anchor)) if anchor in shown else (len(shown) - 1) / 2
        box(ax, 0, y, 0.72, 0.72, "" if anchor in shown else str(anchor), fill=INK, ink="white", size=SMALL, radius=0.1)
        xs, ys = [0, *xs], [y, *ys]
    ax.plot(xs, ys, label=panel.label, color=ORANGE, linestyle=line, linewidth=2.2)


def _name_axes(ax: Axes, panel: Panel, shown: list[int], names: list[str], first: int, cell: float) -> None:
    positions = range(first, len(panel.tokens) + 1, 1 + int(0.28 / cell))
    letters = int(cell * (len(panel.tokens) + 1) / 0.078)  # that fit below the panel
    ax.set(xlim=(first - 0.6, len(panel.tokens) + 0.6), ylim=(len(shown) - 0.4, -0.6), aspect="equal")
    head(ax, panel.label, pad=6)
    ax.tick_params(labeltop=True, labelbottom=False)
    ax.set_xticks(positions, [subscript("x", k) for k in positions])
    ax.set_yticks(range(len(shown)), [names[token] for token in shown], parse_math=False)
    draft = fill(" ".join(names[token] for token in panel.tokens), max(8, letters))
    ax.set_xlabel(draft, color=INK, fontsize=NORMAL, labelpad=6, parse_math=False)
    hide_frame(ax)


def _short(probability: float) -> str:
    """Write a probability in two digits, .07, and none where it rounds to zero."""
    return f"{probability:.2f}".removeprefix("0") if probability >= 0.005 else ""
