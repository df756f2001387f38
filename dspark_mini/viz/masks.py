"""Attention masks as grids of cells: one row per query, one column per key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from dspark_mini.contracts import integer, integers, parent_nodes, takes
from dspark_mini.viz.arguments import Booleans, booleans, texts
from dspark_mini.viz.colors import BLUE, FAINT, INK, ORANGE, SMALL
from dspark_mini.viz.draw import box, cells, write
from dspark_mini.viz.labels import _, subscript
from dspark_mini.viz.labels import names as names_of
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, plot_axes


@takes(
    mask=booleans("rows", "columns"),
    context_length=integer(high="columns"),
    anchors=integers("A", high="context_length", empty=True),
    block_length=integer(low=1),
    positions=integers("context_length"),
)
def mask_picture(
    mask: Booleans,
    context_length: int,
    anchors: Sequence[int] | None = None,
    block_length: int | None = None,
    title: str | None = None,
    positions: Sequence[int] | None = None,
) -> Picture:
    """Draw the attention mask of one or more blocks that follow a context.

    Args:
        mask: (rows, columns) booleans; the first context_length columns are the context, the rest the blocks.
        context_length: Number of context columns, at least 0.
        anchors: (A,) anchor of each block, a context position from 0 to context_length; outlined.
        block_length: Rows per block; rows / A by default, one block if there are no anchors.
        title: Title of the picture.
        positions: (context_length,) numbers below the context columns; 0, 1, 2, … by default.

    Returns:
        The picture, for masks of up to about 60 by 80 cells.
    """
    rows, columns = mask.shape
    anchors = anchors or []
    length = _block_length(rows, len(anchors), block_length)
    xs = [_shifted(column, context_length, length) for column in range(columns)]
    ys = [_shifted(row, 0, length) for row in range(rows)]
    side = min(0.28, 7.4 / (xs[-1] + 1), 6.0 / (ys[-1] + 1))  # inches per cell
    figure, (ax,) = plot_axes(side * (xs[-1] + 1) + 1.4, side * (ys[-1] + 1) + 1.6)
    _draw_cells(ax, mask, xs, ys)
    for block, anchor in enumerate(anchors):
        top, bottom = ys[block * length], ys[(block + 1) * length - 1]
        box(ax, anchor, (top + bottom) / 2, 0.9, bottom - top + 0.9, edge=ORANGE, radius=0.2)
    _draw_borders(ax, xs, ys, context_length, length)
    _label_columns(ax, xs, list(range(context_length) if positions is None else positions), length, side)
    blocks = _block_names(ys, length)[:: 1 + int(0.16 / (length * side))]
    ax.set_yticks([y for y, _ in blocks], [name for _, name in blocks])
    outline = [Patch(facecolor="none", edgecolor=ORANGE, linewidth=1.3, label=_("anchor of the block"))]
    _explain(figure, outline if anchors else [])
    label_axes(ax, title, pad=22)
    return figure


def _block_length(rows: int, anchors: int, block_length: int | None) -> int:
    blocks = max(1, anchors)
    length = block_length or max(1, rows // blocks)
    if anchors and blocks * length != rows:
        raise ValueError(f"mask has {rows} rows, but {blocks} anchors by block_length {length} are {blocks * length}.")
    return length


def _draw_cells(ax: Axes, mask: Booleans, xs: Sequence[float], ys: Sequence[float]) -> None:
    for value, color, name in ((True, BLUE, "may attend"), (False, FAINT, "masked")):
        cells(ax, [(xs[column], ys[row]) for row, column in np.argwhere(mask == value)], color, name)
    ax.set(xlim=(-0.8, xs[-1] + 0.8), ylim=(ys[-1] + 0.8, -0.8), aspect="equal")
    label_axes(ax, x=_("column: key"), y=_("row: query"))
    hide_spines(ax)


def _explain(figure: Picture, more: Sequence[Patch] = ()) -> None:
    legend(figure, [Patch(color=BLUE, label=_("may attend")), Patch(color=FAINT, label=_("masked")), *more])


def _shifted(index: int, context: int, length: int) -> float:
    """Return the place of a column: a wide gap after the context, half a cell between blocks."""
    if index < context:
        return float(index)
    return index + (1.5 if context else 0.0) + 0.5 * ((index - context) // length)


def _draw_borders(ax: Axes, xs: list[float], ys: list[float], context: int, length: int) -> None:
    """Draw a line between the context and the blocks, and one between any two blocks."""
    right, low = xs[-1] + 0.7, ys[-1] + 0.7
    columns = [xs[column] - 0.75 for column in range(context + length, len(xs), length)]
    ax.vlines(columns, -0.7, low, color=INK, linewidth=0.9)
    if 0 < context < len(xs):
        ax.vlines(xs[context] - 0.75, -0.7, low, color=INK, linewidth=2.0)
    ax.hlines([ys[row] - 0.75 for row in range(length, len(ys), length)], -0.7, right, color=INK, linewidth=0.9)


def _label_columns(ax: Axes, xs: list[float], numbers: list[int], length: int, side: float) -> None:
    """Write the context's positions below, and what the columns are above."""
    context = len(numbers)
    step = next((n for n in (1, 2, 5, 10) if n * side >= 0.2), 20)
    ax.set_xticks(range(0, context, step), [str(n) for n in numbers[::step]])
    blocks = _block_names(xs[context:], length)
    if len(blocks) > 1 and length * side < 0.62:  # inches: too narrow for a name each
        blocks = [((xs[context] + xs[-1]) / 2, _("blocks"))]
    for x, name in [((context - 1) / 2, _("context"))] * bool(context) + blocks:
        write(ax, x, -1.0, name, size=SMALL, va="bottom")


def _block_names(places: list[float], length: int) -> list[tuple[float, str]]:
    """Return the middle and the name of each block."""
    blocks = [places[i : i + length] for i in range(0, len(places), length)]
    names = [_("block")] if len(blocks) == 1 else [_("block {number}", number=k + 1) for k in range(len(blocks))]
    return [((block[0] + block[-1]) / 2, name) for block, name in zip(blocks, names, strict=True)]


@takes(mask=booleans("n", "n"), context_length=integer(high="n"))
def verification_picture(mask: Booleans, context_length: int) -> Picture:
    """Draw the mask of a verification forward, in which the context has rows too, and what each row predicts.

    Args:
        mask: (n, n) booleans, the context first, then the drafts.
        context_length: Number of context tokens; the last of them is the anchor x_0.

    Returns:
        The picture, for up to about 30 tokens.
    """
    n, context = len(mask), context_length
    places = [k + 0.6 * (k >= context) for k in range(n)]
    side = min(0.3, 6.0 / (n + 1))  # inches per cell
    figure, (ax,) = plot_axes(side * (n + 1) + 2.4, side * (n + 1) + 1.4)
    _draw_cells(ax, mask, places, places)
    ax.set_xlim(-0.8, places[-1] + 3.4)  # room for what the rows predict
    names = [subscript("x", k) if k >= 0 else "·" for k in range(1 - context, n - context + 1)]
    ax.set_xticks(places, names)
    ax.set_yticks(places, names)
    ax.tick_params(labeltop=True, labelbottom=False)
    for k in range(max(context - 1, 0), n):
        text = _("judges {token}", token=subscript("x", k - context + 2)) if k < n - 1 else _("bonus token")
        write(ax, places[-1] + 0.8, places[k], text, size=SMALL, ha="left")
    _explain(figure)
    return figure


@takes(parents=parent_nodes("n"), mask=booleans("n", "columns"), names=texts("n"))
def tree_mask_picture(
    mask: Booleans, parents: Sequence[int], names: Sequence[object] | None = None, title: str | None = None
) -> Picture:
    """Draw the attention mask of a draft tree.

    Args:
        mask: (n, context_length + n) booleans.
        parents: (n,) parents of the nodes; −1 is the root.
        names: (n,) names of the nodes; their indices by default.
        title: Title of the picture.

    Returns:
        The picture, for up to about 40 nodes.
    """
    nodes, columns = mask.shape
    if columns < nodes:
        raise ValueError(f"mask has shape {mask.shape}, but it needs a column per node.")
    context = columns - nodes
    node_names = names_of(names, nodes)
    xs = [column + (0.8 if column >= context > 0 else 0.0) for column in range(columns)]
    side = min(0.3, 6.4 / (xs[-1] + 1))  # inches per cell
    figure, (ax,) = plot_axes(side * (xs[-1] + 1) + 1.6, side * nodes + 1.5)
    _draw_cells(ax, mask, xs, range(nodes))
    if context:
        ax.vlines(xs[context] - 0.9, -0.7, nodes - 0.3, color=INK, linewidth=2.0)
        write(ax, (context - 1) / 2, nodes - 0.2, _("context"), size=SMALL, va="top")
    ax.set_xticks(xs[context:], node_names, rotation=90, parse_math=False)
    ax.set_yticks(range(nodes), node_names, parse_math=False)
    _explain(figure)
    label_axes(ax, title, pad=12)
    return figure
