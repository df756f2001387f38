"""Policies compared: how fast each is on every machine."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from dspark_mini.viz.colors import BLUE, GREEN, INK, ORANGE, SMALL, Look
from dspark_mini.viz.labels import _
from dspark_mini.viz.style import Picture, hide_spines, label_axes, plot_axes


def policy_speeds(speeds: Mapping[str, Mapping[str, float]], own: str, bound: str | None = None) -> Picture:
    """Draw the speed of policies, one panel per machine.

    Args:
        speeds: Label → machine → speed in times of plain decoding; all labels with the same machines.
        own: Label of the policy that stands out.
        bound: Label of the best that is possible, if it is among them.

    Returns:
        The picture: bars from plain decoding, at 1, to the left where a policy is slower.
    """
    if own not in speeds:
        raise ValueError(f"own is {own!r}, but the policies are {', '.join(speeds)}.")
    machines = list(speeds[own])
    figure, axes = plot_axes(8.6, 0.34 * len(speeds) + 1.0, len(machines), share_y=True)
    for ax, machine in zip(axes, machines):
        on_machine = {label: by_machine[machine] for label, by_machine in speeds.items()}
        _draw_speeds(ax, on_machine, own, bound)
        ax.set_yticks(range(len(speeds)), [_(label) for label in speeds])
        label_axes(ax, machine, x=_("times plain decoding"))
    figure.axes[0].invert_yaxis()  # the first policy is at the top; the panels share the axis
    return figure


def _draw_speeds(ax: Axes, speeds: Mapping[str, float], own: str, bound: str | None) -> None:
    """Draw the bars of one machine, each with its number."""
    for row, (label, speed) in enumerate(speeds.items()):
        color = {own: ORANGE, bound: GREEN}.get(label, BLUE)
        face, hatch = ("none", "////") if label == bound else (color, "")
        ax.barh(row, speed - 1.0, left=1.0, height=0.62, facecolor=face, edgecolor=color, hatch=hatch)
        side, shift = ("left", 3) if speed >= 1.0 else ("right", -3)
        place: Look = {"xytext": (shift, 0), "textcoords": "offset points", "va": "center", "ha": side}
        ax.annotate(f"{speed:.2f}", (speed, row), fontsize=SMALL, color=INK, **place)
    fastest, slowest = max(speeds.values()), min(speeds.values())
    ax.set_xlim(min(slowest, 1.0) - 0.18 * (fastest - slowest), fastest + 0.2 * (fastest - slowest))
    ax.axvline(1.0, color=INK, linewidth=0.8)
    ax.set_xticks([1.0], ["1"])  # every bar has its number
    hide_spines(ax, "left")
