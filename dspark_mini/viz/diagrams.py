"""The picture that opens the kit: which token waits for which, in three ways of drafting."""

from __future__ import annotations

from matplotlib.axes import Axes

from dspark_mini.inputs import whole_number
from dspark_mini.viz.style import (
    BLUE,
    GREEN,
    INK,
    LARGE,
    ORANGE,
    SMALL,
    Picture,
    arrow,
    box,
    canvas,
    picture,
    subscript,
    write,
)

INPUT, FORWARD, DRAFT = 0.0, 1.15, 2.3  # heights of the three rows
SIDE, HALF = 0.74, 0.37  # of a token's box
GAP = 1.1  # between two panels


def who_depends_on_what(block_size: int = 4) -> Picture:
    """Draw what each drafted token waits for: autoregressive drafting, DFlash and DSpark side by side.

    Args:
        block_size: γ, the number of drafted tokens, from 2 to 5.

    Returns:
        The picture: inputs below, the drafter's forwards in the middle, drafted tokens above.
    """
    gamma = whole_number("block_size", block_size, low=2, high=5)
    width = max(gamma, 3) + 1.0  # of a panel
    total = 3 * width + 2 * GAP
    inch = min(0.6, 8.8 / (total + 1.6))
    figure = picture(inch * (total + 1.6), inch * 5.6)
    ax = canvas(figure, -1.6, total, -1.85, 3.75)
    for y, name in ((INPUT, "input"), (FORWARD, "drafter"), (DRAFT, "draft")):
        write(ax, -0.35, y, name, size=SMALL, ha="right")
    for number, draw in enumerate((_autoregressive, _dflash, _dspark)):
        draw(ax, number * (width + GAP) + width / 2, gamma)
    return figure


def _autoregressive(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - (gamma - 1) / 2
    for k in range(1, gamma + 1):
        x = left + k - 1
        _given(ax, x, k - 1)
        _forward(ax, x, x, str(k))
        _drafted(ax, x, k)
        if k < gamma:
            arrow(ax, (x + HALF - 0.06, DRAFT - HALF), (x + 1 - HALF + 0.06, INPUT + HALF), color=ORANGE, width=1.6)
    _caption(ax, middle, "autoregressive", f"{gamma} forwards", "each waits for the token before")


def _dflash(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - gamma / 2
    _given(ax, left, 0)
    _forward(ax, left, left + gamma, "one forward")
    for k in range(1, gamma + 1):  # anchor + γ masks in; the masks predict
        _mask(ax, left + k, gamma)
        _drafted(ax, left + k, k)
    _caption(ax, middle, "DFlash", "1 forward", "no token sees another's choice")


def _dspark(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - (gamma - 1) / 2
    _given(ax, left, 0)
    _forward(ax, left, left + gamma - 1, "one forward")
    for k in range(1, gamma + 1):  # anchor + γ − 1 masks in; all of them predict
        x = left + k - 1
        if k > 1:
            _mask(ax, x, gamma)
            arrow(ax, (x - 1 + HALF, DRAFT), (x - HALF, DRAFT), color=ORANGE, width=1.6)
        _drafted(ax, x, k)
    arrow(ax, (left - HALF, INPUT), (left - HALF, DRAFT), color=ORANGE, bend=-0.25, width=1.6)
    _caption(ax, middle, "DSpark", "1 forward + a light chain", "each corrected by the token before")


def _given(ax: Axes, x: float, k: int) -> None:
    """Draw a token that is fed in: the anchor, or one that was drafted before."""
    box(ax, x, INPUT, SIDE, SIDE, subscript("x", k), fill=INK, ink="white")
    arrow(ax, (x, INPUT + HALF), (x, FORWARD - 0.3))


def _mask(ax: Axes, x: float, gamma: int) -> None:
    box(ax, x, INPUT, SIDE, SIDE, "mask" if gamma < 5 else "m", line="--", size=7.5 if gamma < 5 else SMALL)
    arrow(ax, (x, INPUT + HALF), (x, FORWARD - 0.3))


def _forward(ax: Axes, first: float, last: float, text: str) -> None:
    box(ax, (first + last) / 2, FORWARD, last - first + SIDE, 0.6, text, fill=BLUE, edge=BLUE, ink="white", size=SMALL)


def _drafted(ax: Axes, x: float, k: int) -> None:
    arrow(ax, (x, FORWARD + 0.3), (x, DRAFT - HALF))
    box(ax, x, DRAFT, SIDE, SIDE, subscript("x", k), fill=GREEN, edge=GREEN, ink="white")


def _caption(ax: Axes, middle: float, title: str, cost: str, reason: str) -> None:
    write(ax, middle, 3.35, title, size=LARGE, bold=True)
    write(ax, middle, -0.95, cost, bold=True)
    write(ax, middle, -1.45, reason, size=SMALL)
