"""The pictures of verification show the data they were given."""

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes

from dspark_mini.masks import verification_mask
from dspark_mini.verification import acceptance_probability, residual_distribution, verify_greedy
from dspark_mini.viz import accepted_mass, emitted_laws, verification_picture, verified_rounds
from dspark_mini.viz.style import Picture

P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]


def texts(figure: Picture) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def heights(ax: Axes) -> list[float]:
    return [round(float(bar.get_height()), 6) for bar in ax.patches]


def test_rounds_show_what_was_drafted_and_what_was_emitted() -> None:
    words = ["the", "cat", "sat", "ran"]
    result = verify_greedy([1, 3, 0], np.eye(4)[[1, 2, 0, 0]])
    assert result == {"accepted": 1, "tokens": [1, 2]}
    written = [text for text in texts(verified_rounds([([1, 3, 0], result)], words)) if text]
    assert written == ["round 1: drafted", "emitted", "cat", "ran", "the", "cat", "sat"]


def test_tokens_behind_the_output_are_drawn_without_a_filling() -> None:
    rounds = [([], {"accepted": 0, "tokens": [0]}), ([1], {"accepted": 1, "tokens": [1, 2]})]
    (ax,) = verified_rounds(rounds, kept=2).axes
    filled = [patch.get_facecolor()[3] > 0.0 for patch in ax.patches]
    assert filled == [True, True, True, False]  # emitted 0; drafted 1; emitted 1, and 2 behind the cut


def test_accepted_and_replaced_mass_reaches_the_target() -> None:
    chances = [acceptance_probability(P, Q, token) for token in range(3)]
    left, right = accepted_mass(P, Q, chances, residual_distribution(P, Q)).axes
    assert heights(left) == pytest.approx([0.2, 0.2, 0.2, 0.0, 0.0, 0.4], abs=1e-6)
    assert heights(right) == pytest.approx([0.2, 0.2, 0.2, 0.3, 0.1, 0.0], abs=1e-6)
    assert left.get_title() == "drafted from q: 0.60 accepted"
    assert len(accepted_mass(P, Q, chances).axes[1].patches) == 3  # the gaps stay open


def test_a_law_that_deviates_is_hatched_and_its_distance_is_written() -> None:
    figure = emitted_laws(P, {"right": P, "naive": [0.4, 0.32, 0.28]})
    right, naive = figure.axes
    assert [ax.get_xlabel() for ax in figure.axes] == ["total variation 0.000", "total variation 0.100"]
    assert not any(bar.get_hatch() for bar in right.patches) and all(bar.get_hatch() for bar in naive.patches)
    (lost,) = emitted_laws(P, {"loses tokens": [0.25, 0.0, 0.0]}, words="ABC").axes
    assert heights(lost) == [0.25, 0.0, 0.0] and [t.get_text() for t in lost.get_xticklabels()] == ["A", "B", "C"]
    (close,) = emitted_laws(P, {"counted": [0.49, 0.31, 0.2]}, tolerance=0.02).axes
    assert not any(bar.get_hatch() for bar in close.patches)


def test_each_row_of_the_verification_mask_says_what_it_judges() -> None:
    figure = verification_picture(verification_mask(2, 2), 2)
    (ax,) = figure.axes
    assert texts(figure) == ["judges x₁", "judges x₂", "bonus token"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["·", "x₀", "x₁", "x₂"]
    on, off = (
        [len(found.get_paths()) for found in ax.collections if found.get_gid() == name]
        for name in ("may look", "may not look")
    )
    assert (on, off) == ([10], [6])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: verified_rounds([]), "rounds is empty"),
        (lambda: verified_rounds([([-1], {"accepted": 0, "tokens": [1]})]), r"draft_tokens\[0\]"),
        (lambda: accepted_mass([0.5, 0.25], Q, [1, 1]), "p sums"),
        (lambda: emitted_laws(P, {}), "laws must be a dict"),
        (lambda: emitted_laws(P, {"a": [1.0]}), r"laws\['a'\] has 1 entries"),
        (lambda: emitted_laws(P, {"a": [0.5, -0.5, 0.5]}), r"laws\['a'\]\[1\]"),
        (lambda: verification_picture([[True, False]], 1), "mask must be square"),
        (lambda: verification_picture(np.eye(2), 3), "context_length"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
