"""The verifiers are proven by enumeration: every draft, every outcome of every draw, with exact probabilities."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.verification import (
    acceptance_probability,
    cut_output,
    residual_distribution,
    verify_greedy,
    verify_sampling,
)

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=60, deadline=None)
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
Row = np.ndarray


@st.composite
def rows(draw: st.DrawFn, vocabulary: int, positive: bool = False) -> Row:
    """A distribution over the vocabulary, often with zeros in it."""
    weights = draw(st.lists(st.integers(int(positive), 9), min_size=vocabulary, max_size=vocabulary).filter(any))
    return np.array(weights) / sum(weights)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Row, Row]:
    """A target row and a draft row of one vocabulary."""
    vocabulary = draw(st.integers(1, 6))
    return draw(rows(vocabulary)), draw(rows(vocabulary))


def total_variation(law: Row, target: Row) -> float:
    return 0.5 * float(np.abs(np.asarray(law) - target).sum())


def emitted(drafted: Row, accept: Row, replacement: Row) -> Row:
    """The law of one emitted token: drafted and accepted, or rejected and replaced."""
    return drafted * accept + (drafted * (1.0 - accept)).sum() * replacement


def chances(p: Row, q: Row) -> Row:
    """The acceptance of every token that q can draft; the others are never asked for."""
    return np.array([acceptance_probability(p, q, x) if q[x] > 0.0 else 0.0 for x in range(p.size)])


# --- The rule for one token ----------------------------------------------------------------------------


@MANY
@given(pairs())
def test_accepted_and_replaced_tokens_together_follow_the_target_exactly(pair: tuple[Row, Row]) -> None:
    p, q = pair
    law = emitted(q, chances(p, q), residual_distribution(p, q))
    assert np.allclose(law, p, rtol=0.0, atol=1e-12)


@MANY
@given(pairs())
def test_the_accepted_share_is_what_both_rows_have_in_common(pair: tuple[Row, Row]) -> None:
    p, q = pair
    assert q @ chances(p, q) == pytest.approx(np.minimum(p, q).sum(), abs=1e-12)
    assert q @ chances(p, q) == pytest.approx(1.0 - total_variation(p, q), abs=1e-12)


@MANY
@given(pairs())
def test_the_residual_is_a_distribution_without_the_overrated_tokens(pair: tuple[Row, Row]) -> None:
    p, q = pair
    residual = residual_distribution(p, q)
    assert (residual >= 0.0).all() and residual.sum() == pytest.approx(1.0)
    assert np.array_equal(residual, p) if np.array_equal(p, q) else not residual[q >= p].any()
    assert residual.dtype == np.float64


@MANY
@given(pairs(), st.data())
def test_a_larger_draft_probability_never_raises_the_chance(pair: tuple[Row, Row], data: st.DataObject) -> None:
    p, q = pair
    token = data.draw(st.sampled_from(np.flatnonzero(q).tolist()))
    surer = 0.5 * q + 0.5 * np.eye(q.size)[token]
    assert acceptance_probability(p, surer, token) <= acceptance_probability(p, q, token) <= 1.0
    assert type(acceptance_probability(p, q, token)) is float


def test_known_rules_have_their_known_total_variation() -> None:
    accept, residual = chances(P, Q), residual_distribution(P, Q)
    assert np.allclose(accept, [1.0, 1.0, 1 / 3]) and np.allclose(residual, [0.75, 0.25, 0.0])
    assert total_variation(emitted(Q, accept, residual), P) == pytest.approx(0.0, abs=1e-12)
    assert total_variation(emitted(Q, accept, P), P) == pytest.approx(0.10)
    best = np.eye(3)[2]  # the argmax of Q
    assert total_variation(emitted(best, accept, residual), P) == pytest.approx(2 / 15)
    one_hot = emitted(best, chances(P, best), residual_distribution(P, best))
    assert total_variation(one_hot, P) == pytest.approx(0.0, abs=1e-12)
    joint = np.outer(Q, P)  # draft, sample
    likely = joint * (P[:, None] >= P)
    assert total_variation(likely.sum(axis=1) + (joint - likely).sum(axis=0), P) == pytest.approx(0.10)
    assert np.trace(joint) == pytest.approx(0.28) and Q @ accept == pytest.approx(0.60)


def test_the_residual_is_a_new_array() -> None:
    p = np.array([0.5, 0.5])
    residual_distribution(p, p)[0] = 9.0
    assert p.tolist() == [0.5, 0.5]


def test_tiny_probabilities_are_divided_like_any_other() -> None:
    tiny = 2.0**-1000
    assert acceptance_probability([1.0 - tiny, tiny], [1.0, 2 * tiny], 1) == 0.5
    assert acceptance_probability([0.0, 1.0], [1.0, 5e-324], 1) == 1.0


# --- Greedy verification --------------------------------------------------------------------------------


def rows_of(target: Callable[[tuple[int, ...]], Row], prefix: tuple[int, ...], drafts: tuple[int, ...]) -> list[Row]:
    """One forward: the target's rows behind the prefix and each of the drafts."""
    return [target(prefix + drafts[:k]) for k in range(len(drafts) + 1)]


def random_target(seed: int, vocabulary: int) -> Callable[[tuple[int, ...]], Row]:
    """A target whose row depends on the whole text before it, in a way of its own."""

    def row(text: tuple[int, ...]) -> Row:
        weights = np.random.default_rng([seed, *text]).dirichlet(np.full(vocabulary, 0.7))
        return weights

    return row


@pytest.mark.parametrize("seed", range(4))
def test_every_possible_block_gives_the_text_of_plain_greedy_decoding(seed: int) -> None:
    target, gamma = random_target(seed, 3), 3
    plain: tuple[int, ...] = (0,)
    for _ in range(gamma + 1):
        plain += (int(target(plain).argmax()),)
    for drafts in itertools.product(range(3), repeat=gamma):
        result = verify_greedy(drafts, rows_of(target, (0,), drafts))
        tokens = tuple(result["tokens"])
        assert tokens == plain[1 : len(tokens) + 1] and len(tokens) == result["accepted"] + 1
        agreeing = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(drafts, plain[1:])))
        assert result["accepted"] == agreeing


@MANY
@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 4))
def test_rounds_with_any_drafter_write_the_text_of_plain_decoding(seed: int, other: int, gamma: int) -> None:
    target, rng = random_target(seed, 4), np.random.default_rng(other)
    text: tuple[int, ...] = (0,)
    while len(text) < 10:
        drafts = tuple(rng.integers(4, size=gamma).tolist())
        text += tuple(verify_greedy(drafts, rows_of(target, text, drafts))["tokens"])
    for k in range(1, len(text)):
        assert text[k] == target(text[:k]).argmax()


def test_a_draft_that_only_ties_is_refused_and_the_lowest_id_follows() -> None:
    assert verify_greedy([1], [[0.5, 0.5], [0.0, 1.0]]) == {"accepted": 0, "tokens": [0]}
    assert verify_greedy([0], [[0.5, 0.5], [0.25, 0.25]]) == {"accepted": 1, "tokens": [0, 0]}


def test_rows_behind_the_first_wrong_draft_are_not_looked_at() -> None:
    assert verify_greedy([0, 1], [[0.0, 1.0], [NAN, NAN], [-INF, -INF]]) == {"accepted": 0, "tokens": [1]}


def test_a_round_of_plain_ints_comes_from_lists_and_arrays_alike() -> None:
    logits = [[0.1, 0.9], [0.3, 0.7], [0.8, 0.2]]
    for result in (verify_greedy([1, 0], logits), verify_greedy(np.array([1, 0]), np.array(logits, dtype=np.float32))):
        assert result == {"accepted": 1, "tokens": [1, 1]}
        assert type(result["accepted"]) is int and all(type(token) is int for token in result["tokens"])


# --- Sampling: the exact law ---------------------------------------------------------------------------


class AllPaths:
    """Stands for a generator: each draw branches into all its outcomes, with their exact probabilities."""

    def __init__(self) -> None:
        self.script: list[int] = []

    def law(self, function: Callable[[Any], Any]) -> dict[Any, float]:
        """Run a function along every path and add up the probability of each result."""
        law: Counter[Any] = Counter()
        self.open: list[list[int]] = [[]]
        while self.open:
            self.script, self.taken, self.weight = self.open.pop(), [], 1.0
            law[function(self)] += self.weight
        return dict(law)

    def branch(self, probabilities: Any) -> int:
        """Take the outcome that the script says, or the first possible one, and leave the others for later."""
        possible = np.flatnonzero(np.asarray(probabilities) > 0.0).tolist()
        if len(self.taken) < len(self.script):
            choice = self.script[len(self.taken)]
        else:
            choice = possible[0]
            self.open += [[*self.taken, other] for other in possible[1:]]
        self.taken.append(choice)
        self.weight *= float(probabilities[choice])
        return choice

    def random(self) -> Uniform:
        return Uniform(self)

    def choice(self, n: int, p: Row) -> int:
        assert len(p) == n and abs(p.sum() - 1.0) < 1e-9
        return self.branch(p)


class Uniform:
    """A number from [0, 1) that is known only by the one comparison that was made with it."""

    def __init__(self, paths: AllPaths) -> None:
        self.paths, self.used = paths, False

    def __ge__(self, threshold: float) -> bool:
        assert not self.used, "One uniform number must not decide twice."
        self.used = True
        return bool(self.paths.branch([threshold, 1.0 - threshold]))

    def __lt__(self, threshold: float) -> bool:
        return not self >= threshold


def exact_law(drafts: tuple[int, ...], q: list[Row], p: list[Row]) -> dict[Any, float]:
    def run(rng: Any) -> tuple[int, tuple[int, ...]]:
        result = verify_sampling(drafts, q, p, rng)
        return result["accepted"], tuple(result["tokens"])

    return AllPaths().law(run)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Row], list[Row]]:
    """Drafts of up to two tokens with their rows, and the target's rows."""
    vocabulary, gamma = draw(st.integers(2, 3)), draw(st.integers(0, 2))
    q = [draw(rows(vocabulary)) for _ in range(gamma)]
    drafts = tuple(draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in q)
    return drafts, q, [draw(rows(vocabulary)) for _ in range(gamma + 1)]


@MANY
@given(blocks())
def test_the_joint_law_of_accepted_and_tokens_is_that_of_the_chain(
    block: tuple[tuple[int, ...], list[Row], list[Row]],
) -> None:
    drafts, q, p = block
    law = exact_law(drafts, q, p)
    assert sum(law.values()) == pytest.approx(1.0)
    survived = 1.0
    for k, token in enumerate(drafts):
        accept = min(1.0, p[k][token] / q[k][token])
        excess = np.maximum(p[k] - q[k], 0.0)
        for other in range(p[k].size):
            share = excess[other] / excess.sum() if excess.any() else 0.0
            expected = survived * (1.0 - accept) * share
            assert law.get((k, (*drafts[:k], other)), 0.0) == pytest.approx(expected, abs=1e-12)
        survived *= accept
    for bonus, share in enumerate(p[-1]):
        assert law.get((len(drafts), (*drafts, bonus)), 0.0) == pytest.approx(survived * share, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_text_after_a_round_is_distributed_exactly_as_the_targets(seed: int, gamma: int) -> None:
    """Sum over all drafts and all draws; a round that ends early is completed by the target itself."""
    target, drafter, vocabulary = random_target(seed, 3), random_target(seed + 50, 3), 3
    law: Counter[tuple[int, ...]] = Counter()
    for drafts in itertools.product(range(vocabulary), repeat=gamma):
        q = [drafter(drafts[:k]) for k in range(gamma)]
        drafted = float(np.prod([row[token] for row, token in zip(q, drafts)]))
        for (_, tokens), share in exact_law(drafts, q, rows_of(target, (), drafts)).items():
            for text, chance in completions(target, tokens, gamma + 1):
                law[text] += drafted * share * chance
    for text in itertools.product(range(vocabulary), repeat=gamma + 1):
        alone = np.prod([target(text[:k])[token] for k, token in enumerate(text)])
        assert law[text] == pytest.approx(alone, abs=1e-12)


def completions(
    target: Callable[[tuple[int, ...]], Row], text: tuple[int, ...], length: int
) -> list[tuple[tuple[int, ...], float]]:
    """All ways in which the target may go on, up to a length, with their probabilities."""
    if len(text) == length:
        return [(text, 1.0)]
    return [
        (done, chance * share)
        for token, share in enumerate(target(text))
        for done, chance in completions(target, (*text, token), length)
    ]


def test_the_same_proof_fails_for_a_rule_that_draws_the_replacement_from_the_target() -> None:
    """The proof is worth something: it finds the bias of the naive rule, 0.10."""

    def naive(rng: Any, draft: int) -> int:
        if rng.random() < acceptance_probability(P, Q, draft):
            return draft
        return rng.choice(3, p=P)

    law = np.zeros(3)
    for draft in range(3):
        for token, share in AllPaths().law(lambda rng, draft=draft: naive(rng, draft)).items():
            law[token] += Q[draft] * share
    assert total_variation(law, P) == pytest.approx(0.10)


def test_real_draws_agree_with_the_exact_law_at_six_sigma() -> None:
    drafts, draws = (2, 0), 1500
    q, p = [Q, np.array([0.5, 0.25, 0.25])], [P, np.array([0.25, 0.25, 0.5]), np.array([0.2, 0.8, 0.0])]
    law, counts = exact_law(drafts, q, p), Counter[Any]()
    for seed in range(draws):
        result = verify_sampling(drafts, q, p, np.random.default_rng(seed))
        counts[result["accepted"], tuple(result["tokens"])] += 1
    assert set(counts) <= set(law)
    for outcome, share in law.items():
        assert abs(counts[outcome] / draws - share) <= 6.0 * np.sqrt(share * (1.0 - share) / draws)


@MANY
@given(blocks(), st.integers(0, 2**32 - 1))
def test_a_round_is_a_prefix_of_the_drafts_and_one_possible_token(
    block: tuple[tuple[int, ...], list[Row], list[Row]], seed: int
) -> None:
    drafts, q, p = block
    first, second = (verify_sampling(drafts, q, p, np.random.default_rng(seed)) for _ in range(2))
    accepted, tokens = first["accepted"], first["tokens"]
    assert first == second and type(accepted) is int and all(type(token) is int for token in tokens)
    assert tokens[:-1] == list(drafts[:accepted]) and len(tokens) == accepted + 1
    assert p[accepted][tokens[-1]] > 0.0


@MANY
@given(st.integers(0, 99), st.integers(0, 2**32 - 1))
def test_a_target_that_is_sure_makes_sampling_greedy(seed: int, rng_seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, drafts = rng.normal(size=(4, 3)), rng.integers(3, size=3)
    sure = np.eye(3)[logits.argmax(axis=1)]
    sampled = verify_sampling(drafts, np.full((3, 3), 1 / 3), sure, np.random.default_rng(rng_seed))
    assert sampled == verify_greedy(drafts, logits)


def test_rows_with_the_rounding_of_float32_can_be_drawn_from() -> None:
    weights = np.random.default_rng(0).random((2, 1000)).astype(np.float32)
    rows_of_float32 = weights / weights.sum(axis=1, keepdims=True)
    result = verify_sampling([3], rows_of_float32[:1], rows_of_float32, np.random.default_rng(0))
    assert result["accepted"] == 1 and result["tokens"][0] == 3
    assert verify_sampling([], [], [[0.0, 1.0 - 9e-7]], np.random.default_rng(0)) == {"accepted": 0, "tokens": [1]}


class Untouched:
    """A generator that nobody may draw from."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"rng.{name} was used before the input had been checked.")


def test_a_draft_that_cannot_have_been_drafted_is_refused_before_any_draw() -> None:
    q, p = [[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"draft_probs row 1 gives 0 to token 1"):
        verify_sampling([0, 1], q, p, Untouched())  # type: ignore[arg-type]


# --- Where the output ends -----------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=3), st.integers(0, 14))
def test_the_output_is_what_plain_decoding_would_have_kept(tokens: list[int], stops: list[int], cap: int) -> None:
    plain: list[int] = []
    for token in tokens:  # one token at a time, with both tests behind each
        if len(plain) == cap:
            break
        plain.append(token)
        if token in stops:
            break
    output = cut_output(tokens, stops, cap)
    assert output == plain and all(type(token) is int for token in output)
    assert cut_output(np.array(tokens, dtype=int), np.array(stops, dtype=int), cap) == plain
    assert cut_output(output, stops, cap) == output


@MANY
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=5), st.integers(0, 14))
def test_cutting_after_each_round_or_once_at_the_end_gives_the_same(blocks: list[list[int]], cap: int) -> None:
    text: list[int] = []
    for block in blocks:
        text = cut_output(text + block, [5], cap)
        if len(text) == cap or text[-1:] == [5]:
            break
    assert text == cut_output([token for block in blocks for token in block], [5], cap)


def test_the_tokens_are_left_as_they_were() -> None:
    tokens, stops = [5, 2, 7], [2]
    cut_output(tokens, stops, 9).append(1)
    assert tokens == [5, 2, 7] and stops == [2]


# --- Bad input -----------------------------------------------------------------------------------------

HALF, ONE = [0.5, 0.5], [1.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([1], [[0.0, 1.0], [NAN, 0.0]]), "target_logits row 1 holds nan", id="nan"),
        pytest.param(([], [[0.0, INF]]), "target_logits row 0 holds +inf", id="plus infinity"),
        pytest.param(([1], [[0.0, 1.0], [-INF, -INF]]), "target_logits row 1 holds nothing", id="only minus infinity"),
        pytest.param(([1], [[0.0, 1.0]]), "target_logits has shape (1, 2)", id="a row is missing"),
        pytest.param(([1], [[0.0, 1.0]] * 3), "target_logits has shape (3, 2)", id="a row too many"),
        pytest.param(([], []), "target_logits is empty", id="no row"),
        pytest.param(([], [[]]), "target_logits is empty", id="no token"),
        pytest.param(([1], [[0.0, 1.0], [0.0]]), "target_logits row 1", id="ragged"),
        pytest.param(([1], [0.0, 1.0]), "target_logits must be a matrix", id="no matrix"),
        pytest.param(([0, 2], [[0.0, 1.0]] * 3), "draft_tokens[1]", id="a token outside"),
        pytest.param(([-1], [[0.0, 1.0]] * 2), "draft_tokens[0]", id="a negative token"),
        pytest.param(([1.0], [[0.0, 1.0]] * 2), "draft_tokens[0]", id="a float"),
        pytest.param((None, [[0.0, 1.0]]), "draft_tokens must be", id="no drafts at all"),
    ],
)
def test_bad_input_of_greedy_verification_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        verify_greedy(*arguments)


PAIRS = [
    pytest.param(([NAN, 0.5], HALF), "p holds nan at token 0", id="nan in p"),
    pytest.param((HALF, [0.5, INF]), "q holds inf at token 1", id="infinity in q"),
    pytest.param((HALF, [1.5, -0.5]), "q holds -0.5 at token 1", id="negative"),
    pytest.param(([0.5, 0.25], HALF), "p sums to 0.75", id="sum"),
    pytest.param((HALF, [0.5, 0.5 + 1e-5]), "q sums to 1.00001", id="sum off by 1e-5"),
    pytest.param((HALF, [0.5, 0.25, 0.25]), "q has 3 entries, but p has 2", id="lengths"),
    pytest.param(([], []), "p must be one row", id="empty"),
    pytest.param(([HALF], HALF), "p must be one row", id="matrix"),
    pytest.param((HALF, "half"), "q must hold real numbers", id="text"),
]


@pytest.mark.parametrize(("pair", "where"), PAIRS)
def test_bad_rows_are_refused(pair: tuple[Any, Any], where: str) -> None:
    for function in (lambda p, q: acceptance_probability(p, q, 0), residual_distribution):
        with pytest.raises(ValueError, match=re.escape(where)):
            function(*pair)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param((HALF, ONE, 1), "q[1] is 0", id="never drafted"),
        pytest.param((HALF, HALF, 2), "token must be", id="outside"),
        pytest.param((HALF, HALF, -1), "token must be", id="negative"),
        pytest.param((HALF, HALF, 0.0), "token must be", id="a float"),
        pytest.param((HALF, HALF, True), "token must be", id="a bool"),
    ],
)
def test_a_bad_token_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        acceptance_probability(*arguments)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([0], [HALF], [[0.5, 0.25], HALF]), "target_probs row 0 sums", id="sum"),
        pytest.param(([0], [HALF], [HALF, [NAN, 1.0]]), "target_probs row 1 holds nan", id="nan in the bonus row"),
        pytest.param(([0], [[1.5, -0.5]], [HALF, HALF]), "draft_probs row 0 holds -0.5", id="negative"),
        pytest.param(([0], [HALF], [HALF]), "target_probs has shape (1, 2)", id="no bonus row"),
        pytest.param(([0], [HALF, HALF], [HALF, HALF]), "draft_probs has shape (2, 2)", id="a draft row too many"),
        pytest.param(([0], [], [HALF, HALF]), "draft_probs has shape (0, 0)", id="no draft row"),
        pytest.param(([0], [[0.5, 0.25, 0.25]], [HALF, HALF]), "draft_probs has shape (1, 3)", id="vocabularies"),
        pytest.param(([0], [HALF], [HALF, [1.0]]), "target_probs row 1", id="ragged"),
        pytest.param(([0, 2], [HALF, HALF], [HALF] * 3), "draft_tokens[1]", id="a token outside"),
        pytest.param(([-1], [HALF], [HALF] * 2), "draft_tokens[0]", id="a negative token"),
        pytest.param(([1], [ONE], [HALF] * 2), "draft_probs row 0 gives 0 to token 1", id="never drafted"),
        pytest.param(([], [], []), "target_probs has shape (0, 0)", id="no row at all"),
        pytest.param(([0], HALF, [HALF] * 2), "draft_probs must be a matrix", id="no matrix"),
    ],
)
def test_bad_input_of_sampling_is_refused_before_any_draw(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        verify_sampling(*arguments, Untouched())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([5, -2], [], 3), "tokens[1]", id="a negative token"),
        pytest.param(([5, 2.0], [], 3), "tokens[1]", id="a float"),
        pytest.param(([5], [2, -3], 3), "stop_tokens[1]", id="a negative stop token"),
        pytest.param(([5], 2, 3), "stop_tokens must be a sequence", id="a number for stop tokens"),
        pytest.param(("52", [], 3), "tokens must be a sequence", id="text"),
        pytest.param(([5], [], -1), "max_new_tokens", id="a negative cap"),
        pytest.param(([5], [], None), "max_new_tokens", id="no cap"),
    ],
)
def test_bad_input_of_the_cut_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        cut_output(*arguments)
