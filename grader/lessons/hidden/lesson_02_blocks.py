"""Lesson 02, parallel drafting: oracles and hidden cases of 2.4 to 2.6."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 2.4 block_mask ---------------------------------------------------------------------------------------------------
def packed_mask(context_length: int, anchor_positions: list[int], block_length: int) -> Any:
    rows = len(anchor_positions) * block_length
    cells = np.zeros((rows, context_length + rows), dtype=bool)
    for j, anchor in enumerate(anchor_positions):
        own = slice(j * block_length, (j + 1) * block_length)
        cells[own, :anchor] = True
        cells[own, context_length + own.start : context_length + own.stop] = True
    return cells


def single_blocks(rng: Rng) -> Iterator[Call]:
    for anchor in range(6):
        yield call(5, [anchor], 1)


def packed(rng: Rng, low: int, high: int, least_length: int) -> Iterator[Call]:
    """Blocks with different anchors, in rising order."""
    for _ in range(12):
        context = int(rng.integers(6, 12))
        anchors = np.sort(rng.permutation(context + 1)[: rng.integers(low, high + 1)])
        yield call(context, anchors, int(rng.integers(least_length, 6)))


def packed_blocks(rng: Rng) -> Iterator[Call]:
    yield from packed(rng, 2, 5, 1)
    yield call(5, [1, 2, 4], 2)
    yield call(256, np.sort(rng.permutation(257)[:16]), 16)


def both_directions_in_block(rng: Rng) -> Iterator[Call]:
    yield from packed(rng, 1, 3, 3)


def blocks_in_given_order(rng: Rng) -> Iterator[Call]:
    yield call(6, [5, 2, 4], 2)
    yield call(4, [3, 3, 1, 3], 2)
    yield call(9, list(rng.permutation(10).tolist()), 1)


def edges_of_the_context(rng: Rng) -> Iterator[Call]:
    yield call(0, [0], 1)
    yield call(0, [0, 0], 3)
    yield call(4, [0, 4], 2)
    yield call(1, [1, 0, 1], 1)
    yield call(3, [1, 2], 2)


# --- 2.5 conditional_acceptance ---------------------------------------------------------------------------------------
def acceptance(accepted_counts: list[int], block_size: int) -> list[float]:
    rates, alive = [], list(accepted_counts)
    for k in range(1, block_size + 1):
        passed = [count for count in alive if count >= k]
        rates.append(len(passed) / len(alive) if alive else math.nan)
        alive = passed
    return rates


def passed_among_reached(rng: Rng) -> Iterator[Call]:
    """Every position is reached by some round: no denominator is 0."""
    for size in range(1, 9):
        yield call(np.append(rng.integers(0, size + 1, size=int(rng.integers(1, 40))), size), size)
    yield call([1, 3, 0, 2, 3, 3, 1], 3)
    yield call(np.append(rng.integers(0, 65, size=1000), 64), 64)


def condition_on_reaching(rng: Rng) -> Iterator[Call]:
    """Many rounds stop early: a share of all rounds is far from a share of those that came so far."""
    for size in range(2, 9):
        yield call(np.append(np.minimum(rng.geometric(0.5, size=60) - 1, size), size), size)
    yield call([0, 1, 3, 3], 3)


def unreached_is_nan(rng: Rng) -> Iterator[Call]:
    for size in range(2, 9):
        for best in range(size - 1):
            yield call(np.append(rng.integers(0, best + 1, size=5), best), size)
    yield call([], 1)
    yield call([], 4)
    yield call([2, 1], 2)


# --- 2.6 block_attention ----------------------------------------------------------------------------------------------
def attention(
    queries: Array, block_keys: Array, block_values: Array, context_keys: Array, context_values: Array, anchor: int
) -> Array:
    rows = []
    for query in queries:
        seen = [*zip(context_keys[:anchor], context_values[:anchor]), *zip(block_keys, block_values)]
        scores = [math.fsum(query * key) / math.sqrt(len(query)) for key, _ in seen]
        weights = [math.exp(score - max(scores)) for score in scores]
        rows.append(sum(weight * value for weight, (_, value) in zip(weights, seen)) / sum(weights))
    return np.array(rows)


def heads(rng: Rng, context: int, anchor: int, size: int, width: int, scale: float = 1.0) -> Call:
    """One head: scores of a few units for scale 1."""
    block = (rng.normal(size=(size, width)) for _ in range(3))
    rows = (rng.normal(size=(context, width)) for _ in range(2))
    queries, *others = (*block, *rows)
    return call(scale * queries, *others, anchor)


def block_reads_itself(rng: Rng) -> Iterator[Call]:
    for size in range(1, 7):
        yield heads(rng, 0, 0, size, int(rng.integers(1, 9)))


def before_anchor(rng: Rng) -> Iterator[Call]:
    """Every anchor of a short text, and some of longer ones; queries of 0 leave the values alone."""
    for anchor in range(6):
        yield heads(rng, 5, anchor, 3, 4)
        yield heads(rng, 5, anchor, 2, 1, scale=0.0)
    yield heads(rng, 200, 120, 8, 32)


def scaled_softmax(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        context = int(rng.integers(1, 9))
        yield heads(rng, context, context, int(rng.integers(1, 6)), int(rng.integers(1, 17)), scale=2.0)


def large_scores(rng: Rng) -> Iterator[Call]:
    """Some queries have scores of thousands, others of a few units; and all scores of a query may be very low."""
    for scale in (1e3, 1e5):
        yield heads(rng, 4, 3, 3, 4, scale)
        yield call([[1.0], [scale], [-scale]], [[-1.0], [-2.0], [-3.0]], [[1.0], [2.0], [3.0]], [[-4.0]], [[5.0]], 1)


HIDDEN = {
    "2.4": hidden(
        packed_mask,
        both_directions_in_block,
        blocks_in_given_order,
        edges_of_the_context,
        rows_and_columns=packed_blocks,
        context_before_anchor=single_blocks,
        blocks_do_not_mix=packed_blocks,
    ),
    "2.5": hidden(acceptance, passed_among_reached, condition_on_reaching, unreached_is_nan),
    "2.6": hidden(attention, block_reads_itself, scaled_softmax, large_scores, context_before_anchor=before_anchor),
}
