"""Lesson 02, parallel drafting: oracles and hidden cases."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call

INF = math.inf


# --- 2.1 dflash_parallel_candidates -----------------------------------------------------------------------------------
def parallel(block_logits: Array) -> list[int]:
    return [max(range(len(row)), key=lambda token: (row[token], -token)) for row in block_logits.tolist()]


def random_blocks(rng: Rng, low: int = 1, high: int = 8, vocabulary: int = 12) -> Iterator[Array]:
    """Blocks of every small shape, the signs mixed."""
    for _ in range(20):
        yield rng.normal(scale=3.0, size=(rng.integers(low, high + 1), rng.integers(2, vocabulary + 1)))


def argmax_of_each_row(rng: Rng) -> Iterator[Call]:
    for block in random_blocks(rng):
        yield call(block)
    yield call([[3, 7, 5], [7, 3, -5]])
    yield call([[1.0, 1.0 + 1e-12], [1e300, 1.1e300]])
    yield call(rng.normal(size=(64, 2000)))


def positions_are_independent(rng: Rng) -> Iterator[Call]:
    """One token is the best of several rows, and one row's scale dwarfs the others'."""
    for block in random_blocks(rng, low=3):
        block[:, rng.integers(block.shape[1])] += 9.0
        block[rng.integers(len(block))] *= 1000.0
        yield call(block)


def ties_go_to_lowest_id(rng: Rng) -> Iterator[Call]:
    """Few levels, exact binary fractions: nearly every row has a tie for the best."""
    for block in random_blocks(rng):
        yield call(rng.integers(-2, 2, size=block.shape) / 4.0)
    yield call(rng.integers(0, 3, size=(4, 400)) / 4.0)


def masked_and_negative_logits(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked by −inf, and what is left is negative."""
    for block in random_blocks(rng):
        masked = np.where(rng.random(block.shape) < 0.6, -np.inf, -np.abs(block) - 1.0)
        masked[np.arange(len(block)), rng.integers(block.shape[1], size=len(block))] = -50.0
        yield call(masked)
    yield call([[-INF, -1e12], [-1e200, -INF]])
    yield call([[-3.0, -1.0], [-2.0, -4.0]])


# --- 2.2 dspark_markov_candidates -------------------------------------------------------------------------------------
def markov(block_logits: Array, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens: list[int] = []
    previous = anchor_token
    for row in block_logits.tolist():
        bias = list(markov_bias[previous])
        sums = [row[token] + bias[token] for token in range(len(row))]
        previous = sums.index(max(sums))
        tokens.append(previous)
    return tokens


def random_chain(rng: Rng, block: Array, scale: float = 4.0) -> Call:
    """Give a bias row to most tokens; the anchor has one of its own, inside the vocabulary or outside."""
    vocabulary = block.shape[1]
    anchor = int(rng.integers(0, vocabulary + 3))
    rows = {int(t): rng.normal(scale=scale, size=vocabulary) for t in range(vocabulary) if rng.random() < 0.8}
    rows[anchor] = rng.normal(scale=scale, size=vocabulary)
    return call(block, anchor, rows)


def correct_then_choose(rng: Rng) -> Iterator[Call]:
    """One position, an anchor inside the vocabulary, every row there: nothing but the sum and the choice."""
    for block in random_blocks(rng, high=1):
        vocabulary = block.shape[1]
        rows = {t: rng.normal(scale=4.0, size=vocabulary) for t in range(vocabulary)}
        yield call(block, int(rng.integers(vocabulary)), rows)
    yield call([[4, 3, 3]], 1, {1: [0.25, 1.75, 0.5]})
    yield call([[1.0, 1.0]], 0, {0: [0.0, 1e-12]})
    yield call([[2000.0, 1000.0]], 0, {0: [0.0, 1500.0]})


def follows_corrected_choice(rng: Rng) -> Iterator[Call]:
    """The bias is far larger than the base logits: the chain follows it from token to token."""
    for block in random_blocks(rng, low=3, vocabulary=6):
        yield random_chain(rng, block / 8.0, scale=20.0)
    for block in random_blocks(rng):
        yield random_chain(rng, block)
    yield random_chain(rng, rng.normal(size=(64, 16)))


def base_logits_count(rng: Rng) -> Iterator[Call]:
    """The base logits are far larger than the biases, which still must not be dropped where rows are close."""
    for block in random_blocks(rng):
        yield random_chain(rng, block * 4.0, scale=0.5)
    block = rng.normal(size=(64, 2000))
    block[:, :20] += 6.0  # the likely tokens are those with a bias row
    yield call(block, 8, {t: rng.normal(scale=2.0, size=2000) for t in range(20)})


def anchor_starts_chain(rng: Rng) -> Iterator[Call]:
    """One position only: everything hangs on the anchor, which may lie outside the vocabulary or be negative."""
    for block in random_blocks(rng, high=1):
        anchor = int(rng.choice([-1, 0, 1, block.shape[1], 1000]))
        rows = {t: rng.normal(scale=9.0, size=block.shape[1]) for t in (-2, -1, 0, 1, 999, 1000)}
        rows[anchor] = rng.normal(scale=9.0, size=block.shape[1])
        yield call(block, anchor, rows)
    yield call([[0.0, 1.0]], -1, {-1: [2.0, 0.0], 1: [0.0, 0.0]})
    yield call([[0.0, 1.0]], -1, {-1: [0.0, 0.0], 1: [2.0, 0.0]})


def missing_row_adds_nothing(rng: Rng) -> Iterator[Call]:
    """Most tokens have no bias row."""
    for block in random_blocks(rng, low=3):
        vocabulary = block.shape[1]
        rows = {int(t): rng.normal(scale=6.0, size=vocabulary) for t in rng.integers(0, vocabulary, size=2)}
        yield call(block, vocabulary + 5, rows)
    yield call([[0.5, 0.75], [0.25, 0.5]], 0, {})
    yield call([[0.0, 1.0]], 9, {1: [5.0, 0.0]})


def ties_and_masks(rng: Rng) -> Iterator[Call]:
    """Exact binary fractions with few levels, so that sums tie; then −inf in logits and biases, token 0 left over."""
    for block in random_blocks(rng):
        vocabulary = block.shape[1]
        rows = {t: rng.integers(-2, 3, size=vocabulary) / 4.0 for t in range(vocabulary)}
        yield call(rng.integers(-2, 2, size=block.shape) / 4.0, int(rng.integers(vocabulary)), rows)
        logits = np.where(rng.random(block.shape) < 0.5, -np.inf, -np.abs(block) - 1.0)
        logits[:, 0] = -30.0
        masks = {t: np.where(rng.random(vocabulary) < 0.4, -np.inf, row) for t, row in rows.items()}
        for row in masks.values():
            row[0] = rng.normal()
        yield call(logits, int(rng.integers(vocabulary)), masks)
    yield call([[-INF, -1e12], [-1e200, -INF]], 0, {0: [0.5, 0.5], 1: [-0.5, 0.0]})
    yield call([[0.25, 0.5]], 0, {0: [0.25, 0.0]})  # equal sums, of which the later has the better base logit


# --- 2.3 choose_confident_prefix, and the record that calls it -------------------------------------------------------


def prefix(confidences: Array, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    passing = [n for n in range(len(confidences) + 1) if all(c >= threshold for c in confidences[:n])]
    length = min_tokens if passing[-1] < min_tokens else passing[-1]
    return sorted([length, max_tokens, len(confidences)])[0]


def first_low_value_stops(rng: Rng) -> Iterator[Call]:
    """High, then one low value, then high again; never an equality; wide limits."""
    for stop in range(1, 8):
        confidences = rng.uniform(0.55, 1.0, size=9)
        confidences[stop] = rng.uniform(0.05, 0.4)
        yield call(confidences, 0.5, 1, 12)


def each_value_on_its_own(rng: Rng) -> Iterator[Call]:
    """Confidences whose product falls far below the threshold while each of them stays above it."""
    for size in range(2, 12):
        yield call([*rng.uniform(0.72, 0.8, size=size), 0.125], 0.7, 1, 16)


def all_high_keeps_all(rng: Rng) -> Iterator[Call]:
    for size in (*range(1, 9), 64):
        yield call(rng.uniform(0.5, 1.0, size=size), 0.25, 1, 64)
    yield call([1, 1, 1], 1, 1, 8)
    yield call([0.75, 0.75, 0.25], 0.5, 1, 8)  # and one that is not


def equal_passes(rng: Rng) -> Iterator[Call]:
    """The prefix is at least 1 and the limits are wide, so that nothing but the comparison decides."""
    for threshold in (0.125, 0.25, 0.5, 0.75, 0.875):
        for _ in range(5):
            yield call([1.0, threshold, *(rng.integers(0, 9, size=int(rng.integers(1, 10))) / 8.0)], threshold, 1, 16)
    yield call([0.75, np.nextafter(0.5, 0.0), 0.75], 0.5, 1, 8)
    yield call([0.75, np.nextafter(0.5, 1.0), 0.25], 0.5, 1, 8)
    yield call([0.75, 0.4375, 0.75], 0.5, 1, 8)


def threshold_zero_and_one(rng: Rng) -> Iterator[Call]:
    """Thresholds 0 and 1: everything passes, or only certainty does."""
    for threshold in (0.0, 1.0, 0.5):
        for _ in range(10):
            low = int(rng.integers(1, 5))
            confidences = rng.choice([0.0, 0.5, 1.0], size=int(rng.integers(1, 12)))
            yield call(confidences, threshold, low, low + int(rng.integers(0, 8)))


def clamped_in_order(rng: Rng) -> Iterator[Call]:
    """All combinations of a prefix, the two limits and the number of confidences."""
    for size in range(1, 6):
        for passing in range(size + 1):
            for low in (1, 2, 4, 6):
                for high in (low, low + 2):
                    yield call([0.75] * passing + [0.25] * (size - passing), 0.5, low, high)


def defaults(rng: Rng) -> Iterator[Call]:
    for size in (1, 7, 8, 9, 20):
        yield call([0.75] * size, 0.5)
        yield call([0.25] * size, threshold=0.5)
        yield call([0.75] * size, 0.5, max_tokens=3)
        yield call([0.25] * size, 0.5, min_tokens=2)
        yield call([0.75] * size, 0.5, 1, 8)


def draft_record(mode: str, candidates: list[int], confidences: Array, threshold: float, max_tokens: int = 8) -> Any:
    verified = candidates[: prefix(confidences, threshold, 1, max_tokens)]
    counts = {"proposed": len(candidates), "verify_budget": len(verified)}
    return {"mode": mode, "block_tokens": list(candidates), "verify_tokens": verified} | counts


def budget_is_confident_prefix(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        size = int(rng.integers(1, 12))
        yield call(
            str(rng.choice(["dflash", "dspark"])),
            rng.integers(0, 2000, size=size),
            rng.integers(0, 9, size=size) / 8.0,
            float(rng.integers(0, 9)) / 8.0,
            int(rng.integers(1, 9)),
        )
    for mode in ("dflash", "dspark"):
        yield call(mode, [3, 1, 4, 1], [0.25, 0.75, 0.5, 0.75], 0.5, 3)
        yield call(mode, [3, 1, 4, 1], [0.75, 0.25, 0.5, 0.75], 0.5, 3)
        yield call(mode, [3, 1, 4, 1], [0.75, 0.75, 0.5, 0.75], 0.5, 2)


def default_budgets(rng: Rng) -> Iterator[Call]:
    for size in (7, 8, 9, 20):
        yield call("dspark", list(range(size)), [0.75] * size, 0.5)
        yield call("dflash", list(range(size)), [0.75] * size, threshold=0.5, max_tokens=2)


HIDDEN = {
    "2.1": hidden(
        parallel, argmax_of_each_row, positions_are_independent, ties_go_to_lowest_id, masked_and_negative_logits
    ),
    "2.2": hidden(
        markov,
        correct_then_choose,
        follows_corrected_choice,
        base_logits_count,
        anchor_starts_chain,
        missing_row_adds_nothing,
        ties_and_masks,
    ),
    "2.3": hidden(
        prefix,
        first_low_value_stops,
        each_value_on_its_own,
        all_high_keeps_all,
        equal_passes,
        threshold_zero_and_one,
        clamped_in_order,
        defaults_and_keywords=defaults,
    ),
    "record": hidden(draft_record, budget_is_confident_prefix, defaults_and_keywords=default_budgets),
}
