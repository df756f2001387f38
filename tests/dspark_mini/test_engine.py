"""The engine on a toy that can be enumerated: the text, its distribution, the limits, and the record of the rounds."""

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import (
    choose_confident_prefix,
    dflash_parallel_candidates,
    dspark_markov_candidates,
    round_totals,
    sample_markov_block,
)
from dspark_mini.drafts import draw, draw_distinct, sample_markov_chain, softmax
from dspark_mini.engine import Steps, generate
from dspark_mini.laws import exact_law
from dspark_mini.toy import Cache, ToyTarget
from tests.dspark_mini.toys import DRAFTERS, chains, distance, run, trees

FAST = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**16)
DRAFT_STEPS: dict[str, dict[str, Any]] = {
    "the drafter's own": {},
    "2.1": {"draft_parallel": dflash_parallel_candidates},
    "2.2": {"draft_markov": dspark_markov_candidates},
    "3.2": {"draft_sampling": sample_markov_block},
    "2.2 and 3.2": {"draft_markov": dspark_markov_candidates, "draft_sampling": sample_markov_block},
}


def confident_prefix(threshold: float) -> Callable[[Any], int]:
    return lambda confidences: choose_confident_prefix(confidences, threshold, 1, 8)


@given(SEEDS, st.integers(0, 7), st.sampled_from([*DRAFTERS]), st.sampled_from([*DRAFT_STEPS]), st.floats(0.0, 1.0),
       st.floats(0.0, 5.0))  # fmt: skip
@FAST
def test_the_greedy_text_is_that_of_plain_decoding(
    seed: int, block_size: int, drafter: str, step: str, threshold: float, noise: float
) -> None:
    step = step if drafter != "autoregressive" else "the drafter's own"
    steps = chains(block_size, trim=confident_prefix(threshold), **DRAFT_STEPS[step])
    assert run(seed, steps, drafter, noise).output == run(seed, None).output


@given(SEEDS, st.integers(0, 5), st.integers(1, 4), st.integers(0, 12), st.floats(0.0, 5.0), st.booleans(),
       st.integers(0, 5), st.integers(1, 20))  # fmt: skip
@FAST
def test_with_trees_too_where_stop_tokens_and_caps_end_the_text_inside_a_path(
    seed: int, levels: int, width: int, max_nodes: int, noise: float, markov: bool, stop: int, cap: int
) -> None:
    how: dict[str, Any] = {"stop_tokens": [stop], "max_new_tokens": cap}
    steps = trees(levels, width=width, max_nodes=max_nodes)
    text = run(seed, steps, "dspark" if markov else "dflash", noise, **how).output
    assert text == run(seed, None, **how).output


@given(SEEDS, st.integers(0, 30))
@FAST
def test_plain_decoding_follows_the_argmax_of_the_table(seed: int, cap: int) -> None:
    table, text = ToyTarget.random(6, seed).table, [1, 2]
    while len(text) < 2 + cap and text[-1] != 0:
        text.append(int(table[text[-2], text[-1]].argmax()))
    assert run(seed, None, max_new_tokens=cap).output == text[2:]


WAYS = {"chain": chains(7), "tree": trees(7, widths=(2, 2, 1, 1))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cap", range(10))
def test_near_the_cap_and_the_end_of_the_cache_the_text_is_still_that_of_plain_decoding(way: str, cap: int) -> None:
    for spare in range(10):  # slots beyond those that the text needs
        how: dict[str, Any] = {"max_new_tokens": cap, "stop_tokens": [], "slots": 2 + max(cap - 1, 0) + spare}
        trace = run(3, WAYS[way], noise=0.0, **how)
        assert trace.output == run(3, None, **how).output
        drawn = run(3, WAYS[way], temperature=1.0, rng=np.random.default_rng(0), **how)
        for record in (trace, drawn):
            left = cap
            for round_ in record.rounds:
                free = how["slots"] - 1 - (cap - left)
                assert round_.depth <= left - 1 and round_.verified <= free - 1
                assert way == "tree" or round_.verified == min(7, left - 1, free - 1)  # no less than is of use
                left -= len(round_.emitted)
    for steps in (WAYS[way], None):  # a text that does not fit is refused, with drafts and without
        with pytest.raises(ValueError, match=f"The text has {3 + cap} tokens, but the cache has {2 + cap} slots"):
            run(3, steps, max_new_tokens=cap + 2, stop_tokens=[], slots=2 + cap)


@given(SEEDS, st.sampled_from([*WAYS]), st.integers(0, 8))
@FAST
def test_a_text_that_stops_before_its_cap_needs_no_more_slots_than_plain_decoding(
    seed: int, way: str, spare: int
) -> None:
    plain = run(seed, None).output
    assert run(seed, WAYS[way], slots=1 + len(plain) + spare).output == plain


@given(SEEDS, st.integers(0, 6), st.sampled_from([0.0, 0.7, 1.0]), st.sampled_from([*DRAFTERS, "tree"]))
@FAST
def test_the_counts_of_a_trace_add_up_and_a_seed_decides_it(
    seed: int, block_size: int, temperature: float, way: str
) -> None:
    steps = WAYS["tree"] if way == "tree" else chains(block_size, trim=confident_prefix(0.4))
    drafter = "dspark" if way == "tree" else way
    once, again = (
        run(seed, steps, drafter, temperature=temperature, rng=np.random.default_rng(seed)) for _ in range(2)
    )
    assert once.totals == round_totals(**once.counts)
    assert once.totals["emitted"] == len(once.output) <= 20
    assert 0 not in once.output[:-1] and (once.output[-1] == 0 or len(once.output) == 20)
    for one, two in zip_longest(once.rounds, again.rounds):
        assert replace(one, seconds={}) == replace(two, seconds={})
        assert list(one.seconds) == ["draft", "head", "verify", "commit"] and min(one.seconds.values()) >= 0.0
        assert one.accepted == len(one.path) and (way == "tree" or len(one.confidences) == len(one.drafted))
        along = [one.drafted[node] for node in one.path]
        assert along[: len(one.emitted)] == one.emitted[: one.accepted]


@pytest.mark.parametrize("trim", [len, confident_prefix(0.45)], ids=["whole", "trimmed"])
@pytest.mark.parametrize("step", DRAFT_STEPS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_the_emitted_law_is_the_targets(drafter: str, step: str, trim: Callable[[Any], int]) -> None:
    if drafter == "autoregressive" and DRAFT_STEPS[step]:
        with pytest.raises(ValueError, match="its bias is None"):
            run(0, chains(2, **DRAFT_STEPS[step]), drafter)
        return
    assert distance(chains(1, trim=trim, **DRAFT_STEPS[step]), 2, 2, drafter) < 1e-12  # two rounds of one draft
    block_first = chains(2, trim=trim, keep_drafting=lambda trace: not trace.rounds, **DRAFT_STEPS[step])
    assert distance(block_first, 2, 3, drafter) < 1e-12  # one round of two drafts


def test_a_step_of_ones_own_runs_at_every_temperature_and_two_share_them() -> None:
    calls = []
    steps = {name: lambda *_, name=name, step=step: calls.append(name) or step(*_) for name, step in (
        ("draft_markov", dspark_markov_candidates), ("draft_sampling", sample_markov_block))}  # fmt: skip
    for given_steps in ({"draft_markov"}, {"draft_sampling"}, set(steps)):
        for temperature in (0.0, 1.0):
            calls.clear()
            run(1, chains(3, **{name: steps[name] for name in given_steps}), temperature=temperature,
                rng=np.random.default_rng(0))  # fmt: skip
            expected = given_steps if len(given_steps) == 1 else {["draft_markov", "draft_sampling"][temperature > 0.0]}
            assert set(calls) == expected


@pytest.mark.parametrize("drafter", ["dspark", "autoregressive"])
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_drafter_that_knows_the_target_loses_no_draft(drafter: str, temperature: float) -> None:
    memory = 0.7 if drafter == "autoregressive" else 0.0  # a parallel drafter must not need the token in between
    target = ToyTarget.random(8, seed=3, memory=memory)
    rng, steps = np.random.default_rng(0), chains(5 if temperature == 0.0 or memory else 1)
    trace = generate(target, DRAFTERS[drafter](target.table, 0.0, 0), [1, 2], 24, (), temperature, rng, steps)
    assert trace.totals["rejected"] == 0


# What is refused, and what is read with care


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"prompt": []}, "prompt"),
        ({"prompt": [-1]}, r"prompt\[0\]"),
        ({"max_new_tokens": -1}, "max_new_tokens"),
        ({"temperature": -0.5}, "temperature"),
        ({"temperature": 1.0}, "rng"),
        ({"steps": chains(3, trim=lambda confidences: 4)}, r"steps\.trim"),
        ({"steps": chains(-1)}, r"steps\.block_size"),
        ({"steps": chains(3, **DRAFT_STEPS["2.1"], **DRAFT_STEPS["2.2"])}, "give one of them"),
    ],
)
def test_bad_requests_caches_in_use_and_wrong_rollbacks_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(0, **{"steps": Steps()} | how)
    (target := ToyTarget.random(4, 0)).forward([1])
    with pytest.raises(ValueError, match="target has 1 rows"):
        generate(target, None, [1], 4)
    for wrong in (lambda rows, accepted: rows - accepted, lambda rows, accepted: 0):
        with pytest.raises(AssertionError, match="target's cache has"):
            for seed in range(20):
                run(seed, chains(4, rollback=wrong))


def test_stop_tokens_may_be_an_iterator_and_a_tiny_temperature_is_greedy() -> None:
    for steps in (None, chains(3)):
        assert run(5, steps, stop_tokens=iter([0])).output == run(5, None).output
        assert run(5, steps, temperature=9e-6).output == run(5, None).output


# The parts: draws, chains, the cache


WEIGHTS = [[0.0, 0.5, 0.0, 0.5, 0.0], [0.1] * 10 + [0.0], [0.0, 1e-300, 0.0], [0.0, 3.0]]


def test_draws_follow_their_weights_and_distinct_ones_are_without_replacement() -> None:
    for one in WEIGHTS:  # a token without weight is never drawn, not even at the very ends, where rounding decides
        for number in (0.0, 0.5, np.nextafter(0.5, 0.0), np.nextafter(1.0, 0.0), 1.0):
            assert one[draw(np.array(one), SimpleNamespace(random=lambda u=float(number): u))] > 0.0
    weights = np.array([0.5, 0.0, 0.3, 0.2])
    assert exact_law(lambda rng: draw(3.0 * weights, rng)) == pytest.approx({0: 0.5, 2: 0.3, 3: 0.2})
    pairs = exact_law(lambda rng: tuple(draw_distinct(weights, 2, rng)))
    assert pairs == pytest.approx({
        (a, b): weights[a] * weights[b] / (1.0 - weights[a]) for a in (0, 2, 3) for b in (0, 2, 3) if a != b
    })  # fmt: skip
    assert len(draw_distinct(weights, 4, np.random.default_rng(0))) == 3


def test_a_chain_is_drawn_from_the_rows_that_it_returns() -> None:
    """Exact; a token without a bias adds nothing, and single precision becomes double."""
    base = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    bias = {0: np.array([0.5, -np.inf, 0.0], np.float32), 2: np.array([1.0, 0.0, -1.0], np.float32)}
    rows: dict[tuple[int, ...], Any] = {}

    def chain(rng: Any) -> tuple[int, ...]:
        tokens, q = sample_markov_chain(base, 1, bias, 0.5, rng)
        rows[tuple(tokens)] = q
        return tuple(tokens)

    for (a, b), chance in exact_law(chain).items():
        q = rows[a, b]
        assert q.dtype == np.float64 and np.abs(q.sum(axis=1) - 1.0).max() < 1e-12
        assert q[0] == pytest.approx(softmax(base[0] / 0.5))
        assert q[1] == pytest.approx(softmax((base[1] + bias.get(a, 0.0)) / 0.5))
        assert chance == pytest.approx(q[0, a] * q[1, b])
    assert (0, 1) not in rows
    best, q = sample_markov_chain(base, 1, bias, 0.0, None)
    assert best == dspark_markov_candidates(base, 1, bias) and q[0] == pytest.approx(softmax(base[0]))


def test_a_cache_keeps_the_chosen_rows_and_refuses_what_it_cannot_do() -> None:
    cache = Cache(5)
    cache.extend([5, 6, 7, 8, 9])
    for call, message in (
        (lambda: cache.extend([1]), "has 6 tokens, but the cache has 5 slots"),
        (lambda: cache.drop(6), "rows must be .* 0 to 5, not 6"),
        (lambda: cache.drop(-1), "rows must be .*, not -1"),
        (lambda: cache.keep_last(6, [0]), "count must be .*, not 6"),
        (lambda: cache.keep_last(2, [2]), r"chosen is \[2\]"),
        (lambda: cache.keep_last(3, [1, 1]), r"chosen is \[1, 1\]; it must rise within 0..2"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert cache.tokens == [5, 6, 7, 8, 9] and cache.free == 0
    cache.keep_last(4, [0, 2])
    assert cache.tokens == [5, 6, 8] and cache.free == 2
    cache.drop(2)
    assert cache.tokens == [5]
