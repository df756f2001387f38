"""The clinic's repairs, proven: laws by enumeration, caches and texts by simulation; and its special rule."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import clinic, clinic_bugs, clinic_rounds
from grader.run.child.calling import Seed, live

MANY = settings(max_examples=50, deadline=None)
SMALL = st.integers(0, 6)
Row = np.ndarray[Any, Any]


def row(size: int) -> st.SearchStrategy[Row]:
    """Probability rows of sixteenths, without a zero."""
    cuts = st.lists(st.integers(1, 15), min_size=size - 1, max_size=size - 1, unique=True)
    return cuts.map(lambda inner: np.diff([0, *sorted(inner), 16]) / 16.0)


def law(p: Row, told: Row, drawn: Row) -> Row:
    """The emitted law by the sampling rule, where the verifier is told one row and drafts come from another."""
    accept = np.minimum(1.0, np.divide(p, told, out=np.ones(p.size), where=told > 0))
    residual = np.maximum(p - told, 0.0)
    return drawn * accept + (drawn @ (1.0 - accept)) * residual / max(residual.sum(), 1e-300)


@MANY
@given(row(4), row(4), st.integers(1, 5))
def test_drafts_with_their_own_rows_emit_exactly_p(p: Row, softmax: Row, top_k: int) -> None:
    greedy = clinic.greedy_proposal([softmax])
    assert np.allclose(p, law(p, greedy["rows"][0], np.eye(4)[greedy["tokens"][0]]), atol=1e-12)
    kept = clinic.top_k_proposal(softmax, top_k, np.random.default_rng(0))["row"]
    assert np.allclose(p, law(p, kept, kept), atol=1e-12)


def test_the_bugs_of_8_6_and_8_7_are_off_by_the_numbers_of_the_reports_and_of_the_specification() -> None:
    p, softmax = np.array([0.6, 0.4]), np.array([0.8, 0.2])
    told = clinic_bugs.greedy_proposal(softmax[None])["rows"][0]
    assert np.allclose(law(p, told, np.array([1.0, 0.0])), [0.75, 0.25])
    p, softmax = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    assert np.abs(p - law(p, softmax, np.eye(3)[2])).sum() / 2 == pytest.approx(2 / 15)
    p, softmax, kept = np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.3, 0.2]), np.array([0.625, 0.375, 0.0])
    told = clinic_bugs.top_k_proposal(softmax, 2, np.random.default_rng(0))["row"]
    assert kept @ np.minimum(1, p / told) > np.minimum(kept, p).sum() and np.abs(p - law(p, told, kept)).sum() > 0.1


@MANY
@given(row(4), row(4))
def test_one_token_verified_by_two_uniforms_has_the_law_p(p: Row, q: Row) -> None:
    """Every way of the two uniforms is followed once, in its middle, and weighed by its width."""
    emitted, gains = np.zeros(4), np.maximum(p - q, 0.0)
    middles = (np.cumsum(gains) - gains / 2) / max(gains.sum(), 1e-9)
    for token, ratio in enumerate(np.minimum(1.0, p / q)):
        ways = [(ratio, (ratio / 2,)), *((1 - ratio, ((1 + ratio) / 2, at)) for at in middles[gains > 0])]
        shares = [1.0, *gains[gains > 0] / max(gains.sum(), 1e-9)]
        for (width, uniforms), share in zip(ways, shares):
            emitted[clinic.emit_one_token(token, p, q, live(Seed(0, uniforms)))] += q[token] * width * share
    assert np.allclose(p, emitted, atol=1e-12)


@MANY
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=5))
def test_rounds_commit_and_report_what_plain_decoding_would_emit(blocks: list[list[int]]) -> None:
    output, finished = list[int](), False
    for block in blocks:
        if not finished:
            output, finished = clinic_rounds.commit_until_stop(output, block, [0, 1]).values()
    flat = [token for block in blocks for token in block]
    reason = "stop" if finished else "running"
    assert clinic_rounds.finish_request(flat, [1, 0], 99) == {"tokens": output, "reason": reason}
    emitted = sum(len(clinic_rounds.commit_until_stop([], block, [0, 1])["output"]) for block in blocks)
    assert clinic_rounds.mean_emitted_length(blocks, [0, 1]) * len(blocks) == pytest.approx(emitted)


@MANY
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=8))
def test_the_drafters_cache_holds_the_committed_tokens_but_the_last(rounds: list[tuple[int, int]]) -> None:
    """A cache of tokens themselves, fed and trimmed round by round."""
    committed, cache, names = ["a", "x0"], ["a"], itertools.count()
    for drafted, wanted in rounds:
        accepted = min(wanted, drafted)
        drafts = [f"d{next(names)}" for _ in range(drafted)]
        cache += [committed[-1], *drafts[:-1]]  # the last draft is chosen, and not fed
        trimmed = clinic_rounds.draft_rows_to_drop(drafted, accepted)
        cache = cache[: len(cache) - trimmed["drop"]]
        committed += [*drafts[:accepted], f"t{next(names)}"]
        cache += committed[len(cache) : len(cache) + trimmed["missing"]]
        assert cache == committed[:-1]


@MANY
@given(st.lists(st.tuples(SMALL, st.integers(0, 8), SMALL), min_size=1, max_size=6))
def test_the_gate_saves_rows_and_the_bug_saves_none(block: list[tuple[int, int, int]]) -> None:
    drafts, eighths, target = map(list, zip(*block))
    arguments = 9, drafts, np.array(eighths) / 8, 0.5, [*target, 3]
    right, wrong = clinic_rounds.gated_round(*arguments), clinic_bugs.gated_round(*arguments)
    assert right["tokens"] == wrong["tokens"] == [*target, 3][: len(right["tokens"])]
    assert len(right["target_input"]) == 1 + [*(n >= 4 for n in eighths), False].index(False)
    assert len(wrong["target_input"]) == 1 + len(drafts)


def test_token_tables_lead_to_distinct_tokens_of_the_target() -> None:
    with pytest.raises(ValueError, match=r"^d2t\[1\] must lead to a token below 4, not to 1 \+ 3 = 4\.$"):
        clinic.draft_in_target_ids(0, [0.5, 0.5], [0, 3], 4)
    with pytest.raises(ValueError, match=r"^d2t\[1\] must lead to a token of its own, not to 1 as d2t\[0\] does\.$"):
        clinic.draft_in_target_ids(0, [0.5, 0.5], [1, 0], 4)
