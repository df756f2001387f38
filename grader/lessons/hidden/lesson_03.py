"""Lesson 03, sequential heads: oracles and hidden cases."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from grader.check.judges import LawCase
from grader.lessons.checks.chains import Chain
from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, Seed, call


# --- 3.1 low_rank_bias ------------------------------------------------------------------------------------------------
def bias(w1: Array, w2: Array, token: int) -> Array:
    row = w1[token].tolist()
    return np.array([sum(a * b for a, b in zip(row, column)) for column in w2.T.tolist()])


def lookup(rng: Rng, vocabulary: int, rank: int) -> Call:
    w1, w2 = rng.normal(size=(vocabulary, rank)), rng.normal(size=(rank, vocabulary))
    return call(w1, w2, int(rng.integers(vocabulary)))


def row_of_the_product(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield lookup(rng, int(rng.integers(5, 12)), int(rng.integers(2, 5)))
    yield call(np.array([[2], [-1], [3]]), np.array([[1, 0, -2]]), 2)
    yield call([[1e150], [1e-150]], [[1e150, 1e-150]], 0)
    yield lookup(rng, 2000, 64)


def rows_are_the_tokens_before(rng: Rng) -> Iterator[Call]:
    """As many numbers per row as tokens, so that a transposed matrix has the right shape too."""
    for size in (2, 3, 4, 5, 6) * 2:
        yield lookup(rng, size, size)


def every_shape(rng: Rng) -> Iterator[Call]:
    """Rank 1, a vocabulary of 1, more numbers per row than tokens, the first and the last token."""
    for vocabulary, rank in ((1, 1), (1, 4), (5, 1), (2, 6), (3, 8)):
        w1, w2, _ = lookup(rng, vocabulary, rank).args
        yield call(w1, w2, 0)
        yield call(w1, w2, vocabulary - 1)


# --- 3.2 sample_markov_block ------------------------------------------------------------------------------------------
def row_after(previous: int, logits: Array, w1: Array, w2: Array, temperature: float) -> list[float]:
    """Return the row of a position, for one token that may stand before it."""
    sums = [u + b for u, b in zip(logits.tolist(), bias(w1, w2, previous).tolist())]
    best = max(sums)
    if temperature == 0:
        winner = sums.index(best)
        return [float(token == winner) for token in range(len(sums))]
    weights = [math.exp((value - best) / temperature) for value in sums]
    return [weight / math.fsum(weights) for weight in weights]


def markov_block(
    base_logits: Array, anchor_token: int, w1: Array, w2: Array, rng: Rng, temperature: float = 1.0
) -> tuple[list[int], Array]:
    chain, rows = [anchor_token], []
    for logits in base_logits:
        rows.append(row_after(chain[-1], logits, w1, w2, temperature))
        chain.append(int(rng.multinomial(1, rows[-1]).argmax()))
    return chain[1:], np.array(rows)


def chain_arguments(rng: Rng, gamma: int, vocabulary: int, scale: float = 1.0) -> tuple[Array, int, Array, Array]:
    rank = int(rng.integers(1, 4))
    w1, w2 = rng.normal(size=(vocabulary, rank)), rng.normal(size=(rank, vocabulary)) * scale
    return rng.normal(size=(gamma, vocabulary)), int(rng.integers(vocabulary)), w1, w2


def as_chain(base: Array, anchor: int, w1: Array, w2: Array, temperature: float) -> Chain:
    """Note the row of every position for every token that may stand before it."""
    rows = tuple(
        {before: row_after(before, logits, w1, w2, temperature) for before in (range(logits.size) if k else [anchor])}
        for k, logits in enumerate(base)
    )
    return Chain(call(base, anchor, w1, w2, Seed(0), temperature), rows)


def law_of_the_block(rng: Rng) -> Iterator[LawCase]:
    """One law without rare blocks, of which too few would come to tell anything."""
    while True:
        base, anchor, w1, w2 = chain_arguments(rng, 2, 3, scale=0.7)
        case = as_chain(base * 0.3, anchor, w1, w2, temperature=1.0).law()
        if min(case.law.values()) > 0.04:
            yield case
            return


def rows_are_those_drawn_from(
    rng: Rng, temperatures: tuple[float, ...] = (1.0,), low: int = 2, high: int = 5
) -> Iterator[Chain]:
    """Blocks of every small shape, some tokens masked."""
    for temperature in temperatures * (16 // len(temperatures)):
        gamma, vocabulary = int(rng.integers(low, high + 1)), int(rng.integers(2, 6))
        base, anchor, w1, w2 = chain_arguments(rng, gamma, vocabulary, scale=2.0)
        base[:, 1:] = np.where(rng.random(base[:, 1:].shape) < 0.2, -np.inf, base[:, 1:])
        yield as_chain(base, anchor, w1, w2, temperature)


def first_row_is_corrected(rng: Rng) -> Iterator[Chain]:
    yield from rows_are_those_drawn_from(rng, low=1, high=1)


def rows_have_the_temperature(rng: Rng) -> Iterator[Chain]:
    yield from rows_are_those_drawn_from(rng, temperatures=(0.25, 0.5, 2.0, 5.0), low=1)


def zero_is_argmax(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        arguments = chain_arguments(rng, int(rng.integers(1, 7)), int(rng.integers(2, 9)), scale=3.0)
        yield call(*arguments, Seed(int(rng.integers(99))), 0.0)
    for _ in range(10):  # ties between exact binary fractions
        base, w1 = rng.integers(-2, 2, size=(4, 5)) / 4.0, rng.integers(-1, 2, size=(5, 1)) / 2.0
        yield call(base, int(rng.integers(5)), w1, rng.integers(-1, 2, size=(1, 5)) / 2.0, Seed(1), 0.0)
    yield call(*chain_arguments(rng, 8, 2000), Seed(4), 0.0)


def huge_logits_stay_finite(rng: Rng) -> Iterator[Call]:
    """Gaps of thousands: every row is one-hot whatever is drawn, if nothing overflows."""
    for sign in (1.0, -1.0, 1.0, -1.0):
        base = np.array([rng.permutation(5) * 4000.0 for _ in range(4)]) + sign * 90000.0
        yield call(base, 0, rng.uniform(-1.0, 1.0, size=(5, 2)), rng.uniform(-1.0, 1.0, size=(2, 5)), Seed(3), 1.0)


# --- 3.3 rnn_head_step ------------------------------------------------------------------------------------------------
def rnn_step(state: Array, prev_embedding: Array, hidden: Array, w_joint: Array, w2: Array) -> tuple[Array, Array]:
    r = len(state)
    z = [*state, *prev_embedding, *hidden]
    gate, candidate, output = ([math.fsum(z * column) for column in w_joint.T[k * r : (k + 1) * r]] for k in range(3))
    keep = [1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x)) for x in gate]
    new = [k * s + (1.0 - k) * math.tanh(c) for k, s, c in zip(keep, state, candidate)]
    return np.array(new), np.array([sum(math.tanh(o) * w for o, w in zip(output, column)) for column in w2.T])


def random_step(rng: Rng, rank: int, size: int, vocabulary: int, scale: float = 1.0) -> Call:
    w_joint = rng.normal(size=(2 * rank + size, 3 * rank)) * scale
    vectors = rng.normal(size=rank), rng.normal(size=rank), rng.normal(size=size)
    return call(*vectors, w_joint, rng.normal(size=(rank, vocabulary)))


def random_steps(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield random_step(rng, int(rng.integers(2, 5)), int(rng.integers(1, 6)), int(rng.integers(2, 7)))
    yield call([1, 0], [0, 2], [1], np.ones((5, 6), dtype=int), [[1, 0], [2, 3]])


def gate_keeps_the_state(rng: Rng) -> Iterator[Call]:
    """No candidate: all that is left of the new state is the old one, weighed by the gate."""
    for step in random_steps(rng):
        state, *_, w_joint, _ = step.args
        w_joint[:, len(state) : 2 * len(state)] = 0
        yield step


def every_size(rng: Rng) -> Iterator[Call]:
    for rank, size, vocabulary in ((1, 1, 1), (1, 5, 3), (3, 1, 1), (4, 4, 4), (2, 2, 6), (5, 2, 2)):
        yield random_step(rng, rank, size, vocabulary)
    yield random_step(rng, 16, 64, 50, scale=0.1)


def saturation_stays_finite(rng: Rng) -> Iterator[Call]:
    """Sums of thousands: gates are open or shut, and everything else is ±1."""
    for _ in range(10):
        yield random_step(rng, 3, 4, 5, scale=4000.0)


# --- 3.4 draft_inputs -------------------------------------------------------------------------------------------------
def inputs_of_block(anchor_token: int, mask_token: int, block_size: int, layout: str) -> tuple[list[int], list[int]]:
    ids = [anchor_token] + [mask_token] * block_size
    positions = list(range(len(ids)))
    return (ids, positions[1:]) if layout == "dflash" else (ids[:-1], positions[:-1])


def layouts(layout: str) -> Callable[[Rng], Iterator[Call]]:
    def calls(rng: Rng) -> Iterator[Call]:
        for size in (*range(2, 17), 64):
            yield call(int(rng.integers(100)), int(rng.integers(100, 200)), size, layout)

    return calls


def block_of_one(rng: Rng) -> Iterator[Call]:
    for layout in ("dflash", "dspark"):
        yield call(int(rng.integers(100)), int(rng.integers(100)), 1, layout)


def any_tokens(rng: Rng) -> Iterator[Call]:
    """Token 0 as anchor and as mask, and an anchor that is the mask token itself."""
    for layout in ("dflash", "dspark"):
        for anchor, mask in ((0, 5), (5, 0), (0, 0), (151_935, 151_669)):
            yield call(anchor, mask, int(rng.integers(2, 9)), layout)


HIDDEN = {
    "3.1": hidden(bias, row_of_the_product, rows_are_the_tokens_before, every_shape),
    "3.2": hidden(
        markov_block,
        law_of_the_block,
        first_row_is_corrected,
        rows_are_those_drawn_from,
        rows_have_the_temperature,
        zero_is_argmax,
        huge_logits_stay_finite,
    ),
    "3.3": hidden(
        rnn_step,
        gate_keeps_the_state,
        every_size,
        saturation_stays_finite,
        candidate_fills_the_rest=random_steps,
        output_gives_the_bias=random_steps,
    ),
    "3.4": hidden(
        inputs_of_block,
        block_of_one,
        any_tokens,
        dflash_inputs=layouts("dflash"),
        dflash_positions=layouts("dflash"),
        dspark_inputs=layouts("dspark"),
        dspark_positions=layouts("dspark"),
    ),
}
