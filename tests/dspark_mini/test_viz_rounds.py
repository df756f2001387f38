"""The pictures of rounds: what is drawn for each token, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dspark_mini import round_totals, viz
from dspark_mini.viz.style import Picture


def texts(figure: Picture) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def legend(figure: Picture) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_fate_of_a_draft_is_drawn_and_explained() -> None:
    rounds = [
        {"drafted": [5, 7, 2, 4], "verified": 3, "accepted": 1, "emitted": [5, 6]},
        {"drafted": [1, 0, 9], "verified": 3, "accepted": 3, "emitted": [1, 0]},
    ]
    figure = viz.round_rows(rounds)
    assert legend(figure) == ["accepted", "rejected", "trimmed", "the target's own", "cut"]
    assert [text for text in texts(figure) if text] == ["round 1", "5", "4", "6", "round 2", "1", "0", "9"]


def test_words_stand_in_for_tokens() -> None:
    figure = viz.round_rows([{"drafted": [0], "verified": 1, "accepted": 1, "emitted": [0, 1]}], ["to", "be"])
    assert texts(figure) == ["round 1", "to", "be"]


def test_plain_decoding_is_a_round_without_drafts() -> None:
    figure = viz.round_rows([{"drafted": [], "verified": 0, "accepted": 0, "emitted": [3]}])
    assert texts(figure) == ["round 1", "3"] and legend(figure) == ["the target's own"]


def test_the_rows_of_a_cache_are_drawn() -> None:
    assert texts(viz.cache_rows({"three of four": (5, 1)})) == ["three of four", "x₀", "x₁", "x₂", "x₃", "x₄"]


def test_the_fates_of_all_drafts_are_bars_with_their_tau() -> None:
    figure = viz.draft_fates({"a run": round_totals([4, 4], [3, 4], [2, 4], [3, 5])})
    assert texts(figure) == ["τ = 4.00"] and legend(figure) == ["accepted", "rejected", "trimmed"]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [6, 1, 1]


@pytest.mark.parametrize(
    ("draw", "value", "message"),
    [
        (viz.round_rows, [], "rounds is empty"),
        (viz.round_rows, [{"drafted": [1], "verified": 2, "accepted": 0, "emitted": [1]}], "verified"),
        (viz.cache_rows, {}, "rounds is empty"),
        (viz.cache_rows, {"too many": (2, 3)}, "too many"),
        (viz.draft_fates, {}, "totals is empty"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw: Any, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(value)
