"""The draft record: its keys fit together, and it shares no list with its caller."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import build_draft_record

UNIT = st.integers(0, 8).map(lambda n: n / 8.0)
BLOCKS = st.lists(st.tuples(st.integers(0, 2000), UNIT), min_size=1, max_size=12)


def test_the_check_values() -> None:
    record = build_draft_record("dspark", [4, 5, 6], [0.9, 0.7, 0.2], 0.5, 3)
    assert record["mode"] == "dspark" and record["block_tokens"] == [4, 5, 6] and record["verify_tokens"] == [4, 5]
    assert record["proposed"] == 3 and record["verify_budget"] == 2


@settings(max_examples=50, deadline=None)
@given(BLOCKS, UNIT)
def test_the_keys_fit_together_and_the_mode_changes_nothing_but_its_name(
    block: list[tuple[int, float]], threshold: float
) -> None:
    candidates, confidences = map(list, zip(*block))
    dflash, dspark = (build_draft_record(mode, candidates, confidences, threshold) for mode in ("dflash", "dspark"))
    assert dflash | {"mode": "dspark"} == dspark
    assert dspark["verify_tokens"] == dspark["block_tokens"][: dspark["verify_budget"]]
    assert dspark["block_tokens"] == candidates and dspark["proposed"] == len(candidates)
    assert 1 <= dspark["verify_budget"] <= min(len(block), 8)


def test_a_record_shares_no_list_with_the_caller_or_within_itself() -> None:
    candidates = [3, 1, 2]
    record = build_draft_record("dflash", candidates, [0.75, 0.75, 0.75], 0.5)
    record["verify_tokens"].clear()
    assert record["block_tokens"] == [3, 1, 2]
    record["block_tokens"].clear()
    assert candidates == [3, 1, 2]


def test_candidates_and_confidences_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="confidences has 1 entry, but axis 0 must be γ = 2"):
        build_draft_record("dspark", [4, 5], [0.5], 0.5)
