"""The pictures of confidence show the data they were given: what was drawn where, never pixels."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes

from dspark_mini.viz import overlap_picture, reliability_diagram, speed_by_length, survival_bars, threshold_sweep
from dspark_mini.viz.style import Picture

HALF = [[0.5, 0.5]]


def bars(ax: Axes, label: str) -> list[float]:
    found = next(c for c in ax.containers if c.get_label() == label)
    return [round(float(bar.get_height()), 6) for bar in found]


def line(ax: Axes, label: str) -> list[float]:
    return next([round(float(y), 6) for y in found.get_ydata()] for found in ax.lines if found.get_label() == label)


def texts(figure: Picture) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_the_overlap_has_both_distributions_their_minimum_and_the_given_number() -> None:
    figure = overlap_picture([[0.2, 0.2, 0.6], [1.0, 0.0, 0.0]], [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]], [0.6, 0.0])
    first, second = figure.axes
    assert bars(first, "q") == [0.2, 0.2, 0.6] and bars(first, "p") == [0.5, 0.3, 0.2]
    assert bars(first, "both") == [0.2, 0.2, 0.2] and bars(second, "both") == [0.0, 0.0, 0.0]
    assert [ax.get_title() for ax in figure.axes] == ["position 1: accepted .60", "position 2: accepted .00"]
    assert [
        tick.get_text() for tick in overlap_picture(HALF, HALF, [1.0], words=["of", "$no"]).axes[0].get_xticklabels()
    ] == [
        "of",
        "$no",
    ]


def test_a_reliability_diagram_has_one_disc_a_bin_that_is_used() -> None:
    samples = {"before": ([0.25, 0.75, 0.75, 1.0], [0, 1, 1, 0]), "after": ([0.5], [True])}
    figure = reliability_diagram(samples, {"before": 0.125}, n_bins=2)
    first, second = figure.axes
    discs = next(c for c in first.collections if c.get_label() == "bins")
    assert np.asarray(discs.get_offsets()).round(6).tolist() == [[0.25, 0.0], [0.833333, 0.666667]]
    small, large = discs.get_sizes()
    assert large - 12 == pytest.approx(3 * (small - 12))  # a quarter of the samples against three
    assert first.get_title() == "before, ECE 12.5 %" and second.get_title() == "after"
    (gap,) = next(c for c in second.collections if c.get_label() == "gap").get_segments()
    assert gap.tolist() == [[0.5, 0.5], [0.5, 1.0]]


def test_survival_bars_show_both_sequences_and_their_sum() -> None:
    figure = survival_bars([0.5, 1.0, 0.125], [0.5, 0.5, 0.0625], title="t")
    (ax,) = figure.axes
    assert bars(ax, "survival") == [0.5, 0.5, 0.0625] and line(ax, "confidence") == [0.5, 1.0, 0.125]
    assert "Σ a = 1.06" in texts(figure) and ".06" in texts(figure) and ax.get_title() == "t"


def test_the_best_length_of_each_curve_has_a_ring_and_is_named() -> None:
    figure = speed_by_length({"raw": [0.8, 1.2, 1.5], "calibrated": [0.8, 1.3, 1.1]})
    (ax,) = figure.axes
    assert line(ax, "raw: best at 2") == [0.8, 1.2, 1.5] and line(ax, "calibrated: best at 1") == [0.8, 1.3, 1.1]
    rings = [tuple(found.get_xydata()[0]) for found in ax.lines if found.get_fillstyle() == "none"]
    assert rings == [(2, 1.5), (1, 1.3)]


def test_the_sweep_shows_tokens_and_the_rate_and_a_gap_where_nothing_is_sent() -> None:
    figure = threshold_sweep([0.0, 0.5, 1.0], [3.0, 2.0, 0.0], [3.0, 0.5, 0.0])
    left, right = figure.axes
    rate = line(right, "rate")
    assert rate[:2] == [0.5, 0.8] and np.isnan(rate[2])
    accepted, rejected = left.collections
    assert accepted.get_datalim(left.transData).y1 == 3.0 and rejected.get_datalim(left.transData).y1 == 6.0


def test_the_pictures_draw_themselves_without_a_warning_on_a_transparent_page() -> None:
    drawn = [
        overlap_picture(HALF, HALF, [1.0]),
        reliability_diagram({"a": ([0.5], [1])}),
        survival_bars([0.5], [0.5]),
        speed_by_length({"a": [1.0]}),
        threshold_sweep([0.0, 1.0], [1.0, 0.0], [1.0, 0.0], title="t"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in drawn:
            png, size = figure._repr_png_()
            assert png.startswith(b"\x89PNG") and 0 < size["width"] < 1000
            assert figure.get_facecolor()[3] == 0 and all(ax.get_facecolor()[3] == 0 for ax in figure.axes)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: overlap_picture(HALF, [[0.5, 0.25]], [1.0]), "p row 0"),
        (lambda: overlap_picture(HALF, [[0.5, 0.25, 0.25]], [1.0]), "p has shape"),
        (lambda: overlap_picture(HALF, HALF, [1.0, 0.5]), "accepted has 2 entries for 1 positions"),
        (lambda: overlap_picture(HALF * 5, HALF * 5, [1.0] * 5), "number of positions"),
        (lambda: reliability_diagram({}), "samples"),
        (lambda: reliability_diagram({"a": ([0.5, 1.5], [0, 1])}), r"a: predicted\[1\]"),
        (lambda: reliability_diagram({"a": ([0.5], [0, 1])}), "a: observed has shape"),
        (lambda: reliability_diagram({"a": ([0.5], [0])}, n_bins=0), "n_bins"),
        (lambda: survival_bars([0.5], [0.5, 0.25]), "survival has shape"),
        (lambda: survival_bars([0.5], [1.5]), r"survival\[0\]"),
        (lambda: speed_by_length({}), "curves"),
        (lambda: speed_by_length({"a": [1.0, -1.0]}), r"curves\['a'\]\[1\]"),
        (lambda: threshold_sweep([0.5, 1.0], [1.0], [1.0]), "accepted has shape"),
        (lambda: threshold_sweep([0.5], [1.0], [-1.0]), r"rejected\[0\]"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
