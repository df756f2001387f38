"""The engine on an enumerable toy: the text, its law, the cache contract, and the counts of its trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import choose_confident_prefix, dflash_parallel_candidates, round_totals
from dspark_mini.drafts import draw, draw_distinct, sample_chain, softmax
from dspark_mini.engine import PLAIN, Steps, Trace, generate
from dspark_mini.laws import exact_law
from dspark_mini.toy import Cache, ToyAutoregressiveDrafter, ToyDrafter, ToyTarget


def confident_prefix(threshold: float, max_tokens: int = 8) -> Callable[[Any], int]:
    """Return a trim step by task 2.3 with a fixed threshold."""
    return lambda confidences: choose_confident_prefix(confidences, threshold, 1, max_tokens) if confidences else 0


FAST = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**16)


def run(seed: int, steps: Steps, markov: bool = True, noise: float = 0.5, **settings: Any) -> Trace:
    target = ToyTarget.random(6, seed)
    drafter = ToyDrafter(target.table, noise, seed + 1, markov)
    settings = {"prompt": [1, 2], "max_new_tokens": 20, "stop_tokens": [0]} | settings
    return generate(target, drafter, steps=steps, **settings)


def sized(size: int, **others: Any) -> Steps:
    return replace(Steps(block_size=lambda trace: size), **others)


@given(SEEDS, st.integers(0, 7), st.booleans(), st.floats(0.0, 1.0), st.floats(0.0, 5.0))
@FAST
def test_the_greedy_text_is_that_of_plain_decoding(
    seed: int, size: int, markov: bool, threshold: float, noise: float
) -> None:
    steps = sized(size, trim=confident_prefix(threshold))
    assert run(seed, steps, markov, noise).output == run(seed, PLAIN).output


@given(SEEDS, st.integers(1, 30))
@FAST
def test_plain_decoding_is_the_argmax_of_the_table(seed: int, cap: int) -> None:
    table, text = ToyTarget.random(6, seed).table, [1, 2]
    while len(text) < 2 + cap and text[-1] != 0:
        text.append(int(table[text[-2], text[-1]].argmax()))
    assert run(seed, PLAIN, max_new_tokens=cap).output == text[2:]


@given(SEEDS, st.integers(0, 6), st.sampled_from([0.0, 0.7, 1.0]))
@FAST
def test_the_counts_of_a_trace_add_up(seed: int, size: int, temperature: float) -> None:
    steps = sized(size, trim=confident_prefix(0.4))
    trace = run(seed, steps, temperature=temperature, rng=np.random.default_rng(seed))
    totals = trace.totals
    assert totals == round_totals(**trace.counts)
    assert totals["emitted"] == len(trace.output) <= 20
    assert 0 not in trace.output[:-1]
    assert trace.output[-1] == 0 or len(trace.output) == 20


@given(SEEDS)
@FAST
def test_a_seed_decides_everything(seed: int) -> None:
    once, twice = (run(seed, sized(4), temperature=1.0, rng=np.random.default_rng(seed)) for _ in range(2))
    assert once.output == twice.output and once.counts == twice.counts


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("markov", [True, False])
@pytest.mark.parametrize("trim", [len, confident_prefix(0.45)], ids=["whole", "trimmed"])
def test_the_emitted_law_at_a_temperature_is_the_targets(size: int, markov: bool, trim: Callable[[Any], int]) -> None:
    """Exact: every coin of two rounds and more is followed both ways."""

    def tokens(rng: Any, steps: Steps) -> tuple[int, ...]:
        target = ToyTarget.random(3, seed=4, sharpness=1.0)
        drafter = ToyDrafter(target.table, noise=1.0, seed=5, markov=markov)
        return tuple(generate(target, drafter, [1], 2, temperature=0.8, rng=rng, steps=steps).output)

    speculative = exact_law(lambda rng: tokens(rng, sized(size, trim=trim)))
    table = ToyTarget.random(3, seed=4, sharpness=1.0).table
    first = softmax(table[0, 1] / 0.8)
    directly = {(a, b): float(first[a] * softmax(table[1, a] / 0.8)[b]) for a in range(3) for b in range(3)}
    assert sum(abs(speculative.get(pair, 0.0) - chance) for pair, chance in directly.items()) < 1e-12
    assert set(speculative) <= set(directly)


@pytest.mark.parametrize("trim", [len, confident_prefix(0.45)], ids=["whole", "trimmed"])
def test_the_emitted_law_is_the_targets_with_an_autoregressive_drafter(trim: Callable[[Any], int]) -> None:
    table = ToyTarget.random(3, seed=4, sharpness=1.0).table

    def tokens(rng: Any) -> tuple[int, ...]:
        drafter = ToyAutoregressiveDrafter(table, noise=1.0, seed=5)
        steps = sized(2, trim=trim)
        return tuple(generate(ToyTarget(table), drafter, [1], 2, temperature=0.8, rng=rng, steps=steps).output)

    law, first = exact_law(tokens), softmax(table[0, 1] / 0.8)
    for a in range(3):
        for b in range(3):
            assert law.get((a, b), 0.0) == pytest.approx(first[a] * softmax(table[1, a] / 0.8)[b], abs=1e-12)


@given(SEEDS, st.integers(0, 6), st.floats(0.0, 5.0))
@FAST
def test_the_greedy_text_is_that_of_plain_decoding_with_an_autoregressive_drafter(
    seed: int, size: int, noise: float
) -> None:
    """Its drafts come from its own chain; the draft step of a bias is not asked."""
    target = ToyTarget.random(6, seed)
    drafter = ToyAutoregressiveDrafter(target.table, noise, seed + 1)
    trace = generate(target, drafter, [1, 2], 20, [0], steps=sized(size, draft=None))
    assert trace.output == run(seed, PLAIN).output
    assert all(len(this.drafted) == len(this.confidences) == size for this in trace.rounds)


def test_an_autoregressive_drafter_that_knows_the_target_is_accepted_whole() -> None:
    target = ToyTarget.random(8, seed=3)
    for heat in (0.0, 0.9):
        drafter, rng = ToyAutoregressiveDrafter(target.table, 0.0, 0), np.random.default_rng(0)
        trace = generate(ToyTarget(target.table), drafter, [1, 2], 24, (), heat, rng, sized(5))
        assert trace.totals["rejected"] == 0 and trace.totals["tau"] == 6.0


@given(SEEDS, st.integers(1, 5))
@FAST
def test_a_chain_at_temperature_zero_is_the_draft_step(seed: int, size: int) -> None:
    drafter = ToyDrafter(ToyTarget.random(6, seed).table, 0.5, seed)
    base = drafter.block_logits(2, size)
    tokens, q = drafter.chain(base, 2, size, 0.0, None)
    assert tokens == Steps().draft(base, 2, drafter.bias)
    for row, previous, got in zip(base, [2, *tokens], q):
        assert got == pytest.approx(softmax(row + drafter.bias[previous]))


def test_a_chain_is_drawn_from_the_rows_that_it_returns() -> None:
    """Exact: the law of the tokens is the product of the rows, and a token without a bias adds nothing."""
    base = np.random.default_rng(1).normal(size=(2, 3))
    bias = {0: np.array([0.5, -np.inf, 0.0]), 2: np.array([1.0, 0.0, -1.0])}
    rows: dict[tuple[int, ...], Any] = {}

    def chain(rng: Any) -> tuple[int, ...]:
        tokens, q = sample_chain(base, 1, bias, 0.5, rng)
        rows[tuple(tokens)] = q
        return tuple(tokens)

    for (a, b), chance in exact_law(chain).items():
        q = rows[a, b]
        assert q[0] == pytest.approx(softmax(base[0] / 0.5))
        assert q[1] == pytest.approx(softmax((base[1] + bias.get(a, 0.0)) / 0.5))
        assert chance == pytest.approx(q[0, a] * q[1, b])
    assert (0, 1) not in rows


class Fixed:
    """Hands out one number, as a generator would."""

    def __init__(self, number: float) -> None:
        self.random = lambda: number


@pytest.mark.parametrize("weights", [[0.0, 0.5, 0.0, 0.5, 0.0], [0.1] * 10 + [0.0], [0.0, 1e-300, 0.0], [0.0, 3.0]])
def test_a_token_without_weight_is_never_drawn(weights: list[float]) -> None:
    """Not even by the numbers at the very ends, where rounding decides."""
    for number in (0.0, 0.5, np.nextafter(0.5, 0.0), np.nextafter(1.0, 0.0), 1.0):
        assert weights[draw(np.array(weights), Fixed(float(number)))] > 0.0


def test_draws_have_the_law_of_their_weights_and_distinct_ones_are_normalised_again() -> None:
    weights = np.array([0.5, 0.0, 0.3, 0.2])
    assert exact_law(lambda rng: draw(3.0 * weights, rng)) == pytest.approx({0: 0.5, 2: 0.3, 3: 0.2})
    pairs = exact_law(lambda rng: tuple(draw_distinct(weights, 2, rng)))
    assert pairs == pytest.approx({
        (a, b): weights[a] * weights[b] / (1.0 - weights[a]) for a in (0, 2, 3) for b in (0, 2, 3) if a != b
    })  # fmt: skip
    assert len(draw_distinct(weights, 4, np.random.default_rng(0))) == 3


def test_logits_in_single_precision_become_rows_in_double() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    drawn = sample_chain(logits, 0, {0: logits[1]}, 0.7, np.random.default_rng(0))[1]
    for rows in (softmax(logits), drawn):
        assert rows.dtype == np.float64 and np.abs(rows.sum(axis=1) - 1.0).max() < 1e-12


def test_the_clock_of_a_round_has_its_four_parts() -> None:
    for steps in (sized(3), PLAIN):
        for this in run(0, steps).rounds:
            assert list(this.seconds) == ["draft", "head", "verify", "commit"]
            assert all(seconds >= 0.0 for seconds in this.seconds.values())


def test_a_gate_that_looks_at_the_drafted_token_changes_the_law() -> None:
    """The proof above can fail: a step that verifies token 1 only is caught."""

    def looks_at_the_token(tokens: Any, q: Any, p: Any, rng: Any) -> dict[str, Any]:
        kept = 1 if tokens == [1] else 0
        return Steps().verify_sampling(tokens[:kept], q[:kept], p[: kept + 1], rng)

    def first(rng: Any) -> int:
        target = ToyTarget.random(3, seed=4, sharpness=1.0)
        drafter, steps = ToyDrafter(target.table, 1.0, 5), sized(1, verify_sampling=looks_at_the_token)
        return generate(target, drafter, [1], 1, temperature=1.0, rng=rng, steps=steps).output[0]

    law, right = exact_law(first), softmax(ToyTarget.random(3, seed=4, sharpness=1.0).table[0, 1])
    assert sum(abs(law.get(a, 0.0) - right[a]) for a in range(3)) > 0.01


@pytest.mark.parametrize("wrong", [lambda rows, accepted: rows - accepted, lambda rows, accepted: 0])
def test_a_wrong_rollback_breaks_the_contract_at_once(wrong: Callable[[int, int], int]) -> None:
    with pytest.raises(AssertionError, match="target's cache has"):
        for seed in range(20):
            run(seed, sized(4, rollback=wrong))


def test_an_oracle_drafter_is_accepted_whole() -> None:
    """A drafter that knows the target, whose last token decides alone, loses no draft."""
    target = ToyTarget.random(8, seed=3, memory=0.0)
    trace = generate(target, ToyDrafter(target.table, 0.0, 0), [1, 2], 24, steps=sized(5))
    assert trace.totals["rejected"] == 0 and trace.totals["tau"] == 6.0


def test_dflash_fits_in_as_the_draft_step() -> None:
    for seed in range(10):
        step = sized(5, draft=lambda logits, anchor, bias: dflash_parallel_candidates(logits))
        assert run(seed, step, markov=False).counts == run(seed, sized(5), markov=False).counts


def test_dspark_accepts_more_than_dflash_and_does_not_decay() -> None:
    def rates(markov: bool) -> list[float]:
        counts = []
        for seed in range(12):
            target = ToyTarget.random(12, seed, sharpness=2.0)
            drafter = ToyDrafter(target.table, 0.3, seed + 100, markov)
            rng = np.random.default_rng(seed)
            trace = generate(target, drafter, [1, 2], 80, temperature=1.0, rng=rng, steps=sized(5))
            counts += trace.counts["accepted"]
        reached = [sum(kept >= k for kept in counts) for k in range(4)]
        return [after / before for before, after in zip(reached, reached[1:])]

    dspark, dflash = rates(markov=True), rates(markov=False)
    assert dflash[0] - dflash[2] > 0.2 > dspark[0] - dspark[2]
    assert dspark[2] > dflash[2] + 0.15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prompt": []}, "prompt"),
        ({"prompt": [-1]}, r"prompt\[0\]"),
        ({"max_new_tokens": -1}, "max_new_tokens"),
        ({"temperature": -0.5}, "temperature"),
        ({"temperature": 1.0}, "rng"),
    ],
)
def test_bad_requests_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(0, Steps(), **settings)


def test_a_trim_step_that_verifies_more_than_was_drafted_is_refused() -> None:
    with pytest.raises(ValueError, match=r"steps\.trim"):
        run(0, sized(3, trim=lambda confidences: 4))


def test_a_cache_that_is_in_use_is_refused() -> None:
    target = ToyTarget.random(4, 0)
    target.forward([1])
    with pytest.raises(ValueError, match="caches"):
        generate(target, ToyDrafter(target.table, 0.0, 0), [1], 4)


def test_a_cache_drops_what_it_has_and_no_more() -> None:
    cache = Cache()
    cache.extend([1, 2, 3])
    cache.drop(2)
    assert cache.tokens == [1]
    for rows in (2, -1):
        with pytest.raises(ValueError, match=f"rows is {rows}"):
            cache.drop(rows)


def test_nothing_is_asked_of_a_request_without_room() -> None:
    assert run(0, Steps(), max_new_tokens=0) == Trace()
