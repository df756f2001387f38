"""Curves: any quantity over a common axis, acceptance by position, speed-up by length, yield by budget."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dspark_mini.contracts import chances, numbers, takes
from dspark_mini.viz.arguments import labelled, pair, with_gaps
from dspark_mini.viz.colors import INK, ORANGE, SMALL, stroke
from dspark_mini.viz.draw import name_ends, write
from dspark_mini.viz.labels import _
from dspark_mini.viz.style import Picture, block_axes, grid, hide_spines, label_axes, legend, plot_axes

Row = NDArray[np.float64]


@takes(x=numbers("n"), panels=labelled("lines", labelled("values", with_gaps(numbers("n")))))
def lines(
    panels: Mapping[str, Mapping[str, Row]],
    x: Row,
    x_name: str,
    marks: Mapping[str, float] | None = None,
    log_x: bool = False,
) -> Picture:
    """Draw quantities as lines over the same axis, each quantity in a panel of its own.

    Args:
        panels: Title of the panel → label → (n,) values; nan leaves a gap.
        x: (n,) coordinates of the values.
        x_name: Name of the x axis.
        marks: Text → coordinate of a dotted vertical line with this text, in every panel.
        log_x: Whether the x axis is logarithmic.

    Returns:
        The picture; a label has the same line style in every panel.
    """
    labels = list(dict.fromkeys(label for group in panels.values() for label in group))
    figure, axes = plot_axes(5.4 if len(panels) == 1 else 8.6, 3.5, len(panels), share_y=False)
    for ax, (title, group) in zip(axes, panels.items(), strict=True):
        for label, ys in group.items():
            look = stroke(labels.index(label)) | ({} if x.size <= 24 else {"marker": ""})
            ax.plot(x, ys, label=label, **look)
        low, high = (float(extreme(np.array(list(group.values())), initial=0.0)) for extreme in (np.nanmin, np.nanmax))
        ax.set_ylim(low, 1.08 * high or 1.0)
        grid(ax)
        hide_spines(ax, "left")
        _label_x(ax, x, log_x)
        label_axes(ax, title, x=_(x_name), pad=20 if marks else 10)
        _draw_marks(ax, marks or {})
    if any(len(group) > 1 for group in panels.values()):
        legend(figure, handle_length=2.6)
    return figure


def _label_x(ax: Axes, xs: Row, log_x: bool) -> None:
    if log_x:
        ax.set_xscale("log", base=2)
        xs = xs[:: -(-xs.size // 9)]  # more than nine labels would touch
    if log_x or xs.size <= 12:
        ax.set_xticks(xs, [f"{x:g}" for x in xs])
        ax.minorticks_off()


def _draw_marks(ax: Axes, marks: Mapping[str, float]) -> None:
    low, high = ax.get_xlim()
    for text, x in marks.items():
        ax.axvline(x, color=ORANGE, linestyle=":", linewidth=1.6, zorder=1)
        side = "right" if x > (low + high) / 2 else "left"
        above = ax.get_xaxis_transform()
        write(ax, x, 1.01, _(text), size=SMALL, color=ORANGE, ha=side, va="bottom", transform=above)


@takes(curves=labelled("rates", with_gaps(chances("γ")), same_sizes=False))
def acceptance_decay(curves: Mapping[str, Row], title: str | None = None) -> Picture:
    """Draw the conditional acceptance of each position: how often it is accepted, given that all before it were.

    Args:
        curves: Label → (γ,) rates in [0, 1]; nan where no round came that far, which leaves a gap.
        title: Title of the picture.

    Returns:
        The picture; each curve is named at its end.
    """
    block_size = max(values.size for values in curves.values())
    figure, (ax,) = plot_axes(6.4, 3.4)
    block_axes(ax, block_size, _("conditional acceptance"))
    grid(ax)
    hide_spines(ax, "left")
    last = [np.flatnonzero(~np.isnan(values))[-1:] for values in curves.values()]  # empty where all rates are unknown
    ends: list[tuple[float, str, str]] = []
    for index, ((label, values), at) in enumerate(zip(curves.items(), last)):
        look = stroke(index)
        ax.plot(range(1, values.size + 1), values, label=label, clip_on=False, **look | {"markersize": 7})
        name = _(label) if at.size else _("{label} (no data)", label=_(label))
        ends.append((float(values[at].sum()), name, look["color"]))
    for y, end, at in zip(name_ends(ax, ends), ends, last):
        for position in at + 1:
            ax.plot([position, block_size + 0.4], [end[0], y], ":", color=INK, linewidth=0.8, clip_on=False)
    label_axes(ax, title, pad=12)
    return figure


@takes(curves=labelled("speed-ups", numbers("γ+1", low=0.0), same_sizes=False))
def speed_by_length(curves: Mapping[str, Row], title: str | None = None) -> Picture:
    """Draw the speed-up of every verify length, with a ring around the best of each curve.

    Args:
        curves: Label → (γ + 1,) speed-ups for verify lengths 0 … γ.
        title: Title of the picture.

    Returns:
        The picture; the legend names the best length of each curve.
    """
    figure, (ax,) = plot_axes(6.4, 3.6)
    for index, (label, values) in enumerate(curves.items()):
        best, look = int(values.argmax()), stroke(index)
        ax.plot(values, label=_("{label}: best at {best}", label=_(label), best=best), **look)
        ax.plot(best, values[best], "o", markersize=14, fillstyle="none", color=look["color"], markeredgewidth=2)
    ax.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xticks(range(max(values.size for values in curves.values())))
    legend(figure, handle_length=2.6)
    label_axes(ax, title, x=_("verify length ℓ"), y=_("speed-up over plain decoding"), pad=12)
    return figure


@takes(curves=labelled("two sequences", pair(numbers("n"), numbers("n")), same_sizes=False))
def tokens_per_round(curves: Mapping[str, tuple[Row, Row]], title: str | None = None) -> Picture:
    """Draw the tokens per round against the number of draft tokens that the target verifies.

    Args:
        curves: Label → (verified draft tokens, tokens per round), two sequences of equal length.
        title: Title of the picture.

    Returns:
        The picture; each curve is named at its end.
    """
    figure, (ax,) = plot_axes(6.6, 3.6)
    ends: list[tuple[float, str, str]] = []
    for index, (label, (xs, ys)) in enumerate(curves.items()):
        ax.plot(xs, ys, label=label, **stroke(index))
        ends.append((float(ys[-1]), _(label), stroke(index)["color"]))
    name_ends(ax, ends)
    label_axes(ax, title, x=_("draft tokens verified per round"), y=_("tokens per round, τ"), pad=12)
    grid(ax)
    hide_spines(ax, "left")
    return figure
