"""Properties, check values and bad inputs of build_draft_record."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import build_draft_record, choose_confident_prefix

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=50, deadline=None)
MODES = st.sampled_from(["dflash", "dspark"])
UNIT = st.integers(0, 8).map(lambda n: n / 8.0)
BLOCKS = st.lists(st.tuples(st.integers(0, 2000), UNIT), min_size=1, max_size=12)


def split(block: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [token for token, _ in block], [confidence for _, confidence in block]


def test_the_record_has_the_check_values() -> None:
    assert build_draft_record("dspark", [4, 5, 6], [0.9, 0.7, 0.2], 0.5, 3) == {
        "mode": "dspark",
        "block_tokens": [4, 5, 6],
        "verify_tokens": [4, 5],
        "proposed": 3,
        "verify_budget": 2,
    }


@MANY
@given(MODES, BLOCKS, UNIT, st.integers(1, 12))
def test_the_record_holds_five_keys_that_fit_together(
    mode: str, block: list[tuple[int, float]], threshold: float, max_tokens: int
) -> None:
    tokens, confidences = split(block)
    budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)
    assert build_draft_record(mode, tokens, confidences, threshold, max_tokens) == {
        "mode": mode,
        "block_tokens": tokens,
        "verify_tokens": tokens[:budget],
        "proposed": len(tokens),
        "verify_budget": budget,
    }


@MANY
@given(BLOCKS, UNIT)
def test_the_mode_changes_nothing_but_its_name(block: list[tuple[int, float]], threshold: float) -> None:
    dflash, dspark = (build_draft_record(mode, *split(block), threshold) for mode in ("dflash", "dspark"))
    assert dflash | {"mode": "dspark"} == dspark


@MANY
@given(MODES, BLOCKS, UNIT)
def test_at_least_one_token_and_by_default_at_most_eight_are_verified(
    mode: str, block: list[tuple[int, float]], threshold: float
) -> None:
    assert 1 <= build_draft_record(mode, *split(block), threshold)["verify_budget"] <= min(len(block), 8)
    assert build_draft_record(mode, *split(block), threshold=0.0)["verify_budget"] == min(len(block), 8)
    assert build_draft_record(mode, *split(block), threshold=0.0, max_tokens=2)["verify_budget"] == min(len(block), 2)


@MANY
@given(MODES, BLOCKS, UNIT)
def test_the_record_is_made_of_plain_types_and_equal_for_lists_and_arrays(
    mode: str, block: list[tuple[int, float]], threshold: float
) -> None:
    tokens, confidences = split(block)
    plain = build_draft_record(mode, tokens, confidences, threshold, 4)
    arrays = build_draft_record(mode, np.array(tokens), np.array(confidences), np.float64(threshold), np.int64(4))
    assert arrays == plain
    for record in (plain, arrays):
        assert type(record) is dict and type(record["mode"]) is str
        assert type(record["proposed"]) is int and type(record["verify_budget"]) is int
        for key in ("block_tokens", "verify_tokens"):
            assert type(record[key]) is list and {type(token) for token in record[key]} == {int}


@MANY
@given(MODES, BLOCKS, UNIT)
def test_the_arguments_are_left_as_they_were(mode: str, block: list[tuple[int, float]], threshold: float) -> None:
    lists = split(block)
    before, arrays = copy.deepcopy(lists), (np.array(lists[0]), np.array(lists[1]))
    for array in arrays:
        array.flags.writeable = False
    build_draft_record(mode, *lists, threshold)
    build_draft_record(mode, *arrays, threshold)
    assert lists == before and (arrays[0].tolist(), arrays[1].tolist()) == before


def test_a_record_shares_no_list_with_the_caller_or_within_itself() -> None:
    tokens = [3, 1, 2]
    record = build_draft_record("dflash", tokens, [0.75, 0.75, 0.75], 0.5)
    record["verify_tokens"].clear()
    assert record["block_tokens"] == [3, 1, 2]
    record["block_tokens"].clear()
    assert tokens == [3, 1, 2]
    assert build_draft_record("dflash", tokens, [0.75, 0.75, 0.75], 0.5)["verify_tokens"] == [3, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(("eagle", [4], [0.5], 0.5), "mode", id="unknown mode"),
        pytest.param(("DSPARK", [4], [0.5], 0.5), "mode", id="mode in capitals"),
        pytest.param(("", [4], [0.5], 0.5), "mode", id="empty mode"),
        pytest.param((None, [4], [0.5], 0.5), "mode", id="no mode"),
        pytest.param((["dspark"], [4], [0.5], 0.5), "mode", id="a list of modes"),
        pytest.param(("dspark", [4, 5], [0.5], 0.5), "confidences has 1", id="a confidence too few"),
        pytest.param(("dspark", [4], [0.5, 0.5], 0.5), "confidences has 2", id="a confidence too many"),
        pytest.param(("dspark", [4], [], 0.5), "confidences has 0", id="no confidence"),
        pytest.param(("dspark", [], [0.5], 0.5), "confidences has 1", id="no candidate"),
        pytest.param(("dspark", [], [], 0.5), "confidences is empty", id="neither"),
        pytest.param(("dspark", [4], 0.5, 0.5), "confidences", id="a number for confidences"),
        pytest.param(("dspark", [4], None, 0.5), "confidences", id="None for confidences"),
        pytest.param(("dspark", [4], [[0.5]], 0.5), "confidences must be a flat", id="a matrix of confidences"),
        pytest.param(("dspark", [4, 5, -6], [0.5] * 3, 0.5), "candidates[2]", id="a negative token"),
        pytest.param(("dspark", [-4, -5], [0.5, 0.5], 0.5), "candidates[0]", id="two negative tokens"),
        pytest.param(("dspark", [4, 5.0], [0.5, 0.5], 0.5), "candidates[1]", id="a float token"),
        pytest.param(("dspark", [4, NAN], [0.5, 0.5], 0.5), "candidates[1]", id="a token nan"),
        pytest.param(("dspark", [4, True], [0.5, 0.5], 0.5), "candidates[1]", id="a bool token"),
        pytest.param(("dspark", [4, None], [0.5, 0.5], 0.5), "candidates[1]", id="a token None"),
        pytest.param(("dspark", [[4], [5]], [0.5, 0.5], 0.5), "candidates[0]", id="a matrix of tokens"),
        pytest.param(("dspark", 4, [0.5], 0.5), "candidates must be a sequence", id="one token"),
        pytest.param(("dspark", "4", [0.5], 0.5), "candidates must be a sequence", id="a string"),
        pytest.param(("dspark", [4, 5, 6], [0.25, 0.5, NAN], 0.5), "confidences[2]", id="nan behind the stop"),
        pytest.param(("dspark", [4, 5], [1.5, NAN], 0.5), "confidences[0]", id="two bad confidences"),
        pytest.param(
            ("dspark", [4, 5, 6], [0.5, 0.5, -0.5], 0.5, 2), "confidences[2]", id="negative behind max_tokens"
        ),
        pytest.param(("dspark", [4], [INF], 0.5), "confidences[0]", id="infinite confidence"),
        pytest.param(("dspark", [4], [0.5], 1.5), "threshold", id="threshold above 1"),
        pytest.param(("dspark", [4], [0.5], -0.5), "threshold", id="negative threshold"),
        pytest.param(("dspark", [4], [0.5], NAN), "threshold", id="threshold nan"),
        pytest.param(("dspark", [4], [0.5], 0.5, 0), "max_tokens", id="max_tokens 0"),
        pytest.param(("dspark", [4], [0.5], 0.5, -1), "max_tokens", id="max_tokens negative"),
        pytest.param(("dspark", [4], [0.5], 0.5, 2.0), "max_tokens", id="max_tokens a float"),
    ],
)
def test_bad_input_of_the_record_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        build_draft_record(*arguments)
