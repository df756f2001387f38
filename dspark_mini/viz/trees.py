"""Draft trees: their nodes, the probability of each path, and the accepted path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dspark_mini.contracts import integers, numbers, parent_nodes, takes, tokens
from dspark_mini.rules import siblings_differ
from dspark_mini.viz.arguments import fields
from dspark_mini.viz.colors import INK, ORANGE, SMALL, Look, solid
from dspark_mini.viz.draw import Point, box, write
from dspark_mini.viz.labels import _, one_line, short, word
from dspark_mini.viz.style import Picture, canvas

STEP, LINE = 2.1, 1.25  # from depth to depth, and from leaf to leaf
WIDE, TALL = 1.5, 0.52  # a node's box
ROOT = -1


@takes(
    tree=fields(tokens=tokens("n"), parents=parent_nodes("n"), log_probs=numbers("n")),
    path=integers("path", below="n", empty=True),
)
def draft_tree(
    tree: Mapping[str, Any],
    words: Sequence[object] | None = None,
    path: Sequence[int] = (),
    root: object = "x₀",
    title: str | None = None,
) -> Picture:
    """Draw a draft tree from left to right, one column per depth.

    Args:
        tree: Dict with tokens and parents of the nodes, and log_probs if they are to be shown.
        words: Word of each token; numbers are shown without it.
        path: Nodes of the accepted path, drawn filled and joined by a thick line.
        root: Text of the root, the last committed token.
        title: Title of the picture.

    Returns:
        The picture; below each node stand its index and the probability of its path.
    """
    siblings_differ(tree["tokens"], tree["parents"])
    notes = [str(node) for node in range(len(tree["tokens"]))]
    if "log_probs" in tree:
        notes = [f"{note}:  {_rounded(value)}" for note, value in zip(notes, np.exp(tree["log_probs"]), strict=True)]
    places = _places(tree["parents"])
    deepest, lowest = max(x for x, _ in places.values()), max(-y for _, y in places.values())
    inch, top = min(0.62, 8.6 / (deepest + 2.2)), 1.0 if title else 0.4
    figure, ax = canvas(inch, -1.1, deepest + 1.1, -(lowest + 0.6), top)
    if title:
        write(ax, deepest / 2, 0.75, _(title), bold=True)
    box(ax, *places[ROOT], WIDE, TALL, one_line(root), fill=INK, ink="white", size=SMALL)
    for node, (token, parent, note) in enumerate(zip(tree["tokens"], tree["parents"], notes, strict=True)):
        _draw_node(ax, places[parent], places[node], word(token, words), note, is_taken=node in path)
    return figure


def _draw_node(ax: Axes, parent: Point, place: Point, text: str, note: str, is_taken: bool) -> None:
    """Draw a node, the line from its parent, and what stands below it."""
    line: Look = {"color": ORANGE, "linewidth": 2.6} if is_taken else {"color": INK, "linewidth": 1.0}
    ax.plot(
        [parent[0] + WIDE / 2, place[0] - WIDE / 2], [parent[1], place[1]], zorder=1, solid_capstyle="round", **line
    )
    box(ax, *place, WIDE, TALL, text, size=SMALL, **(solid(ORANGE) if is_taken else {}))
    write(ax, place[0], place[1] - 0.43, note, size=7.5)


def _places(parents: list[int]) -> dict[int, Point]:
    """Return the centres of root and nodes: x by depth, one line per leaf, parents amid their children."""
    children: dict[int, list[int]] = {}
    xs, ys, leaves = {ROOT: 0.0}, {}, count()
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
        xs[node] = xs[parent] + STEP

    def place(node: int) -> float:
        below = [place(child) for child in children.get(node, [])]
        ys[node] = (below[0] + below[-1]) / 2 if below else -LINE * next(leaves)
        return ys[node]

    place(ROOT)
    return {node: (x, ys[node]) for node, x in xs.items()}


def _rounded(probability: float) -> str:
    """Return a probability with two significant digits: .45, .071."""
    if probability >= 0.995:
        return "1"
    return short(probability) if probability >= 0.095 else f"{probability:.3f}".removeprefix("0")
