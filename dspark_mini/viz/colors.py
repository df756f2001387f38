"""Colours, line styles and font sizes: readable on a white page and on a black one, and without colour."""

from __future__ import annotations

from typing import Any

Look = dict[str, Any]  # keyword arguments of a drawing function

# Mid-tones of one luminance, so that each stands out from white (4.5 : 1) and from #111 (4.2 : 1) alike.
# The hues are those of Okabe and Ito. No grey reaches 4.5 : 1 on both pages; INK has 4.35 : 1 on either.
INK = "#797979"
BLUE, ORANGE, GREEN, PURPLE = "#007cc2", "#c25600", "#008662", "#a36186"
FAINT = "#79797938"  # INK, mostly transparent: cells that are off
OPEN: Look = {"facecolor": "none", "edgecolor": INK, "hatch": "////"}  # bars that do not count
# colour, line, marker
STROKES = [(BLUE, "--", "s"), (ORANGE, "-", "o"), (GREEN, "-.", "^"), (PURPLE, ":", "D"), (INK, "-", "v")]
SMALL, NORMAL, LARGE = 8.5, 9.5, 11.0  # points


def stroke(number: int) -> Look:
    """Return colour, line and marker of curve `number`; no two of the first five look alike."""
    color, line, marker = STROKES[number % len(STROKES)]
    return {"color": color, "linestyle": line, "marker": marker, "markersize": 5, "linewidth": 2, "zorder": 3}


def solid(color: str) -> Look:
    """Return the look of a filled box with white text."""
    return {"fill": color, "edge": color, "ink": "white"}
