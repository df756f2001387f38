"""Pictures of draft trees show the data they were given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes

from dspark_mini.trees import tree_mask
from dspark_mini.viz import draft_tree, tokens_per_round, tree_mask_picture

TREE = {"tokens": [0, 1, 2, 1], "parents": [-1, 0, -1, 2], "log_probs": np.log([0.5, 0.25, 0.045, 0.04]).tolist()}


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def centres(ax: Axes, name: str) -> set[tuple[float, float]]:
    boxes = [path.get_extents() for found in ax.collections if found.get_gid() == name for path in found.get_paths()]
    return {(round((box.x0 + box.x1) / 2, 6), round((box.y0 + box.y1) / 2, 6)) for box in boxes}


def test_every_node_has_its_word_its_index_and_its_probability() -> None:
    (ax,) = draft_tree(TREE, ["of", "course", "no\n"], root="Thanks!", title="A tree").axes
    assert texts(ax)[:2] == ["A tree", "Thanks!"]
    assert texts(ax)[2:] == ["of", "0:  .50", "course", "1:  .25", "no↵", "2:  .045", "course", "3:  .040"]
    assert len(ax.lines) == 4


def test_nodes_lie_in_columns_by_depth_and_parents_amid_their_children() -> None:
    (ax,) = draft_tree({"tokens": [0, 1, 2, 3], "parents": [-1, 0, 0, 2]}).axes
    places = {text.get_text(): text.get_position() for text in ax.texts[1::2]}
    (root, first, a, b, below) = (ax.texts[i].get_position() for i in (0, 1, 3, 5, 7))
    assert root[0] < first[0] < a[0] == b[0] < below[0] and len(places) == 4
    assert first[1] == (a[1] + b[1]) / 2 and b[1] == below[1] and root[1] == first[1]


def test_the_accepted_path_is_joined_by_thick_lines() -> None:
    (ax,) = draft_tree(TREE, path=[2, 3]).axes
    assert [line.get_linewidth() > 2 for line in ax.lines] == [False, False, True, True]


def test_a_tree_without_nodes_shows_its_root() -> None:
    (ax,) = draft_tree({"tokens": [], "parents": [], "log_probs": []}).axes
    assert texts(ax) == ["x₀"]


def test_the_mask_of_a_tree_has_every_cell_in_its_group() -> None:
    mask = tree_mask(TREE["parents"], 3)
    (ax,) = tree_mask_picture(mask, TREE["parents"], ["of", "course", "no", "problem"], title="mask").axes
    on, off = centres(ax, "may look"), centres(ax, "may not look")
    assert (len(on), len(off)) == (mask.sum(), (~mask).sum()) and not on & off
    columns, rows = (sorted({place[i] for place in on | off}) for i in (0, 1))
    assert {(columns.index(x), rows.index(y)) for x, y in on} == {(c, r) for r, c in np.argwhere(mask)}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["of", "course", "no", "problem"]
    assert not centres(tree_mask_picture(np.ones((2, 2)), [-1, 0]).axes[0], "may not look")


def test_yields_are_drawn_as_given_and_named_at_their_ends() -> None:
    (ax,) = tokens_per_round({"chain": ([1, 2], [1.5, 1.75]), "tree": ([1, 2], [1.5, 2.0])}, title="toy").axes
    curves = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert curves["chain"] == [[1, 1.5], [2, 1.75]] and curves["tree"] == [[1, 1.5], [2, 2.0]]
    assert texts(ax) == ["chain", "tree"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: draft_tree({"tokens": [1, 1], "parents": [-1, -1]}), r"tokens\[1\]"),
        (lambda: draft_tree({"tokens": [1], "parents": [0]}), r"parents\[0\]"),
        (lambda: draft_tree(TREE, path=[4]), r"path\[0\]"),
        (lambda: tree_mask_picture([[True, False]], [-1, 0]), "one row a node"),
        (lambda: tree_mask_picture(np.zeros((0, 3)), []), "one row a node"),
        (lambda: tokens_per_round({}), "curves"),
        (lambda: tokens_per_round({"a": ([1, 2], [1.0])}), r"curves\['a'\]"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
