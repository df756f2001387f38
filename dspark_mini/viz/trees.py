"""Draft trees: their nodes and the accepted path, who sees whom in one forward, and what a tree is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from dspark_mini.inputs import numbers, tree_nodes, tree_parents, whole_numbers
from dspark_mini.viz.style import (
    BLUE,
    FAINT,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    STROKES,
    Picture,
    box,
    canvas,
    cells,
    head,
    hide_frame,
    key_below,
    one_line,
    picture,
    plot_axes,
    write,
)

STEP, WIDE, TALL = 2.1, 1.5, 0.52  # from depth to depth; width and height of a node's box


def draft_tree(
    tree: Mapping[str, Any],
    words: Sequence[object] | None = None,
    path: ArrayLike = (),
    root: object = "x₀",
    title: str | None = None,
) -> Picture:
    """Draw a draft tree from left to right, one column a depth.

    Args:
        tree: tokens and parents of the nodes, and log_probs, if they are to be shown.
        words: what to write for each token; its number by default.
        path: the nodes of the accepted path, drawn filled and joined by a thick line.
        root: what to write for the root, the last committed token.
        title: what to write above.

    Returns:
        The picture; below each node stand its index and the probability of its path.
    """
    tokens, parents = tree_nodes("tokens", tree["tokens"], "parents", tree["parents"])
    taken = whole_numbers("path", path, low=0, high=len(tokens) - 1)
    names = [str(t) if words is None else one_line(words[t]) for t in tokens]
    log_probs = numbers("log_probs", tree["log_probs"]) if "log_probs" in tree else None
    xs, ys = _places(parents)
    deepest, lowest = max(xs) if xs else 0.0, max([*ys, 0.0])
    root_y = (ys[parents.index(-1)] + ys[len(parents) - 1 - parents[::-1].index(-1)]) / 2 if parents else 0.0
    inch = min(0.62, 8.6 / (deepest + 2.2))
    top = 1.0 if title else 0.4
    figure = picture(inch * (deepest + 2.2), inch * (lowest + top + 0.6))
    ax = canvas(figure, -1.1, deepest + 1.1, -(lowest + 0.6), top)
    if title:
        write(ax, deepest / 2, 0.75, title, bold=True)
    for node, parent in enumerate(parents):
        x, y = (xs[parent], ys[parent]) if parent >= 0 else (0.0, root_y)
        _edge(ax, (x + WIDE / 2, -y), (xs[node] - WIDE / 2, -ys[node]), node in taken)
    box(ax, 0.0, -root_y, WIDE, TALL, one_line(root), fill=INK, ink="white", size=SMALL)
    for node, name in enumerate(names):
        fill, edge, ink = (ORANGE, ORANGE, "white") if node in taken else ("none", INK, INK)
        box(ax, xs[node], -ys[node], WIDE, TALL, name, fill=fill, edge=edge, ink=ink, size=SMALL)
        note = f"{node}" if log_probs is None else f"{node}:  {_short(float(np.exp(log_probs[node])))}"
        write(ax, xs[node], -ys[node] - 0.43, note, size=7.5)
    return figure


def _places(parents: list[int]) -> tuple[list[float], list[float]]:
    """Return where the nodes lie: x by depth, a line y for each leaf, and every parent amid its children."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    xs, ys = [0.0] * len(parents), [0.0] * len(parents)
    line = 0.0
    stack = [(node, False) for node in reversed(children.get(-1, []))]
    while stack:
        node, is_done = stack.pop()
        below = children.get(node, [])
        if is_done or not below:
            ys[node] = (ys[below[0]] + ys[below[-1]]) / 2 if below else line
            line += 0.0 if below else 1.25
            continue
        stack += [(node, True), *((child, False) for child in reversed(below))]
    for node, parent in enumerate(parents):
        xs[node] = STEP + (xs[parent] if parent >= 0 else 0.0)
    return xs, ys


def _edge(ax: Axes, start: tuple[float, float], end: tuple[float, float], is_taken: bool) -> None:
    color, width = (ORANGE, 2.6) if is_taken else (INK, 1.0)
    ax.plot([start[0], end[0]], [start[1], end[1]], color=color, linewidth=width, zorder=1, solid_capstyle="round")


def tree_mask_picture(
    mask: ArrayLike,
    parents: ArrayLike,
    names: Sequence[object] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the attention mask of a draft tree as cells: a row is a node that looks, a column one that it may look at.

    Args:
        mask: (n, context_length + n) booleans.
        parents: (n,) the parents of the nodes; −1 is the root.
        names: (n,) what to write for the nodes; their indices by default.
        title: what to write above.

    Returns:
        The picture; made for up to about 40 nodes.
    """
    on = np.asarray(mask).astype(bool)  # (n, context + n)
    nodes = len(tree_parents("parents", parents))
    if on.ndim != 2 or len(on) != nodes or nodes == 0 or on.shape[1] < nodes:
        raise ValueError(f"mask must have one row a node ({nodes}) and at least as many columns, not {on.shape}.")
    context = on.shape[1] - nodes
    labels = [str(n) for n in range(nodes)] if names is None else [one_line(name) for name in names]
    xs = [c + (0.8 if c >= context and context else 0.0) for c in range(on.shape[1])]
    side = min(0.3, 6.4 / (xs[-1] + 1))  # inches a cell
    figure = picture(side * (xs[-1] + 1) + 1.6, side * nodes + 1.5)
    ax = plot_axes(figure)[0]
    for value, color, name in ((True, BLUE, "may look"), (False, FAINT, "may not look")):
        cells(ax, [(xs[c], float(r)) for r, c in np.argwhere(on == value)], color, name)
    ax.set(xlim=(-0.8, xs[-1] + 0.8), ylim=(nodes - 0.2, -0.8), aspect="equal")
    if context:
        ax.vlines(xs[context] - 0.9, -0.7, nodes - 0.3, color=INK, linewidth=2.0)
        write(ax, (context - 1) / 2, nodes - 0.2, "context", size=SMALL, va="top")
    ax.set_xticks(xs[context:], labels, rotation=90, parse_math=False)
    ax.set_yticks(range(nodes), labels, parse_math=False)
    ax.set_ylabel("row: who looks", color=INK, fontsize=NORMAL)
    hide_frame(ax)
    key_below(figure, [Patch(color=BLUE, label="may look"), Patch(color=FAINT, label="may not look")], columns=2)
    head(ax, title)
    return figure


def tokens_per_round(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str | None = None) -> Picture:
    """Draw how many tokens a round yields, against how many drafted tokens the target verifies for it.

    Args:
        curves: label → (verified tokens, tokens per round), two sequences of equal length.
        title: what to write above.

    Returns:
        The picture; each curve is named at its end.
    """
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError("curves must be a dict from label to a pair of sequences, with at least one entry.")
    figure = picture(6.6, 3.6)
    ax = plot_axes(figure)[0]
    ends: list[tuple[float, str, str]] = []
    for number, (label, (verified, yielded)) in enumerate(curves.items()):
        xs, ys = numbers(f"curves[{label!r}][0]", verified), numbers(f"curves[{label!r}][1]", yielded)
        if xs.size != ys.size or xs.size == 0:
            raise ValueError(f"curves[{label!r}] has {xs.size} budgets and {ys.size} yields, or none at all.")
        color, line, marker = STROKES[number % len(STROKES)]
        ax.plot(xs, ys, label=label, color=color, linestyle=line, marker=marker, linewidth=2, markersize=5)
        ends.append((float(ys[-1]), str(label), color))
    low, high = ax.get_ylim()
    y = -np.inf
    for end, label, color in sorted(ends):
        y = max(end, y + 0.085 * (high - low))
        write(ax, 1.02, y, label, color=color, bold=True, ha="left").set_transform(ax.get_yaxis_transform())
    ax.set_xlabel("drafted tokens that the target verifies in a round", color=INK, fontsize=NORMAL)
    ax.set_ylabel("tokens per round, τ", color=INK, fontsize=NORMAL)
    ax.grid(True, axis="y", color=INK, linewidth=0.6, alpha=0.3)
    ax.spines["left"].set_visible(False)
    head(ax, title)
    return figure


def _short(probability: float) -> str:
    """Write a probability in two or three digits: .45, .071."""
    text = f"{probability:.2f}" if probability >= 0.095 else f"{probability:.3f}"
    return text.removeprefix("0") if probability < 0.995 else "1"
