"""Curves: any quantity over a common axis, acceptance by position, speed-up by length, yield by budget."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_shape, numbers, unit_numbers
from dspark_mini.viz.colors import INK, ORANGE, SMALL, stroke
from dspark_mini.viz.draw import name_ends, write
from dspark_mini.viz.labels import check_labelled
from dspark_mini.viz.style import Picture, block_axes, grid, hide_spines, label_axes, legend, picture, plot_axes

Row = NDArray[np.float64]


def lines(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    x: ArrayLike,
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
    xs = numbers("x", x)  # (n,)
    check_labelled("panels", panels, "lines")
    for title, group in panels.items():
        check_labelled(f"panels[{title!r}]", group, "values")
    labels = list(dict.fromkeys(label for group in panels.values() for label in group))
    figure = picture(5.4 if len(panels) == 1 else 8.6, 3.5)
    for ax, (title, group) in zip(plot_axes(figure, len(panels), share_y=False), panels.items(), strict=True):
        curves = {label: _values(f"panels[{title!r}][{label!r}]", ys, xs.size) for label, ys in group.items()}
        for label, ys in curves.items():
            look = stroke(labels.index(label)) | ({} if xs.size <= 24 else {"marker": ""})
            ax.plot(xs, ys, label=label, **look)
        low, high = (float(extreme(list(curves.values()))) for extreme in (np.nanmin, np.nanmax))
        ax.set_ylim(min(0.0, low), 1.08 * high or 1.0)
        grid(ax)
        hide_spines(ax, "left")
        _label_x(ax, xs, log_x)
        label_axes(ax, title, x=x_name, pad=20 if marks else 10)
        _draw_marks(ax, marks or {})
    if any(len(group) > 1 for group in panels.values()):
        legend(figure, handle_length=2.6)
    return figure


def _values(name: str, values: ArrayLike, size: int) -> Row:
    ys = np.asarray(values, dtype=np.float64)
    if ys.shape != (size,):
        raise ValueError(f"{name} has shape {ys.shape}, but x has {size} entries.")
    if np.isnan(ys).all() or np.isinf(ys).any():
        raise ValueError(f"{name} must hold finite numbers, and nan only where one is missing.")
    return ys


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
        write(ax, x, 1.01, text, size=SMALL, color=ORANGE, ha=side, va="bottom", transform=above)


def acceptance_decay(curves: Mapping[str, ArrayLike], title: str | None = None) -> Picture:
    """Draw the conditional acceptance of each position: how often it is accepted, given that all before it were.

    Args:
        curves: Label → (γ,) rates in [0, 1]; nan where no round came that far, which leaves a gap.
        title: Title of the picture.

    Returns:
        The picture; each curve is named at its end.
    """
    check_labelled("curves", curves, "rates")
    rates = {label: _rates(f"curves[{label!r}]", values) for label, values in curves.items()}
    block_size = max(values.size for values in rates.values())
    figure = picture(6.4, 3.4)
    (ax,) = plot_axes(figure)
    block_axes(ax, block_size, "conditional acceptance")
    grid(ax)
    hide_spines(ax, "left")
    last = [np.flatnonzero(~np.isnan(values))[-1:] for values in rates.values()]  # empty where all rates are unknown
    ends: list[tuple[float, str, str]] = []
    for index, ((label, values), at) in enumerate(zip(rates.items(), last)):
        look = stroke(index)
        ax.plot(range(1, values.size + 1), values, label=label, clip_on=False, **look | {"markersize": 7})
        ends.append((float(values[at].sum()), label if at.size else f"{label} (no data)", look["color"]))
    for y, (end, _, _), at in zip(name_ends(ax, ends), ends, last):
        for position in at + 1:
            ax.plot([position, block_size + 0.4], [end, y], ":", color=INK, linewidth=0.8, clip_on=False)
    label_axes(ax, title, pad=12)
    return figure


def _rates(name: str, values: ArrayLike) -> Row:
    """Check rates of which some may be nan, for unknown."""
    try:
        rates = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a flat list of numbers, not {values!r}.") from None
    unit_numbers(name, np.where(np.isnan(rates), 0.0, rates))
    return rates


def speed_by_length(curves: Mapping[str, ArrayLike], title: str | None = None) -> Picture:
    """Draw the speed-up of every verify length, with a ring around the best of each curve.

    Args:
        curves: Label → (γ + 1,) speed-ups for verify lengths 0 … γ.
        title: Title of the picture.

    Returns:
        The picture; the legend names the best length of each curve.
    """
    check_labelled("curves", curves, "speed-ups")
    figure = picture(6.4, 3.6)
    (ax,) = plot_axes(figure)
    speeds = {label: numbers(f"curves[{label!r}]", values, low=0.0) for label, values in curves.items()}
    for index, (label, values) in enumerate(speeds.items()):
        best, look = int(values.argmax()), stroke(index)
        ax.plot(values, label=f"{label}: best at {best}", **look)
        ax.plot(best, values[best], "o", markersize=14, fillstyle="none", color=look["color"], markeredgewidth=2)
    ax.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xticks(range(max(values.size for values in speeds.values())))
    legend(figure, handle_length=2.6)
    label_axes(ax, title, x="verify length ℓ", y="speed-up over plain decoding", pad=12)
    return figure


def tokens_per_round(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str | None = None) -> Picture:
    """Draw the tokens per round against the number of draft tokens that the target verifies.

    Args:
        curves: Label → (verified draft tokens, tokens per round), two sequences of equal length.
        title: Title of the picture.

    Returns:
        The picture; each curve is named at its end.
    """
    check_labelled("curves", curves, "two sequences")
    figure = picture(6.6, 3.6)
    (ax,) = plot_axes(figure)
    ends: list[tuple[float, str, str]] = []
    for index, (label, pair) in enumerate(curves.items()):
        xs, ys = (numbers(f"curves[{label!r}][{i}]", values) for i, values in enumerate(pair))
        check_same_shape(f"curves[{label!r}][0]", xs, f"curves[{label!r}][1]", ys)
        if xs.size == 0:
            raise ValueError(f"curves[{label!r}] is empty: it needs at least one point.")
        ax.plot(xs, ys, label=label, **stroke(index))
        ends.append((float(ys[-1]), label, stroke(index)["color"]))
    name_ends(ax, ends)
    label_axes(ax, title, x="draft tokens verified per round", y="tokens per round, τ", pad=12)
    grid(ax)
    hide_spines(ax, "left")
    return figure
