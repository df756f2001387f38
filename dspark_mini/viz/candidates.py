"""The candidates of a block, shaded by probability, and the chain that was chosen through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from dspark_mini.contracts import integer, logits, takes, tokens
from dspark_mini.conversion import Sizes
from dspark_mini.viz.arguments import labelled, texts
from dspark_mini.viz.colors import INK, ORANGE, SMALL, STROKES
from dspark_mini.viz.draw import box, cell_text, cells
from dspark_mini.viz.labels import names, short
from dspark_mini.viz.style import Picture, hide_spines, label_axes, plot_axes, position_ticks

MOST_TOKENS = 16  # rows of a panel
SHADE = LinearSegmentedColormap.from_list("probability", ["#dde5ec", "#5aa5d6", "#004f86"])


class Panel(NamedTuple):
    """One chain and the probabilities that it was chosen from."""

    label: str
    probabilities: NDArray[np.float64]  # (γ, V)
    tokens: list[int]  # (γ,)


@takes(chains=labelled("chosen tokens"), anchor=integer(low=None))
def candidate_grid(
    block_logits: ArrayLike | Mapping[str, ArrayLike],
    chains: Mapping[str, ArrayLike],
    anchor: int | None = None,
    words: Sequence[str] | None = None,
) -> Picture:
    """Draw the tokens that a block could hold, shaded by probability, and the chain chosen through them.

    Args:
        block_logits: (γ, V) logits, or a dict from label to the (γ, V) logits of each chain.
        chains: Label → (γ,) chosen tokens; each label gets a panel.
        anchor: x_0, the last committed token; it may lie outside the vocabulary.
        words: (V,) word of each token; numbers are shown without it.

    Returns:
        The picture; of a large vocabulary it shows the chosen tokens and the most probable others, 16 in all.
    """
    panels = _panels(block_logits, chains)
    size = panels[0].probabilities.shape[1]  # V
    written = names(None if words is None else texts("V")("words", words, {"V": size}), size)
    shown = _shown_tokens(panels, anchor)
    first = int(anchor is None)  # the anchor has column 0
    columns = sum(len(panel.tokens) + 1.2 - first for panel in panels)
    cell = min(0.46, 7.3 / columns, 6.0 / len(shown))  # inches
    figure, axes = plot_axes(cell * columns + 0.3 * len(panels) + 0.7, cell * len(shown) + 1.0, len(panels))
    for index, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        line = STROKES[index % len(STROKES)][1] if len(panels) > 1 else "-"
        _draw_probabilities(ax, panel, shown, with_numbers=cell > 0.34)
        _draw_chain(ax, panel, shown, anchor, line, with_numbers=cell > 0.34)
        _label_panel(ax, panel, shown, written, first, cell)
    return figure


def _panels(block_logits: ArrayLike | Mapping[str, ArrayLike], chains: Mapping[str, ArrayLike]) -> list[Panel]:
    panels: list[Panel] = []
    sizes: Sizes = {}
    for label, chain in chains.items():
        name, source = "block_logits", block_logits
        if isinstance(block_logits, Mapping):
            if label not in block_logits:
                raise ValueError(f"block_logits has no entry {label!r}, but chains has one.")
            name, source = f"block_logits[{label!r}]", block_logits[label]
        rows = logits("γ", "V")(name, source, sizes)  # (γ, V)
        chosen = tokens("γ", below="V")(f"chains[{label!r}]", chain, sizes)
        weights = np.exp(rows - rows.max(axis=1, keepdims=True))
        panels.append(Panel(label, weights / weights.sum(axis=1, keepdims=True), chosen))
        del sizes["γ"]  # blocks may differ in length, not in vocabulary
    return panels


def _shown_tokens(panels: list[Panel], anchor: int | None) -> list[int]:
    """Return the tokens that get a row: the chosen ones, the anchor, and then the most probable."""
    peak = np.max([panel.probabilities.max(axis=0) for panel in panels], axis=0)  # (V,)
    for panel in panels:
        peak[panel.tokens] = 2.0
    if anchor is not None and 0 <= anchor < peak.size:
        peak[anchor] = 2.0
    keep = max(MOST_TOKENS, int((peak == 2.0).sum()))
    return sorted(np.argsort(-peak, kind="stable")[:keep].tolist())


def _draw_probabilities(ax: Axes, panel: Panel, shown: list[int], with_numbers: bool) -> None:
    points = [(k, y) for k in range(1, len(panel.tokens) + 1) for y in range(len(shown))]
    values = [float(panel.probabilities[k - 1, shown[y]]) for k, y in points]
    cells(ax, points, [SHADE(value) for value in values], "probabilities")
    for (k, y), value in zip(points, values) if with_numbers else ():
        if shown[y] != panel.tokens[k - 1]:
            text = cell_text(ax, k, y, _rounded(value), "white" if value > 0.6 else "black")
            text.set_zorder(2.5)  # below the chain's nodes, above its line
            text.set_path_effects([withStroke(linewidth=3, foreground=SHADE(value))])


def _draw_chain(ax: Axes, panel: Panel, shown: list[int], anchor: int | None, line: str, with_numbers: bool) -> None:
    xs = list(range(1, len(panel.tokens) + 1))
    ys = [float(shown.index(token)) for token in panel.tokens]
    radius = 0.36 if line == "-" else 0.1  # discs on a solid line, squares on any other
    for k, y, token in zip(xs, ys, panel.tokens, strict=True):
        number = _rounded(panel.probabilities[k - 1, token]) if with_numbers else ""
        box(ax, k, y, 0.72, 0.72, number, fill=ORANGE, edge="white", ink="white", size=SMALL, radius=radius)
    if anchor is not None:
        y = float(shown.index(anchor)) if anchor in shown else (len(shown) - 1) / 2
        box(ax, 0, y, 0.72, 0.72, "" if anchor in shown else str(anchor), fill=INK, ink="white", size=SMALL, radius=0.1)
        xs, ys = [0, *xs], [y, *ys]
    ax.plot(xs, ys, label=panel.label, color=ORANGE, linestyle=line, linewidth=2.2)


def _label_panel(ax: Axes, panel: Panel, shown: list[int], words: list[str], first: int, cell: float) -> None:
    letters = int(cell * (len(panel.tokens) + 1) / 0.078)  # that fit below the panel
    draft = fill(" ".join(words[token] for token in panel.tokens), max(8, letters))
    ax.set(xlim=(first - 0.6, len(panel.tokens) + 0.6), ylim=(len(shown) - 0.4, -0.6), aspect="equal")
    ax.tick_params(labeltop=True, labelbottom=False)
    position_ticks(ax, range(first, len(panel.tokens) + 1, 1 + int(0.28 / cell)))
    ax.set_yticks(range(len(shown)), [words[token] for token in shown], parse_math=False)
    label_axes(ax, panel.label, x=draft, pad=6)
    hide_spines(ax)


def _rounded(probability: float) -> str:
    """Return a probability with two decimals, or nothing where it rounds to zero."""
    return short(probability) if probability >= 0.005 else ""
