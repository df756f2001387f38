"""Shapes and text that several pictures are drawn from: boxes, arrows, cells, names of curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.text import Text

from dspark_mini.viz.colors import INK, NORMAL, SMALL, Look

Point = tuple[float, float]


def write(
    ax: Axes, x: float, y: float, text: str, *, size: float = NORMAL, color: str = INK, bold: bool = False, **style: Any
) -> Text:
    """Write text above everything else, centred on a point unless `style` says otherwise."""
    place: Look = {"ha": "center", "va": "center", "zorder": 4, "parse_math": False} | style
    return ax.text(x, y, text, fontsize=size, color=color, weight="bold" if bold else "normal", **place)


def box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    text: str = "",
    *,
    fill: str = "none",
    edge: str = INK,
    ink: str = INK,
    line: str = "-",
    hatch: str = "",
    size: float = NORMAL,
    radius: float = 0.08,
) -> None:
    """Draw a box around its centre, with text in it; a radius of half its width makes it a disc."""
    if radius >= width / 2:
        shape: Patch = Ellipse((x, y), width, height)
    else:
        style = f"round,pad=0,rounding_size={radius}"
        shape = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=style)
    shape.set(facecolor=fill, edgecolor=edge, linestyle=line, hatch=hatch, linewidth=1.3, zorder=3)
    ax.add_patch(shape)
    write(ax, x, y, text, size=size, color=ink, va="center_baseline")


def arrow(ax: Axes, start: Point, end: Point, color: str = INK, bend: float = 0.0, width: float = 1.3) -> None:
    """Draw an arrow between two points, straight or bent."""
    path = f"arc3,rad={bend}"
    shape = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, connectionstyle=path, shrinkA=0, shrinkB=0)
    shape.set(color=color, linewidth=width, zorder=2)
    ax.add_patch(shape)


def cells(ax: Axes, centres: Sequence[Point], colors: Sequence[object] | str, name: str) -> None:
    """Draw a square with a gap around it, one unit in all, at each of the points."""
    squares = [Rectangle((x - 0.46, y - 0.46), 0.92, 0.92) for x, y in centres]
    collection = PatchCollection(squares, edgecolors="none", gid=name)
    collection.set_facecolor(colors)  # type: ignore[arg-type]
    ax.add_collection(collection)


def cell_text(ax: Axes, x: float, y: float, text: str, color: str) -> Text:
    """Write a number into a cell."""
    return write(ax, x, y, text, size=SMALL, color=color, va="center_baseline")


def name_ends(ax: Axes, ends: Sequence[tuple[float, str, str]]) -> list[float]:
    """Write the name of each curve to the right of the axes.

    Args:
        ax: Axes with their final limits of y.
        ends: (height of the curve's end, name, colour) of each curve.

    Returns:
        The heights of the names: those of the ends, or a little more, so that the names do not touch.
    """
    low, high = ax.get_ylim()
    heights, y = [0.0] * len(ends), low - high
    for index in sorted(range(len(ends)), key=lambda index: ends[index][0]):
        end, name, color = ends[index]
        heights[index] = y = max(end, y + 0.085 * (high - low))
        write(ax, 1.02, y, name, color=color, bold=True, ha="left", transform=ax.get_yaxis_transform())
    return heights
