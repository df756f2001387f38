"""A batch of requests of different lengths: padded to a rectangle, and laid end to end."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from dspark_mini.inputs import check_same_length, whole_numbers
from dspark_mini.viz.style import (
    BLUE,
    FAINT,
    INK,
    NORMAL,
    SMALL,
    Picture,
    cells,
    head,
    hide_frame,
    key_below,
    picture,
    plot_axes,
    write,
)


def flat_batch(requests: ArrayLike, positions: ArrayLike, starts: ArrayLike) -> Picture:
    """Draw a batch twice: each request in a line of its own, padded, and below all of them in one line.

    Args:
        requests: (B,) the request of each flat row, in rising order.
        positions: (B,) its place in the request's text, written into its cell.
        starts: (R + 1,) the first flat row of each request, and B at the end.

    Returns:
        The picture; made for up to about 30 rows.
    """
    owners = whole_numbers("requests", requests, low=0)  # (B,)
    places = whole_numbers("positions", positions, low=0)  # (B,)
    check_same_length("requests", owners, "positions", places)
    firsts = whole_numbers("starts", starts, low=0, high=len(owners))  # (R + 1,)
    if not owners or len(firsts) != max(owners) + 2:
        raise ValueError(f"starts has {len(firsts)} entries, which do not fit {len(set(owners))} requests.")
    lengths = [stop - start for start, stop in zip(firsts, firsts[1:])]
    line = len(lengths) + 1.2  # where the flat line stands
    figure = picture(0.3 * len(owners) + 1.6, 0.3 * (line + 2) + 1.1)
    ax = plot_axes(figure)[0]
    padding = [(float(k), float(r)) for r, length in enumerate(lengths) for k in range(length, max(lengths))]
    corners = [(float(i - firsts[r]), float(r)) for i, r in enumerate(owners)]
    corners += [(float(i), line) for i in range(len(owners))]
    _draw_rows(ax, corners, [i in firsts for i in range(len(owners))] * 2, places * 2, padding)
    _name_rows(ax, firsts, line)
    padded = len(lengths) * max(lengths)
    head(ax, f"{padded} rows padded, {len(owners)} rows flat")
    keys = [Patch(color=INK, label="anchor"), Patch(color=BLUE, label="draft"), Patch(color=FAINT, label="padding")]
    key_below(figure, keys, columns=3)
    return figure


def _draw_rows(
    ax: Axes,
    corners: list[tuple[float, float]],
    is_anchor: list[bool],
    places: list[int],
    padding: list[tuple[float, float]],
) -> None:
    cells(ax, padding, FAINT, "padding")
    cells(ax, [corner for corner, anchor in zip(corners, is_anchor) if anchor], INK, "anchor")
    cells(ax, [corner for corner, anchor in zip(corners, is_anchor) if not anchor], BLUE, "draft")
    for (x, y), place in zip(corners, places):
        write(ax, x, y, str(place), size=SMALL, color="white", va="center_baseline")


def _name_rows(ax: Axes, firsts: list[int], line: float) -> None:
    """Name the lines, and write the starts below the flat one, between its cells."""
    requests = range(len(firsts) - 1)
    ax.set(xlim=(-0.7, firsts[-1] - 0.3), ylim=(line + 1.5, -0.6), aspect="equal")
    ax.set_yticks([*requests, line], [*(f"request {r}" for r in requests), "flat"])
    ax.set_xticks([])
    ax.vlines([first - 0.5 for first in firsts], line - 0.7, line + 0.7, color=INK, linewidth=1.6, zorder=3)
    for first in firsts:
        write(ax, first - 0.5, line + 1.05, str(first), size=NORMAL, bold=True)
    hide_frame(ax)
