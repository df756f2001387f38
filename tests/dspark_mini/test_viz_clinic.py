"""The clinic's pictures hold what they are given, and refuse what they cannot draw."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dspark_mini.viz import bug_map
from dspark_mini.viz.style import Picture


def texts(picture: Picture) -> list[str]:
    return [text.get_text() for ax in picture.axes for text in ax.texts if text.get_text()]


def test_the_map_names_every_stage_bug_and_symptom_once() -> None:
    picture = bug_map({"draft": {"8.1": "slow", "8.2": "wrong"}, "verify": {}, "commit": {"8.3": "slow"}})
    assert sorted(texts(picture)) == sorted(["draft", "verify", "commit", "8.1", "8.2", "8.3", "slow", "wrong"])


def test_symptoms_differ_by_more_than_colour() -> None:
    picture = bug_map({"stage": {str(number): str(number) for number in range(4)}})
    bugs = [patch for patch in picture.axes[0].patches[1:5]]
    looks = {(patch.get_linestyle(), patch.get_facecolor()[3] > 0, patch.get_edgecolor()) for patch in bugs}
    assert len(looks) == 4 and len({look[:2] for look in looks}) >= 3


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: bug_map({}), "stages"),
        (lambda: bug_map({"a": {str(number): str(number) for number in range(5)}}), "5 different symptoms"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
