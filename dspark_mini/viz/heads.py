"""Sequential heads: their tables of biases, and the blocks that several ways of drafting bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from dspark_mini.contracts import numbers, takes
from dspark_mini.viz.arguments import labelled, texts
from dspark_mini.viz.colors import SMALL, STROKES, Look
from dspark_mini.viz.draw import cell_text, cells, write
from dspark_mini.viz.labels import _, names
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, plot_axes

Array = NDArray[np.float64]
SIGNED = LinearSegmentedColormap.from_list("bias", ["#9c4400", "#e0a070", "#e4e6e8", "#7ab4dc", "#00508a"])
HATCHES = ("", "////", "....", "\\\\\\\\")


@takes(tables=labelled("biases", numbers("rows", "columns")), before=texts("rows"), after=texts("columns"))
def bias_tables(
    tables: Mapping[str, Array], before: Sequence[object] | None = None, after: Sequence[object] | None = None
) -> Picture:
    """Draw tables of biases side by side: one row per previous token or prefix, one column per next token.

    Args:
        tables: Label → (rows, columns) biases, all of one shape.
        before: (rows,) names of the rows; their numbers by default.
        after: (columns,) names of the columns; their numbers by default.

    Returns:
        The picture: blue cells favour a token, brown ones disfavour it; each cell shows its bias.
    """
    rows, columns = next(iter(tables.values())).shape
    row_names, column_names = names(before, rows), names(after, columns)
    largest = max(float(np.abs(table).max()) for table in tables.values()) or 1.0
    cell = min(0.5, 7.4 / (len(tables) * (columns + 0.6)))  # inches
    letters = max(len(name) for name in column_names)
    figure, axes = plot_axes(
        len(tables) * cell * (columns + 0.6) + 1.0, cell * rows + 0.6 + 0.075 * letters, len(tables)
    )
    step = 1 + int(0.17 / cell)  # names that would touch are left out
    for ax, (label, table) in zip(axes, tables.items()):
        _draw_table(ax, table / largest, table, with_numbers=cell > 0.3)
        ax.set_yticks(range(0, rows, step), row_names[::step], parse_math=False)
        ax.tick_params(labeltop=True, labelbottom=False)
        turn = 0 if 0.085 * letters < cell * step else 90
        ax.set_xticks(range(0, columns, step), column_names[::step], parse_math=False, rotation=turn)
        label_axes(ax, label)
    return figure


def _draw_table(ax: Axes, shares: Array, table: Array, with_numbers: bool) -> None:
    at = list(np.ndindex(table.shape))
    cells(ax, [(x, y) for y, x in at], [SIGNED((shares[index] + 1.0) / 2.0) for index in at], "biases")
    for y, x in at if with_numbers else ():
        text = f"{table[y, x]:.1f}".replace("-", "−").replace("−0.0", "0.0").removesuffix(".0")
        cell_text(ax, x, y, text, "white" if abs(shares[y, x]) > 0.75 else "black")
    ax.set(xlim=(-0.6, table.shape[1] - 0.4), ylim=(table.shape[0] - 0.4, -0.6), aspect="equal")
    hide_spines(ax)


@takes(blocks=texts("n"), shares=labelled("shares", numbers("n", low=0.0)))
def block_shares(shares: Mapping[str, Array], blocks: Sequence[object], title: str | None = None) -> Picture:
    """Draw how often several ways of drafting bring each block.

    Args:
        shares: Label → (n,) share of each block, from 0 to 1.
        blocks: (n,) names of the blocks.
        title: Title of the picture.

    Returns:
        The picture: a group of bars per block, one bar per label, each with its share.
    """
    figure, (ax,) = plot_axes(6.6, 0.9 + len(blocks) * (0.25 * len(shares) + 0.2))
    thickness = 0.8 / len(shares)
    for number, (label, values) in enumerate(shares.items()):
        color, hatch = STROKES[number % len(STROKES)][0], HATCHES[number % len(HATCHES)]
        ys = np.arange(len(blocks)) + (number - (len(shares) - 1) / 2) * thickness
        look: Look = {"facecolor": "none" if hatch else color, "edgecolor": color, "hatch": hatch}
        ax.barh(ys, values, thickness * 0.8, linewidth=1.2, label=label, **look)
        for y, value in zip(ys, values):
            write(ax, value + 0.01, y, f"{value:.2f}", size=SMALL, ha="left", va="center_baseline")
    largest = max(float(values.max()) for values in shares.values())
    ax.set(ylim=(len(blocks) - 0.5, -0.5), xlim=(0.0, 1.12 * largest or 1.0))
    ax.set_yticks(range(len(blocks)), names(blocks, len(blocks)), parse_math=False)
    ax.set_xticks([])
    hide_spines(ax, "bottom")
    legend(figure, handle_length=2.0)
    label_axes(ax, title, x=_("share of the drafts"), pad=12)
    return figure
