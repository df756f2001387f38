"""Properties, check values and bad inputs of the sequential heads; their laws by enumeration."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dspark_mini import dspark_markov_candidates
from dspark_mini.heads import LowRankHead, draft_inputs, low_rank_bias, rnn_head_step, sample_markov_block

NAN, INF = float("nan"), float("inf")
LN3, LN4 = math.log(3), math.log(4)
MANY = settings(max_examples=40, deadline=None)
W1, W2 = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]


def eighths(shape: Any, low: int = -16, high: int = 16) -> st.SearchStrategy[np.ndarray]:
    """Exact binary fractions on few levels: sums and products are exact, and ties are frequent."""
    return hnp.arrays(np.int64, shape, elements=st.integers(low, high)).map(lambda a: a / 8.0)


@st.composite
def heads(draw: st.DrawFn, most: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """The two matrices of a Markov head."""
    vocabulary, rank = draw(st.integers(1, most)), draw(st.integers(1, 4))
    return draw(eighths((vocabulary, rank))), draw(eighths((rank, vocabulary)))


@st.composite
def chains(draw: st.DrawFn) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """What sample_markov_block takes, but for the generator and the temperature."""
    w1, w2 = draw(heads())
    base = draw(eighths((draw(st.integers(1, 4)), len(w1))))
    return base, draw(st.integers(0, len(w1) - 1)), w1, w2


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


class Steered(np.random.Generator):
    """A generator whose uniforms are given beforehand, so that a draw can be led to any outcome."""

    def __new__(cls, uniforms: list[float]) -> Steered:
        return super().__new__(cls, np.random.PCG64(0))

    def __init__(self, uniforms: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.uniforms = list(uniforms)

    def choice(self, a: Any, *rest: Any, p: Any = None, **more: Any) -> Any:
        return np.int64(np.searchsorted(np.cumsum(p), self.uniforms.pop(0), side="right"))


# --- Task 3.1: low_rank_bias -------------------------------------------------------------------------


@MANY
@given(heads(), st.data())
def test_the_bias_is_one_row_of_the_whole_table(head: tuple[np.ndarray, np.ndarray], data: st.DataObject) -> None:
    w1, w2 = head
    token = data.draw(st.integers(0, len(w1) - 1))
    bias = low_rank_bias(w1, w2, token)
    assert bias.dtype == np.float64 and bias.tolist() == (w1 @ w2)[token].tolist()
    assert low_rank_bias(w1.tolist(), w2.tolist(), np.int64(token)).tolist() == bias.tolist()
    assert low_rank_bias(w1.astype(np.float32), w2.astype(np.float32), token).dtype == np.float64


@MANY
@given(heads(), st.data(), st.sampled_from([NAN, INF, -INF]))
def test_no_other_row_of_w1_is_looked_at(head: tuple[np.ndarray, np.ndarray], data: st.DataObject, bad: float) -> None:
    w1, w2 = head
    token = data.draw(st.integers(0, len(w1) - 1))
    broken = np.where(np.arange(len(w1))[:, None] == token, w1, bad)
    assert low_rank_bias(broken, w2, token).tolist() == low_rank_bias(w1, w2, token).tolist()


def test_a_full_rank_head_holds_any_table_exactly() -> None:
    table = np.arange(9.0).reshape(3, 3)
    for token in range(3):
        assert low_rank_bias(np.eye(3), table, token).tolist() == table[token].tolist()


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param((W1, W2, 3), "token must be", id="a token outside"),
        pytest.param((W1, W2, -1), "token must be", id="a negative token"),
        pytest.param((W1, W2, 1.0), "token must be", id="a float as token"),
        pytest.param((W1, [[1.0, 2.0, 3.0]], 0), "w2 has shape (1, 3), but it needs 2 rows", id="another rank"),
        pytest.param((W1, [[1.0], [2.0]], 0), "w2 has shape (2, 1), but it needs 3 columns", id="another vocabulary"),
        pytest.param(([1.0, 2.0], W2, 0), "w1 must be a matrix", id="w1 a vector"),
        pytest.param(([], W2, 0), "w1 must be a matrix", id="w1 empty"),
        pytest.param(([[], []], [], 0), "w1 must be a matrix", id="rank 0"),
        pytest.param((W1, 2.0, 0), "w2 must be a matrix", id="w2 a number"),
        pytest.param(([[1.0], [2.0, 3.0]], W2, 0), "w1 row 1", id="w1 ragged"),
        pytest.param((W1, [[1.0, 2.0, 3.0], [1.0]], 0), "w2 row 1", id="w2 ragged"),
        pytest.param((W1, [[1.0, 2.0, "x"], [1.0, 2.0, 3.0]], 0), "w2 row 0", id="w2 with text"),
        pytest.param(([[1.0, NAN], [0.0, 2.0], [1.0, 1.0]], W2, 0), "w1 row 0 holds nan in column 1", id="nan in use"),
        pytest.param(([[1.0, 0.0], [-INF, 2.0], [1.0, 1.0]], W2, 1), "w1 row 1 holds -inf", id="-inf in use"),
        pytest.param((W1, [[1.0, 2.0, 3.0], [0.0, 1.0, INF]], 0), "w2 row 1 holds inf in column 2", id="inf in w2"),
        pytest.param((W1, [[NAN, 2.0, 3.0], [0.0, 1.0, INF]], 0), "w2 row 0 holds nan", id="the first bad row counts"),
    ],
)
def test_bad_input_of_the_bias_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        low_rank_bias(*arguments)


# --- LowRankHead --------------------------------------------------------------------------------------


@MANY
@given(chains(), st.integers(-2, 8))
def test_a_head_drafts_as_the_dict_of_all_its_rows_does(
    chain: tuple[np.ndarray, int, np.ndarray, np.ndarray], anchor: int
) -> None:
    base, _, w1, w2 = chain
    rows = {token: low_rank_bias(w1, w2, token) for token in range(len(w1))}
    head = LowRankHead(w1, w2)
    assert dspark_markov_candidates(base, anchor, head) == dspark_markov_candidates(base, anchor, rows)
    assert list(head) == list(rows) and len(head) == len(rows)
    for token in range(-2, len(w1) + 2):
        row, expected = head.get(token), rows.get(token)
        assert (token in head) == (token in rows)
        assert row is expected is None or (row is not None and row.tolist() == expected.tolist())


def test_a_head_in_single_precision_computes_in_single_precision() -> None:
    w1, w2 = np.array(W1, dtype=np.float32), np.array(W2, dtype=np.float32)
    assert LowRankHead(w1, w2)[1].dtype == np.float32
    assert LowRankHead(w1, W2)[1].dtype == LowRankHead(W1, W2)[1].dtype == np.float64
    assert np.shares_memory(LowRankHead(w1, w2)._w2, w2)


def test_a_head_has_no_rows_but_those_of_its_tokens() -> None:
    head = LowRankHead(W1, W2)
    for key in (3, -1, "1", None):
        assert key not in head and head.get(key) is None
        with pytest.raises(KeyError):
            head[key]


@pytest.mark.parametrize(("matrices", "where"), [
    (([[1.0], [NAN]], [[1.0, 2.0]]), "w1 row 1"),
    (([[1.0], [2.0]], [[1.0, INF]]), "w2 row 0"),
    (([[1.0], [2.0]], [[1.0, 2.0, 3.0]]), "w2 has shape"),
    (([1.0], [[1.0]]), "w1 must be a matrix"),
])  # fmt: skip
def test_bad_matrices_of_a_head_are_refused_at_once(matrices: tuple[Any, Any], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        LowRankHead(*matrices)


# --- Task 3.2: sample_markov_block ----------------------------------------------------------------------


@MANY
@given(chains(), st.sampled_from([0.5, 1.0, 2.0, 7.0]), st.integers(0, 2**32 - 1))
def test_each_row_follows_the_token_that_was_drawn_before_it(
    chain: tuple[np.ndarray, int, np.ndarray, np.ndarray], temperature: float, seed: int
) -> None:
    base, anchor, w1, w2 = chain
    tokens, rows = sample_markov_block(*chain, np.random.default_rng(seed), temperature)
    assert all(type(token) is int for token in tokens) and rows.dtype == np.float64 and rows.shape == base.shape
    for logits, previous, row in zip(base, [anchor, *tokens], rows):
        assert np.allclose(row, softmax((logits + w1[previous] @ w2) / temperature), rtol=1e-12, atol=1e-15)
    again = sample_markov_block(*chain, np.random.default_rng(seed), temperature)
    assert again[0] == tokens and np.array_equal(again[1], rows)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 3), st.integers(1, 3), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 2**32 - 1))
def test_the_law_of_the_block_is_the_product_of_the_chain_by_enumeration(
    vocabulary: int, gamma: int, temperature: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    base, w1, w2 = (rng.normal(size=shape) for shape in ((gamma, vocabulary), (vocabulary, 2), (2, vocabulary)))
    anchor, total = int(rng.integers(vocabulary)), 0.0
    for wanted in itertools.product(range(vocabulary), repeat=gamma):
        probability, uniforms, previous = 1.0, [], anchor
        for logits, token in zip(base, wanted):
            row = softmax((logits + w1[previous] @ w2) / temperature)
            probability *= row[token]
            uniforms.append(row[:token].sum() + row[token] / 2)  # the middle of the token's share
            previous = token
        tokens, rows = sample_markov_block(base, anchor, w1, w2, Steered(uniforms), temperature)
        assert tokens == list(wanted)
        assert math.isclose(float(np.prod(rows[np.arange(gamma), tokens])), probability, rel_tol=1e-12)
        total += probability
    assert math.isclose(total, 1.0, rel_tol=1e-12)


def test_the_draws_come_as_often_as_the_law_says() -> None:
    rng, draws = np.random.default_rng(5), 4000
    blocks = [sample_markov_block(np.zeros((2, 2)), 0, [[LN4], [-LN4]], [[1.0, 0.0]], rng)[0] for _ in range(draws)]
    for block, probability in {(0, 0): 0.64, (0, 1): 0.16, (1, 0): 0.04, (1, 1): 0.16}.items():
        share = blocks.count(list(block)) / draws
        assert abs(share - probability) < 6 * math.sqrt(probability * (1 - probability) / draws)


@MANY
@given(chains(), st.integers(0, 99))
def test_at_temperature_zero_the_block_is_that_of_the_greedy_chain(
    chain: tuple[np.ndarray, int, np.ndarray, np.ndarray], seed: int
) -> None:
    base, anchor, w1, w2 = chain
    tokens, rows = sample_markov_block(*chain, np.random.default_rng(seed), 0)
    assert tokens == dspark_markov_candidates(base, anchor, LowRankHead(w1, w2))
    assert np.array_equal(rows, np.eye(len(w1))[tokens])


@MANY
@given(chains(), st.data())
def test_a_masked_token_is_never_drawn(
    chain: tuple[np.ndarray, int, np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    base, *more = chain
    masked = data.draw(hnp.arrays(bool, base.shape))
    masked[:, 0] = False
    block = np.where(masked, -np.inf, base)
    tokens, rows = sample_markov_block(block, *more, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert not masked[np.arange(len(tokens)), tokens].any() and (rows[masked] == 0.0).all()
    assert np.allclose(rows.sum(axis=1), 1.0)


@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1.0, 1e300])
@pytest.mark.parametrize("shift", [0.0, 1e5, -1e5])
def test_no_temperature_and_no_large_logit_makes_a_row_nan(temperature: float, shift: float) -> None:
    base = np.array([[0.0, 700.0, 1400.0]] * 3) + shift
    _, rows = sample_markov_block(base, 0, np.ones((3, 1)), np.ones((1, 3)), np.random.default_rng(0), temperature)
    assert np.isfinite(rows).all() and np.allclose(rows.sum(axis=1), 1.0)


def test_the_arguments_of_a_draw_are_left_as_they_were() -> None:
    base, w1, w2 = np.ones((3, 2)), np.ones((2, 1)), np.ones((1, 2))
    for array in (base, w1, w2):
        array.flags.writeable = False
    sample_markov_block(base, 0, w1, w2, np.random.default_rng(0))


def test_a_row_of_w1_that_is_not_met_does_no_harm() -> None:
    block = [[1.0, 0.0], [1.0, 0.0]]
    tokens, _ = sample_markov_block(block, 0, [[2.0], [NAN]], [[1.0, 0.0]], np.random.default_rng(0), 0.0)
    assert tokens == [0, 0]


FITS: dict[str, Any] = {"anchor_token": 0, "w1": [[1.0], [2.0]], "w2": [[1.0, 0.0]]}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        pytest.param({"base_logits": [[0.5, 0.5], [NAN, 0.5]]}, "base_logits row 1 holds nan at token 0", id="nan"),
        pytest.param({"base_logits": [[0.5, INF], [NAN, 0.5]]}, "base_logits row 0 holds +inf at token 1", id="+inf"),
        pytest.param(
            {"base_logits": [[0.5, 0.5]] * 2 + [[-INF, -INF]]}, "base_logits row 2 holds nothing", id="-inf only"
        ),
        pytest.param({"base_logits": [[0.5, 0.5], [0.5]]}, "base_logits row 1", id="ragged"),
        pytest.param({"base_logits": []}, "base_logits is empty", id="no rows"),
        pytest.param({"base_logits": [[], []]}, "base_logits is empty", id="no tokens"),
        pytest.param({"base_logits": [0.5, 0.5]}, "base_logits must be a matrix", id="a vector"),
        pytest.param({"base_logits": [[0.5, 0.5, 0.5]]}, "w1 has shape (2, 1), but it needs 3 rows", id="another V"),
        pytest.param({"anchor_token": 2}, "anchor_token", id="an anchor outside"),
        pytest.param({"anchor_token": -1}, "anchor_token", id="a negative anchor"),
        pytest.param({"w1": [[1.0, 2.0], [1.0, 2.0]]}, "w2 has shape (1, 2), but it needs 2 rows", id="another rank"),
        pytest.param({"w2": [[1.0]]}, "w2 has shape (1, 1), but it needs 2 columns", id="w2 too narrow"),
        pytest.param({"w2": [[1.0, NAN]]}, "w2 row 0", id="nan in w2"),
        pytest.param({"w1": [[NAN], [2.0]]}, "w1 row 0", id="nan in the anchor's row"),
        pytest.param({"w1": [[9.0], [INF]], "w2": [[0.0, 9.0]]}, "w1 row 1", id="inf in the row of a drawn token"),
        pytest.param({"temperature": -0.5}, "temperature must be", id="a negative temperature"),
        pytest.param({"temperature": NAN}, "temperature must be", id="temperature nan"),
        pytest.param({"temperature": INF}, "temperature must be", id="temperature infinite"),
        pytest.param({"temperature": "1"}, "temperature must", id="temperature text"),
    ],
)
def test_bad_input_of_a_draw_is_refused(changes: dict[str, Any], where: str) -> None:
    arguments = {"base_logits": [[0.5, 0.5], [0.5, 0.5]], "temperature": 0.0} | FITS | changes
    with pytest.raises(ValueError, match=re.escape(where)):
        sample_markov_block(**arguments, rng=np.random.default_rng(0))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0]))
def test_the_ratio_with_the_rows_of_the_draw_emits_the_target_and_with_others_does_not(
    seed: int, temperature: float
) -> None:
    rng = np.random.default_rng(seed)
    base, w1, w2 = rng.normal(size=(1, 3)) * 3.0, rng.normal(size=(3, 1)), rng.normal(size=(1, 3))
    target = rng.dirichlet(np.ones(3) * 3.0)

    def emitted(drawn_from: np.ndarray, in_the_ratio: np.ndarray) -> np.ndarray:
        accepted = drawn_from * np.minimum(1.0, target / in_the_ratio)
        residual = np.maximum(target - in_the_ratio, 0.0)
        return accepted + (1.0 - accepted.sum()) * residual / residual.sum()

    rows = [sample_markov_block(base, 0, w1, w2, rng, t)[1][0] for t in (temperature, 1.0)]
    assert np.allclose(emitted(rows[0], rows[0]), target, rtol=1e-9, atol=1e-12)
    if np.abs(rows[0] - rows[1]).sum() > 1e-3:
        assert np.abs(emitted(rows[0], rows[1]) - target).sum() > 1e-6


# --- Task 3.3: rnn_head_step ------------------------------------------------------------------------------

ZEROS = [[0.0] * 3] * 3


def small(shape: Any) -> st.SearchStrategy[np.ndarray]:
    return eighths(shape, -24, 24)


@st.composite
def steps(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    rank, size, vocabulary = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shapes = (rank, rank, size, (2 * rank + size, 3 * rank), (rank, vocabulary))
    return tuple(draw(small(shape)) for shape in shapes)


def one_step(state: Any, previous: Any, hidden: Any, w_joint: Any, w2: Any) -> tuple[list[float], list[float]]:
    """Compute a step entry by entry with math only, as the paper writes it."""
    z = [*state.tolist(), *previous.tolist(), *hidden.tolist()]
    sums = [math.fsum(a * b for a, b in zip(z, column)) for column in w_joint.T.tolist()]
    rank = len(state)
    keep = [1.0 / (1.0 + math.exp(-x)) for x in sums[:rank]]
    candidate, output = ([math.tanh(x) for x in sums[k * rank : (k + 1) * rank]] for k in (1, 2))
    new = [k * s + (1.0 - k) * c for k, s, c in zip(keep, state.tolist(), candidate)]
    return new, [math.fsum(o * w for o, w in zip(output, column)) for column in w2.T.tolist()]


@MANY
@given(steps())
def test_a_step_follows_the_equations_entry_by_entry(arguments: tuple[np.ndarray, ...]) -> None:
    for form in (arguments, [array.tolist() for array in arguments]):
        state, bias = rnn_head_step(*form)
        assert state.dtype == bias.dtype == np.float64
        assert np.allclose(state, one_step(*arguments)[0]) and np.allclose(bias, one_step(*arguments)[1])


def test_a_step_has_the_value_that_was_worked_out_by_hand() -> None:
    w_joint = [[0.0] * 3, [0.0] * 3, [LN3, LN3 / 2, LN3 / 2]]
    state, bias = rnn_head_step([2.0], [0.0], [1.0], w_joint, [[4.0, -2.0]])
    assert np.allclose(state, [1.625]) and np.allclose(bias, [2.0, -1.0])


@MANY
@given(steps(), st.sampled_from([-1, 1]))
def test_an_open_gate_keeps_the_state_and_a_shut_one_takes_the_candidate(
    arguments: tuple[np.ndarray, ...], sign: int
) -> None:
    state, previous, hidden, w_joint, w2 = arguments
    rank, opened = state.size, w_joint.copy()
    opened[:, :rank] = 0.0
    opened[-1, :rank] = 2000.0 * sign
    new, _ = rnn_head_step(state, previous, np.ones_like(hidden), opened, w2)
    z = np.concatenate([state, previous, np.ones_like(hidden)])
    assert np.allclose(new, state if sign > 0 else np.tanh(z @ opened[:, rank : 2 * rank]))


@MANY
@given(steps())
def test_a_state_between_minus_one_and_one_stays_there(arguments: tuple[np.ndarray, ...]) -> None:
    state, *more = arguments
    new, _ = rnn_head_step(np.tanh(state), *more)
    assert (np.abs(new) <= 1.0).all()


@MANY
@given(steps())
def test_huge_weights_never_give_nan(arguments: tuple[np.ndarray, ...]) -> None:
    state, previous, hidden, w_joint, w2 = arguments
    with np.errstate(all="raise", under="ignore"):
        new, bias = rnn_head_step(state, previous, hidden, w_joint * 1e6, w2)
    assert np.isfinite(new).all() and np.isfinite(bias).all()


@MANY
@given(steps(), st.data())
def test_the_bias_of_a_step_does_not_depend_on_gate_and_candidate(
    arguments: tuple[np.ndarray, ...], data: st.DataObject
) -> None:
    state, previous, hidden, w_joint, w2 = arguments
    other = w_joint.copy()
    other[:, : 2 * state.size] += data.draw(small((len(w_joint), 2 * state.size)))
    assert rnn_head_step(*arguments)[1].tolist() == rnn_head_step(state, previous, hidden, other, w2)[1].tolist()


def test_the_head_remembers_more_than_the_token_before() -> None:
    w_joint = np.zeros((3, 3))  # the gate is half open; the candidate is the token before, the output the state
    w_joint[1, 1] = w_joint[0, 2] = 1.0
    states = [np.zeros(1)]
    for first in (1.0, -1.0):
        state, _ = rnn_head_step(states[0], [first], [0.0], w_joint, [[1.0]])
        states.append(state)
    later = [rnn_head_step(state, [0.5], [0.0], w_joint, [[1.0]])[1][0] for state in states[1:]]
    assert later[0] > 0 > later[1]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param(([], [], [1.0], ZEROS, [[1.0]]), "state has 0 entries", id="no state"),
        pytest.param(([1.0], [0.5, 0.5], [1.0], ZEROS, [[1.0]]), "prev_embedding has 2 entries", id="another rank"),
        pytest.param(([1.0], [0.5], [], ZEROS, [[1.0]]), "hidden has 0 entries", id="no hidden state"),
        pytest.param(([1.0], [0.5], [NAN], ZEROS, [[1.0]]), "hidden[0]", id="nan in hidden"),
        pytest.param(([INF], [0.5], [1.0], ZEROS, [[1.0]]), "state[0]", id="inf in state"),
        pytest.param(([1.0], [-INF], [1.0], ZEROS, [[1.0]]), "prev_embedding[0]", id="-inf in prev_embedding"),
        pytest.param(([[1.0]], [0.5], [1.0], ZEROS, [[1.0]]), "state must be a flat sequence", id="a matrix as state"),
        pytest.param(
            ([1.0], [0.5], [1.0, 2.0], ZEROS, [[1.0]]), "w_joint has shape (3, 3), but it needs 4 rows", id="d"
        ),
        pytest.param(([1.0], [0.5], [1.0], [[0.0]] * 3, [[1.0]]), "it needs 3 columns", id="too few columns"),
        pytest.param(([1.0], [0.5], [1.0], [[0.0] * 3, [0.0] * 2], [[1.0]]), "w_joint row 1", id="ragged"),
        pytest.param(([1.0], [0.5], [1.0], [[0.0] * 3] * 2 + [[0.0, NAN, 0.0]], [[1.0]]), "w_joint row 2", id="nan"),
        pytest.param(([1.0], [0.5], [1.0], ZEROS, [[1.0], [2.0]]), "w2 has shape (2, 1), but it needs 1 rows", id="w2"),
        pytest.param(([1.0], [0.5], [1.0], ZEROS, [[INF]]), "w2 row 0", id="inf in w2"),
        pytest.param(([1.0], [0.5], [1.0], ZEROS, [1.0]), "w2 must be a matrix", id="w2 a vector"),
    ],
)
def test_bad_input_of_a_step_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        rnn_head_step(*arguments)


# --- Task 3.4: draft_inputs --------------------------------------------------------------------------------


def test_layouts_of_the_docstring_are_as_written() -> None:
    assert draft_inputs(7, 99, 3, "dflash") == ([7, 99, 99, 99], [1, 2, 3])
    assert draft_inputs(7, 99, 3, "dspark") == ([7, 99, 99], [0, 1, 2])
    assert draft_inputs(7, 99, 1, "dspark") == ([7], [0])


@MANY
@given(st.integers(0, 200_000), st.integers(0, 200_000), st.integers(1, 64), st.sampled_from(["dflash", "dspark"]))
def test_gamma_positions_predict_and_the_anchor_is_the_only_input_that_is_no_mask(
    anchor: int, mask: int, gamma: int, layout: str
) -> None:
    ids, positions = draft_inputs(np.int64(anchor), np.int64(mask), np.int64(gamma), layout)
    assert all(type(number) is int for number in ids + positions)
    assert ids[0] == anchor and set(ids[1:]) <= {mask}
    assert len(positions) == gamma and positions[-1] == len(ids) - 1
    assert np.diff(positions).tolist() == [1] * (gamma - 1)
    assert (positions[0] == 0) == (layout == "dspark")


@pytest.mark.parametrize("layout", ["dflash", "dspark"])
@pytest.mark.parametrize("gamma", [1, 2, 7])
def test_an_oracle_drafter_is_accepted_in_full_and_one_row_late_hardly_ever(layout: str, gamma: int) -> None:
    text = np.random.default_rng(gamma).integers(50, size=600).tolist()

    def oracle(start: int, inputs: list[int], shift: int) -> list[int]:
        """Say at each input position what a perfect drafter of this layout says there."""
        first = 1 if layout == "dspark" else 0  # DSpark's anchor predicts x_1, DFlash's repeats x_0
        return [text[start + position + first + shift] for position in range(len(inputs))]

    for shift in (0, 1):
        accepted = rounds = start = 0
        while start + 2 * gamma + 4 < len(text):
            inputs, positions = draft_inputs(text[start], 99, gamma, layout)
            drafts = [oracle(start, inputs, shift)[position] for position in positions]
            truth = text[start + 1 : start + 1 + gamma]
            kept = next((k for k, pair in enumerate(zip(drafts, truth)) if pair[0] != pair[1]), gamma)
            accepted, rounds, start = accepted + kept, rounds + 1, start + kept + 1
        assert accepted == rounds * gamma if shift == 0 else accepted < 0.1 * rounds * gamma


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        pytest.param((7, 99, 0, "dspark"), "block_size", id="an empty block"),
        pytest.param((7, 99, -1, "dflash"), "block_size", id="a negative size"),
        pytest.param((7, 99, 2.0, "dflash"), "block_size", id="a float as size"),
        pytest.param((7, 99, 2, "eagle"), "layout must be 'dflash' or 'dspark'", id="another layout"),
        pytest.param((7, 99, 2, None), "layout must be", id="no layout"),
        pytest.param((-7, 99, 2, "dflash"), "anchor_token", id="a negative anchor"),
        pytest.param((7, True, 2, "dflash"), "mask_token", id="a bool as mask"),
        pytest.param((7, None, 2, "dflash"), "mask_token", id="no mask"),
    ],
)
def test_bad_input_of_a_layout_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        draft_inputs(*arguments)
