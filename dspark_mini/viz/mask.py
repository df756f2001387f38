"""Attention masks: who may look at whom, as a grid of cells."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import whole_number, whole_numbers
from dspark_mini.viz.style import (
    BLUE,
    FAINT,
    INK,
    NORMAL,
    ORANGE,
    SMALL,
    Picture,
    box,
    cells,
    head,
    hide_frame,
    key_below,
    picture,
    plot_axes,
    subscript,
    write,
)


def mask_picture(
    mask: ArrayLike,
    context_length: int,
    anchors: ArrayLike | None = None,
    block_length: int | None = None,
    title: str | None = None,
    positions: ArrayLike | None = None,
) -> Picture:
    """Draw an attention mask as cells: a row is a position that looks, a column one that it may look at.

    Args:
        mask: (rows, columns) booleans; the first context_length columns are the context, the rest the blocks.
        context_length: number of context columns, at least 0.
        anchors: (A,) the anchor of each block, a context position from 0 to context_length; outlined.
        block_length: γ, rows a block; rows / A by default, one block if there are no anchors.
        title: what to write above.
        positions: (context_length,) the numbers below the context columns; 0, 1, 2, … by default.

    Returns:
        The picture; made for masks of up to about 60 by 80 cells.
    """
    on = _boolean_matrix(mask)  # (rows, columns)
    rows, columns = on.shape
    context = whole_number("context_length", context_length, low=0, high=columns)
    marked = [] if anchors is None else whole_numbers("anchors", anchors, low=0, high=context)
    blocks = max(1, len(marked))
    length = whole_number("block_length", max(1, rows // blocks) if block_length is None else block_length, low=1)
    if marked and blocks * length != rows:
        raise ValueError(f"mask has {rows} rows, but {blocks} anchors by block_length {length} are {blocks * length}.")
    numbers = list(range(context)) if positions is None else whole_numbers("positions", positions, low=0)
    if len(numbers) != context:
        raise ValueError(f"positions has {len(numbers)} entries, but there are {context} context columns.")
    xs = [_shifted(c, context, length) for c in range(columns)]
    ys = [_shifted(r, 0, length) for r in range(rows)]
    side = min(0.28, 7.4 / (xs[-1] + 1), 6.0 / (ys[-1] + 1))  # inches a cell
    figure = picture(side * (xs[-1] + 1) + 1.4, side * (ys[-1] + 1) + 1.6)
    ax = plot_axes(figure)[0]
    for value, color, name in ((True, BLUE, "may look"), (False, FAINT, "may not look")):
        cells(ax, [(xs[c], ys[r]) for r, c in np.argwhere(on == value)], color, name)
    for block, anchor in enumerate(marked):
        top, bottom = ys[block * length], ys[(block + 1) * length - 1]
        box(ax, anchor, (top + bottom) / 2, 0.9, bottom - top + 0.9, edge=ORANGE, radius=0.2)
    _draw_borders(ax, xs, ys, context, length)
    _name_cells(ax, xs, ys, numbers, length, side)
    _explain(figure, with_anchors=bool(marked))
    head(ax, title, pad=22)
    return figure


def _boolean_matrix(mask: ArrayLike) -> NDArray[np.bool_]:
    try:
        values = np.asarray(mask)
    except ValueError:
        raise ValueError("mask must be a matrix, but its rows have different lengths.") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"mask must be a matrix of booleans with at least one cell, not of shape {values.shape}.")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("mask must hold nothing but True and False.")
    return values.astype(np.bool_)


def _shifted(index: int, context: int, length: int) -> float:
    """Return where a column lies: behind the context a gap, with room for an anchor, and half a cell between blocks."""
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


def _name_cells(ax: Axes, xs: list[float], ys: list[float], numbers: list[int], length: int, side: float) -> None:
    context = len(numbers)
    ax.set(xlim=(-0.8, xs[-1] + 0.8), ylim=(ys[-1] + 0.8, -0.8), aspect="equal")
    ax.set_xlabel("column: at whom", color=INK, fontsize=NORMAL)
    ax.set_ylabel("row: who looks", color=INK, fontsize=NORMAL)
    step = next((n for n in (1, 2, 5, 10) if n * side >= 0.2), 20)
    ax.set_xticks(range(0, context, step), [str(n) for n in numbers[::step]])
    groups = _groups(xs[context:], length)
    if len(groups) > 1 and length * side < 0.62:  # inches: too narrow for a name each
        groups = [((xs[context] + xs[-1]) / 2, "blocks")]
    if context:
        write(ax, (context - 1) / 2, -1.0, "context", size=SMALL, va="bottom")
    for x, name in groups:
        write(ax, x, -1.0, name, size=SMALL, va="bottom")
    groups = _groups(ys, length)[:: 1 + int(0.16 / (length * side))]
    ax.set_yticks([y for y, _ in groups], [name for _, name in groups])
    hide_frame(ax)


def _groups(places: list[float], length: int) -> list[tuple[float, str]]:
    """Return the middle and the name of each block."""
    blocks = [places[i : i + length] for i in range(0, len(places), length)]
    if len(blocks) == 1:
        return [((places[0] + places[-1]) / 2, "block")]
    return [((block[0] + block[-1]) / 2, f"block {number}") for number, block in enumerate(blocks, start=1)]


def _explain(figure: Picture, with_anchors: bool) -> None:
    keys = [Patch(color=BLUE, label="may look"), Patch(color=FAINT, label="may not look")]
    if with_anchors:
        keys.append(Patch(facecolor="none", edgecolor=ORANGE, linewidth=1.3, label="anchor of the block"))
    key_below(figure, keys, columns=3)


def verification_picture(mask: ArrayLike, context_length: int) -> Picture:
    """Draw the mask of a verification forward, where the context has rows too, and say what each row predicts.

    Args:
        mask: (n, n) booleans, the context first, then the drafts.
        context_length: number of context tokens; the last of them is the anchor x_0.

    Returns:
        The picture; made for up to about 30 tokens.
    """
    on = _boolean_matrix(mask)  # (n, n)
    n = len(on)
    context = whole_number("context_length", context_length, low=0, high=n)
    if on.shape != (n, n):
        raise ValueError(f"mask must be square, not of shape {on.shape}.")
    places = [k + 0.6 * (k >= context) for k in range(n)]
    side = min(0.3, 6.0 / (n + 1))  # inches a cell
    figure = picture(side * (n + 1) + 2.4, side * (n + 1) + 1.4)
    ax = plot_axes(figure)[0]
    for value, color, name in ((True, BLUE, "may look"), (False, FAINT, "may not look")):
        cells(ax, [(places[c], places[r]) for r, c in np.argwhere(on == value)], color, name)
    names = [subscript("x", k) if k >= 0 else "·" for k in range(1 - context, n - context + 1)]
    ax.set(xlim=(-0.8, places[-1] + 3.4), ylim=(places[-1] + 0.8, -0.8), aspect="equal")
    ax.set_xticks(places, names)
    ax.set_yticks(places, names)
    ax.tick_params(labeltop=True, labelbottom=False)
    ax.set_xlabel("column: at whom", color=INK, fontsize=NORMAL)
    ax.set_ylabel("row: who looks", color=INK, fontsize=NORMAL)
    for k in range(max(context - 1, 0), n):
        what = f"judges {subscript('x', k - context + 2)}" if k < n - 1 else "bonus token"
        write(ax, places[-1] + 0.8, places[k], what, size=SMALL, ha="left")
    hide_frame(ax)
    _explain(figure, with_anchors=False)
    return figure
