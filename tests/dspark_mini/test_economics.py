"""The economics of a round: expectations by enumeration, and what a decision implies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.economics import expected_accepted_length, net_benefit, speedup

MANY = settings(max_examples=60, deadline=None)

blocks = st.lists(st.floats(0.0, 1.0), max_size=7)
times = st.floats(0.01, 50.0)


@st.composite
def rounds(draw: st.DrawFn) -> dict[str, Any]:
    """The arguments of one decision, with costs that can make it go either way."""
    confidences = draw(st.lists(st.floats(0.1, 1.0), min_size=1, max_size=6))
    return {
        "confidences": confidences,
        "verify_length": draw(st.integers(0, len(confidences))),
        "draft_time": draw(st.floats(0.0, 1.5)),
        "verify_times": draw(
            st.lists(st.floats(0.5, 4.0), min_size=len(confidences) + 1, max_size=len(confidences) + 1)
        ),
        "target_time": draw(st.floats(0.5, 2.0)),
        "correction_time": draw(st.floats(0.0, 1.0)),
        "min_gain": draw(st.floats(-0.2, 0.5)),
    }


# --- The expected length ----------------------------------------------------------------------------------


def test_the_check_values() -> None:
    assert expected_accepted_length([0.8] * 7) == pytest.approx(4.1611392, abs=1e-12)
    assert expected_accepted_length([0.5, 0.5]) == 1.75 and expected_accepted_length([0.5, 0.5], 1) == 1.5
    assert expected_accepted_length([]) == 1.0 == expected_accepted_length([1.0, 1.0], 0)


@MANY
@given(blocks, st.data())
def test_it_is_the_mean_over_all_ways_in_which_tokens_can_be_accepted(block: list[float], data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(block)))
    mean = 0.0
    for outcome in product((True, False), repeat=length):
        chance = float(np.prod([c if ok else 1.0 - c for ok, c in zip(outcome, block)]))
        mean += chance * (1 + [*outcome, False].index(False))
    assert expected_accepted_length(block, length) == pytest.approx(mean, abs=1e-12)


@MANY
@given(blocks)
def test_each_further_token_adds_less_than_the_one_before(block: list[float]) -> None:
    lengths = [expected_accepted_length(block, length) for length in range(len(block) + 1)]
    steps = np.diff(lengths)
    assert (steps >= 0).all() and (np.diff(steps) <= 1e-12).all()
    assert lengths[0] == 1.0 and lengths[-1] == pytest.approx(expected_accepted_length(block), abs=1e-12)


# --- The decision -----------------------------------------------------------------------------------------


@MANY
@given(rounds())
def test_the_length_that_was_tuned_to_is_accepted_next_time(case: dict[str, Any]) -> None:
    found = net_benefit(**case)
    if found["decision"] == "tune":
        again = net_benefit(**case | {"verify_length": found["verify_length"]})
        assert again == found | {"decision": "accept"}


def test_leaving_correction_out_predicts_a_gain_where_there_is_a_loss() -> None:
    arguments: dict[str, Any] = {
        "confidences": [0.7, 0.6, 0.5], "verify_length": 3, "draft_time": 0.4,
        "verify_times": [1.0, 1.0, 1.05, 1.1], "target_time": 1.0,
    }  # fmt: skip
    assert net_benefit(**arguments)["decision"] == "accept"
    assert net_benefit(**arguments, correction_time=0.9)["decision"] == "reject"


# --- Rounds that take no time --------------------------------------------------------------------------------


def test_a_round_takes_time_and_parts_of_it_may_be_free() -> None:
    with pytest.raises(ValueError, match="draft_time, verify_time and correction_time are all 0"):
        speedup(1.0, 0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"verify_times\[1\] must be above 0"):
        net_benefit([0.5], 1, 0.0, [1.0, 0.0], 1.0)
    assert speedup(1.0, 0.0, 0.0, 1.0, 1.0) == 1.0
    assert net_benefit([0.5], 1, 0.25, [0.0, 0.0], 1.0)["gains"][0] == 3.0
