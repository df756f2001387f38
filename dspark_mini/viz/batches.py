"""Batches of requests: which draft tokens are verified, and requests of different lengths laid end to end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dspark_mini.contracts import chance_rows, integers, takes
from dspark_mini.conversion import Sizes
from dspark_mini.kinds import whole
from dspark_mini.viz.arguments import labelled
from dspark_mini.viz.colors import BLUE, FAINT, INK
from dspark_mini.viz.draw import Point, cell_text, cells, write
from dspark_mini.viz.labels import _, short
from dspark_mini.viz.style import Picture, hide_spines, label_axes, legend, plot_axes, position_ticks


def verify_schedule(confidences: Any, lengths: Mapping[str, ArrayLike]) -> Picture:
    """Draw which draft tokens of a batch are verified, each with its prefix survival.

    Args:
        confidences: R sequences of numbers in [0, 1], one per request.
        lengths: Label → (R,) verify lengths; each label gets a panel.

    Returns:
        The picture: one row per request, with its anchor first; below each panel the batch size B.
    """
    bound: Sizes = {}
    rows = chance_rows("R")("confidences", confidences, bound)  # (R, γ)
    sizes = [len(row) for row in confidences]  # (R,)
    if not sizes:
        raise ValueError("confidences is empty: it needs at least one request.")
    chosen = labelled("verify lengths", integers("R"))("lengths", lengths, bound)
    for label, verified in chosen.items():
        for r, (length, size) in enumerate(zip(verified, sizes)):
            whole(f"lengths[{label!r}][{r}]", length, 0, size)
    columns = rows.shape[1] + 1
    cell = min(0.42, 8.2 / (len(chosen) * (columns + 1)))  # inches
    figure, axes = plot_axes(cell * (columns + 1) * len(chosen) + 0.9, cell * len(sizes) + 1.4, len(chosen))
    for ax, (label, verified) in zip(axes, chosen.items(), strict=True):
        _draw_tokens(ax, np.cumprod(rows, axis=1), sizes, verified, with_numbers=cell > 0.3)
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(len(sizes) - 0.4, -0.6), aspect="equal")
        position_ticks(ax, range(columns))
        ax.set_yticks(range(len(sizes)), [_("request {number}", number=r) for r in range(len(sizes))])
        ax.tick_params(labeltop=True, labelbottom=False)
        drafts = sum(verified)
        label_axes(ax, label, x=f"B = {len(sizes)} + {drafts} = {len(sizes) + drafts}")
        hide_spines(ax)
    looks = {_("anchor of the request"): INK, _("draft token, verified"): BLUE, _("draft token, not verified"): FAINT}
    legend(figure, looks)
    return figure


def _draw_tokens(ax: Axes, survival: NDArray[Any], sizes: list[int], verified: list[int], with_numbers: bool) -> None:
    requests = range(len(sizes))
    drafts = [(r, k) for r in requests for k in range(sizes[r])]
    cells(ax, [(0, r) for r in requests], INK, "anchor")
    cells(ax, [(k + 1, r) for r, k in drafts if k < verified[r]], BLUE, "verified")
    cells(ax, [(k + 1, r) for r, k in drafts if k >= verified[r]], FAINT, "not verified")
    for r, k in drafts if with_numbers else ():
        cell_text(ax, k + 1, r, short(survival[r, k]), "white" if k < verified[r] else INK)


@takes(requests=integers("B"), positions=integers("B"), starts=integers("R+1", high="B"))
def flat_batch(requests: list[int], positions: list[int], starts: list[int]) -> Picture:
    """Draw a batch twice: padded, with one row per request, and below that flat.

    Args:
        requests: (B,) request of each row of the flat batch, in rising order.
        positions: (B,) position of the row in the request's text, written into its cell.
        starts: (R + 1,) first row of each request, and B at the end.

    Returns:
        The picture, for up to about 30 rows.
    """
    if len(starts) != max(requests) + 2:
        raise ValueError(f"starts has {len(starts)} entries, which do not fit {len(set(requests))} requests.")
    lengths = [stop - start for start, stop in zip(starts, starts[1:])]  # (R,)
    flat_y = len(lengths) + 1.2
    figure, (ax,) = plot_axes(0.3 * len(requests) + 1.6, 0.3 * (flat_y + 2) + 1.1)
    cells(ax, [(k, r) for r, length in enumerate(lengths) for k in range(length, max(lengths))], FAINT, "padding")
    _draw_rows(ax, [(i - starts[r], r) for i, r in enumerate(requests)], starts, positions)
    _draw_rows(ax, [(i, flat_y) for i in range(len(requests))], starts, positions)
    _label_rows(ax, starts, flat_y)
    padded = len(lengths) * max(lengths)
    label_axes(ax, _("{padded} rows padded, {flat} rows flat", padded=padded, flat=len(requests)))
    legend(figure, {_("anchor"): INK, _("draft"): BLUE, _("padding"): FAINT})
    return figure


def _draw_rows(ax: Axes, centres: list[Point], starts: list[int], positions: list[int]) -> None:
    cells(ax, [centre for i, centre in enumerate(centres) if i in starts], INK, "anchor")
    cells(ax, [centre for i, centre in enumerate(centres) if i not in starts], BLUE, "draft")
    for (x, y), position in zip(centres, positions):
        cell_text(ax, x, y, str(position), "white")


def _label_rows(ax: Axes, starts: list[int], flat_y: float) -> None:
    """Name the rows, and write the starts below the flat one, between its cells."""
    requests = range(len(starts) - 1)
    ax.set(xlim=(-0.7, starts[-1] - 0.3), ylim=(flat_y + 1.5, -0.6), aspect="equal")
    ax.set_yticks([*requests, flat_y], [*(_("request {number}", number=r) for r in requests), _("flat")])
    ax.set_xticks([])
    ax.vlines([first - 0.5 for first in starts], flat_y - 0.7, flat_y + 0.7, color=INK, linewidth=1.6, zorder=3)
    for first in starts:
        write(ax, first - 0.5, flat_y + 1.05, str(first), bold=True)
    hide_spines(ax)
