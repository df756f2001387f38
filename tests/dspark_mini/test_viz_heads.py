"""The pictures of the sequential heads show the data they were given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from dspark_mini.heads import draft_inputs
from dspark_mini.viz import bias_tables, block_layouts, block_shares


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_each_table_has_its_biases_in_their_cells() -> None:
    tables = {"a": [[1.0, -0.5], [0.0, 2.0]], "b": np.zeros((2, 2))}
    first, second = bias_tables(tables, before=["of", "no"], after=["x", "y"]).axes
    found = {text.get_position(): text.get_text() for text in first.texts}
    assert found == {(0.0, 0.0): "1", (1.0, 0.0): "−0.5", (0.0, 1.0): "0", (1.0, 1.0): "2"}
    assert texts(second) == ["0"] * 4 and (first.get_title(), second.get_title()) == ("a", "b")
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["of", "no"]
    assert [tick.get_text() for tick in first.get_xticklabels()] == ["x", "y"]


def test_favoured_and_disfavoured_tokens_have_colours_of_their_own() -> None:
    (ax,) = bias_tables({"a": [[-2.0, 0.0, 2.0]]}).axes
    (low, zero, high) = ax.collections[0].get_facecolor()
    assert low[0] > low[2] and high[2] > high[0]  # brown, blue
    assert np.ptp(zero[:3]) < 0.05


def test_a_table_of_zeros_is_drawn_and_a_large_one_without_numbers() -> None:
    assert texts(bias_tables({"a": [[0.0]]}).axes[0]) == ["0"]
    assert texts(bias_tables({"a": np.eye(40)}).axes[0]) == []


def test_bars_have_the_shares_and_a_hatch_each() -> None:
    figure = block_shares({"a": [0.25, 0.75], "b": [0.5, 0.5]}, ["of course", "no problem"], title="drafts")
    (ax,) = figure.axes
    assert [bar.get_width() for bar in ax.patches] == [0.25, 0.75, 0.5, 0.5]
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert texts(ax) == ["0.25", "0.75", "0.50", "0.50"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["of course", "no problem"]
    assert [entry.get_text() for entry in figure.legends[0].get_texts()] == ["a", "b"]


def test_layouts_have_a_box_for_each_input_and_an_arrow_to_each_prediction() -> None:
    layouts = {"DFlash": draft_inputs(7, 99, 3, "dflash"), "DSpark": draft_inputs(7, 99, 3, "dspark")}
    (ax,) = block_layouts(layouts).axes
    found = texts(ax)
    assert found.count("7") == 2 and found.count("99") == 3 + 2 and found.count("one forward") == 2
    assert found.count("row 0") == 1 and found.count("row 3") == 1 and found.count("x₃") == 2
    assert len([patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]) == (4 + 3) + (3 + 3)
    assert len([patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]) == (4 + 1 + 3) + (3 + 1 + 3)


def test_a_wrong_layout_of_a_learner_is_still_drawn() -> None:
    (ax,) = block_layouts({"late": ([7, 151_935], [1, 2])}).axes
    assert {"row 2", "151935"} <= set(texts(ax))
    assert len([patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]) == 2 + 1


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: bias_tables({}), "tables"),
        (lambda: bias_tables({"a": [[1.0]], "b": [[1.0, 2.0]]}), r"tables\['b'\] has shape"),
        (lambda: bias_tables({"a": [[float("nan")]]}), r"tables\['a'\] row 0"),
        (lambda: bias_tables({"a": [[1.0]]}, before=["x", "y"]), "before has 2"),
        (lambda: block_shares({}, []), "shares"),
        (lambda: block_shares({"a": [0.5]}, ["x", "y"]), r"shares\['a'\] has 1"),
        (lambda: block_shares({"a": [-0.5]}, ["x"]), r"shares\['a'\]\[0\]"),
        (lambda: block_layouts({}), "layouts"),
        (lambda: block_layouts({"a": ([7, -1], [0])}), r"input ids\[1\]"),
        (lambda: block_layouts({"a": ([7], [0.5])}), r"positions\[0\]"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
