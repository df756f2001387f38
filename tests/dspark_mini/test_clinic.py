"""The clinic's repairs, proven: laws by enumeration, caches by simulation, choices by brute force; and its traps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import clinic, clinic_bugs

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=50, deadline=None)
SMALL = st.integers(0, 6)


class Coins:
    """Stands in for a generator: hands out numbers from a list, so that every way can be followed."""

    def __init__(self, *uniforms: float) -> None:
        self.uniforms = list(uniforms)

    def random(self) -> float:
        return self.uniforms.pop(0)

    def choice(self, size: int, p: Any) -> int:
        return int(np.searchsorted(np.cumsum(p), self.random(), side="right"))


def law(p: np.ndarray, told: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The emitted law by the sampling rule, where the verifier is told one row and drafts come from another."""
    emitted = np.zeros(p.size)
    for x in np.flatnonzero(drawn):
        accept = min(1.0, p[x] / told[x])
        emitted[x] += drawn[x] * accept
        if accept < 1.0:
            residual = np.maximum(p - told, 0.0)
            emitted += drawn[x] * (1.0 - accept) * residual / residual.sum()
    return emitted


def distance(p: np.ndarray, other: np.ndarray) -> float:
    return float(0.5 * np.abs(p - other).sum())


@st.composite
def rows(draw: st.DrawFn, low: int = 2, high: int = 5) -> np.ndarray:
    """A probability row of sixteenths, without a zero."""
    size = draw(st.integers(low, high))
    cuts = sorted(draw(st.lists(st.integers(1, 15), min_size=size - 1, max_size=size - 1, unique=True)))
    return np.diff([0, *cuts, 16]) / 16.0


P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])


# --- 8.1 to 8.5: features, positions, rows, ids ------------------------------------------------------


@MANY
@given(st.lists(SMALL, min_size=1, max_size=4), st.integers(1, 4))
def test_a_feature_is_seen_exactly_if_it_was_read_before_the_anchor(anchors: list[int], length: int) -> None:
    seen = clinic.visible_features(anchors, length)
    read = [anchor + k for anchor in anchors for k in range(length)]
    assert seen.tolist() == [[position < anchor for position in read] for anchor in anchors]


@MANY
@given(st.lists(SMALL, min_size=1, max_size=4), st.integers(1, 4))
def test_the_bug_of_8_1_leaks_exactly_where_a_block_reaches_a_later_anchor(steps: list[int], length: int) -> None:
    anchors = np.cumsum(steps)
    leaks = clinic_bugs.visible_features(anchors, length) & ~clinic.visible_features(anchors, length)
    assert leaks.any() == any(a + length > b for a, b in itertools.pairwise(anchors.tolist()))


def test_features_are_the_outputs_of_the_layers() -> None:
    outputs = [np.full(2, 10.0)]  # the embedding; layer i adds i + 1
    for layer in range(3):
        outputs.append(outputs[-1] + layer + 1)
    assert clinic.tapped_features(outputs, [0, 2]).tolist() == [11.0, 11.0, 16.0, 16.0]


@MANY
@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 6))
def test_no_input_of_a_block_shares_its_position_with_a_cached_row(start: int, size: int, block: int) -> None:
    cached = list(range(start if size else 0, start + size if size else 0))
    together = cached + clinic.block_input_positions(cached, block)
    assert together == list(range(together[0], together[0] + size + block))


@pytest.mark.parametrize("layout", ["dflash", "dspark"])
@MANY
@given(truth=st.lists(SMALL, min_size=1, max_size=6))
def test_an_oracle_drafter_is_accepted_always(layout: str, truth: list[int]) -> None:
    """The target says truth behind the anchor; the oracle's rows say it where its layout predicts."""
    fed = truth if layout == "dspark" else [0, *truth]  # dflash: the anchor's own row is of no use
    assert clinic.read_predictions(np.eye(7)[fed], layout) == truth


@MANY
@given(rows(), st.data())
def test_a_carried_row_gives_the_carried_token_its_own_probability(q: np.ndarray, data: st.DataObject) -> None:
    ids = sorted(data.draw(st.lists(st.integers(0, 11), min_size=q.size, max_size=q.size, unique=True)))
    d2t = [target - i for i, target in enumerate(ids)]
    for token in range(q.size):
        carried = clinic.draft_in_target_ids(token, q, d2t, 12)
        assert carried["token"] == ids[token] and carried["row"][carried["token"]] == q[token]
        assert carried["row"].sum() == 1.0


# --- 8.6 to 8.9: laws --------------------------------------------------------------------------------


@MANY
@given(rows(4, 4), rows(4, 4))
def test_greedy_drafts_with_their_own_rows_emit_exactly_p(p: np.ndarray, softmax: np.ndarray) -> None:
    proposal = clinic.greedy_proposal([softmax])
    drawn = np.eye(4)[proposal["tokens"][0]]
    assert distance(p, law(p, proposal["rows"][0], drawn)) < 1e-12


def test_the_bug_of_8_6_is_off_by_the_numbers_of_the_report_and_of_the_specification() -> None:
    two, softmax = np.array([0.6, 0.4]), np.array([0.8, 0.2])
    told = clinic_bugs.greedy_proposal(softmax[None])
    assert law(two, told["rows"][0], np.eye(2)[told["tokens"][0]]).round(12).tolist() == [0.75, 0.25]
    told = clinic_bugs.greedy_proposal(Q[None])
    assert distance(P, law(P, told["rows"][0], np.eye(3)[2])) == pytest.approx(2 / 15)


@MANY
@given(rows(4, 4), rows(4, 4), st.integers(1, 5))
def test_top_k_drafts_with_their_own_rows_emit_exactly_p(p: np.ndarray, softmax: np.ndarray, top_k: int) -> None:
    row = clinic.top_k_proposal(softmax, top_k, np.random.default_rng(0))["row"]
    assert np.count_nonzero(row) == min(top_k, 4) and row.sum() == pytest.approx(1.0)
    assert row[row > 0].min() >= (softmax * (row == 0)).max() and distance(p, law(p, row, row)) < 1e-12


def test_the_bug_of_8_7_accepts_more_and_emits_another_law() -> None:
    softmax, kept = np.array([0.5, 0.3, 0.2]), np.array([0.625, 0.375, 0.0])
    p = np.array([0.2, 0.5, 0.3])
    told = clinic_bugs.top_k_proposal(softmax, 2, np.random.default_rng(0))["row"]
    rate = lambda q: sum(kept[x] * min(1.0, p[x] / q[x]) for x in (0, 1))  # noqa: E731
    assert rate(told) > rate(kept) and distance(p, law(p, told, kept)) > 0.05


@MANY
@given(rows(3, 3), rows(3, 3), st.lists(st.integers(0, 2), min_size=1, max_size=4), st.data())
def test_the_count_is_the_leading_run_of_passes(
    p: np.ndarray, q: np.ndarray, tokens: list[int], data: st.DataObject
) -> None:
    uniforms = [data.draw(st.integers(0, 15)) / 16.0 for _ in tokens]
    size = len(tokens)
    passes = [Fraction(u) < Fraction(p[x]) / Fraction(q[x]) for x, u in zip(tokens, uniforms)]
    expected = [*passes, False].index(False)
    assert clinic.accepted_by_uniforms(tokens, [q] * size, [p] * size, uniforms) == expected


@MANY
@given(rows(3, 5), st.data())
def test_one_token_verified_by_two_coins_has_the_law_p(p: np.ndarray, data: st.DataObject) -> None:
    """Every way of the two coins is followed once, and weighed by its width."""
    q = data.draw(rows(p.size, p.size))
    emitted = np.zeros(p.size)
    for token in range(p.size):
        ratio = min(1.0, p[token] / q[token])
        ways = [(ratio, (ratio / 2,))]
        if ratio < 1.0:
            residual = np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
            middles = np.cumsum(residual) - residual / 2
            ways += [((1 - ratio) * width, ((1 + ratio) / 2, at)) for width, at in zip(residual, middles) if width]
        for width, coins in ways:
            emitted[clinic.emit_one_token(token, p, q, Coins(*coins))] += q[token] * width  # type: ignore[arg-type]
    assert distance(p, emitted) < 1e-12


def test_the_bug_of_8_9_never_emits_a_token_of_its_example() -> None:
    p, q, steps = np.array([0.25, 0.375, 0.375]), np.array([0.5, 0.25, 0.25]), 200
    coins = [(k + 0.5) / steps for k in range(steps)]
    wrong = [clinic_bugs.emit_one_token(0, p, q, Coins(u)) for u in coins]  # type: ignore[arg-type]
    right = [clinic.emit_one_token(0, p, q, Coins(u, v)) for u in coins for v in (0.25, 0.75)]  # type: ignore[arg-type]
    assert [wrong.count(token) / len(wrong) for token in range(3)] == [0.5, 0.0, 0.5]
    assert [right.count(token) / len(right) for token in range(3)] == [0.5, 0.25, 0.25]


# --- 8.10 to 8.13: commit ----------------------------------------------------------------------------


def plain_decoding(tokens: list[int], stops: list[int], cap: int) -> list[int]:
    """What a decoder that adds one token at a time would emit."""
    text: list[int] = []
    for token in tokens:
        if len(text) == cap:
            break
        text.append(token)
        if token in stops:
            break
    return text


TOKENS = st.lists(st.integers(0, 4), max_size=8)


@MANY
@given(st.lists(TOKENS, max_size=4), st.lists(st.integers(0, 1), max_size=2))
def test_rounds_commit_what_plain_decoding_would(blocks: list[list[int]], stops: list[int]) -> None:
    output, finished = list[int](), False
    for block in blocks:
        if not finished:
            result = clinic.commit_until_stop(output, block, stops)
            output, finished = result["output"], result["finished"]
    flat = [token for block in blocks for token in block]
    assert output == plain_decoding(flat, stops, 99) and finished == any(token in stops for token in flat)


@MANY
@given(TOKENS, st.lists(st.integers(0, 1), max_size=2), st.integers(0, 9))
def test_a_finished_request_holds_what_plain_decoding_would_emit(tokens: list[int], stops: list[int], cap: int) -> None:
    result = clinic.finish_request(tokens, stops, cap)
    text = plain_decoding(tokens, stops, cap)
    ended = "stop" if text and text[-1] in stops else "length" if len(tokens) >= cap else "running"
    assert result == {"tokens": text, "reason": ended}


@MANY
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=5))
def test_reported_length_times_rounds_is_the_emitted_length(blocks: list[list[int]]) -> None:
    emitted = sum(len(clinic.commit_until_stop([], block, [0, 1])["output"]) for block in blocks)
    assert clinic.mean_emitted_length(blocks, [0, 1]) * len(blocks) == pytest.approx(emitted)


@MANY
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=8))
def test_the_drafters_cache_holds_the_committed_tokens_but_the_last(rounds: list[tuple[int, int]]) -> None:
    """A cache of tokens themselves, fed and trimmed round by round."""
    committed, cache, names = ["a", "x0"], ["a"], itertools.count()
    for drafted, wanted in rounds:
        accepted = min(wanted, drafted)
        drafts = [f"d{next(names)}" for _ in range(drafted)]
        cache += [committed[-1], *drafts[:-1]]  # the last draft is chosen, and not fed
        trimmed = clinic.draft_rows_to_drop(drafted, accepted)
        cache = cache[: len(cache) - trimmed["drop"]]
        committed += [*drafts[:accepted], f"t{next(names)}"]
        cache += committed[len(cache) : len(cache) + trimmed["missing"]]
        assert cache == committed[:-1]


# --- 8.14 to 8.16: schedule --------------------------------------------------------------------------


@MANY
@given(st.lists(st.tuples(SMALL, st.integers(0, 8)), min_size=1, max_size=6), st.data())
def test_the_gate_saves_rows_and_the_bug_saves_none(block: list[tuple[int, int]], data: st.DataObject) -> None:
    drafts, chances = [token for token, _ in block], [eighths / 8.0 for _, eighths in block]
    target = data.draw(st.lists(SMALL, min_size=len(drafts) + 1, max_size=len(drafts) + 1))
    right = clinic.gated_round(9, drafts, chances, 0.5, target)
    wrong = clinic_bugs.gated_round(9, drafts, np.array(chances), 0.5, target)
    prefix = [*(chance >= 0.5 for chance in chances), False].index(False)
    assert right["target_input"] == [9, *drafts[:prefix]] and wrong["target_input"] == [9, *drafts]
    assert right["tokens"] == wrong["tokens"]
    assert right["tokens"] == [*target[: len(right["tokens"])]]  # every emitted token is the target's own


@MANY
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.lists(st.integers(1, 8), min_size=1, max_size=7),
)
def test_the_length_is_the_first_best_of_those_profiled(quarters: list[int], speeds: list[int]) -> None:
    chances, rates, survival, expected = [Fraction(n, 4) for n in quarters], [], Fraction(1), Fraction(1)
    for length in range(len(chances) + 1):
        if length:
            survival *= chances[length - 1]
            expected += survival
        if length < len(speeds):
            rates.append(expected * speeds[length])
    best = rates.index(max(rates))
    assert clinic.profiled_verify_length([float(c) for c in chances], [float(s) for s in speeds]) == best


def test_a_flat_profile_never_trims_and_the_bug_makes_a_short_one_flat() -> None:
    assert clinic.profiled_verify_length([0.01] * 4, [8.0] * 5) == 4
    assert clinic_bugs.profiled_verify_length(np.full(4, 0.01), np.array([8.0, 1.0])) == 4
    assert clinic.profiled_verify_length([0.01] * 4, [8.0, 1.0]) == 0


@MANY
@given(st.lists(SMALL, max_size=6), st.tuples(*[st.integers(0, 40)] * 4))
def test_time_saved_is_the_difference_of_two_clocks(counts: list[int], times: tuple[int, ...]) -> None:
    target, draft, verify, replay = times
    plain = sum((accepted + 1) * target for accepted in counts)
    drafting = sum(draft + verify + accepted * replay for accepted in counts)
    result = clinic.net_time_saved(counts, float(target), float(draft), float(verify), float(replay))
    assert result == {"saved": plain - drafting, "pays": plain > drafting}
    assert type(result["saved"]) is float and type(result["pays"]) is bool


# --- The traps: right code that looks wrong ----------------------------------------------------------


@MANY
@given(rows(3, 3), rows(3, 3))
def test_exact_match_emits_p_and_accepts_less_than_the_ratio(p: np.ndarray, q: np.ndarray) -> None:
    emitted = sum(q[x] * p for x in range(3))  # the own token, whatever was drafted
    assert distance(p, emitted) < 1e-12 and (p * q).sum() <= np.minimum(p, q).sum()
    assert (P * Q).sum() == pytest.approx(0.28) and np.minimum(P, Q).sum() == pytest.approx(0.60)


@MANY
@given(rows(4, 4), st.integers(0, 3))
def test_q_of_one_is_lossless_for_a_draft_that_was_not_drawn(p: np.ndarray, draft: int) -> None:
    rest = np.where(np.arange(4) == draft, 0.0, p)
    emitted = p[draft] * np.eye(4)[draft] + (1 - p[draft]) * rest / rest.sum()
    assert distance(p, emitted) < 1e-12
    assert np.allclose(emitted, law(p, np.eye(4)[draft], np.eye(4)[draft]))


def admitted(survivals: tuple[float, ...], speeds: tuple[float, ...], stop: bool) -> list[int]:
    tokens, batch, chosen = 1.0, 1, list[int]()
    for j, a in enumerate(survivals):
        if (tokens + a) * speeds[batch + 1] > tokens * speeds[batch]:
            tokens, batch = tokens + a, batch + 1
            chosen.append(j)
        elif stop:
            break
    return chosen


def test_skipping_a_token_admits_nothing_that_stopping_would_not() -> None:
    grid = (0.25, 0.5, 0.75, 1.0)
    for survivals in itertools.combinations_with_replacement(reversed(grid), 3):
        for speeds in itertools.product((2.0, 4.0, 6.0, 8.0), repeat=4):
            table = (0.0, *speeds)
            assert admitted(survivals, table, stop=True) == admitted(survivals, table, stop=False)


# --- Bad input ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
HALF = [0.5, 0.5]
BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (clinic.visible_features, ([], 2), "anchor_positions is empty"),
    (clinic.visible_features, ([1, -1], 2), "anchor_positions[1]"),
    (clinic.visible_features, ([1], 0), "block_length"),
    (clinic.tapped_features, ([[0.0], [1.0]], []), "layer_ids is empty"),
    (clinic.tapped_features, ([[0.0], [1.0]], [0, 1]), "layer_ids[1]"),
    (clinic.tapped_features, ([[0.0], [NAN]], [0]), "hidden_states[1][0]"),
    (clinic.block_input_positions, ([0, -1], 2), "cached_positions[1]"),
    (clinic.block_input_positions, ([0], 0), "block_size"),
    (clinic.read_predictions, ([[0.0, 1.0]], "eagle"), "layout"),
    (clinic.read_predictions, ([], "dspark"), "block_logits is empty"),
    (clinic.read_predictions, ([[0.0, 1.0], [NAN, 0.0]], "dflash"), "block_logits row 1"),
    (clinic.draft_in_target_ids, (2, HALF, [0, 0], 4), "token"),
    (clinic.draft_in_target_ids, (0, [0.5, 0.6], [0, 0], 4), "draft_probs"),
    (clinic.draft_in_target_ids, (0, HALF, [0], 4), "d2t has 1 entries"),
    (clinic.draft_in_target_ids, (0, HALF, [0, -1], 4), "d2t[1]"),
    (clinic.draft_in_target_ids, (0, HALF, [0, 3], 4), "d2t[1]"),
    (clinic.greedy_proposal, ([HALF, [0.5, 0.6]],), "draft_probs row 1"),
    (clinic.top_k_proposal, ([0.5, 0.6], 1, RNG), "draft_probs"),
    (clinic.top_k_proposal, (HALF, 0, RNG), "top_k"),
    (clinic.accepted_by_uniforms, ([0], [[0.0, 1.0]], [HALF], [0.5]), "draft_probs[0]"),
    (clinic.accepted_by_uniforms, ([0, 2], [HALF] * 2, [HALF] * 2, HALF), "draft_tokens[1]"),
    (clinic.accepted_by_uniforms, ([0], [HALF], [[0.5, 0.6]], [0.5]), "target_probs row 0"),
    (clinic.accepted_by_uniforms, ([0], [HALF], [[0.5, 0.25, 0.25]], [0.5]), "target_probs[0] has 3 entries"),
    (clinic.accepted_by_uniforms, ([0], [HALF], [HALF], [1.5]), "uniforms[0]"),
    (clinic.accepted_by_uniforms, ([0], [HALF], [HALF], HALF), "uniforms has 2 entries"),
    (clinic.emit_one_token, (0, HALF, [0.0, 1.0], RNG), "q[0]"),
    (clinic.emit_one_token, (2, HALF, HALF, RNG), "token"),
    (clinic.emit_one_token, (0, [0.5, 0.6], HALF, RNG), "p sums to"),
    (clinic.emit_one_token, (0, HALF, [0.5, 0.25, 0.25], RNG), "q has 3 entries"),
    (clinic.commit_until_stop, ([-1], [1], [2]), "output[0]"),
    (clinic.commit_until_stop, ([1], [1, -1], [2]), "round_tokens[1]"),
    (clinic.commit_until_stop, ([1], [1], [2, 0.5]), "stop_tokens[1]"),
    (clinic.finish_request, ([-1], [2], 3), "tokens[0]"),
    (clinic.finish_request, ([1], [-2], 3), "stop_tokens[0]"),
    (clinic.finish_request, ([1], [2], -3), "max_new_tokens"),
    (clinic.mean_emitted_length, ([], [2]), "rounds is empty"),
    (clinic.mean_emitted_length, ([[1], [1, -1]], [2]), "rounds[1][1]"),
    (clinic.mean_emitted_length, ([[1]], [-2]), "stop_tokens[0]"),
    (clinic.draft_rows_to_drop, (0, 0), "drafted"),
    (clinic.draft_rows_to_drop, (4, 5), "accepted"),
    (clinic.gated_round, (0.5, [4], [0.5], 0.5, [4, 5]), "anchor_token"),
    (clinic.gated_round, (1, [-4], [0.5], 0.5, [4, 5]), "draft_tokens[0]"),
    (clinic.gated_round, (1, [4], [NAN], 0.5, [4, 5]), "confidences[0]"),
    (clinic.gated_round, (1, [4], [0.5], 1.5, [4, 5]), "threshold"),
    (clinic.gated_round, (1, [4], [0.5], 0.5, [4, -5]), "target_tokens[1]"),
    (clinic.gated_round, (1, [4], HALF, 0.5, [4, 5]), "confidences has 2 entries"),
    (clinic.gated_round, (1, [4], [0.5], 0.5, [4]), "target_tokens has 1 entries"),
    (clinic.profiled_verify_length, ([], [8.0]), "confidences is empty"),
    (clinic.profiled_verify_length, ([1.5], [8.0]), "confidences[0]"),
    (clinic.profiled_verify_length, ([0.5], []), "steps_per_second is empty"),
    (clinic.profiled_verify_length, ([0.5], [8.0, 0.0]), "steps_per_second[1]"),
    (clinic.net_time_saved, ([1, -1], 1.0, 1.0, 1.0, 1.0), "accepted_counts[1]"),
    (clinic.net_time_saved, ([1], INF, 1.0, 1.0, 1.0), "target_time"),
    (clinic.net_time_saved, ([1], 1.0, -1.0, 1.0, 1.0), "draft_time"),
    (clinic.net_time_saved, ([1], 1.0, 1.0, NAN, 1.0), "verify_time"),
    (clinic.net_time_saved, ([1], 1.0, 1.0, 1.0, -1.0), "replay_time"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), BAD)
def test_bad_input_gets_a_sentence_with_its_name(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=rf".*{re.escape(message)}") as error:
        function(*arguments)
    assert str(error.value).endswith(".")
