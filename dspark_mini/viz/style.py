"""Figures, axes and legends in the common look of the pictures."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text

from dspark_mini.viz.colors import INK, LARGE, NORMAL, SMALL
from dspark_mini.viz.labels import _, extra_font, subscript

DPI = 110  # on the notebook page; the image has twice as many
PNG = {"format": "png", "dpi": 2 * DPI, "facecolor": "none", "bbox_inches": "tight", "pad_inches": 0.08}


class Picture(Figure):
    """A matplotlib figure that a notebook shows without pyplot and without ``%matplotlib inline``."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw, with a font that has the letters of the language in use."""
        if font := extra_font():
            for text in self.findobj(Text):
                text.set_fontfamily([*matplotlib.rcParams["font.family"], font])
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        self.savefig(buffer, **PNG)  # type: ignore[arg-type]
        width, height = struct.unpack(">II", buffer.getvalue()[16:24])  # from the header of the file
        return buffer.getvalue(), {"width": width // 2, "height": height // 2}


def picture(width: float, height: float) -> Picture:
    """Return an empty picture with a transparent background, in inches."""
    return Picture(figsize=(width, height), dpi=DPI, facecolor="none", layout="constrained")


def plot_axes(width: float, height: float, columns: int = 1, share_y: bool = True) -> tuple[Picture, list[Axes]]:
    """Return a picture, in inches, with a row of axes, which share one y axis unless told otherwise."""
    figure = picture(width, height)
    row: list[Axes] = list(figure.subplots(1, columns, sharey=share_y, squeeze=False)[0])
    for ax in row:
        plain_axes(ax)
    return figure, row


def plain_axes(ax: Axes) -> None:
    """Draw axes in grey, with a left and a lower spine only."""
    ax.set_facecolor("none")
    ax.grid(False)
    ax.tick_params(which="both", colors=INK, labelsize=SMALL, length=0, pad=5)
    for side, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))


def canvas(inch: float, left: float, right: float, bottom: float, top: float) -> tuple[Picture, Axes]:
    """Return a picture, and axes without a frame that fill it, with these limits and `inch` inches per unit."""
    figure = picture(inch * (right - left), inch * (top - bottom))
    figure.set_layout_engine("none")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), facecolor="none")
    ax.set(xlim=(left, right), ylim=(bottom, top))
    ax.set_axis_off()
    return figure, ax


def label_axes(ax: Axes, title: str | None = None, x: str | None = None, y: str | None = None, pad: float = 8) -> None:
    """Write the title, `pad` points above the axes, and the names of x and y."""
    if title is not None:
        ax.set_title(_(title), color=INK, fontsize=LARGE, weight="bold", pad=pad, parse_math=False)
    if x is not None:
        ax.set_xlabel(x, color=INK, fontsize=NORMAL, parse_math=False)
    if y is not None:
        ax.set_ylabel(y, color=INK, fontsize=NORMAL)


def hide_spines(ax: Axes, *sides: str) -> None:
    """Hide the spines of some sides, or of all; the tick labels stay."""
    for side in sides or ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)


def grid(ax: Axes) -> None:
    """Draw faint horizontal grid lines."""
    ax.grid(True, axis="y", color=INK, alpha=0.25, linewidth=0.6)


def unit_ticks(axis: Axis) -> None:
    """Label an axis that runs from 0 to 1."""
    axis.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", ".25", ".5", ".75", "1"])


def position_ticks(ax: Axes, positions: Iterable[int]) -> None:
    """Label the x axis with positions of the block: x₀, x₁, …"""
    at = list(positions)
    ax.set_xticks(at, [subscript("x", k) for k in at])


def block_axes(ax: Axes, block_size: int, y: str) -> None:
    """Prepare axes for numbers between 0 and 1, one per position x₁ … x_γ of a block."""
    ax.set(xlim=(0.6, block_size + 0.4), ylim=(0.0, 1.0))
    position_ticks(ax, range(1, block_size + 1))
    unit_ticks(ax.yaxis)
    label_axes(ax, x=_("position in the block"), y=y)


def legend(
    figure: Picture, handles: Sequence[Any] | Mapping[str, str] | None = None, handle_length: float = 1.2
) -> None:
    """Add a one-line legend below the picture.

    Args:
        figure: Picture that is explained.
        handles: Labelled artists, or a colour by label; by default the artists of all axes, each label once.
        handle_length: Width of a sample, in font sizes; lines need more than patches.
    """
    if isinstance(handles, Mapping):
        handles = [Patch(color=color, label=label) for label, color in handles.items()]
    elif handles is None:
        labelled: dict[str, Any] = {}
        for handle, label in (pair for ax in figure.axes for pair in zip(*ax.get_legend_handles_labels())):
            labelled.setdefault(label, handle)
        handles = list(labelled.values())
    style: dict[str, Any] = {"frameon": False, "labelcolor": INK, "fontsize": SMALL, "handleheight": 1.0}
    labels = [_(str(handle.get_label())) for handle in handles]
    style |= {"loc": "outside lower center", "ncols": len(handles), "handlelength": handle_length}
    figure.legend(handles=list(handles), labels=labels, **style)


def svg(figure: Figure, path: str | os.PathLike[str], page: str = "none") -> None:
    """Save a figure as SVG: text as outlines, no date and stable ids, so that equal pictures are equal files.

    Args:
        figure: What to save.
        path: File to write.
        page: Colour of the background.
    """
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "dspark-mini"}):
        figure.savefig(path, format="svg", facecolor=page, metadata={"Creator": None, "Date": None})
