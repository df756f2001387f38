"""Pictures of the sequential heads: tables of biases, shares of drafted blocks, and the two input layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import numbers, weight_matrix, whole_numbers
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    LARGE,
    NORMAL,
    SMALL,
    STROKES,
    Picture,
    arrow,
    box,
    canvas,
    cells,
    head,
    hide_frame,
    one_line,
    picture,
    plot_axes,
    subscript,
    write,
)

SIGNED = LinearSegmentedColormap.from_list("bias", ["#9c4400", "#e0a070", "#e4e6e8", "#7ab4dc", "#00508a"])
HATCHES = ("", "////", "....", "\\\\\\\\")


def bias_tables(
    tables: Mapping[str, ArrayLike],
    before: Sequence[object] | None = None,
    after: Sequence[object] | None = None,
) -> Picture:
    """Draw tables of biases side by side: a row for what came before, a column for the token that follows.

    Args:
        tables: label → (rows, columns) biases, all of one shape.
        before: (rows,) what to write for each row; its number by default.
        after: (columns,) what to write for each column; its number by default.

    Returns:
        The picture: blue cells favour a token, brown ones disfavour it; each cell shows its bias.
    """
    if not isinstance(tables, Mapping) or not tables:
        raise ValueError("tables must be a dict from label to biases, with at least one entry.")
    values = {str(label): weight_matrix(f"tables[{label!r}]", table) for label, table in tables.items()}
    rows, columns = next(iter(values.values())).shape
    for label, table in values.items():
        weight_matrix(f"tables[{label!r}]", table, rows, columns)
    names = _names("before", before, rows), _names("after", after, columns)
    largest = max(float(np.abs(table).max()) for table in values.values()) or 1.0
    cell = min(0.5, 7.4 / (len(values) * (columns + 0.6)))  # inches
    letters = max(len(name) for name in names[1])
    figure = picture(len(values) * cell * (columns + 0.6) + 1.0, cell * rows + 0.6 + 0.075 * letters)
    for ax, (label, table) in zip(plot_axes(figure, len(values)), values.items()):
        _draw_table(ax, table / largest, table, cell)
        ax.set_yticks(range(rows), names[0], parse_math=False)
        ax.tick_params(labeltop=True, labelbottom=False)
        turn = 0 if 0.085 * letters < cell else 90
        ax.set_xticks(range(columns), names[1], parse_math=False, rotation=turn)
        head(ax, label, pad=8)
    return figure


def _names(argument: str, given: Sequence[object] | None, count: int) -> list[str]:
    if given is not None and len(given) != count:
        raise ValueError(f"{argument} has {len(given)} entries, but the tables have {count}.")
    return [str(number) for number in range(count)] if given is None else [one_line(entry) for entry in given]


def _draw_table(ax: Axes, shares: NDArray[np.float64], table: NDArray[np.float64], cell: float) -> None:
    points = [(float(x), float(y)) for y, x in np.ndindex(table.shape)]
    cells(ax, points, [SIGNED((shares[int(y), int(x)] + 1.0) / 2.0) for x, y in points], "biases")
    for x, y in points if cell > 0.3 else ():
        value, strength = float(table[int(y), int(x)]), abs(float(shares[int(y), int(x)]))
        text = f"{value:.1f}".replace("-", "−").replace("−0.0", "0.0").removesuffix(".0")
        write(ax, x, y, text, size=SMALL, color="white" if strength > 0.75 else "black", va="center_baseline")
    ax.set(xlim=(-0.6, table.shape[1] - 0.4), ylim=(table.shape[0] - 0.4, -0.6), aspect="equal")
    hide_frame(ax)


def block_shares(shares: Mapping[str, ArrayLike], blocks: Sequence[object], title: str | None = None) -> Picture:
    """Draw how often each block comes, as bars, for several ways of drafting.

    Args:
        shares: label → (n,) shares of the blocks, from 0 to 1.
        blocks: (n,) what to write for each block.
        title: what to write above.

    Returns:
        The picture: a group of bars a block, one bar a label, each with its share.
    """
    if not isinstance(shares, Mapping) or not shares:
        raise ValueError("shares must be a dict from label to shares, with at least one entry.")
    bars = {str(label): numbers(f"shares[{label!r}]", values, low=0.0) for label, values in shares.items()}
    for label, values in bars.items():
        if len(values) != len(blocks):
            raise ValueError(f"shares[{label!r}] has {len(values)} entries for {len(blocks)} blocks.")
    figure = picture(6.6, 0.9 + len(blocks) * (0.25 * len(bars) + 0.2))
    ax = plot_axes(figure)[0]
    thick = 0.8 / len(bars)
    for number, (label, values) in enumerate(bars.items()):
        color, hatch = STROKES[number % len(STROKES)][0], HATCHES[number % len(HATCHES)]
        places = np.arange(len(blocks)) + (number - (len(bars) - 1) / 2) * thick
        fill = "none" if hatch else color
        ax.barh(places, values, thick * 0.8, facecolor=fill, edgecolor=color, hatch=hatch, linewidth=1.2, label=label)
        for place, value in zip(places, values):
            write(ax, float(value) + 0.01, float(place), f"{value:.2f}", size=SMALL, ha="left", va="center_baseline")
    ax.set(ylim=(len(blocks) - 0.5, -0.5), xlim=(0.0, 1.12 * max(float(v.max()) for v in bars.values()) or 1.0))
    ax.set_yticks(range(len(blocks)), [one_line(block) for block in blocks], parse_math=False)
    ax.set_xlabel("share of the drafts", color=INK, fontsize=NORMAL)
    ax.spines["bottom"].set_visible(False)
    ax.set_xticks([])
    figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=INK, fontsize=SMALL)
    head(ax, title)
    return figure


def block_layouts(layouts: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> Picture:
    """Draw what goes into the drafter for one block, and at which input positions the predictions come out.

    Args:
        layouts: label → (input ids, positions that predict), as draft_inputs returns them.

    Returns:
        The picture: inputs below, one forward, predictions above. A prediction without an input stands apart.
    """
    if not isinstance(layouts, Mapping) or not layouts:
        raise ValueError("layouts must be a dict from label to (input ids, positions), with at least one entry.")
    read = {
        str(label): (
            whole_numbers(f"layouts[{label!r}] input ids", ids, low=0),
            whole_numbers(f"layouts[{label!r}] positions", positions, low=0),
        )
        for label, (ids, positions) in layouts.items()
    }
    widths = [max(len(ids), *(position + 1 for position in positions), 3) + 0.9 for ids, positions in read.values()]
    total = sum(widths)
    inch = min(0.62, 8.8 / (total + 1.5))
    figure = picture(inch * (total + 1.5), inch * 4.6)
    ax = canvas(figure, -1.5, total, -0.8, 3.8)
    for y, name in ((0.0, "input"), (1.15, "drafter"), (2.3, "draft")):
        write(ax, -0.35, y, name, size=SMALL, ha="right")
    left = 0.4
    for (label, (ids, positions)), width in zip(read.items(), widths):
        _draw_layout(ax, left, label, ids, positions)
        left += width
    return figure


def _draw_layout(ax: Axes, left: float, label: str, ids: list[int], positions: list[int]) -> None:
    middle = left + (len(ids) - 1) / 2
    write(ax, middle, 3.35, label, size=LARGE, bold=True)
    box(ax, middle, 1.15, len(ids) - 0.26, 0.6, "one forward", fill=BLUE, edge=BLUE, ink="white", size=SMALL)
    for index, token in enumerate(ids):
        size = SMALL if len(str(token)) < 5 else 6.0
        given = {"fill": INK, "ink": "white"} if index == 0 else {"line": "--"}
        box(ax, left + index, 0.0, 0.74, 0.74, str(token), size=size, **given)  # type: ignore[arg-type]
        arrow(ax, (left + index, 0.37), (left + index, 0.85))
    for k, position in enumerate(positions, start=1):
        if position < len(ids):
            arrow(ax, (left + position, 1.45), (left + position, 1.93))
        box(ax, left + position, 2.3, 0.74, 0.74, subscript("x", k), fill=GREEN, edge=GREEN, ink="white")
        write(ax, left + position, 2.84, f"row {position}", size=7.5)
