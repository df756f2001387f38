"""What goes into a drafter and what comes out: three ways of drafting, and the two layouts of a block."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from dspark_mini.contracts import integer, integers, takes, tokens
from dspark_mini.viz.arguments import labelled, pair
from dspark_mini.viz.colors import BLUE, GREEN, INK, LARGE, NORMAL, ORANGE, SMALL, Look, solid
from dspark_mini.viz.draw import arrow, box, write
from dspark_mini.viz.labels import _, subscript
from dspark_mini.viz.style import Picture, canvas

INPUT, FORWARD, DRAFT, TITLE = 0.0, 1.15, 2.3, 3.35  # heights of the rows
SIDE, HALF = 0.74, 0.37  # of a token's box
GAP = 1.1  # between two panels


@takes(block_size=integer(low=2, high=5))
def who_depends_on_what(block_size: int = 4) -> Picture:
    """Draw what each draft token waits for: autoregressive drafting, DFlash and DSpark side by side.

    Args:
        block_size: γ, number of draft tokens, from 2 to 5.

    Returns:
        The picture: inputs below, the drafter's forwards in the middle, draft tokens above.
    """
    width = max(block_size, 3) + 1.0  # of a panel
    total = 3 * width + 2 * GAP
    figure, ax = canvas(min(0.6, 8.8 / (total + 1.6)), -1.6, total, -1.85, 3.75)
    _name_rows(ax)
    for number, draw in enumerate((_autoregressive, _dflash, _dspark)):
        draw(ax, number * (width + GAP) + width / 2, block_size)
    return figure


def _autoregressive(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - (gamma - 1) / 2
    for k in range(1, gamma + 1):
        x = left + k - 1
        _input(ax, x, subscript("x", k - 1))
        _forward(ax, x, x, str(k))
        _output(ax, x, k)
        if k < gamma:
            arrow(ax, (x + HALF - 0.06, DRAFT - HALF), (x + 1 - HALF + 0.06, INPUT + HALF), color=ORANGE, width=1.6)
    _caption(ax, middle, _("autoregressive"), _("{count} forwards", count=gamma), _("each waits for the token before"))


def _dflash(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - gamma / 2
    _input(ax, left, "x₀")
    _forward(ax, left, left + gamma, _("one forward"))
    for k in range(1, gamma + 1):  # the anchor and γ masks go in; the masks predict
        _mask(ax, left + k, gamma)
        _output(ax, left + k, k)
    _caption(ax, middle, "DFlash", _("1 forward"), _("no token sees another's choice"))


def _dspark(ax: Axes, middle: float, gamma: int) -> None:
    left = middle - (gamma - 1) / 2
    _input(ax, left, "x₀")
    _forward(ax, left, left + gamma - 1, _("one forward"))
    for k in range(1, gamma + 1):  # the anchor and γ − 1 masks go in; all of them predict
        x = left + k - 1
        if k > 1:
            _mask(ax, x, gamma)
            arrow(ax, (x - 1 + HALF, DRAFT), (x - HALF, DRAFT), color=ORANGE, width=1.6)
        _output(ax, x, k)
    arrow(ax, (left - HALF, INPUT), (left - HALF, DRAFT), color=ORANGE, bend=-0.25, width=1.6)
    _caption(ax, middle, "DSpark", _("1 forward + a light chain"), _("each corrected by the token before"))


def _name_rows(ax: Axes) -> None:
    for y, name in ((INPUT, _("input")), (FORWARD, _("drafter")), (DRAFT, _("draft"))):
        write(ax, -0.35, y, name, size=SMALL, ha="right")


def _input(ax: Axes, x: float, text: str, is_mask: bool = False, size: float = NORMAL) -> None:
    """Draw a token that goes into the drafter."""
    look: Look = {"line": "--"} if is_mask else {"fill": INK, "ink": "white"}
    box(ax, x, INPUT, SIDE, SIDE, text, size=size, **look)
    arrow(ax, (x, INPUT + HALF), (x, FORWARD - 0.3))


def _mask(ax: Axes, x: float, gamma: int) -> None:
    _input(ax, x, _("mask") if gamma < 5 else "m", is_mask=True, size=7.5 if gamma < 5 else SMALL)


def _forward(ax: Axes, first: float, last: float, text: str) -> None:
    box(ax, (first + last) / 2, FORWARD, last - first + SIDE, 0.6, text, size=SMALL, **solid(BLUE))


def _output(ax: Axes, x: float, k: int, is_fed: bool = True) -> None:
    """Draw draft token k, with an arrow from the forward if one of its inputs stands below."""
    if is_fed:
        arrow(ax, (x, FORWARD + 0.3), (x, DRAFT - HALF))
    box(ax, x, DRAFT, SIDE, SIDE, subscript("x", k), **solid(GREEN))


def _caption(ax: Axes, middle: float, title: str, cost: str, reason: str) -> None:
    write(ax, middle, TITLE, title, size=LARGE, bold=True)
    write(ax, middle, -0.95, cost, bold=True)
    write(ax, middle, -1.45, reason, size=SMALL)


@takes(layouts=labelled("(input ids, positions)", pair(tokens("n"), integers("γ", empty=True)), same_sizes=False))
def block_layouts(layouts: Mapping[str, tuple[list[int], list[int]]]) -> Picture:
    """Draw what goes into the drafter for one block, and the input positions that predict.

    Args:
        layouts: Label → (input ids, positions that predict), as draft_inputs returns them.

    Returns:
        The picture: inputs below, one forward, predictions above; one without an input stands apart.
    """
    widths = [max(len(ids), *(position + 1 for position in positions), 3) + 0.9 for ids, positions in layouts.values()]
    total = sum(widths)
    figure, ax = canvas(min(0.62, 8.8 / (total + 1.5)), -1.5, total, -0.8, 3.8)
    _name_rows(ax)
    left = 0.4
    for (label, (ids, positions)), width in zip(layouts.items(), widths):
        _draw_layout(ax, left, label, ids, positions)
        left += width
    return figure


def _draw_layout(ax: Axes, left: float, label: str, ids: list[int], positions: list[int]) -> None:
    last = left + len(ids) - 1
    write(ax, (left + last) / 2, TITLE, _(label), size=LARGE, bold=True)
    _forward(ax, left, last, _("one forward"))
    for index, token in enumerate(ids):
        _input(ax, left + index, str(token), is_mask=index > 0, size=SMALL if len(str(token)) < 5 else 6.0)
    for k, position in enumerate(positions, start=1):
        _output(ax, left + position, k, is_fed=position < len(ids))
        write(ax, left + position, DRAFT + 0.54, _("row {number}", number=position), size=7.5)
