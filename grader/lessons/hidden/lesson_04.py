"""Lesson 04, confidence: oracles and hidden cases."""

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 4.1 acceptance_target --------------------------------------------------------------------------------------------
def overlaps(q: Array, p: Array) -> Array:
    return np.array([math.fsum(map(min, draft, target)) for draft, target in zip(q.tolist(), p.tolist())])


def random_rows(rng: Rng, positions: int, vocabulary: int) -> Array:
    """Distributions between nearly even and nearly certain."""
    rows = rng.dirichlet(np.full(vocabulary, rng.choice([0.3, 1.0, 3.0])), size=positions) + 1e-6
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def overlap_of_q_and_p(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        vocabulary = int(rng.integers(2, 9))
        yield call(random_rows(rng, 1, vocabulary), random_rows(rng, 1, vocabulary))


def one_number_per_position(rng: Rng) -> Iterator[Call]:
    """As many positions as tokens, too: an axis that is mixed up gives a result of the right shape."""
    for positions in range(2, 8):
        for vocabulary in (positions, positions + 2):
            yield call(random_rows(rng, positions, vocabulary), random_rows(rng, positions, vocabulary))
    yield call(random_rows(rng, 16, 2000), random_rows(rng, 16, 2000))


def zeros_are_legal(rng: Rng) -> Iterator[Call]:
    """Exact fractions, most tokens impossible for the drafter, or for the target, or for both."""
    yield call([[0.5, 0.5]], [[0.25, 0.75]])
    for _ in range(20):
        q, p = np.zeros((2, 3, 6))
        for rows in (q, p):
            for row in rows:
                row[rng.choice(6, size=2, replace=False)] = [0.25, 0.75]
        yield call(q, p)


def from_zero_to_one(rng: Rng) -> Iterator[Call]:
    for vocabulary in range(2, 7):
        rows = np.eye(vocabulary)
        yield call(rows, rows)
        yield call(rows, np.roll(rows, 1, axis=0))
        yield call(np.full((2, vocabulary), 1.0 / vocabulary), rows[:2])


# --- 4.2 prefix_survival ----------------------------------------------------------------------------------------------
def survival(confidences: Array) -> Array:
    result = np.ones(confidences.shape)
    for index in np.ndindex(confidences.shape):
        for c in confidences[index[:-1]][: index[-1] + 1]:
            result[index] *= c
    return result


def running_product(rng: Rng) -> Iterator[Call]:
    for size in (1, 2, 3, 5, 8, 13):
        yield call(rng.uniform(0.3, 1.0, size=size))
        yield call(rng.integers(0, 9, size=size) / 8.0)


def along_the_last_axis(rng: Rng) -> Iterator[Call]:
    """Square and longer blocks of two, three and four axes: a product along another axis has the same shape."""
    for shape in ((4,), (3, 3), (4, 2), (1, 5), (5, 1), (2, 3, 4), (3, 3, 3), (1, 2, 3, 2), (60, 8)):
        yield call(rng.uniform(0.2, 1.0, size=shape))


def zero_ends_it(rng: Rng) -> Iterator[Call]:
    for _ in range(8):
        yield call(rng.choice([0.0, 0.5, 1.0, 1.0], size=(3, 6)))
    yield call([1, 0, 1])
    yield call([0, 0])
    yield call(np.ones(9))


def empty_is_legal(rng: Rng) -> Iterator[Call]:
    yield call([0.5])
    for shape in ((0,), (3, 0), (0, 4), (2, 0, 5), (2, 3, 0)):
        yield call(np.zeros(shape))


# --- 4.3 expected_calibration_error -----------------------------------------------------------------------------------
def calibration_error(predicted: Array, observed: Array, n_bins: int = 10) -> float:
    samples = defaultdict(list)
    for p, o in zip(predicted.tolist(), observed.tolist()):
        samples[min(math.floor(p * n_bins), n_bins - 1)].append((p, o))
    error = 0.0
    for in_bin in samples.values():
        promised, happened = (sum(numbers) / len(in_bin) for numbers in zip(*in_bin))
        error += len(in_bin) / len(predicted) * abs(promised - happened)
    return error


def inside_bins(rng: Rng, samples: int, n_bins: int, *used: int) -> Array:
    """Predictions that keep away from the edges of their bins, so that rounding cannot move them."""
    bins = rng.choice(used or range(n_bins), size=samples)
    return np.asarray((bins + rng.uniform(0.05, 0.95, size=samples)) / n_bins)


def outcomes(rng: Rng, chances: Array) -> Array:
    return np.asarray((rng.random(chances.shape) < chances).astype(int))


def gap_of_a_bin(rng: Rng) -> Iterator[Call]:
    """All samples in one bin, too high or too low."""
    for n_bins in range(1, 9):
        predicted = inside_bins(rng, int(rng.integers(2, 12)), n_bins, int(rng.integers(n_bins)))
        yield call(predicted, outcomes(rng, np.full(predicted.size, rng.random())), n_bins)
    yield call([0.75, 0.875], [0, 0], 2)
    yield call([0.125, 0.25, 0.25], [0, 0, 1], 2)
    yield call([0.625, 0.75, 0.75], [1, 1, 1], 2)


def gaps_do_not_cancel(rng: Rng) -> Iterator[Call]:
    """Low predictions that are too low, high ones that are too high: over all samples it evens out."""
    for size in range(2, 12):
        predicted = np.concatenate([inside_bins(rng, size, 4, 0), inside_bins(rng, size, 4, 3)])
        observed = np.concatenate([outcomes(rng, np.full(size, 0.7)), outcomes(rng, np.full(size, 0.3))])
        yield call(predicted, observed, 4)


def weighted_by_share(rng: Rng) -> Iterator[Call]:
    """One bin holds nearly all the samples."""
    for n_bins in (2, 3, 5, 8, 10, 15):
        many, few = inside_bins(rng, 30, n_bins, n_bins - 1), inside_bins(rng, 4, n_bins)
        predicted = rng.permutation(np.concatenate([many, few]))
        yield call(predicted, outcomes(rng, predicted**2), n_bins)
    predicted = inside_bins(rng, 2000, 10)
    yield call(predicted, outcomes(rng, predicted**2))


def edges_belong_to_upper_bin(rng: Rng) -> Iterator[Call]:
    """Exact binary fractions on the edges of 1, 2, 4 and 8 bins, 0 and 1 among them."""
    yield call([0.25, 0.375], [1, 0], 2)  # the bins halve [0, 1], not the range of the predictions
    for n_bins in (1, 2, 4, 8):
        for _ in range(5):
            predicted = rng.integers(0, 9, size=12) / 8.0
            yield call(predicted, outcomes(rng, np.full(12, 0.5)), n_bins)
        yield call([0.0, 1.0, 1.0], [1, 0, 1], n_bins)


def empty_bins_do_not_count(rng: Rng) -> Iterator[Call]:
    for n_bins in (10, 20, 50, 100):
        predicted = inside_bins(rng, int(rng.integers(1, 4)), n_bins)
        yield call(predicted, outcomes(rng, predicted), n_bins)
    yield call([0.25, 0.75], [1, 1], 2)  # no bin is empty


def ten_bins_by_default(rng: Rng) -> Iterator[Call]:
    for _ in range(6):
        predicted = inside_bins(rng, 40, 10)
        yield call(predicted, outcomes(rng, predicted))
        yield call(predicted=predicted, observed=outcomes(rng, predicted) > 0, n_bins=5)


# --- 4.4 fit_sequential_temperatures ----------------------------------------------------------------------------------
def temperatures(confidence_logits: Array, accepted: Array, grid: Array) -> Array:
    fitted, before = [], [1.0] * len(confidence_logits)
    for column, labels in zip(confidence_logits.T.tolist(), accepted.T):
        tried = []
        for t in grid.tolist():
            after = [a * (1.0 + math.tanh(x / t / 2.0)) / 2.0 for a, x in zip(before, column)]
            tried.append((calibration_error(np.array(after), labels), abs(t - 1.0), t, after))
        *_, best, before = min(tried)
        fitted.append(best)
    return np.array(fitted)


def is_settled(logits: Array, accepted: Array, grid: Array) -> bool:
    """Tell whether rounding can change nothing: no chance near a bin's edge, no two errors nearly alike."""
    before = np.ones(len(logits))
    for column, outcome in zip(logits.T, accepted.T):
        options = before / (1.0 + np.exp(-column / grid[:, None]))  # (temperatures, N)
        bins = np.minimum((options * 10).astype(int), 9)
        gaps = [np.abs(np.bincount(b, weights=option - outcome)).sum() for b, option in zip(bins, options)]
        first, second = np.sort(gaps)[:2] / len(logits)
        if second - first < 1e-6 or np.abs(options[..., None] - np.arange(1, 10) / 10).min() < 1e-7:
            return False
        before = options[np.argmin(gaps)]
    return True


def settled(rng: Rng, low: int, high: int, count: int, rounds: int = 80, tried: int = 9) -> Iterator[Call]:
    """Rounds whose head is too sure of itself, or not sure enough, by a factor of its own at each position."""
    while count:
        gamma = int(rng.integers(low, high + 1))
        grid = np.sort(rng.choice(np.arange(2, 25) / 8, size=tried, replace=False))
        truth = rng.normal(rng.uniform(0.8, 2.0), 1.2, size=(rounds, gamma))
        accepted = np.cumprod(rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth)), axis=1)
        logits = (truth * rng.uniform(0.5, 2.5, size=gamma)).round(2)
        if is_settled(logits, accepted, grid):
            count -= 1
            yield call(logits, accepted > 0 if count % 3 == 0 else accepted, grid)


def least_error_wins(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 1, 1, 12, rounds=6, tried=5)  # small enough to follow by hand
    yield from settled(rng, 1, 1, 16)


def product_of_the_prefix(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 2, 2, 12, rounds=5, tried=3)
    yield from settled(rng, 2, 2, 8)


def left_to_right(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 2, 3, 12, rounds=5, tried=3)
    yield from settled(rng, 3, 5, 6)


def ties_closest_to_one(rng: Rng) -> Iterator[Call]:
    """Logits of 0 give ½ at every temperature, so all of the grid ties; so do ones that saturate at 1."""
    for _ in range(8):
        grid = rng.permutation(rng.choice(np.array([0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 2.5, 4.0]), 5, replace=False))
        accepted = np.cumprod(rng.random((8, 3)) < 0.6, axis=1)
        yield call(np.zeros((8, 3)), accepted, grid)
        yield call(np.where(rng.random((8, 3)) < 0.5, 0.0, 160.0), accepted, grid)
    yield call(np.zeros((2, 2)), [[1, 0], [0, 0]], [3.0, 1.0, 0.5])
    yield call(np.zeros((2, 1)), [[1], [0]], [0.25, 1.75])


def grid_in_any_order(rng: Rng) -> Iterator[Call]:
    for one in settled(rng, 1, 3, 6):
        logits, accepted, grid = one.args
        yield call(logits, accepted, rng.permutation(np.concatenate([grid, grid[:3]])))
    yield call([[0.5, 2.0]] * 3, [[1, 1], [1, 0], [0, 0]], [1.5])


HIDDEN = {
    "4.1": hidden(overlaps, overlap_of_q_and_p, one_number_per_position, zeros_are_legal, from_zero_to_one),
    "4.2": hidden(survival, running_product, along_the_last_axis, zero_ends_it, empty_is_legal),
    "4.3": hidden(
        calibration_error,
        gap_of_a_bin,
        gaps_do_not_cancel,
        weighted_by_share,
        edges_belong_to_upper_bin,
        empty_bins_do_not_count,
        ten_bins_by_default,
    ),
    "4.4": hidden(
        temperatures, least_error_wins, product_of_the_prefix, left_to_right, ties_closest_to_one, grid_in_any_order
    ),
}
