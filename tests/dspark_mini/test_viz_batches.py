"""The picture of a flat batch shows each row twice, and what padding would have cost."""

from __future__ import annotations

import pytest

from dspark_mini import flatten_requests, viz


def test_every_row_and_every_padded_place_is_drawn() -> None:
    figure = viz.flat_batch(**flatten_requests([2, 0, 4], [5, 3, 8]))  # type: ignore[arg-type]
    (ax,) = figure.axes
    drawn = {collection.get_gid(): len(collection.get_paths()) for collection in ax.collections}
    assert drawn["padding"] == 3 * 5 - 9
    assert drawn["anchor"] == 2 * 3 and drawn["draft"] == 2 * (9 - 3)
    assert ax.get_title() == "15 rows padded, 9 rows flat"


@pytest.mark.parametrize("starts", [[0, 3], [0, 3, 4, 9, 9], [0, 12]])
def test_starts_that_do_not_fit_are_refused(starts: list[int]) -> None:
    flat = flatten_requests([2, 0, 4], [5, 3, 8])
    with pytest.raises(ValueError, match="starts"):
        viz.flat_batch(flat["requests"], flat["positions"], starts)
