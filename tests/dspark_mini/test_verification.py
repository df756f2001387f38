"""The verifiers are proven by enumeration: every draft, every outcome of every draw, with exact probabilities."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.laws import exact_law
from dspark_mini.verification import (
    acceptance_probability,
    cut_output,
    residual_distribution,
    verify_greedy,
    verify_sampling,
)

MANY = settings(max_examples=60, deadline=None)
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
Row = np.ndarray
Text = tuple[int, ...]
Target = Callable[[Text], Row]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Row, Row]:
    """A target row and a draft row of one vocabulary, often with zeros in them."""
    size = draw(st.integers(1, 6))
    p, q = (np.array(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))) for _ in range(2))
    return p / p.sum(), q / q.sum()


def total_variation(law: Row, target: Row) -> float:
    return 0.5 * float(np.abs(np.asarray(law) - target).sum())


def emitted(drafted: Row, accept: Row, replacement: Row) -> Row:
    """The distribution of one emitted token: drafted and accepted, or rejected and replaced."""
    return drafted * accept + (drafted * (1.0 - accept)).sum() * replacement


def acceptances(p: Row, q: Row) -> Row:
    """The acceptance of every token that q can draft; the others are never asked for."""
    return np.array([acceptance_probability(p, q, x) if q[x] > 0.0 else 0.0 for x in range(p.size)])


# --- The rule for one token -------------------------------------------------------------------------------------------


@MANY
@given(pairs())
def test_accepted_and_replaced_tokens_together_follow_the_target(pair: tuple[Row, Row]) -> None:
    p, q = pair
    accept, residual = acceptances(p, q), residual_distribution(p, q)
    assert np.allclose(emitted(q, accept, residual), p, rtol=0.0, atol=1e-12)
    assert q @ accept == pytest.approx(1.0 - total_variation(p, q), abs=1e-12)
    assert np.array_equal(p, q) or not residual[q >= p].any()


def test_known_rules_have_their_known_total_variation() -> None:
    accept, residual = acceptances(P, Q), residual_distribution(P, Q)
    assert np.allclose(accept, [1.0, 1.0, 1 / 3]) and np.allclose(residual, [0.75, 0.25, 0.0])
    assert total_variation(emitted(Q, accept, residual), P) == pytest.approx(0.0, abs=1e-12)
    assert total_variation(emitted(Q, accept, P), P) == pytest.approx(0.10)
    best = np.eye(3)[2]  # the argmax of Q
    assert total_variation(emitted(best, accept, residual), P) == pytest.approx(2 / 15)
    one_hot = emitted(best, acceptances(P, best), residual_distribution(P, best))
    assert total_variation(one_hot, P) == pytest.approx(0.0, abs=1e-12)
    joint = np.outer(Q, P)  # draft, sample
    likely = joint * (P[:, None] >= P)
    assert total_variation(likely.sum(axis=1) + (joint - likely).sum(axis=0), P) == pytest.approx(0.10)
    assert np.trace(joint) == pytest.approx(0.28) and Q @ accept == pytest.approx(0.60)


@pytest.mark.parametrize("p", [P, P.tolist()], ids=["array", "list"])
def test_the_residual_of_equal_rows_is_a_new_array(p: Any) -> None:
    residual_distribution(p, p)[0] = 9.0
    assert p[0] == 0.5


# --- Greedy verification ----------------------------------------------------------------------------------------------


def random_target(seed: int, vocabulary: int) -> Target:
    """A target whose row depends on the whole text before it."""
    return lambda text: np.random.default_rng([seed, *text]).dirichlet(np.full(vocabulary, 0.7))


def rows_of(target: Target, prefix: Text, drafts: Text) -> list[Row]:
    """One forward: the target's rows after the prefix and each of the drafts."""
    return [target(prefix + drafts[:k]) for k in range(len(drafts) + 1)]


@pytest.mark.parametrize("seed", range(4))
def test_every_possible_block_gives_the_text_of_plain_greedy_decoding(seed: int) -> None:
    target, gamma = random_target(seed, 3), 3
    plain: Text = (0,)
    for _ in range(gamma + 1):
        plain += (int(target(plain).argmax()),)
    for drafts in itertools.product(range(3), repeat=gamma):
        result = verify_greedy(drafts, rows_of(target, (0,), drafts))
        tokens = tuple(result["tokens"])
        assert tokens == plain[1 : len(tokens) + 1] and len(tokens) == result["accepted"] + 1
        agreeing = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(drafts, plain[1:])))
        assert result["accepted"] == agreeing


# --- Sampling ---------------------------------------------------------------------------------------------------------


def completions(target: Target, text: Text, length: int) -> Iterator[tuple[Text, float]]:
    """All ways in which the target may go on, up to a length, with their probabilities."""
    for rest in itertools.product(range(target(text).size), repeat=length - len(text)):
        done = text + rest
        yield done, float(np.prod([target(done[:k])[done[k]] for k in range(len(text), length)]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_text_after_a_round_is_distributed_exactly_as_the_targets(seed: int, gamma: int) -> None:
    """Sum over all drafts and all draws; a round that ends early is completed by the target itself."""
    target, drafter, vocabulary = random_target(seed, 3), random_target(seed + 50, 3), 3
    law: Counter[Text] = Counter()
    for drafts in itertools.product(range(vocabulary), repeat=gamma):
        q, p = rows_of(drafter, (), drafts)[:gamma], rows_of(target, (), drafts)
        drafted = float(np.prod([row[token] for row, token in zip(q, drafts)]))
        rounds = exact_law(lambda rng, d=drafts, q=q, p=p: tuple(verify_sampling(d, q, p, rng)["tokens"]))
        for tokens, share in rounds.items():
            for text, chance in completions(target, tokens, gamma + 1):
                law[text] += drafted * share * chance
    for text, alone in completions(target, (), gamma + 1):
        assert law[text] == pytest.approx(alone, abs=1e-12)


class Untouched:
    """A generator that must not be drawn from."""

    def random(self) -> float:
        raise AssertionError("rng.random was used before the input had been checked.")


def test_a_token_that_cannot_have_been_drafted_is_refused_before_any_draw() -> None:
    with pytest.raises(ValueError, match=r"^q\[1\] is 0, so token 1 cannot have been drafted\.$"):
        acceptance_probability([0.5, 0.5], [1.0, 0.0], 1)
    with pytest.raises(ValueError, match=r"^draft_probs\[1\] gives 0 to token 1, which was drafted there\.$"):
        verify_sampling([0, 1], [[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0]] * 3, Untouched())


# --- Where the output ends --------------------------------------------------------------------------------------------


@MANY
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=5), st.integers(0, 14))
def test_cutting_after_each_round_or_once_at_the_end_gives_the_same(blocks: list[list[int]], cap: int) -> None:
    text: list[int] = []
    for block in blocks:
        text = cut_output(text + block, [5], cap)
        if len(text) == cap or text[-1:] == [5]:
            break
    assert text == cut_output([token for block in blocks for token in block], [5], cap)
    assert cut_output(iter(text), iter([5]), cap) == text
