"""Lesson 05, the hardware-aware prefix scheduler: oracles and hidden cases."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call

Rows = list[list[float]]


# --- Oracles ----------------------------------------------------------------------------------------------------------


def admit(confidences: Array, steps_per_second: Array) -> list[int]:
    """Admit token by token, as Algorithm 1 is printed."""
    order = []
    for request, row in enumerate(confidences.tolist()):
        survival = 1.0
        for position, confidence in enumerate(row):
            survival *= confidence
            order.append((-survival, request, position))
    batch, tau, lengths = len(confidences), float(len(confidences)), [0] * len(confidences)
    for negative, request, _ in sorted(order):
        if negative == 0.0 or batch + 1 >= len(steps_per_second):
            break
        if not (tau - negative) * steps_per_second[batch + 1] > tau * steps_per_second[batch]:
            break
        batch, tau = batch + 1, tau - negative
        lengths[request] += 1
    return lengths


def hand_out(confidences: Array, budget: int) -> list[int]:
    """Give one token after the other to the request whose next token is the likeliest."""
    rows = [[*np.multiply.accumulate(row).tolist(), 0.0] for row in confidences]
    lengths = [0] * len(rows)
    for _ in range(budget):
        following = [row[length] for row, length in zip(rows, lengths)]
        if not any(following):
            break
        lengths[following.index(max(following))] += 1
    return lengths


def try_all(old_confidences: Array, steps_per_second: Array) -> int:
    """Compute Θ anew for every budget, and keep the best."""
    requests, best, budget = len(old_confidences), 0.0, 0
    ranked = sorted((a for row in old_confidences for a in np.multiply.accumulate(row).tolist() if a), reverse=True)
    for k in range(min(len(ranked), len(steps_per_second) - 1 - requests) + 1):
        theta = sum([requests, *ranked[:k]]) * steps_per_second[requests + k]
        if theta > best:
            best, budget = theta, k
    return budget


# --- Batches and tables, shared by the three tasks --------------------------------------------------------------------


def batch(rng: Rng, low: int = 1, high: int = 6, gamma: int = 7) -> Rows:
    """Some requests of uneven lengths; no two prefix survivals are near each other."""
    while True:
        sizes = rng.integers(1, gamma + 1, size=int(rng.integers(low, high + 1)))
        rows: Rows = [rng.uniform(0.3, 0.99, size=size).tolist() for size in sizes]
        if (np.diff(np.sort(survivals(rows))) > 1e-6).all():
            return rows


def survivals(rows: Rows) -> Array:
    """All prefix survivals, the highest first."""
    return -np.sort(-np.concatenate([np.cumprod(row) for row in rows]))


def size_of(rows: Rows) -> int:
    return len(rows) + sum(map(len, rows))


def smooth(rng: Rng, rows: Rows) -> list[float]:
    """A table whose step time is convex in the batch, so that Θ has a single peak; the peak lies anywhere."""
    batches = np.arange(1, size_of(rows) + 1)
    bend = rng.uniform(0.0, 0.08) * (batches / len(rows)) ** 2
    return [0.0, *(100.0 / (1.0 + rng.uniform(0.0, 0.6) * batches / len(rows) + bend)).tolist()]


def stairs(rng: Rng, rows: Rows) -> list[float]:
    """A table whose step time jumps at every tile of a few tokens: Θ has many peaks."""
    batches = np.arange(1, size_of(rows) + 1)
    tile = int(rng.integers(2, 6))
    return [0.0, *(100.0 / (1.0 + rng.uniform(0.05, 0.5) * np.ceil(batches / tile))).tolist()]


def jagged(rng: Rng, rows: Rows) -> list[float]:
    """A table of random speeds around a falling line."""
    batches = np.arange(1, size_of(rows) + 1)
    return [0.0, *(rng.uniform(0.7, 1.3, size=batches.size) * 100.0 / (1.0 + 0.15 * batches)).tolist()]


def is_clear(rows: Rows, table: list[float]) -> bool:
    """Whether no comparison of two throughputs is so close that rounding could decide it."""
    values = np.cumsum([len(rows), *survivals(rows)]) * np.array(table)[len(rows) :]
    best = np.sort(values)[::-1]
    return bool((abs(np.diff(values)) > 1e-6 * values[1:]).all() and (best[0] - best[1:] > 1e-6 * best[0]).all())


def cases(rng: Rng, table_of: Callable[[Rng, Rows], list[float]], count: int = 20, **size: int) -> Iterator[Call]:
    """Some clear cases, each a batch with a table made for it."""
    while count:
        rows = batch(rng, **size)
        table = table_of(rng, rows)
        if is_clear(rows, table):
            count -= 1
            yield call(rows, table)


def single_requests(rng: Rng) -> Iterator[Call]:
    yield from cases(rng, smooth, high=1)


def stairs_and_jags(rng: Rng) -> Iterator[Call]:
    """Θ falls and rises again."""
    yield call([[0.8, 0.9]], [0.0, 1.0, 0.5, 0.45])
    yield from cases(rng, stairs)
    yield from cases(rng, jagged)


def batches(rng: Rng) -> Iterator[Call]:
    """Several requests, among them one that starts low and stays high, which misleads an order by confidence."""
    yield from cases(rng, smooth, low=2)
    for _ in range(10):
        rows = [[0.4, 0.97, 0.98, 0.99], *batch(rng, low=1, high=3)]
        table = smooth(rng, rows)
        if is_clear(rows, table):
            yield call(rows, table)


def crowds(rng: Rng) -> Iterator[Call]:
    """Many requests with one or two tokens each: B and τ are large from the start."""
    yield from cases(rng, smooth, low=8, high=16, gamma=2)


def from_flat_to_steep(rng: Rng) -> Iterator[Call]:
    """The same batch under tables of every slope, from all tokens to none; then many tokens."""
    for _ in range(4):
        rows = batch(rng, low=2, high=4)
        for slope in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0, 5.0):
            table = [0.0, *(100.0 / (1.0 + slope * np.arange(1, size_of(rows) + 1))).tolist()]
            if is_clear(rows, table):
                yield call(rows, table)
    yield call(rng.uniform(0.7, 1.0, size=(64, 6)), 1000.0 / (10.0 + 0.01 * np.arange(64 * 7 + 1)))


def tied_batches(rng: Rng) -> Iterator[Call]:
    """Confidences of 0.5 and 1 and speeds that are exact: many equal survivals, and a few equal Θ."""
    for _ in range(30):
        rows = [rng.choice([0.5, 1.0], size=int(rng.integers(1, 5))).tolist() for _ in range(int(rng.integers(2, 5)))]
        stop = int(rng.integers(len(rows), size_of(rows) + 1))
        yield call(rows, [0.0, *(4.0 if size <= stop else 0.25 for size in range(1, size_of(rows) + 1))])
    yield call([[0.5, 0.5]], [0.0, 6.0, 4.0, 8.0])  # 6, 6, 14: the first token only keeps Θ
    yield call([[0.5, 1.0], [0.25]], [0.0, 1.0, 8.0, 8.0, 6.5, 16.0])  # 16, 20, 19.5: then it would rise
    yield call([[1.0, 1.0, 1.0]], [0.0, 3.0, 3.0, 2.0, 2.0])  # 3, 6, 6, 8


def edges(rng: Rng) -> Iterator[Call]:
    """Tables that end early, speeds that rise, survivals of 0, requests without tokens, any entry 0."""
    rising = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    yield call([[0.0, 0.5], [0.5, 0.0, 0.75]], rising)
    yield call([[0.0], [0.0]], rising)
    yield call([[0.75, 0.5, 0.5], [0.5, 0.5]], rising[:5])
    yield call([[0.75, 0.5, 0.5], [0.5, 0.5]], rising[:3])
    yield call([[], [0.5], []], rising)
    yield call([[], []], rising[:3])
    yield call([], rising)
    yield call([], [0.0])
    yield call([[0.5], [0.5]], [math.nan, 2.0, 4.0, 3.5, 1.0])
    yield call([np.array([0.5, 0.75]), np.array([0.25])], rising)


def smallest_of_equal_budgets(rng: Rng) -> Iterator[Call]:
    """Exact speeds under which two or three budgets share the highest Θ."""
    yield call([[0.5, 0.5]], [0.0, 8.0, 1.0, 1.0])
    yield call([[1.0, 1.0, 1.0]], [0.0, 6.0, 3.0, 2.0, 1.5])
    yield call([[1.0, 1.0, 1.0]], [0.0, 1.0, 3.0, 2.0, 1.5])
    yield call([[0.5, 1.0], [1.0]], [0.0, 1.0, 3.0, 4.0, 1.0, 3.0])
    yield call([[1.0], [1.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 4.0, 1.0, 1.0, 2.0, 1.0])


# --- Budgets, for task 5.2 --------------------------------------------------------------------------------------------


def highest_survivals_get_it(rng: Rng) -> Iterator[Call]:
    for _ in range(25):
        rows = batch(rng)
        yield call(rows, int(rng.integers(0, size_of(rows))))
    yield call(rng.uniform(0.7, 1.0, size=(64, 6)), 200)


def survival_and_not_confidence(rng: Rng) -> Iterator[Call]:
    """A request that starts low and goes on with certainty: its confidences are high, its survivals are not."""
    for _ in range(20):
        rows = batch(rng, low=1, high=3)
        low = [rng.uniform(0.05, 0.25), *rng.uniform(0.995, 0.999, size=4)]
        rows.insert(int(rng.integers(0, len(rows) + 1)), low)
        yield call(rows, int(rng.integers(1, 5)))
    yield call([[0.6, 0.6, 0.6], [0.5]], 3)


def budget_of_the_whole_batch(rng: Rng) -> Iterator[Call]:
    rows = batch(rng, low=3, high=5)
    for budget in range(size_of(rows) - len(rows) + 1):
        yield call(rows, budget)


def tied_budgets(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        rows = [rng.choice([0.5, 1.0], size=int(rng.integers(1, 5))).tolist() for _ in range(int(rng.integers(2, 6)))]
        yield call(rows, int(rng.integers(1, 8)))


def leftovers(rng: Rng) -> Iterator[Call]:
    yield call([[0.5, 0.0, 0.5], [0.0, 0.75]], 4)
    yield call([[0.0], [0.0]], 3)
    yield call([[1.0, 0.0, 1.0], [1.0, 1.0]], 5)
    yield call([[0.5], [0.25, 0.5]], 1000)
    yield call([[], [0.5, 0.5], []], 2)
    yield call([[], []], 2)
    yield call([], 0)
    yield call([], 5)
    yield call([np.array([0.5, 0.75]), np.array([0.25])], 2)


HIDDEN = {
    "5.1": hidden(
        admit,
        edges,
        admits_while_theta_rises=single_requests,
        stops_at_first_without_rise=stairs_and_jags,
        highest_survival_first=batches,
        every_request_counts_from_the_start=crowds,
        decision_follows_the_table=from_flat_to_steep,
        ties=tied_batches,
    ),
    "5.2": hidden(
        hand_out,
        highest_survivals_get_it,
        survival_and_not_confidence,
        budget_of_the_whole_batch,
        leftovers,
        ties=tied_budgets,
    ),
    "5.3": hidden(
        try_all,
        smallest_of_equal_budgets,
        edges,
        highest_theta=single_requests,
        later_peak_wins=stairs_and_jags,
        highest_survivals_of_the_batch=batches,
        every_request_counts_from_the_start=crowds,
        decision_follows_the_table=from_flat_to_steep,
    ),
}
