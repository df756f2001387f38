"""The common look of the pictures: readable on a white page and on a black one, and without colour."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.text import Text

# Mid-tones of one luminance, so that each stands out from white (4.5 : 1) and from #111 (4.2 : 1) alike.
# The hues are those of Okabe and Ito. No grey reaches 4.5 : 1 on both pages; INK has 4.35 : 1 on either.
INK = "#797979"
BLUE, ORANGE, GREEN, PURPLE = "#007cc2", "#c25600", "#008662", "#a36186"
FAINT = "#79797938"  # the same grey, mostly transparent: cells that are off
STROKES = [(BLUE, "--", "s"), (ORANGE, "-", "o"), (GREEN, "-.", "^"), (PURPLE, ":", "D")]  # colour, line, marker
SMALL, NORMAL, LARGE = 8.5, 9.5, 11.0  # points
DPI = 110  # of the notebook page; the image itself has twice as many


class Picture(Figure):
    """A matplotlib figure that a notebook shows without pyplot and without ``%matplotlib inline``."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * DPI, facecolor="none", bbox_inches="tight", pad_inches=0.08)
        width, height = struct.unpack(">II", buffer.getvalue()[16:24])  # from the head of the file
        return buffer.getvalue(), {"width": width // 2, "height": height // 2}


def picture(width: float, height: float) -> Picture:
    """Make an empty picture with a transparent page, in inches; data plots add axes by ``plot_axes``."""
    return Picture(figsize=(width, height), dpi=DPI, facecolor="none", layout="constrained")


def plot_axes(figure: Picture, columns: int = 1, share_y: bool = True) -> list[Axes]:
    """Add a row of axes, usually of one y axis, in the kit's greys, with only the left and lower lines drawn."""
    row: list[Axes] = list(figure.subplots(1, columns, sharey=share_y, squeeze=False)[0])
    for ax in row:
        plain_axes(ax)
    return row


def plain_axes(ax: Axes) -> None:
    """Give axes the kit's greys, and take away all lines but the left and the lower one."""
    ax.set_facecolor("none")
    ax.grid(False)
    ax.tick_params(colors=INK, labelsize=SMALL, length=0, pad=5)
    for side, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))


def canvas(figure: Figure, left: float, right: float, bottom: float, top: float) -> Axes:
    """Add axes that fill the whole figure, show no frame and are measured in the caller's units."""
    figure.set_layout_engine("none")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), facecolor="none")
    ax.set(xlim=(left, right), ylim=(bottom, top))
    ax.set_axis_off()
    return ax


def head(ax: Axes, title: str | None, pad: float = 12.0) -> None:
    """Write the title above the axes, if there is one."""
    if title is not None:
        ax.set_title(title, color=INK, fontsize=LARGE, weight="bold", pad=pad, parse_math=False)


def hide_frame(ax: Axes) -> None:
    """Take the lines around the axes away, and keep their labels."""
    for spine in ax.spines.values():
        spine.set_visible(False)


def cells(ax: Axes, corners: Sequence[tuple[float, float]], colors: Sequence[object] | str, name: str) -> None:
    """Draw one unit square, with a gap around it, centred at each of the points."""
    squares = [Rectangle((x - 0.46, y - 0.46), 0.92, 0.92) for x, y in corners]
    collection = PatchCollection(squares, facecolors=colors, edgecolors="none", gid=name)
    collection.set_facecolor(colors)  # type: ignore[arg-type]
    ax.add_collection(collection)


def key_below(figure: Picture, patches: list[Patch], columns: int) -> None:
    """Explain colours by a row of small squares below the picture."""
    figure.legend(
        handles=patches,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        handlelength=1.0,
        handleheight=1.0,
    )


def write(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float = NORMAL,
    color: str = INK,
    bold: bool = False,
    ha: str = "center",
    va: str = "center",
) -> Text:
    """Write a text, centred on a point unless told otherwise, above everything that is drawn there."""
    weight = "bold" if bold else "normal"
    return ax.text(x, y, text, fontsize=size, color=color, weight=weight, ha=ha, va=va, zorder=4, parse_math=False)


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
    """Draw a box around its centre, with a text in it; a radius of half its width makes it a disc."""
    if radius >= width / 2:
        shape: Patch = Ellipse((x, y), width, height)
    else:
        style = f"round,pad=0,rounding_size={radius}"
        shape = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=style)
    shape.set(facecolor=fill, edgecolor=edge, linestyle=line, hatch=hatch, linewidth=1.3, zorder=3)
    ax.add_patch(shape)
    write(ax, x, y, text, size=size, color=ink, va="center_baseline")


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    color: str = INK,
    line: str = "-",
    bend: float = 0.0,
    width: float = 1.3,
) -> None:
    """Draw an arrow between two points, straight or bent."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=10,
            color=color,
            linestyle=line,
            connectionstyle=f"arc3,rad={bend}",
            linewidth=width,
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )


def subscript(letter: str, number: int) -> str:
    """Write a letter with a small number below it: x₁."""
    return letter + str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def one_line(token: object) -> str:
    """Write a token so that it stays in its place: a line break as ↵, a tab as ⇥."""
    return str(token).replace("\n", "↵").replace("\t", "⇥")


def svg(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure as SVG: texts as outlines, no date and stable ids, so that equal pictures are equal files."""
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "dspark-mini"}):
        figure.savefig(path, format="svg", facecolor="none", metadata={"Creator": None, "Date": None})
