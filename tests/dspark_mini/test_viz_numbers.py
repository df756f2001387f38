"""Lines, schedules and gains show the numbers that they were given: no pixels, only what was drawn where."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes

from dspark_mini.economics import net_benefit
from dspark_mini.viz import gain_bars, lines, speedup_map, time_line, verify_schedule
from dspark_mini.viz.style import Picture

NAN = float("nan")


def points(ax: Axes, label: str) -> list[tuple[float, float]]:
    return [tuple(point) for line in ax.lines if line.get_label() == label for point in line.get_xydata()]


def centres(ax: Axes, name: str) -> set[tuple[float, float]]:
    boxes = [path.get_extents() for found in ax.collections if found.get_gid() == name for path in found.get_paths()]
    return {(round((box.x0 + box.x1) / 2, 6), round((box.y0 + box.y1) / 2, 6)) for box in boxes}


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_label_is_the_same_line_in_every_panel_and_stands_in_one_legend() -> None:
    figure = lines({"speed": {"a": [1, 2], "b": [3, NAN]}, "budget": {"b": [5, 6]}}, x=[1, 8], x_name="users")
    speed, budget = figure.axes
    assert points(speed, "a") == [(1, 1), (8, 2)] and points(budget, "b") == [(1, 5), (8, 6)]
    styles = {line.get_linestyle() for ax in figure.axes for line in ax.lines if line.get_label() == "b"}
    assert len(styles) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_marks_are_lines_with_their_text_and_a_doubling_is_one_step() -> None:
    (ax,) = lines({"Θ": {"Θ": [1, 3, 2]}}, x=[1, 2, 4], x_name="B", marks={"stop": 2}, log_x=True).axes
    assert "stop" in texts(ax) and ax.get_xscale() == "log" and not ax.figure.legends
    assert any(line.get_xdata()[0] == 2 and line.get_linestyle() == ":" for line in ax.lines)


def test_many_doublings_are_named_at_every_second_place() -> None:
    (ax,) = lines({"step": {"step": range(12)}}, x=[2**k for k in range(12)], x_name="B", log_x=True).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "4", "16", "64", "256", "1024"]


def test_a_schedule_has_every_token_in_its_group() -> None:
    confidences = [[0.5, 0.5], [0.75], []]
    figure = verify_schedule(confidences, {"now": [1, 1, 0], "later": np.array([0, 0, 0])})
    now, later = figure.axes
    assert centres(now, "own token") == {(0, 0), (0, 1), (0, 2)}
    assert centres(now, "verified") == {(1, 0), (1, 1)} and centres(now, "not verified") == {(2, 0)}
    assert not centres(later, "verified") and {".50", ".25", ".75"} <= set(texts(now))
    assert now.get_xlabel() == "B = 3 + 2 = 5" and later.get_title() == "later"


def test_a_time_line_is_as_long_as_its_steps() -> None:
    rows = {"plain": [("target", 1.0)] * 2, "drafted": [("draft", 0.5), ("verify", 1.5), ("correct", 1.0)]}
    (ax,) = time_line(rows, {"plain": 2, "drafted": 4}).axes
    assert [patch.get_gid() for patch in ax.patches] == ["target", "target", "draft", "verify", "correct"]
    assert "2 tokens in 2: 1.00 a token" in texts(ax) and "4 tokens in 3: 0.75 a token" in texts(ax)


def test_break_even_lies_between_gains_and_losses() -> None:
    (ax,) = speedup_map({"map": [[0.5, 1.0], [2.0, 4.0]]}, acceptance=[0.3, 0.9], draft_cost=[0.4, 0.1]).axes
    assert {"0.50", "1.00", "2.00", "4.00"} <= set(texts(ax))
    segments = {tuple(map(tuple, line.get_xydata())) for line in ax.lines}
    assert segments == {((0.5, -0.5), (0.5, 0.5)), ((-0.5, 0.5), (0.5, 0.5))}


def test_bars_that_reach_the_least_gain_are_filled_and_the_word_is_written() -> None:
    arguments = ([0.5, 0.5], 2, 0.25, [0.75, 0.75, 1.0], 1.0)
    found = {"tune": net_benefit(*arguments, 0.0, 0.45), "reject": net_benefit(*arguments, 1.0)}
    tuned, rejected = gain_bars(found, current=2, min_gain=0.45).axes
    assert [round(bar.get_height()) for bar in tuned.patches] == [0, 50, 40]
    assert [bool(bar.get_hatch()) for bar in tuned.patches] == [True, False, True]
    assert "tune: ℓ = 1, +50 %" in texts(tuned) and "reject: decode plainly" in texts(rejected)


def test_the_pictures_show_themselves_without_a_warning() -> None:
    pictures: list[Picture] = [
        lines({"a": {"a": [1.0, 2.0], "b": [2.0, NAN]}}, x=[1, 2], x_name="x", marks={"here": 1}),
        verify_schedule([[0.5]], {"$": [1]}),
        time_line({"plain": [("target", 1.0)]}, {"plain": 1}),
        speedup_map({"a": [[0.5]]}, [0.5], [0.1]),
        gain_bars({"a": net_benefit([0.5], 1, 0.1, [1.0, 1.0], 1.0)}, current=1),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for picture in pictures:
            png, size = picture._repr_png_()
            assert png.startswith(b"\x89PNG") and 0 < size["width"] < 1000
            assert picture.get_facecolor()[3] == 0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: lines({}, [1], "x"), "panels"),
        (lambda: lines({"a": {}}, [1], "x"), "panels"),
        (lambda: lines({"a": {"b": [1, 2]}}, [1], "x"), r"panels\['a'\]\['b'\] has shape \(2,\)"),
        (lambda: lines({"a": {"b": [NAN]}}, [1], "x"), "finite"),
        (lambda: verify_schedule([], {"a": []}), "at least one request"),
        (lambda: verify_schedule([[0.5]], {}), "at least one"),
        (lambda: verify_schedule([[0.5]], {"a": [2]}), r"lengths\['a'\]\[0\]"),
        (lambda: verify_schedule([[0.5]], {"a": [0, 0]}), "2 entries for 1 requests"),
        (lambda: verify_schedule([[1.5]], {"a": [0]}), r"confidences\[0\]\[0\]"),
        (lambda: time_line({"a": [("rest", 1.0)]}, {"a": 1}), "'rest'"),
        (lambda: time_line({"a": [("draft", -1.0)]}, {"a": 1}), "at least 0"),
        (lambda: speedup_map({"a": [[1.0, 2.0]]}, [0.5], [0.1]), "shape"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
