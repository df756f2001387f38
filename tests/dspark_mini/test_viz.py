"""The pictures show the data they were given: no pixels are compared, only what was drawn where."""

import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from dspark_mini import block_mask, dflash_parallel_candidates
from dspark_mini.viz import (
    acceptance_decay,
    candidate_grid,
    confidence_budget,
    mask_picture,
    readme_picture,
    who_depends_on_what,
)
from dspark_mini.viz.style import Picture

NAN = float("nan")
LOGITS = [[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]


def line(ax: Axes, label: str) -> list[tuple[float, float]]:
    return [tuple(point) for found in ax.lines if found.get_label() == label for point in found.get_xydata()]


def centres(ax: Axes, name: str) -> set[tuple[float, float]]:
    boxes = [path.get_extents() for found in ax.collections if found.get_gid() == name for path in found.get_paths()]
    return {(round((box.x0 + box.x1) / 2, 6), round((box.y0 + box.y1) / 2, 6)) for box in boxes}


def texts(figure: Picture) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_the_chain_passes_through_the_chosen_tokens() -> None:
    chosen = dflash_parallel_candidates(LOGITS)
    figure = candidate_grid(LOGITS, {"DFlash": chosen, "DSpark": [2, 0, 1]}, anchor=1, words=["of", "no", "course"])
    first, second = figure.axes
    assert line(first, "DFlash") == [(0, 1), (1, 1), (2, 0), (3, 2)]
    assert line(second, "DSpark") == [(0, 1), (1, 2), (2, 0), (3, 1)]
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["of", "no", "course"]
    assert [tick.get_text() for tick in first.get_xticklabels()] == ["x₀", "x₁", "x₂", "x₃"]
    assert first.get_xlabel() == "no of course" and second.get_xlabel() == "course of no"


def test_each_chain_may_have_its_own_logits_and_an_anchor_from_elsewhere() -> None:
    own = {"a": [[0.0, 0.0]], "b": [[0.0, np.log(3.0)]]}
    figure = candidate_grid(own, {"a": [0], "b": [1]}, anchor=9)
    assert texts(figure).count(".50") == 2 and {".25", ".75", "9"} <= set(texts(figure))


def test_a_forbidden_token_has_probability_zero() -> None:
    (ax,) = candidate_grid([[-np.inf, 0.0]], {"a": [1]}).axes
    pale, deep = ax.collections[0].get_facecolor()
    assert pale.sum() > deep.sum()


def test_of_a_large_vocabulary_the_chosen_and_the_likeliest_tokens_are_shown() -> None:
    logits = np.arange(200.0)[None, :]
    (ax,) = candidate_grid(logits, {"a": [3]}).axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["3", *(str(token) for token in range(185, 200))]
    assert line(ax, "a") == [(1, 0)]


def test_the_mask_picture_has_every_cell_in_its_group() -> None:
    mask = block_mask(4, [1, 4], 2)
    (ax,) = mask_picture(mask, 4, [1, 4], 2, title="mask").axes
    on, off = centres(ax, "may look"), centres(ax, "may not look")
    assert (len(on), len(off)) == (mask.sum(), (~mask).sum()) and not on & off
    columns = sorted({x for x, _ in on | off})
    rows = sorted({y for _, y in on | off})
    assert {(columns.index(x), rows.index(y)) for x, y in on} == {(c, r) for r, c in np.argwhere(mask)}
    assert columns[4] - columns[3] > 2 and columns[6] - columns[5] == 1.5  # context | block 1 | block 2


def test_the_anchors_are_outlined_in_their_columns() -> None:
    (ax,) = mask_picture(block_mask(4, [1, 3], 2), 4, [1, 3]).axes
    outlines = [patch.get_extents().transformed(ax.transData.inverted()) for patch in ax.patches]
    assert [round((box.x0 + box.x1) / 2, 3) for box in outlines] == [1, 3]


def test_context_columns_bear_the_positions_that_were_given() -> None:
    (ax,) = mask_picture([[1, 1, 0, 0], [1, 1, 1, 1]], 4, block_length=1, positions=[0, 1, 1, 2]).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "1", "2"]
    with pytest.raises(ValueError, match="positions has 1 entries"):
        mask_picture([[True, False]], 2, positions=[0])


def test_a_wrong_mask_of_a_learner_is_still_drawn() -> None:
    (ax,) = mask_picture(np.ones((3, 5), dtype=int), 2).axes
    assert len(centres(ax, "may look")) == 15 and not centres(ax, "may not look")


def test_an_unknown_rate_leaves_a_gap_and_the_label_stands_at_the_last_known_one() -> None:
    figure = acceptance_decay({"DFlash": [0.75, NAN, 0.5], "none": [NAN, NAN]}, title="Chat")
    (ax,) = figure.axes
    assert np.isnan(line(ax, "DFlash")[1][1]) and line(ax, "DFlash")[2] == (3, 0.5)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["DFlash"] == 0.5 and "none (no data)" in heights


def test_labels_of_close_curves_are_kept_apart() -> None:
    (ax,) = acceptance_decay({name: [1.0] for name in "abcd"}).axes
    heights = sorted(text.get_position()[1] for text in ax.texts)
    assert min(np.diff(heights)) > 0.07
    styles = {(found.get_linestyle(), found.get_marker()) for found in ax.lines if found.get_label() in "abcd"}
    assert len(styles) == 4


def test_verified_and_trimmed_bars_differ_by_more_than_colour() -> None:
    figure = confidence_budget([0.9, 0.8, 0.3, 0.95], 0.5, 2, tokens=["be", "or", "not", "to"])
    (ax,) = figure.axes
    assert [bar.get_height() for bar in ax.patches] == [0.9, 0.8, 0.3, 0.95]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, False, True, True]
    assert {"verified: 2", "trimmed: 2"} <= set(texts(figure))


def test_the_opening_picture_counts_forwards_and_arrows() -> None:
    figure = who_depends_on_what(3)
    assert {"3 forwards", "1 forward", "1 forward + a light chain"} <= set(texts(figure))
    arrows = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    # a forward has an arrow for each input and each output; the chains have 2 and, from the anchor on, 3
    assert len(arrows) == (3 + 3 + 2) + (4 + 3) + (3 + 3 + 3)


def test_a_picture_shows_itself_once_and_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = candidate_grid([[1.0, 0.0]], {"a": [0]}, words=["$", "_{\n$"])
        png, size = picture._repr_png_()
    assert png.startswith(b"\x89PNG") and 0 < size["width"] < 1000
    assert picture.get_facecolor()[3] == 0 and all(ax.get_facecolor()[3] == 0 for ax in picture.axes)


def test_the_readme_pictures_are_written_alike_each_time(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "dspark_mini.viz", str(tmp_path / "assets")], check=True)
    readme_picture(tmp_path / "again.svg", dark=True)
    light, dark = ((tmp_path / "assets" / f"overview-{page}.svg").read_bytes() for page in ("light", "dark"))
    assert light != dark == (tmp_path / "again.svg").read_bytes()
    assert ElementTree.fromstring(dark).get("viewBox") == "0 0 675 196.5"  # points: 900 by 262 pixels


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: candidate_grid(LOGITS, {}), "chains"),
        (lambda: candidate_grid(LOGITS, {"a": [1, 0]}), r"chains\['a'\] has 2 tokens for 3 positions"),
        (lambda: candidate_grid(LOGITS, {"a": [1, 0, 3]}), r"chains\['a'\]\[2\]"),
        (lambda: candidate_grid([[0.0, NAN]], {"a": [1]}), "block_logits row 0"),
        (lambda: candidate_grid({"a": LOGITS}, {"b": [1, 0, 2]}), "no entry 'b'"),
        (lambda: candidate_grid({"a": [[1, 2]], "b": [[1, 2, 3]]}, {"a": [1], "b": [1]}), "another vocabulary"),
        (lambda: candidate_grid(LOGITS, {"a": [1, 0, 2]}, words=["of"]), "words has 1"),
        (lambda: mask_picture([[0.5]], 0), "True and False"),
        (lambda: mask_picture([[1], [1, 0]], 0), "different lengths"),
        (lambda: mask_picture([True, False], 0), "matrix"),
        (lambda: mask_picture([[True, False]], 3), "context_length"),
        (lambda: mask_picture(np.eye(3), 0, [0, 0]), "3 rows"),
        (lambda: acceptance_decay({}), "curves"),
        (lambda: acceptance_decay({"a": [0.5, 1.5]}), r"curves\['a'\]\[1\]"),
        (lambda: acceptance_decay({"a": ["x"]}), r"curves\['a'\]"),
        (lambda: confidence_budget([0.5], 0.5, 2), "budget"),
        (lambda: confidence_budget([0.5], 0.5, 1, tokens=[1, 2]), "tokens has 2"),
        (lambda: who_depends_on_what(1), "block_size"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
