"""What the target verifies: the draft tokens of a batch, those that were admitted and those that were cut off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import confidence_rows, whole_number
from dspark_mini.viz.style import (
    BLUE,
    FAINT,
    INK,
    NORMAL,
    SMALL,
    Picture,
    cells,
    head,
    hide_frame,
    key_below,
    picture,
    plot_axes,
    subscript,
    write,
)


def verify_schedule(confidences: Any, lengths: Mapping[str, ArrayLike]) -> Picture:
    """Draw which draft tokens of a batch are verified, each with its prefix survival.

    Args:
        confidences: R sequences of chances in [0, 1], one a request.
        lengths: title → R verify lengths; each gets a panel of its own, side by side.

    Returns:
        The picture: one row a request, which begins with its own token; below each panel the batch B.
    """
    rows = confidence_rows("confidences", confidences)  # (R, γ)
    sizes = [len(row) for row in confidences]
    if not sizes or not isinstance(lengths, Mapping) or not lengths:
        raise ValueError("verify_schedule needs at least one request and one title with its lengths.")
    chosen = {title: _lengths(f"lengths[{title!r}]", values, sizes) for title, values in lengths.items()}
    columns = rows.shape[1] + 1
    cell = min(0.42, 8.2 / (len(chosen) * (columns + 1)))  # inches
    figure = picture(cell * (columns + 1) * len(chosen) + 0.9, cell * len(sizes) + 1.4)
    for ax, (title, verified) in zip(plot_axes(figure, len(chosen)), chosen.items(), strict=True):
        _draw_tokens(ax, np.cumprod(rows, axis=1), sizes, verified, with_numbers=cell > 0.3)
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(len(sizes) - 0.4, -0.6), aspect="equal")
        ax.set_xticks(range(columns), [subscript("x", k) for k in range(columns)])
        ax.set_yticks(range(len(sizes)), [f"request {r}" for r in range(len(sizes))])
        ax.tick_params(labeltop=True, labelbottom=False)
        drafts = sum(verified)
        ax.set_xlabel(f"B = {len(sizes)} + {drafts} = {len(sizes) + drafts}", color=INK, fontsize=NORMAL)
        head(ax, title, pad=8)
        hide_frame(ax)
    _explain(figure)
    return figure


def _lengths(name: str, values: ArrayLike, sizes: list[int]) -> list[int]:
    lengths = list(np.asarray(values).tolist())
    if len(lengths) != len(sizes):
        raise ValueError(f"{name} has {len(lengths)} entries for {len(sizes)} requests.")
    return [whole_number(f"{name}[{r}]", n, low=0, high=size) for r, (n, size) in enumerate(zip(lengths, sizes))]


def _draw_tokens(
    ax: Axes, survival: NDArray[np.floating[Any]], sizes: list[int], verified: list[int], with_numbers: bool
) -> None:
    requests = range(len(sizes))
    drafts = [(r, j) for r in requests for j in range(sizes[r])]
    groups = {
        "own token": ([(0, r) for r in requests], INK),
        "verified": ([(j + 1, r) for r, j in drafts if j < verified[r]], BLUE),
        "not verified": ([(j + 1, r) for r, j in drafts if j >= verified[r]], FAINT),
    }
    for name, (corners, color) in groups.items():
        cells(ax, corners, color, name)
    for r, j in drafts if with_numbers else ():
        ink = "white" if j < verified[r] else INK
        text = f"{survival[r, j]:.2f}".removeprefix("0")
        write(ax, j + 1, r, text, size=SMALL, color=ink, va="center_baseline")


def _explain(figure: Picture) -> None:
    keys = [
        Patch(color=INK, label="the request's own token"),
        Patch(color=BLUE, label="draft token, verified"),
        Patch(color=FAINT, label="draft token, not verified"),
    ]
    key_below(figure, keys, columns=3)
