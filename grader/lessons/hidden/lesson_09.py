"""Lesson 09, real hardware: oracles and hidden cases."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 9.1 cache_mask ---------------------------------------------------------------------------------------------------
def triangle_after_rows(rows: int, count: int, slots: int) -> Array:
    return np.array([[True] * (rows + i + 1) + [False] * (slots - rows - i - 1) for i in range(count)])


def earlier_ones_and_itself(rng: Rng) -> Iterator[Call]:
    for rows in range(1, 6):
        for count in range(2, 6):
            yield call(rows, count, rows + count)


def slots_behind_are_unseen(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        rows, count, free = (int(n) for n in rng.integers((1, 2, 1), (30, 10, 40)))
        yield call(rows, count, rows + count + free)
    yield call(int(rng.integers(900, 1000)), 64, 2000)


def empty_cache(rng: Rng) -> Iterator[Call]:
    for count in range(1, 8):
        yield call(0, count, count + int(rng.integers(0, 4)))


def single_token(rng: Rng) -> Iterator[Call]:
    for rows in range(8):
        yield call(rows, 1, rows + 1 + int(rng.integers(0, 4)))


# --- 9.2 flatten_requests ---------------------------------------------------------------------------------------------
def row_by_row(verify_lengths: list[int], cache_rows: list[int]) -> dict[str, list[int]]:
    starts = [sum(verify_lengths[:r]) + r for r in range(len(verify_lengths) + 1)]
    requests = [sum(start <= row for start in starts) - 1 for row in range(starts[-1])]
    positions = [cache_rows[r] + row - starts[r] for row, r in enumerate(requests)]
    return {"requests": requests, "positions": positions, "starts": starts}


def random_batch(rng: Rng, least: int, requests: int) -> tuple[list[int], list[int]]:
    return rng.integers(least, 8, size=requests).tolist(), rng.integers(0, 40, size=requests).tolist()


def anchor_and_drafts(rng: Rng) -> Iterator[Call]:
    for length in range(1, 9):
        yield call([length], [int(rng.integers(1, 40))])
    yield call([3], [0])


def requests_end_to_end(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(*random_batch(rng, 1, int(rng.integers(2, 9))))
    yield call([4, 4, 4], [7, 7, 7])
    yield call([1, 3], [2, 6])
    yield call(rng.integers(40, 65, size=64), rng.integers(0, 256, size=64))


def plain_requests_have_one_row(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        lengths, rows = random_batch(rng, 0, int(rng.integers(2, 9)))
        lengths[int(rng.integers(len(lengths)))] = 0
        yield call(lengths, rows)
    yield call([0, 0, 0], [4, 0, 9])
    yield call([0], [6])


# --- 9.3 speeds_from_times --------------------------------------------------------------------------------------------
def walk_along_the_sizes(batch_sizes: list[int], seconds: Array, largest: int) -> list[float]:
    table, i = [0.0], 0
    for size in range(1, largest + 1):
        i += size > batch_sizes[i]  # the first measured size that is not smaller
        after = max(seconds[: i + 1])
        before = max(seconds[: max(i, 1)])
        gap = batch_sizes[i] - batch_sizes[i - 1] if i else 1
        table.append(float(1.0 / (after - (after - before) * (batch_sizes[i] - size) / gap)))
    return table


def some_sizes(rng: Rng, most: int = 8) -> list[int]:
    """Sizes that begin with 1 and leave gaps."""
    sizes: list[int] = np.cumsum([1, *rng.integers(1, 9, size=int(rng.integers(1, most)))]).tolist()
    return sizes


def straight_lines_in_time(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        sizes = some_sizes(rng)
        yield call(sizes, np.cumsum(rng.uniform(0.05, 0.5, size=len(sizes))), sizes[-1])


def time_never_falls(rng: Rng) -> Iterator[Call]:
    """Noisy times, in which a batch often seems faster than a smaller one, and for several sizes in a row."""
    for _ in range(20):
        sizes = some_sizes(rng)
        yield call(sizes, rng.uniform(0.1, 1.0, size=len(sizes)), sizes[-1])
    yield call([1, 5, 9, 12], [1.0, 0.25, 0.5, 2.0], 12)


def table_ends_at_largest(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        sizes = some_sizes(rng)
        yield call(sizes, np.cumsum(rng.uniform(0.05, 0.5, size=len(sizes))), int(rng.integers(1, sizes[-1])))
    yield call([1, 4, 8], [0.25, 0.5, 2.0], 6)
    yield call(np.arange(1, 2001), np.cumsum(rng.uniform(0.001, 0.01, size=2000)), 100)


def one_size_is_enough(rng: Rng) -> Iterator[Call]:
    yield call([1], [float(rng.uniform(0.1, 2.0))], 1)


# --- 9.4 speedup_with_interval ----------------------------------------------------------------------------------------
def one_prompt_left_out(plain_tokens: list[int], plain_seconds: Array, tokens: list[int], seconds: Array) -> Any:
    def speedup(left_out: int) -> float:
        kept = [i for i in range(len(tokens)) if i != left_out]
        sums = (math.fsum(values[i] for i in kept) for values in (tokens, seconds, plain_tokens, plain_seconds))
        made, took, plain_made, plain_took = sums
        return made * plain_took / (took * plain_made)

    n, whole = len(tokens), speedup(-1)
    ratios = [speedup(i) for i in range(n)]
    mean = math.fsum(ratios) / n
    reach = 1.96 * math.sqrt((n - 1) / n * math.fsum((s - mean) ** 2 for s in ratios))
    return {"speedup": whole, "low": whole - reach, "high": whole + reach}


def ratio_of_sums(rng: Rng) -> Iterator[Call]:
    """Two prompts of equal speed-up: the interval has no width, and the speed-up of both is another one."""
    for _ in range(20):
        plain, tokens = rng.integers(5, 60, size=2), rng.integers(5, 60, size=2)
        plain_seconds = plain * rng.uniform(0.02, 0.2, size=2)
        yield call(plain, plain_seconds, tokens, tokens * plain_seconds / plain / rng.uniform(0.5, 4.0))


def some_prompts(rng: Rng, count: int) -> Call:
    plain, tokens = rng.integers(5, 60, size=count), rng.integers(5, 60, size=count)
    return call(plain, plain * rng.uniform(0.02, 0.1, count), tokens, tokens * rng.uniform(0.01, 0.08, count))


def one_left_out(rng: Rng) -> Iterator[Call]:
    for count in (*range(3, 16), 100):
        yield some_prompts(rng, count)


def two_prompts_are_enough(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield some_prompts(rng, 2)


HIDDEN = {
    "9.1": hidden(triangle_after_rows, earlier_ones_and_itself, slots_behind_are_unseen, empty_cache, single_token),
    "9.2": hidden(row_by_row, anchor_and_drafts, requests_end_to_end, plain_requests_have_one_row),
    "9.3": hidden(
        walk_along_the_sizes, straight_lines_in_time, time_never_falls, table_ends_at_largest, one_size_is_enough
    ),
    "9.4": hidden(one_prompt_left_out, ratio_of_sums, one_left_out, two_prompts_are_enough),
}
